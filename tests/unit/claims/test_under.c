/* SPDX-License-Identifier: MIT */

/* The clients on whose behalf one waits: which are taken out of a text. */

#include <stdio.h>
#include <string.h>

#include "claims/under.h"
#include "support/check.h"

#define UUID "01234567-89ab-cdef-0123-456789abcde"

static lk__under under;

static void take(const char *text)
{
    memset(&under, 0, sizeof(under));
    lk__under_init(&under, NULL, text);
}

static void none_are_named_by_no_text(NO_STATE)
{
    take(NULL);
    assert_int_equal(under.count, 0);
    take("");
    assert_int_equal(under.count, 0);
}

static void what_is_no_uuid_is_passed_over(NO_STATE)
{
    take(" x " UUID " " UUID "1  " UUID "22 " UUID "} " UUID "2");
    assert_int_equal(under.count, 2);
    assert_string_equal(under.ids[0], UUID "1");
    assert_string_equal(under.ids[1], UUID "2");
}

static void the_last_ones_are_kept(NO_STATE)
{
    char text[16 * LK__UNDER_ID_SIZE] = "";
    size_t used = 0;

    for (int i = 0; i < LK__UNDER_MOST + 2; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, UUID "%x ",
                                 (unsigned)i);
    take(text);
    assert_int_equal(under.count, LK__UNDER_MOST);
    assert_string_equal(under.ids[0], UUID "2");
    assert_string_equal(under.ids[LK__UNDER_MOST - 1], UUID "9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_are_named_by_no_text),
        cmocka_unit_test(what_is_no_uuid_is_passed_over),
        cmocka_unit_test(the_last_ones_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
