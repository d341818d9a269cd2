/* SPDX-License-Identifier: MIT */

/* Lines cut into words. */

#include <string.h>

#include "base/words.h"
#include "support/check.h"

static size_t cut(const char *line, size_t most, char **words)
{
    static char text[64];

    strncpy(text, line, sizeof(text) - 1);
    return lk__words_split(text, most, words);
}

CHECK_TEST(a_line_is_cut_at_its_spaces)
{
    char *words[4];

    assert_int_equal(cut("open lock 17", 4, words), 3);
    assert_string_equal(words[0], "open");
    assert_string_equal(words[1], "lock");
    assert_string_equal(words[2], "17");
}

CHECK_TEST(the_last_word_is_the_whole_rest)
{
    char *words[3];

    assert_int_equal(cut("grant 1  a name ", 3, words), 3);
    assert_string_equal(words[2], " a name ");
}

CHECK_TEST(an_empty_line_is_one_empty_word)
{
    char *words[2];

    assert_int_equal(cut("", 2, words), 1);
    assert_string_equal(words[0], "");
}

CHECK_TEST(a_number_is_all_digits_and_within_its_bounds)
{
    static const char *const none[] = {"",
                                       "0",
                                       "01",
                                       "-1",
                                       "+1",
                                       " 1",
                                       "1 ",
                                       "1x",
                                       "1.5",
                                       "0x1",
                                       "11",
                                       "18446744073709551617",
                                       "99999999999999999999999999"};
    uint64_t number = 7;

    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        assert_false(lk__word_number(none[i], 10, &number));
    assert_int_equal(number, 7);
    assert_true(lk__word_number("10", 10, &number));
    assert_int_equal(number, 10);
    assert_true(lk__word_number("9007199254740992", LK__NUMBER_MAX, &number));
    assert_false(lk__word_number("9007199254740993", LK__NUMBER_MAX, &number));
}
