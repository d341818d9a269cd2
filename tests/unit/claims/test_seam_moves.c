/* SPDX-License-Identifier: MIT */

/*
 * A client on a virtual clock, and the masters of a cluster that the test plays:
 * holds, waits, questions and subscriptions whose slot goes to another master, or
 * whose master is not believed for a moment.
 */

#include <latchkey/latchkey.h>

#include <stdio.h>
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

static played *p;

static int teardown(NO_STATE)
{
    played_free(p);
    return 0;
}

static int setup(NO_STATE)
{
    const lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                                     .watchdog_ms = BRIEF_MS,
                                     .command_timeout_ms = PATIENCE_MS};

    p = masters_new(MASTERS, &brief);
    return 0;
}

/* Each is met anew. */
static void meet_again(void)
{
    for (size_t i = 0; i < MASTERS; i++) {
        played_kill(p, i);
        p->nodes[i].connect_answer = 0;
    }
}

/* From now on all masters name this one for the slot of "n". */
static void move_to(size_t node)
{
    for (size_t i = 0; i < MASTERS; i++)
        p->nodes[i].named[played_slot() / PLAYED_PART] = (uint16_t)node;
}

static const char *at_slot(char text[64], const char *word, size_t node)
{
    (void)snprintf(text, 64, "-%s %u n%zu:6379\r\n", word, played_slot(), node);
    return text;
}

/* ---- belief -------------------------------------------------------------------- */

static void slow_down(uint64_t first_ms, uint64_t others_ms)
{
    for (size_t i = 0; i < MASTERS; i++)
        p->nodes[i].slow_ms = i == 0 ? first_ms : others_ms;
}

/* The first answers count no more when the second one of a majority comes, and
   nothing but this wait looks in between. */
