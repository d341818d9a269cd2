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
    see_put_rows(&c, to, &rows, 1, CLI_UNBOUND, true);
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

CHECK_TEST(permits_are_those_taken_of_all)
{
    assert_shows(2, 3, " 2/5 ");
    assert_shows(2, -1, " 2/1 ");
    assert_shows(0, 3, " 3 left ");
}

CHECK_TEST(numbers_that_no_sum_holds_are_shown)
{
    assert_shows(5, INT64_MAX, " 5/9223372036854775807 ");
    assert_shows(INT64_MAX, 1, " 9223372036854775807/9223372036854775807 ");
    assert_shows(UINT64_MAX, 1, " 18446744073709551615/9223372036854775807 ");
}

/* So many letters, and then characters of three bytes as long as there is room. */
static void fill(char *text, size_t size, size_t before)
{
    (void)memset(text, 'a', before);
    text[before] = '\0';
    for (size_t i = before; i + 3 < size; i += 3)
        memcpy(text + i, "\346\227\245", 4);
}

/* What a server says of a holder may be of any length. */
CHECK_TEST(what_others_wrote_is_cut_between_characters)
{
    char wide[1024];
    lk_party holder = {.host = wide,
                       .command = wide,
                       .user = wide,
                       .reason = wide,
                       .owner = "",
                       .name = "",
                       .pid = 1,
                       .revoked = true};
    const lk_entry entry = {.name = "n",
                            .kind = LK_KIND_LOCK,
                            .ours = true,
                            .holder_count = 1,
                            .holder = &holder};

    for (size_t before = 0; before < 3; before++) {
        char *text;

        fill(wide, sizeof(wide), before);
        text = table_of(&entry);
        if (strstr(text, "\\x") != NULL)
            fail_msg("%s", text);
        free(text);
    }
}
