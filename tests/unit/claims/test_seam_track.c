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

typedef struct waiting {
    played *p;
    call call;
} waiting;

/* It waits behind others. */
static void begin(waiting *w)
{
    played *p = playing_calm();

    *w = (waiting){.p = p};
    p->is_held = true;
    p->answers[PLAYED_ACQUIRE] = queued;
    p->answers[PLAYED_RECHECK] = held;
    assert_status(lk_lock_acquire_async(p->lock, LK_FOREVER, NULL,
                                        call_on_acquire, &w->call),
                  LK_OK);
}

/* It gets the name, which is free now, at its next look. */
static void end(waiting *w)
{
    w->p->is_held = false;
    w->p->answers[PLAYED_RECHECK] = NULL;
    played_run_ms(w->p, UINT64_C(2) * SECOND_MS);
    assert_status(call_wait(&w->call, NULL), LK_OK);
    assert_status(lk_hold_release(w->call.hold), LK_OK);
    played_free(w->p);
}

static unsigned looks_in(waiting *w, uint64_t ms)
{
    unsigned before = w->p->counts[PLAYED_RECHECK];

    played_run_ms(w->p, ms);
    return w->p->counts[PLAYED_RECHECK] - before;
}

/* Of a key; NULL: of all. */
static void tell(waiting *w, const char *key)
{
    played_invalidate(w->p, key);
}

static void untold_it_looks_once_a_second(void **state)
{
    waiting w;

    (void)state;
    begin(&w);
    assert_in_range(looks_in(&w, UINT64_C(10) * SECOND_MS), 10, 14);
    assert_int_equal(w.p->trackings, 1);
    assert_int_equal(w.p->cachings, 1);
    end(&w);
}

static void told_it_looks_at_once_and_is_told_again(void **state)
{
    waiting w;

    (void)state;
    begin(&w);
    played_run_ms(w.p, 100);
    for (unsigned i = 2; i < 5; i++) {
        tell(&w, "n");
        assert_in_range(looks_in(&w, UINT64_C(2) * TRIP_MS), 1, 2);
        played_run_ms(w.p, UINT64_C(2) * TRIP_MS);
        assert_int_equal(w.p->cachings, i);
    }
    assert_int_equal(w.p->trackings, 1);
    end(&w);
}

/* Whoever releases it has it again before anybody who is told of that: then a
   look by chance is all that may find it free. */
static void too_late_twice_it_looks_in_between(void **state)
{
    waiting w;

    (void)state;
    begin(&w);
    played_run_ms(w.p, 100);
    tell(&w, "n");
    assert_int_equal(looks_in(&w, 40), 1);
    tell(&w, "n");
    assert_in_range(looks_in(&w, 40), 1 + 40 / 17, 1 + 40 / 7);
    tell(&w, "n");
    assert_in_range(looks_in(&w, 40), 1 + 40 / 17, 1 + 40 / 7);
    end(&w);
}

static void of_another_key_it_does_not_look(void **state)
{
    waiting w;

    (void)state;
    begin(&w);
    played_run_ms(w.p, 100);
    tell(&w, "m");
    assert_int_equal(looks_in(&w, UINT64_C(2) * TRIP_MS), 0);
    end(&w);
}

static void where_all_keys_are_gone_it_looks(void **state)
{
    waiting w;

    (void)state;
    begin(&w);
    played_run_ms(w.p, 100);
    tell(&w, NULL);
    assert_int_equal(looks_in(&w, UINT64_C(2) * TRIP_MS), 1);
    end(&w);
}

/* Released after it looked, and before the server began to track. */
static void what_changed_before_it_was_tracked_is_not_missed(void **state)
{
    waiting w;

    (void)state;
    begin(&w);
    w.p->exists_answer = ":0\r\n";
    assert_int_equal(looks_in(&w, UINT64_C(4) * TRIP_MS), 1);
    w.p->exists_answer = NULL;
    end(&w);
}