static void a_wait_goes_on_when_its_master_is_believed_again(NO_STATE)
{
    unsigned maps = p->nodes[0].maps;
    call c = {0};

    for (size_t i = 0; i < MASTERS; i++)
        p->nodes[i].is_young = false;
    meet_again();
    while (p->nodes[0].maps == maps)
        played_run_ms(p, 1);
    slow_down(DOUBT_MS - SOON_MS - 20, DOUBT_MS - SOON_MS + 20);
    played_run_ms(p, DOUBT_MS + 5);
    assert_int_equal(p->nodes[0].maps, maps + 2);
    slow_down(0, 0);
    assert_status(lk_lock_acquire_async(p->lock, LONG_MS, NULL, call_on_acquire,
                                        &c),
                  LK_OK);
    played_run_ms(p, 3);
    assert_int_equal(p->nodes[0].scripts, 0);
    played_run_ms(p, 50);
    assert_int_equal(atomic_load(&c.ends), 1);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* That one is named by all, and may be there; but it has not said of this hold
   that it is there as well. */
static void a_hold_is_not_believed_at_a_master_never_reached(NO_STATE)
{
    lk_hold *hold = masters_take(p);

    p->nodes[3].connect_answer = -111;
    played_kill(p, 0);
    played_replace(p, 0, 3);
    played_run_ms(p, BELIEF_MS);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* ---- questions --------------------------------------------------------------------- */

/* The slot has gone on already where it is sent to; both are known within moments. */
static void a_try_follows_its_slot_twice(NO_STATE)
{
    char once[64], twice[64];
    lk_hold *hold = NULL;

    p->nodes[0].says = at_slot(once, "MOVED", 1);
    p->nodes[1].says = at_slot(twice, "MOVED", 2);
    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
    assert_true(p->nodes[2].scripts > 0);
    move_to(2);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* Each has heard that the other one has it. */
static void a_try_is_not_sent_to_and_fro_for_ever(NO_STATE)
{
    uint64_t began = played_now_ms(p);
    char there[64], back[64];
    lk_hold *hold = NULL;

    p->nodes[0].says = at_slot(there, "MOVED", 1);
    p->nodes[1].says = at_slot(back, "MOVED", 0);
    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_ESERVER);
    assert_non_null(strstr(lk_last_error(), "MOVED"));
    assert_in_range(played_now_ms(p) - began, PATIENCE_MS, PATIENCE_MS + 10);
    assert_in_range(p->nodes[0].scripts + p->nodes[1].scripts, 2, 100);
}

/* ---- renewals --------------------------------------------------------------------- */

static void an_answer_behind_asking_is_of_that_move_alone(NO_STATE)
{
    lk_hold *hold = masters_take(p);
    uint64_t renewals = played_stats(p).renewals;
    char ask[64];

    p->nodes[0].says = at_slot(ask, "ASK", 1);
    p->nodes[1].says = "*2\r\n:1\r\n*0\r\n";
    p->nodes[1].slow_ms = LATE_MS;
    p->nodes[2].says = "-TRYAGAIN Multiple keys request during rehashing of "
                       "slot\r\n";
    while (p->nodes[1].askings == 0)
        played_run_ms(p, 1);
    move_to(2);
    played_run_ms(p, LATE_MS + ROUND_MS);
    assert_true(p->nodes[2].scripts > 0);
    assert_int_equal(played_stats(p).renewals, renewals);
    played_run_ms(p, BELIEF_MS);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* WAIT is answered at once where the replica has all. */
static void what_is_refused_for_replicas_pauses(NO_STATE)
{
    const lk_acquire_options one = {LK_ACQUIRE_OPTIONS_INIT, .replicas = 1,
                                    .replica_ms = PATIENCE_MS};
    unsigned scripts;
    call c = {0};

    assert_status(lk_lock_acquire_async(p->lock, LONG_MS, &one, call_on_acquire,
                                        &c),
                  LK_OK);
    while (!p->is_held)
        played_run_ms(p, 1);
    p->nodes[0].says = "-TRYAGAIN Multiple keys request during rehashing of "
                       "slot\r\n";
    scripts = p->nodes[0].scripts;
    played_run_ms(p, ROUND_MS);
    assert_in_range(p->nodes[0].scripts - scripts, 2, 40);
    assert_int_equal(atomic_load(&c.ends), 0);
    p->nodes[0].says = NULL;
    played_run_ms(p, 100);
    assert_int_equal(atomic_load(&c.ends), 1);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* Hardly two of them share a slot, and so a question. */
static void all_that_is_due_is_asked_for_in_time(NO_STATE)
{
    lk_lock *locks[HOLDS];
    lk_hold *holds[HOLDS];
    unsigned renewals;

    p = masters_new(MASTERS, NULL);
    for (size_t i = 0; i < HOLDS; i++) {
        locks[i] = played_lock_at(p, 0);
        p->is_held = false;
        assert_status(lk_lock_acquire(locks[i], LONG_MS, NULL, &holds[i]),
                      LK_OK);
    }
    played_run_ms(p, LINGER_MS);
    played_ways(p, 1, ANSWER_MS);
    renewals = played_renewals(p);
    meet_again();
    while (played_renewals(p) == renewals)
        played_run_ms(p, 1);
    played_run_ms(p, DRAIN_MS);
    assert_true(played_renewals(p) >= renewals + HOLDS / 2);
    played_ways(p, 1, 1);
    for (size_t i = 0; i < HOLDS; i++) {
        assert_status(lk_hold_release(holds[i]), LK_OK);
        lk_lock_free(locks[i]);
    }
}

/* ---- subscriptions ---------------------------------------------------------------- */

static void what_was_given_up_is_answered_after_a_move(NO_STATE)
{
    call c = {0};
    uint64_t lost;

    for (size_t i = 0; i < MASTERS; i++)
        p->nodes[i].has_shards = true;
    meet_again();
    played_run_ms(p, ROUND_MS);
    p->is_held = true;
    assert_status(lk_lock_acquire_async(p->lock, LONG_MS, NULL, call_on_acquire,
                                        &c),
                  LK_OK);
    played_run_ms(p, ROUND_MS);
    p->is_held = false;
    played_run_ms(p, TWICE_MS);
    assert_int_equal(atomic_load(&c.ends), 1);
    assert_status(call_wait(&c, NULL), LK_OK);
    lost = played_stats(p).disconnects;
    p->nodes[0].slow_ms = LATE_MS;
    while (p->nodes[0].unsubscribed == 0)
        played_run_ms(p, 10);
    move_to(1);
    played_run_ms(p, LINGER_MS);
    assert_int_equal(played_stats(p).disconnects, lost);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_wait_goes_on_when_its_master_is_believed_again),
        TEST(a_hold_is_not_believed_at_a_master_never_reached),
        TEST(a_try_follows_its_slot_twice),
        TEST(a_try_is_not_sent_to_and_fro_for_ever),
        TEST(an_answer_behind_asking_is_of_that_move_alone),
        TEST(what_is_refused_for_replicas_pauses),
        cmocka_unit_test_teardown(all_that_is_due_is_asked_for_in_time,
                                  teardown),
        TEST(what_was_given_up_is_answered_after_a_move),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
