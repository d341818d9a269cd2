/* SPDX-License-Identifier: MIT */

/*
 * A client on a virtual clock, and the masters of a cluster that the test plays:
 * holds, waits, questions and subscriptions whose slot goes to another master, or
 * whose master is not believed for a moment.
 */

#include <latchkey/latchkey.h>

#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/masters.h"

enum {
    DOUBT_MS = BELIEF_MS - 32, /* what a clock may drift is taken off */
    SOON_MS = 250,             /* from the first question to the second */
    BRIEF_MS = 6000,           /* of such a lease a renewal comes soon */
    TWICE_MS = 2 * ROUND_MS,
    PATIENCE_MS = 2 * BELIEF_MS,
    LATE_MS = 1500,
    LINGER_MS = 10000,
    HOLDS = 100,
    ANSWER_MS =
        200,        /* with such answers four questions at a time are too few */
    DRAIN_MS = 1000 /* in so much most of them are to be asked for */
};

static int setup(NO_STATE)
{
    const lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                                     .watchdog_ms = BRIEF_MS,
                                     .command_timeout_ms = PATIENCE_MS};

    masters_begin(MASTERS, &brief);
    return 0;
}

/* Each is met again. */
static void meet_again(void)
{
    for (size_t i = 0; i < MASTERS; i++) {
        played_kill(masters, i);
        masters->nodes[i].connect_answer = 0;
    }
}

/* From now on all masters name this one for the slot of "n". */
static void move_to(size_t node)
{
    for (size_t i = 0; i < MASTERS; i++)
        masters->nodes[i].named[played_slot() / PLAYED_PART] = (uint16_t)node;
}

/* ---- belief -------------------------------------------------------------------- */

static void slow_down(uint64_t first_ms, uint64_t others_ms)
{
    for (size_t i = 0; i < MASTERS; i++)
        masters->nodes[i].slow_ms = i == 0 ? first_ms : others_ms;
}

#define TEST(name) CHECK_TEST_OF(name, NO_STATE, setup, masters_end)

/* The first answers count no more when the second one of a majority comes, and
   nothing but this wait looks in between. */
