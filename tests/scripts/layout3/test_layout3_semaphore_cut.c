/* SPDX-License-Identifier: MIT */

/* The cut rule for the semaphore of layout 3: wherever a script stops behind one of its
   writes, no more permits are believed in than there are, and next brings all back. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/counting3.h"

enum { ALL = 4, LIVE = 4 };

/* Claims that live in all worlds, and what they need. */
static const char *const live[LIVE] = {"b1.1", "c1.1", "d1.1", "e1.2"};

typedef struct cut_row {
    const char *title;
    void (*begin)(script_fixture *f);
    const char *(*run)(script_fixture *f);
    bool gives_up; /* the actor, a1.2, is told, and gives up what it may have */
    bool may_lose; /* Java rules the number: nothing is brought back */
} cut_row;

/* ---- worlds of four permits ---- */

static void free_world(script_fixture *f)
{
    s3_make(f, "4");
    s3_acquire_first(f, "b1.1");
}

static void full_world(script_fixture *f)
{
    s3_make(f, "4");
    s3_acquire_first(f, "a1.2");
    s3_acquire(f, "b1.1");
    s3_acquire(f, "c1.1");
    s3_acquire(f, "d1.1");
    s3_acquire(f, "e1.2");
}

static void dead_world(script_fixture *f)
{
    full_world(f);
    script_redis(f, "LPUSH %s %s %s", C3_LINE, c3_member("f1.1"),
                 c3_member("f2.2"));
}

static void marked_world(script_fixture *f)
{
    full_world(f);
    script_redis(f, "LPUSH %s others", C3_LINE);
}

static void parked_world(script_fixture *f)
{
    full_world(f);
    script_redis(f, "LREM %s 1 %s", C3_LINE, c3_member("e1.2"));
    script_redis(f, "HSET %s p%s %s", C3_SIDE, c3_member("e1.2"),
                 c3_member("d1.1"));
}

static void ended_world(script_fixture *f)
{
    full_world(f);
    c3_at(3000);
}

/* Java rules the number. */
static void java_world(script_fixture *f)
{
    full_world(f);
    script_redis(f, "HSET %s n 0", C3_SIDE);
}

static void free_java_world(script_fixture *f)
{
    free_world(f);
    script_redis(f, "HSET %s n 0", C3_SIDE);
}

static void lost_world(script_fixture *f)
{
    full_world(f);
    script_redis(f, "DEL n");
}

/* ---- scripts ---- */

static const char *acquire(script_fixture *f)
{
    return s3_acquire_first(f, "a1.2");
}

static const char *close_a(script_fixture *f)
{
    return s3_close(f, "a1.2");
}

static const char *touch_e(script_fixture *f)
{
    return s3_touch(f, "e1.2");
}

static const char *park_e(script_fixture *f)
{
    return s3_park(f, "e1");
}

static const char *leave_d(script_fixture *f)
{
    return s3_leave(f, "d1.1");
}

static const char *keep_b(script_fixture *f)
{
    return s3_keep(f, "b1.1", "30000");
}

static const char *give_up_a(script_fixture *f)
{
    const char *permits[4];

    s3_permits(permits, 0, "a1.2");
    return c3_run_with(f, "semaphore/give_up", "Z", permits);
}

static const char *resize(script_fixture *f)
{
    return c3_run(f, "semaphore/resize", "NZx", "4", "s", "0", C3_CHANNEL,
                  NULL);
}

static const cut_row rows[] = {
    {"acquire", free_world, acquire, true, false},
    {"close", full_world, close_a, true, false},
    {"close with dead ones", dead_world, close_a, true, false},
    {"close with a marker", marked_world, close_a, true, false},
    {"close without a counter", lost_world, close_a, true, false},
    {"close, late", ended_world, close_a, true, false},
    {"acquire beside Java", free_java_world, acquire, true, true},
    {"close beside Java", java_world, close_a, true, true},
    {"touch", full_world, touch_e, false, false},
    {"touch of one that is parked", parked_world, touch_e, false, false},
    {"next", ended_world, s3_next, false, false},
    {"next without a counter", lost_world, s3_next, false, false},
    {"next with a marker", marked_world, s3_next, false, false},
    {"park", ended_world, park_e, false, false},
    {"leave", full_world, leave_d, false, false},
    {"keep", full_world, keep_b, false, false},
    {"give_up", full_world, give_up_a, true, false},
    {"resize", full_world, resize, false, false},
};

/* ---- what clients do ---- */

