/* SPDX-License-Identifier: MIT */

/* What a master's own line says of slots, and which have to be gone through
   again. */

#include <stdio.h>
#include <string.h>

#include "inspect/walk_map.h"
#include "support/check.h"

#define LINE                                                                   \
    "07c3 127.0.0.1:30004@31004,host slave e7d1 0 1426238317239 4 connected\n" \
    "67ed 127.0.0.1:30002@31002 master - 0 1426238316232 2 connected "         \
    "5461-10922\n"                                                             \
    "e7d1 127.0.0.1:30001@31001 myself,master - 0 0 1 connected 0-2 7 "        \
    "16383 [7->-67ed] [9-<-67ed] [x] 99999 5-3\n"

struct seen {
    char has[LK__SLOTS], goes[LK__SLOTS], comes[LK__SLOTS];
    unsigned count;
};

static void note(void *data, lk__slot_word word, unsigned first, unsigned last)
{
    struct seen *seen = data;
    char *const rows[] = {[LK__SLOT_HAS] = seen->has,
                          [LK__SLOT_GOES] = seen->goes,
                          [LK__SLOT_COMES] = seen->comes};

    for (unsigned slot = first; slot <= last; slot++, seen->count++)
        rows[word][slot] = 1;
}

CHECK_TEST(the_own_line_says_which_slots)
{
    static struct seen seen;
    size_t size = 0;
    const char *line = lk__own_line(LINE, &size);
    char copy[sizeof(LINE)];

    assert_non_null(line);
    (void)snprintf(copy, sizeof(copy), "%.*s", (int)size, line);
    assert_int_equal(strncmp(copy, "e7d1", 4), 0);
    assert_int_equal(lk__line_epoch(copy), 1);
    lk__line_read(copy, note, &seen);
    assert_true(seen.has[0] && seen.has[1] && seen.has[2] && seen.has[7] &&
                seen.has[16383]);
    assert_true(seen.goes[7] && seen.comes[9]);
    assert_int_equal(seen.count, 7);
}

CHECK_TEST(a_line_without_slots_says_none)
{
    static const char *const lines[] = {"", " ", "a b myself",
                                        "a b c d e f g h", "a b c d e f g h "};
    static struct seen seen;
    size_t size;

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        lk__line_read(lines[i], note, &seen);
    assert_int_equal(lk__line_epoch(lines[0]), 0);
    assert_int_equal(seen.count, 0);
    assert_null(lk__own_line("", &size));
    assert_null(lk__own_line("\n\nonly one\n", &size));
    assert_null(lk__own_line("a b myselfish", &size));
}

CHECK_TEST(what_moved_is_open_until_it_rests)
{
    static lk__walk_map map;

    map.before.owners[1] = map.now.owners[1] = 1; /* rests, */
    map.before.owners[2] = 1;                     /* has moved, */
    map.now.owners[2] = 2;
    map.before.owners[3] = map.now.owners[3] = 1; /* is half moved, */
    map.before.moves[3] = map.now.moves[3] = true;
    map.before.owners[4] = 1; /* is at nobody who was asked */
    assert_int_equal(lk__walk_map_judge(&map, true), 3);
    assert_true(map.open[2] && map.open[3] && map.open[4]);
    assert_true(lk__walk_map_has_hole(&map));

    /* The next round goes from where keys leave to where they go: what only
       stays half moved is seen. */
    map.before = map.now;
    map.now.owners[2] = 3;
    map.now.owners[1] = 2; /* it rested while all were gone through */
    assert_int_equal(lk__walk_map_judge(&map, false), 1);
    assert_true(map.open[2]);
    assert_false(lk__walk_map_has_hole(&map));

    map.before = map.now;
    assert_int_equal(lk__walk_map_judge(&map, false), 0);
}

/* It has been elsewhere perhaps, with keys that were not told of there. */
CHECK_TEST(what_may_have_come_back_is_open)
{
    static lk__walk_map map;

    map.before.owners[1] = map.now.owners[1] = 1;
    map.before.epochs[1] = 4;
    map.now.epochs[1] = 6;
    map.before.owners[2] = map.now.owners[2] = 2;
    map.before.epochs[2] = map.now.epochs[2] = 5;
    assert_int_equal(lk__walk_map_judge(&map, true), 1);
    assert_true(map.open[1]);

    map.before = map.now;
    map.now.epochs[1] = 8;
    assert_int_equal(lk__walk_map_judge(&map, false), 1);
    map.before = map.now;
    assert_int_equal(lk__walk_map_judge(&map, false), 0);
}
