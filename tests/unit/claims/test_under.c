/* SPDX-License-Identifier: MIT */

/* The clients on whose behalf one waits: which are taken out of a text. */

#include <stdio.h>
#include <string.h>

#include "claims/under.h"
#include "support/check.h"

#define UUID "0123456789abcdef0123456789abcde"

static lk__under under;

static void take(const char *text)
{
    memset(&under, 0, sizeof(under));
    lk__under_init(&under, NULL, text);
}

CHECK_TEST(none_are_named_by_no_text)
{
    take(NULL);
    assert_int_equal(under.count, 0);
    take("");
    assert_int_equal(under.count, 0);
}

CHECK_TEST(what_is_no_uuid_is_passed_over)
{
    take(" x " UUID " " UUID "1  " UUID "22 " UUID "} " UUID "2");
    assert_int_equal(under.count, 2);
    assert_string_equal(under.ids[0], UUID "1");
    assert_string_equal(under.ids[1], UUID "2");
}

CHECK_TEST(the_last_ones_are_kept)
{
    char text[16 * (LK__CLIENT_ID_SIZE + 1)] = "";
    size_t used = 0;

    for (int i = 0; i < LK__UNDER_MOST + 2; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, UUID "%x ",
                                 (unsigned)i);
    take(text);
    assert_int_equal(under.count, LK__UNDER_MOST);
    assert_string_equal(under.ids[0], UUID "2");
    assert_string_equal(under.ids[LK__UNDER_MOST - 1], UUID "9");
}
