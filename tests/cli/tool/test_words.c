/* SPDX-License-Identifier: MIT */

/* Times, names that are too long and lines that are too wide, as people see
   them; and what words of a failure mean. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/caller.h"
#include "cli/cause.h"
#include "cli/output.h"
#include "cli/utf8.h"
#include "support/check.h"

#define DAY UINT64_C(86400000)

static void assert_time(uint64_t ms, const char *words)
{
    char text[CLI_TIME_SIZE];

    assert_string_equal(cli_time_words(text, ms), words);
}

CHECK_TEST(a_time_is_as_people_say_it)
{
    assert_time(0, "0.00 s");
    assert_time(9999, "9.99 s");
    assert_time(10000, "0:10");
    assert_time(42999, "0:42");
    assert_time(3599999, "59:59");
    assert_time(3723000, "1:02:03");
    assert_time(DAY - 1, "23:59:59");
    assert_time(DAY, "1d 0h");
    assert_time(3 * DAY + DAY / 6, "3d 4h");
    assert_time(UINT64_MAX, "213503982334d 14h");
}

static void assert_shortened(const char *text, int columns, const char *wanted)
{
    char cut[256];

    (void)snprintf(cut, sizeof(cut) - CLI_UTF8_SHOWN, "%s", text);
    cli_utf8_shorten(cut, columns);
    assert_string_equal(cut, wanted);
    assert_true(cli_utf8_width(cut) <= columns);
}

/* The test's own locale is C: the mark is ~. */
CHECK_TEST(both_ends_of_a_long_name_are_left)
{
    assert_shortened("abcdef", 6, "abcdef");
    assert_shortened("abcdefg", 6, "ab~efg");
    assert_shortened("abcdefg", 5, "ab~fg");
    assert_shortened("abcdefg", 2, "~g");
    assert_shortened("abcdefg", 1, "~");
    assert_shortened("", 1, "");
}

/* \346\227\245 takes two columns, \314\201 none: it stands over the letter
   before it, and goes with it. \360\237\232\200 is a rocket. */
CHECK_TEST(characters_are_counted_by_their_columns)
{
    assert_int_equal(cli_utf8_width("\346\227\245\360\237\232\200e\314\201"),
                     5);
    assert_shortened("\346\227\245\346\227\245\346\227\245\346\227\245", 7,
                     "\346\227\245~\346\227\245");
    assert_shortened("\346\227\245\346\227\245\346\227\245\346\227\245", 6,
                     "\346\227\245~\346\227\245");
    assert_shortened("e\314\201abcde\314\201", 4, "e\314\201~de\314\201");
    assert_shortened("ab\346\227\245\314\201cd", 5, "ab~cd");
    assert_shortened("ab\346\227\245\314\201cde", 6, "ab~cde");
    assert_shortened("ab\346\227\245\314\201c", 4, "a~c");
}

#define WOMAN  "\360\237\221\251"
#define JOINER "\342\200\215"
#define ROCKET "\360\237\232\200"
#define SKIN   "\360\237\217\275"

/* A picture that is joined of two, or has another skin, is one thing to see. */
CHECK_TEST(what_is_seen_as_one_is_not_parted)
{
    assert_shortened("ab" WOMAN JOINER ROCKET "cd", 7, "ab~cd");
    assert_shortened("ab" WOMAN SKIN "cd", 7, "ab~cd");
    assert_shortened("ab" WOMAN SKIN "cd", 8, "ab" WOMAN SKIN "cd");
    assert_int_equal(cli_utf8_fit(WOMAN JOINER ROCKET, 3), 0);
    assert_int_equal(cli_utf8_cut("abc", 2), 2);
    assert_int_equal(cli_utf8_cut("abc", 3), 3);
    assert_int_equal(cli_utf8_cut("ae\314\201b", 3), 1);
    assert_int_equal(cli_utf8_cut("ae\314\201b", 4), 4);
}

/* size: of the room; the test's locale has ~ for what is left out. */
static void assert_cleaned(const char *text, size_t size, const char *wanted)
{
    char to[64];

    assert_string_equal(cli_clean(to, size, text), wanted);
}