static int believed(script_fixture *f)
{
    int sum = 0;

    for (size_t i = 0; i < LIVE; i++) {
        const char *score =
            script_redis(f, "ZSCORE %s %s", C3_ZSET, c3_claim(live[i]));

        if (strcmp(score, "nil") != 0 && strtoll(score, NULL, 10) > 2)
            sum += c3_number(live[i] + 3);
    }
    return sum;
}

/* Counter and held together. */
static int sum_of(script_fixture *f)
{
    const char *books = s3_books(f);

    return c3_number(books) + c3_number(strchr(books, ' '));
}

static void follow(script_fixture *f)
{
    const char *told = s3_next(f);

    if (strcmp(told, "2") == 0)
        s3_park(f, "e1");
    if (strcmp(told, "0") != 0)
        s3_give(f);
}

static void everybody_touches(script_fixture *f, const char *title, int cut)
{
    for (size_t i = 0; i < LIVE; i++) {
        s3_touch(f, live[i]);
        follow(f);
        if (believed(f) > ALL)
            fail_msg("%s, cut %d: %d of %d", title, cut, believed(f), ALL);
    }
}

/* Runs a row with a cut. False: the script has fewer writes. */
static bool
run_cut(script_fixture *f, const cut_row *row, int cut, bool is_told)
{
    bool was_cut;

    script_redis(f, "FLUSHALL");
    c3_at(0);
    row->begin(f);
    c3_cut(cut);
    was_cut = strstr(row->run(f), "CUT") != NULL;
    c3_cut(0);
    if (sum_of(f) > ALL)
        fail_msg("%s, cut %d: %s", row->title, cut, s3_books(f));
    if (row->gives_up && is_told)
        give_up_a(f);
    everybody_touches(f, row->title, cut);
    for (int s = 4; s <= 40; s += 12) {
        c3_at(s * 1000LL); /* all leases are over, and a second time */
        everybody_touches(f, row->title, cut);
    }
    if (sum_of(f) > ALL || (!row->may_lose && strcmp(s3_books(f), "4 0") != 0))
        fail_msg("%s, cut %d: %s", row->title, cut, s3_books(f));
    assert_like(script_redis(f, "EVAL %s 0",
                             "for _, k in ipairs({'q', 'r', 'x'}) do if "
                             "redis.call('PTTL', 'latchkey:{n}:' .. k) == -1 "
                             "then return k end end return 'ended'"),
                "ended");
    return was_cut;
}

C3_TEST(no_cut_breaks_the_number)
{
    c3_hear(f, "abcde");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int cut = 1;

        while (run_cut(f, &rows[i], cut, true) &&
               run_cut(f, &rows[i], cut, false))
            cut++;
        if (cut == 1)
            fail_msg("%s writes nothing", rows[i].title);
    }
}

/* ---- a full server, a replica ---- */

C3_TEST(a_full_server_takes_nothing_new_and_goes_on)
{
    c3_hear(f, "abcde");
    full_world(f);
    script_fill_memory(f, true);
    assert_like(s3_acquire(f, "f1.1"), "!OOM *");
    assert_like(s3_acquire_first(f, "f1.1"), "!OOM *");
    assert_like(s3_touch(f, "d1.1"), "3000 1");
    assert_like(s3_keep(f, "a1.2", "9000"), "9000");
    assert_like(s3_close(f, "a1.2"), "2");
    assert_like(give_up_a(f), "0");
    assert_like(s3_next(f), "2");
    assert_like(s3_park(f, "e1"), "0");
    assert_like(s3_leave(f, "e1.2"), "-2");
    assert_like(s3_books(f), "1 3");
}

C3_TEST(a_replica_says_nothing)
{
    full_world(f);
    script_redis(f, "REPLICAOF 127.0.0.1 1");
    assert_like(s3_acquire(f, "f1.1"), "!READONLY*");
    assert_like(s3_touch(f, "a1.2"), "!READONLY*");
    assert_like(s3_keep(f, "f1.1", "1"), "!READONLY*");
    assert_like(s3_close(f, "f1.1"), "!READONLY*");
    assert_like(s3_give(f), "!READONLY*");
    assert_like(s3_leave(f, "f1.1"), "!READONLY*");
    assert_like(s3_next(f), "!READONLY*");
    assert_like(s3_park(f, "f1"), "!READONLY*");
    assert_like(give_up_a(f), "!READONLY*");
    assert_like(c3_run(f, "semaphore/renew", "Z", "1", "0001f", NULL),
                "!READONLY*");
    script_redis(f, "REPLICAOF NO ONE");
    assert_like(s3_books(f), "0 4");
}

CHECK_GROUP(script_start_server, script_stop_server)
