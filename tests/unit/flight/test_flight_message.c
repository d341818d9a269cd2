/* SPDX-License-Identifier: MIT */

/* Messages of a landing, and what is none. */

#include <string.h>

#include "flight/message.h"
#include "support/check.h"

static bool read_it(lk__flight_message *message, const char *text)
{
    return lk__flight_message_read(message, "u:7", text, strlen(text));
}

CHECK_TEST(a_value_comes_with_its_message)
{
    lk__flight_message message;

    assert_true(read_it(&message, "u:7 0 0 value"));
    assert_status(message.status, LK_OK);
    assert_int_equal(message.size, 5);
    assert_memory_equal(message.bytes, "value", 5);
    assert_string_equal(message.words, "");
    assert_true(read_it(&message, "u:7 0 0 "));
    assert_int_equal(message.size, 0);
    assert_true(lk__flight_message_read(&message, "u:7", "u:7 0 0 \0 \0", 11));
    assert_int_equal(message.size, 3);
}

CHECK_TEST(an_error_comes_with_its_words)
{
    lk__flight_message message;

    assert_true(read_it(&message, "u:7 -26 8 it is it"));
    assert_status(message.status, LK_EGONE);
    assert_string_equal(message.words, "it is it");
    assert_int_equal(message.size, 0);
}

CHECK_TEST(anything_else_is_only_a_hint)
{
    static const char *const texts[] = {"",
                                        "u:7",
                                        "u:7 ",
                                        "u:7 look",
                                        "u:8 0 0 x",
                                        "u:77 0 0 ",
                                        "u:7 0",
                                        "u:7 0 ",
                                        "u:7 0 0",
                                        "u:7 0 1 ",
                                        "u:7 0 -1 ",
                                        "u:7 x 0 ",
                                        "u:7 0 x ",
                                        "u:7 1 0 x",
                                        "u:70 0 x",
                                        "u:7 0 99999999999999999999 x",
                                        "u:7 -99999999999999999999 0 x"};
    lk__flight_message message;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_false(read_it(&message, texts[i]));
    assert_false(lk__flight_message_read(&message, "", " 0 0 x", 6));
}