/* Nobody tells of that; it is told of by some servers, later. */
static void it_looks_when_the_lease_ends(void **state)
{
    waiting w;

    (void)state;
    begin(&w);
    played_run_ms(w.p, 100);
    w.p->answers[PLAYED_RECHECK] = ends_soon;
    tell(&w, "n");
    assert_int_equal(looks_in(&w, 100), 1);
    assert_int_equal(looks_in(&w, 100), 0);
    assert_int_equal(looks_in(&w, 120), 1);
    end(&w);
}

static void what_is_left_to_others_it_has_when_their_time_is_over(void **state)
{
    waiting w;

    (void)state;
    begin(&w);
    played_run_ms(w.p, 100);
    w.p->is_held = false;
    w.p->answers[PLAYED_RECHECK] = is_theirs;
    tell(&w, "n");
    assert_int_equal(looks_in(&w, 100), 1);
    assert_int_equal(looks_in(&w, 70), 1);
    end(&w);
}

/* Fewer and fewer: as long as it waits, by a sixteenth of that too late. */
static void where_it_is_refused_it_looks_with_growing_pauses(void **state)
{
    waiting w;
    unsigned first;

    (void)state;
    begin(&w);
    w.p->tracking_answer = refused;
    first = looks_in(&w, 50);
    assert_in_range(first, 10, 20);
    played_run_ms(w.p, SECOND_MS);
    assert_in_range(looks_in(&w, SECOND_MS), SECOND_MS / 24, SECOND_MS / 20);
    assert_in_range(w.p->cachings, 1, 1);
    end(&w);
}

/* The server knows an inbox by the number of its connection. */
static void a_new_connection_begins_again(void **state)
{
    waiting w;

    (void)state;
    begin(&w);
    played_run_ms(w.p, 100);
    assert_int_equal(w.p->tracking_id, fake_link_number(w.p->inbox_link) + 1);
    played_break(w.p);
    played_run_ms(w.p, 100);
    assert_int_equal(w.p->trackings, 2);
    assert_int_equal(w.p->tracking_id, fake_link_number(w.p->inbox_link) + 1);
    assert_int_equal(w.p->cachings, 2);
    tell(&w, "n");
    assert_int_equal(looks_in(&w, UINT64_C(2) * TRIP_MS), 1);
    end(&w);
}

/* Nobody waits any more, or for a hold of ours. */
static void
what_is_told_of_a_name_that_nobody_waits_for_does_nothing(void **state)
{
    waiting w;

    (void)state;
    begin(&w);
    played_run_ms(w.p, 100);
    w.p->is_held = false;
    w.p->answers[PLAYED_RECHECK] = NULL;
    tell(&w, "n");
    played_run_ms(w.p, 10);
    assert_status(call_wait(&w.call, NULL), LK_OK);
    tell(&w, "n");
    tell(&w, NULL);
    assert_int_equal(looks_in(&w, 10), 0);
    assert_status(lk_hold_release(w.call.hold), LK_OK);
    played_free(w.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(untold_it_looks_once_a_second),
        cmocka_unit_test(told_it_looks_at_once_and_is_told_again),
        cmocka_unit_test(too_late_twice_it_looks_in_between),
        cmocka_unit_test(of_another_key_it_does_not_look),
        cmocka_unit_test(where_all_keys_are_gone_it_looks),
        cmocka_unit_test(what_changed_before_it_was_tracked_is_not_missed),
        cmocka_unit_test(it_looks_when_the_lease_ends),
        cmocka_unit_test(what_is_left_to_others_it_has_when_their_time_is_over),
        cmocka_unit_test(where_it_is_refused_it_looks_with_growing_pauses),
        cmocka_unit_test(a_new_connection_begins_again),
        cmocka_unit_test(
            what_is_told_of_a_name_that_nobody_waits_for_does_nothing),
    };

    return cmocka_run_group_tests_name("seam_track", tests, NULL, NULL);
}
