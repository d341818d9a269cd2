/* SPDX-License-Identifier: MIT */

/*
 * A claim that others keep out looks when it is told that the name's key has
 * changed; on a virtual clock.
 */

#include "support/call.h"
#include "support/check.h"
#include "support/playing.h"

/* Queued and next, and again at every look: others hold it, with so much of
   the lease left; or it lies free for them for another 150 ms. */
static const char queued[] = PLAYED_QUEUED("30000", "7", "1");
static const char held[] = PLAYED_LOOKED("30000", "1", "0", "*1\r\n:7\r\n");
static const char ends_soon[] = PLAYED_LOOKED("300", "1", "0", "*1\r\n:7\r\n");
static const char is_theirs[] = PLAYED_LOOKED("150", "2", "0", "*1\r\n:7\r\n");
static const char refused[] = "-NOPERM this user has no permissions to run "
                              "the 'client|tracking' command\r\n";

enum { TRIP_MS = 2, SECOND_MS = 1000 };

static played *p;
static call waits;

/* It waits behind others. */
static int begin(NO_STATE)
{
    p = playing_calm();
    waits = (call){0};
    p->is_held = true;
    p->answers[PLAYED_ACQUIRE] = queued;
    p->answers[PLAYED_RECHECK] = held;
    assert_status(lk_lock_acquire_async(p->lock, LK_FOREVER, NULL,
                                        call_on_acquire, &waits),
                  LK_OK);
    return 0;
}

/* It gets the name, which is free now, at its next look, unless it has it. */
static int end(NO_STATE)
{
    p->is_held = false;
    p->answers[PLAYED_RECHECK] = NULL;
    played_run_ms(p, UINT64_C(2) * SECOND_MS);
    assert_status(call_wait(&waits, NULL), LK_OK);
    assert_status(lk_hold_release(waits.hold), LK_OK);
    played_free(p);
    return 0;
}

static unsigned looks_in(uint64_t ms)
{
    unsigned before = p->counts[PLAYED_RECHECK];

    played_run_ms(p, ms);
    return p->counts[PLAYED_RECHECK] - before;
}

#define TEST(name) CHECK_TEST_OF(name, NO_STATE, begin, end)

TEST(untold_it_looks_once_a_second)
{
    assert_in_range(looks_in(UINT64_C(10) * SECOND_MS), 10, 14);
    assert_int_equal(p->trackings, 1);
    assert_int_equal(p->cachings, 1);
}

TEST(told_it_looks_at_once_and_is_told_again)
{
    played_run_ms(p, 100);
    for (unsigned i = 2; i < 5; i++) {
        played_invalidate(p, "n");
        assert_in_range(looks_in(UINT64_C(2) * TRIP_MS), 1, 2);
        played_run_ms(p, UINT64_C(2) * TRIP_MS);
        assert_int_equal(p->cachings, i);
    }
    assert_int_equal(p->trackings, 1);
}

/* Whoever releases it has it again before anybody who is told of that: then a
   look by chance is all that may find it free. */
TEST(too_late_twice_it_looks_in_between)
{
    played_run_ms(p, 100);
    played_invalidate(p, "n");
    assert_int_equal(looks_in(40), 1);
    played_invalidate(p, "n");
    assert_in_range(looks_in(40), 1 + 40 / 17, 1 + 40 / 7);
    played_invalidate(p, "n");
    assert_in_range(looks_in(40), 1 + 40 / 17, 1 + 40 / 7);
}

TEST(of_another_key_it_does_not_look)
{
    played_run_ms(p, 100);
    played_invalidate(p, "m");
    assert_int_equal(looks_in(UINT64_C(2) * TRIP_MS), 0);
}

TEST(where_all_keys_are_gone_it_looks)
{
    played_run_ms(p, 100);
    played_invalidate(p, NULL);
    assert_int_equal(looks_in(UINT64_C(2) * TRIP_MS), 1);
}

/* Released after it looked, and before the server began to track. */
TEST(what_changed_before_it_was_tracked_is_not_missed)
{
    p->exists_answer = ":0\r\n";
    assert_int_equal(looks_in(UINT64_C(4) * TRIP_MS), 1);
    p->exists_answer = NULL;
}

/* Nobody tells of that; it is told of by some servers, later. */
TEST(it_looks_when_the_lease_ends)
{
    played_run_ms(p, 100);
    p->answers[PLAYED_RECHECK] = ends_soon;
    played_invalidate(p, "n");
    assert_int_equal(looks_in(100), 1);
    assert_int_equal(looks_in(100), 0);
    assert_int_equal(looks_in(120), 1);
}

TEST(what_is_left_to_others_it_has_when_their_time_is_over)
{
    played_run_ms(p, 100);
    p->is_held = false;
    p->answers[PLAYED_RECHECK] = is_theirs;
    played_invalidate(p, "n");
    assert_int_equal(looks_in(100), 1);
    assert_int_equal(looks_in(70), 1);
}

/* Fewer and fewer: as long as it waits, by a sixteenth of that too late. */
TEST(where_it_is_refused_it_looks_with_growing_pauses)
{
    unsigned first;

    p->tracking_answer = refused;
    first = looks_in(50);
    assert_in_range(first, 10, 20);
    played_run_ms(p, SECOND_MS);
    assert_in_range(looks_in(SECOND_MS), SECOND_MS / 24, SECOND_MS / 20);
    assert_in_range(p->cachings, 1, 1);
}

/* The server knows an inbox by the number of its connection. */
TEST(a_new_connection_begins_again)
{
    played_run_ms(p, 100);
    assert_int_equal(p->tracking_id, p->inbox_link->number + 1);
    played_break(p);
    played_run_ms(p, 100);
    assert_int_equal(p->trackings, 2);
    assert_int_equal(p->tracking_id, p->inbox_link->number + 1);
    assert_int_equal(p->cachings, 2);
    played_invalidate(p, "n");
    assert_int_equal(looks_in(UINT64_C(2) * TRIP_MS), 1);
}

/* Nobody waits any more, or for a hold of ours. */
TEST(what_is_told_of_a_name_that_nobody_waits_for_does_nothing)
{
    played_run_ms(p, 100);
    p->is_held = false;
    p->answers[PLAYED_RECHECK] = NULL;
    played_invalidate(p, "n");
    played_run_ms(p, 10);
    assert_status(call_wait(&waits, NULL), LK_OK);
    played_invalidate(p, "n");
    played_invalidate(p, NULL);
    assert_int_equal(looks_in(10), 0);
}
