/* SPDX-License-Identifier: MIT */

/* A table of names, whatever the server has said about them. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "cli/see/rows.h"
#include "support/check.h"

/* The table of one entry, as text; owned by the caller. */
static char *table_of(const lk_entry *entry)
{
    const cli c = {.command = NULL};
    lk_listing listing = {.count = 1, .entries = &entry};
    see_row row = {.entry = entry, .rate = -1};
    const see_rows rows = {.listing = &listing, .rows = &row, .count = 1};
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    assert_non_null(to);
    see_put_rows(&c, to, &rows, 1, CLI_UNBOUND);
    assert_int_equal(fclose(to), 0);
    return text;
}

static void assert_shows(uint64_t holders, int64_t left, const char *hold)
{
    const lk_entry entry = {.name = "n",
                            .kind = LK_KIND_SEMAPHORE,
                            .holder_count = holders,
                            .has_value = true,
                            .value = left};
    char *text = table_of(&entry);

    if (strstr(text, hold) == NULL)
        fail_msg("%s", text);
    free(text);
}

static void permits_are_those_taken_of_all(void **state)
{
    (void)state;
    assert_shows(2, 3, " 2/5 ");
    assert_shows(2, -1, " 2/1 ");
    assert_shows(0, 3, " 3 left ");
}

static void numbers_that_no_sum_holds_are_shown(void **state)
{
    (void)state;
    assert_shows(5, INT64_MAX, " 5/9223372036854775807 ");
    assert_shows(INT64_MAX, 1, " 9223372036854775807/9223372036854775807 ");
    assert_shows(UINT64_MAX, 1, " 18446744073709551615/9223372036854775807 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permits_are_those_taken_of_all),
        cmocka_unit_test(numbers_that_no_sum_holds_are_shown),
    };

    return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