TEST(a_wait_goes_on_when_its_master_is_believed_again)
{
    unsigned maps = masters->nodes[0].maps;
    call c = {0};

    for (size_t i = 0; i < MASTERS; i++)
        masters->nodes[i].is_young = false;
    meet_again();
    while (masters->nodes[0].maps == maps)
        played_run_ms(masters, 1);
    slow_down(DOUBT_MS - SOON_MS - 20, DOUBT_MS - SOON_MS + 20);
    played_run_ms(masters, DOUBT_MS + 5);
    assert_int_equal(masters->nodes[0].maps, maps + 2);
    slow_down(0, 0);
    assert_status(lk_lock_acquire_async(masters->lock, LONG_MS, NULL,
                                        call_on_acquire, &c),
                  LK_OK);
    played_run_ms(masters, 3);
    assert_int_equal(masters->nodes[0].scripts, 0);
    played_run_ms(masters, 50);
    assert_int_equal(atomic_load(&c.ends), 1);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* The master is named by all, and may be there; but it has not said of this hold
   that it is there as well. */
TEST(a_hold_is_not_believed_at_a_master_never_reached)
{
    lk_hold *hold = masters_take();

    masters->nodes[3].connect_answer = -111;
    played_kill(masters, 0);
    played_replace(masters, 0, 3);
    played_run_ms(masters, BELIEF_MS);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* ---- questions --------------------------------------------------------------------- */

/* The slot has gone on already where it is sent to; both are known within moments. */
TEST(a_try_follows_its_slot_twice)
{
    char once[64], twice[64];
    lk_hold *hold = NULL;

    masters->nodes[0].says = masters_at_slot(once, "MOVED", 1);
    masters->nodes[1].says = masters_at_slot(twice, "MOVED", 2);
    assert_status(lk_lock_acquire(masters->lock, 0, NULL, &hold), LK_OK);
    assert_true(masters->nodes[2].scripts > 0);
    move_to(2);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* Each has heard that the other one has it. */
TEST(a_try_is_not_sent_to_and_fro_for_ever)
{
    uint64_t began = played_now_ms(masters);
    char there[64], back[64];
    lk_hold *hold = NULL;

    masters->nodes[0].says = masters_at_slot(there, "MOVED", 1);
    masters->nodes[1].says = masters_at_slot(back, "MOVED", 0);
    assert_status(lk_lock_acquire(masters->lock, 0, NULL, &hold), LK_ESERVER);
    assert_non_null(strstr(lk_last_error(), "MOVED"));
    assert_in_range(played_now_ms(masters) - began, PATIENCE_MS,
                    PATIENCE_MS + 10);
    assert_in_range(masters->nodes[0].scripts + masters->nodes[1].scripts, 2,
                    100);
}

/* ---- renewals --------------------------------------------------------------------- */

TEST(an_answer_behind_asking_is_of_that_move_alone)
{
    lk_hold *hold = masters_take();
    uint64_t renewals = played_stats(masters).renewals;
    char ask[64];

    masters->nodes[0].says = masters_at_slot(ask, "ASK", 1);
    masters->nodes[1].says = "*2\r\n:1\r\n*0\r\n";
    masters->nodes[1].slow_ms = LATE_MS;
    masters->nodes[2].says =
        "-TRYAGAIN Multiple keys request during rehashing of "
        "slot\r\n";
    while (masters->nodes[1].askings == 0)
        played_run_ms(masters, 1);
    move_to(2);
    played_run_ms(masters, LATE_MS + ROUND_MS);
    assert_true(masters->nodes[2].scripts > 0);
    assert_int_equal(played_stats(masters).renewals, renewals);
    played_run_ms(masters, BELIEF_MS);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* WAIT is answered at once where the replica has all. */
TEST(what_is_refused_for_replicas_pauses)
{
    const lk_acquire_options one = {LK_ACQUIRE_OPTIONS_INIT, .replicas = 1,
                                    .replica_ms = PATIENCE_MS};
    unsigned scripts;
    call c = {0};

    assert_status(lk_lock_acquire_async(masters->lock, LONG_MS, &one,
                                        call_on_acquire, &c),
                  LK_OK);
    while (!masters->is_held)
        played_run_ms(masters, 1);
    masters->nodes[0].says =
        "-TRYAGAIN Multiple keys request during rehashing of "
        "slot\r\n";
    scripts = masters->nodes[0].scripts;
    played_run_ms(masters, ROUND_MS);
    assert_in_range(masters->nodes[0].scripts - scripts, 2, 40);
    assert_int_equal(atomic_load(&c.ends), 0);
    masters->nodes[0].says = NULL;
    played_run_ms(masters, 100);
    assert_int_equal(atomic_load(&c.ends), 1);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* The renewal at the master before is answered late, and the new one has nothing to
   wait for meanwhile. */
TEST(no_wait_is_for_a_renewal_that_is_elsewhere)
{
    const lk_acquire_options one = {LK_ACQUIRE_OPTIONS_INIT, .replicas = 1,
                                    .replica_ms = LINGER_MS};
    call c = {0};

    assert_status(lk_lock_acquire_async(masters->lock, LONG_MS, &one,
                                        call_on_acquire, &c),
                  LK_OK);
    while (!masters->is_held)
        played_run_ms(masters, 1);
    masters->nodes[0].says =
        "-TRYAGAIN Multiple keys request during rehashing of "
        "slot\r\n";
    masters->nodes[0].slow_ms = LATE_MS;
    move_to(1);
    played_run_ms(masters, 3 * (uint64_t)LATE_MS);
    assert_int_equal(atomic_load(&c.ends), 1);
    assert_in_range(masters->nodes[1].waits, 1, 10);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* Hardly two of them share a slot, and so a question. */
MASTERS_OWN_TEST(all_that_is_due_is_asked_for_in_time)
{
    lk_lock *locks[HOLDS];
    lk_hold *holds[HOLDS];
    unsigned renewals;

    masters_begin(MASTERS, NULL);
    for (size_t i = 0; i < HOLDS; i++) {
        locks[i] = played_lock_at(masters, 0);
        masters->is_held = false;
        assert_status(lk_lock_acquire(locks[i], LONG_MS, NULL, &holds[i]),
                      LK_OK);
    }
    played_run_ms(masters, LINGER_MS);
    played_ways(masters, 1, ANSWER_MS);
    renewals = played_renewals(masters);
    meet_again();
    while (played_renewals(masters) == renewals)
        played_run_ms(masters, 1);
    played_run_ms(masters, DRAIN_MS);
    assert_true(played_renewals(masters) >= renewals + HOLDS / 2);
    played_ways(masters, 1, 1);
    for (size_t i = 0; i < HOLDS; i++) {
        assert_status(lk_hold_release(holds[i]), LK_OK);
        lk_lock_free(locks[i]);
    }
}

/* ---- subscriptions ---------------------------------------------------------------- */

TEST(what_was_given_up_is_answered_after_a_move)
{
    call c = {0};
    uint64_t lost;

    for (size_t i = 0; i < MASTERS; i++)
        masters->nodes[i].has_shards = true;
    meet_again();
    played_run_ms(masters, ROUND_MS);
    masters->is_held = true;
    assert_status(lk_lock_acquire_async(masters->lock, LONG_MS, NULL,
                                        call_on_acquire, &c),
                  LK_OK);
    played_run_ms(masters, ROUND_MS);
    masters->is_held = false;
    played_run_ms(masters, TWICE_MS);
    assert_int_equal(atomic_load(&c.ends), 1);
    assert_status(call_wait(&c, NULL), LK_OK);
    lost = played_stats(masters).disconnects;
    masters->nodes[0].slow_ms = LATE_MS;
    while (masters->nodes[0].unsubscribed == 0)
        played_run_ms(masters, 10);
    move_to(1);
    played_run_ms(masters, LINGER_MS);
    assert_int_equal(played_stats(masters).disconnects, lost);
    assert_status(lk_hold_release(c.hold), LK_OK);
}