CHECK_TEST(what_has_no_room_is_marked)
{
    assert_cleaned("abcd", 5, "abcd");
    assert_cleaned("abcde", 5, "abc~");
    assert_cleaned("abe\314\201cd", 6, "ab~");
    assert_cleaned("abc\033d", 6, "abc~");
}

static void assert_finished(const char *text, const char *wanted)
{
    char to[64];

    (void)snprintf(to, sizeof(to), "%s", text);
    cli_utf8_finish(to);
    assert_string_equal(to, wanted);
}

CHECK_TEST(what_is_left_of_a_character_is_taken_off)
{
    assert_finished("", "");
    assert_finished("ab", "ab");
    assert_finished("ab\303", "ab");
    assert_finished("ab\303\244", "ab\303\244");
    assert_finished("ab\360\237\232", "ab");
    assert_finished(ROCKET, ROCKET);
}

/* The kernel keeps 15 bytes of a program's name. */
CHECK_TEST(a_program_of_whose_name_is_a_part_is_text)
{
    char text[CLI_PROGRAM_SIZE];

    assert_int_equal(prctl(PR_SET_NAME, "nachtsicherung\303\244"), 0);
    cli_caller_program(text, getpid());
    assert_string_equal(text, "nachtsicherung");
}

CHECK_TEST(a_reason_is_cut_between_what_is_seen)
{
    char why[CLI_CALLER_SIZE], text[CLI_CALLER_SIZE];

    for (size_t before = 0; before < 3; before++) {
        (void)memset(why, 'a', before);
        for (size_t i = before; i + 3 < sizeof(why); i += 3)
            memcpy(why + i, "e\314\201", 4);
        cli_caller_reason(text, why, 0);
        assert_non_null(strstr(text, "e\314\201; by "));
    }
}

static void assert_wrapped(const char *text, int columns, const char *wanted)
{
    char *lines = NULL;
    size_t size;
    FILE *to = open_memstream(&lines, &size);

    assert_non_null(to);
    cli_put_wrapped(to, text, columns);
    assert_int_equal(fclose(to), 0);
    assert_string_equal(lines, wanted);
    free(lines);
}

CHECK_TEST(a_wide_line_goes_on_in_the_next)
{
    assert_wrapped("one two three", 13, "one two three");
    assert_wrapped("one two three\n", 12, "one two\n    three\n");
    assert_wrapped("  a bc def ghi\nb\n", 9,
                   "  a bc\n      def\n      ghi\nb\n");
    assert_wrapped("one  two  three", 8, "one  two\n    three");
    assert_wrapped("one two three", CLI_UNBOUND, "one two three");
}

/* What is copied from a terminal is the whole word. */
CHECK_TEST(a_word_is_never_broken)
{
    assert_wrapped("a longer-than-that b", 6, "a\n    longer-than-that\n    b");
}

CHECK_TEST(colours_take_no_columns)
{
    assert_wrapped("\033[1mone\033[0m two", 7, "\033[1mone\033[0m two");
    assert_wrapped("\346\227\245\346\227\245 b", 6,
                   "\346\227\245\346\227\245 b");
    assert_wrapped("\346\227\245\346\227\245 b", 5,
                   "\346\227\245\346\227\245\n    b");
}

/* ---- why it failed ------------------------------------------------------- */

/* A server names the user, since Redis 7.2: one of this name is at no sentinel. */
CHECK_TEST(a_user_may_be_called_a_sentinel)
{
    static const char server[] = "redis://h:1/0";
    static const char denied[] =
        "NOPERM User sentinel has no permissions to run "
        "the 'eval' command";

    assert_null(cli_cause_find(LK_EDENIED, denied, server).advice);
    assert_false(cli_cause_is_sentinels(denied));
    assert_non_null(
        cli_cause_find(LK_EDENIED, "sentinel h:26379: NOPERM no", server)
            .advice);
    assert_non_null(strstr(
        cli_cause_find(LK_EAUTH, "sentinel h:26379: NOAUTH no", server).advice,
        "LATCHKEY_SENTINEL_PASSWORD"));
}

int test_words(void)
{
    /* newlocale() asks the environment. */
    (void)setenv("LC_ALL", "C", 1);
    return check_all(NULL, NULL);
}
