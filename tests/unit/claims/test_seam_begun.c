/* SPDX-License-Identifier: MIT */

/*
 * A master that begins again while the sentinels go on naming it, on a virtual clock:
 * what it knows less than the process before it, others may still believe.
 */

#include <latchkey/latchkey.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/playing.h"

enum {
    LONG_MS = 60000,
    BELIEF_MS = 3000,
    BRIEF_MS = 2800, /* a lease that ends before the next process gives */
    SOME_MS = 100,
    SLACK_MS = 20
};

static void begin_as(played *p, const char *run_id, unsigned age)
{
    (void)snprintf(p->run_id, sizeof(p->run_id), "%s\r\nuptime_in_seconds:%u",
                   run_id, age);
}

/* The process has been there for long. */
static int set_up(void **state, lk_failover failover, uint64_t watchdog_ms)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .offline_ms = LONG_MS,
                                       .watchdog_ms = watchdog_ms,
                                       .failover = failover};
    played *p = played_new_group(1, &options);

    begin_as(p, "one", 1000);
    played_break(p);
    played_run_ms(p, 2 * (uint64_t)BELIEF_MS);
    *state = p;
    return 0;
}

static int setup(void **state)
{
    return set_up(state, LK_FAILOVER_SAFE, 0);
}

static int setup_fast(void **state)
{
    return set_up(state, LK_FAILOVER_FAST, 0);
}

static int setup_brief(void **state)
{
    return set_up(state, LK_FAILOVER_SAFE, BRIEF_MS);
}

static lk_hold *take(played *p, int64_t wait_ms)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(p->lock, wait_ms, NULL, &hold), LK_OK);
    return hold;
}

/* Waits for the lock; returns for how many milliseconds. */
static uint64_t take_and_give(played *p)
{
    uint64_t began = played_now_ms(p);
    lk_hold *hold = take(p, LONG_MS);
    uint64_t ended = played_now_ms(p);

    assert_status(lk_hold_release(hold), LK_OK);
    return ended - began;
}

static void restart(played *p)
{
    begin_as(p, "two", 0);
    p->is_held = false;
    played_break(p);
}

#define TEST(name) CHECK_TEST_OF(name, played *p, setup, playing_teardown)
#define FAST_TEST(name)                                                        \
    CHECK_TEST_OF(name, played *p, setup_fast, playing_teardown)
#define BRIEF_TEST(name)                                                       \
    CHECK_TEST_OF(name, played *p, setup_brief, playing_teardown)

/* ---- nothing new ---------------------------------------------------------------- */

TEST(one_that_is_old_gives_at_once)
{
    assert_in_range(take_and_give(p), 0, SLACK_MS);
}

TEST(one_that_has_begun_gives_nothing_for_a_while)
{
    uint64_t began = played_now_ms(p);
    lk_hold *hold = NULL;

    restart(p);
    played_run_ms(p, SOME_MS);
    assert_status(lk_client_wait_ready(p->client, 0), LK_OK);
    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_EOFFLINE);
    assert_non_null(strstr(lk_last_error(), "begun again"));
    (void)take_and_give(p);
    assert_in_range(played_now_ms(p) - began, BELIEF_MS, BELIEF_MS + SLACK_MS);
}

/* The one before was heard a moment ago, but at another place. */
TEST(another_master_is_as_old_as_it_says)
{
    begin_as(p, "two", 1000);
    p->named = "other";
    played_run_ms(p, BELIEF_MS / 2);
    assert_in_range(take_and_give(p), 0, SLACK_MS);
}

/* Its age is what such a client has to go by. */
TEST(nor_to_a_client_that_did_not_meet_the_one_before)
{
    begin_as(p, "one", 3); /* 2 s for certain */
    played_break(p);
    played_run_ms(p, SOME_MS);
    assert_in_range(take_and_give(p), BELIEF_MS - 2000 - SOME_MS - SLACK_MS,
                    BELIEF_MS - 2000);
}

TEST(one_that_does_not_say_its_age_has_begun_when_it_was_met)
{
    (void)snprintf(p->run_id, sizeof(p->run_id), "one");
    played_break(p);
    played_run_ms(p, SOME_MS);
    assert_in_range(take_and_give(p), BELIEF_MS - SOME_MS - SLACK_MS,
                    BELIEF_MS);
}

FAST_TEST(where_speed_matters_more_it_gives_at_once)
{
    restart(p);
    played_run_ms(p, SOME_MS);
    assert_in_range(take_and_give(p), 0, SLACK_MS);
}

/* ---- what one has ---------------------------------------------------------------- */

static void run_checked(played *p, lk_hold *hold, uint64_t ms)
{
    for (uint64_t i = 0; i < ms; i += SOME_MS) {
        assert_status(lk_hold_check(hold), LK_OK);
        played_run_ms(p, SOME_MS);
    }
    assert_status(lk_hold_check(hold), LK_OK);
}

TEST(what_it_does_not_know_is_lost_at_once)
{
    lk_hold *hold = take(p, 0);

    restart(p);
    played_renew_so(p, PLAYED_LOST("3"));
    played_run_ms(p, SLACK_MS);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_DELETED);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* The next process knows the hold, and prolongs nothing while the one before may be
   believed: there its lease ends. */
BRIEF_TEST(a_lease_gets_no_longer_while_nothing_new_is_given)
{
    lk_hold *hold = take(p, 0);
    unsigned renewals;
    uint64_t began;

    run_checked(p, hold, BELIEF_MS);
    renewals = played_renewals(p);
    began = played_now_ms(p);
    begin_as(p, "two", 0);
    played_break(p);
    while (lk_hold_check(hold) == LK_OK && played_now_ms(p) < began + BELIEF_MS)
        played_run_ms(p, 1);
    assert_in_range(played_now_ms(p) - began, BRIEF_MS / 3 * 2 - SOME_MS,
                    BRIEF_MS);
    assert_true(played_renewals(p) > renewals);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_in_range(take_and_give(p), 1, BELIEF_MS);
}

/* It may be another by now, and may give to others when that has been so long. */
TEST(without_an_answer_a_hold_ends_though_it_is_named)
{
    lk_hold *hold = take(p, 0);

    p->connect_answer = SIM_SILENT;
    played_break(p);
    played_run_ms(p, BELIEF_MS);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_UNREACHABLE);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* Nobody gives anything there. A lease outlives that until another is named. */
TEST(while_nobody_is_there_a_hold_stays)
{
    lk_hold *hold = take(p, 0);

    p->connect_answer = -ECONNREFUSED;
    played_break(p);
    run_checked(p, hold, 4 * (uint64_t)BELIEF_MS);
    p->connect_answer = SIM_SILENT;
    played_run_ms(p, BELIEF_MS + SLACK_MS);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

TEST(at_the_same_process_a_hold_stays)
{
    lk_hold *hold = take(p, 0);

    p->connect_answer = -ENETUNREACH;
    played_break(p);
    run_checked(p, hold, BELIEF_MS / 3);
    p->connect_answer = 0;
    played_renew_so(p, played_silence);
    run_checked(p, hold, 2 * (uint64_t)BELIEF_MS);
    played_renew_so(p, NULL);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* For how long a hold is believed from when the master falls silent on. */
static uint64_t believed_ms(played *p)
{
    lk_hold *hold = take(p, LONG_MS);
    uint64_t began;

    played_run_ms(p, SOME_MS);
    p->is_mute = true;
    began = played_now_ms(p);
    while (lk_hold_check(hold) == LK_OK)
        played_run_ms(p, SOME_MS);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_UNREACHABLE);
    assert_status(lk_hold_release(hold), LK_ELOST);
    return played_now_ms(p) - began;
}

/* As docs/sentinel.md says: a PING after 3 s, no answer within command_timeout_ms,
   and the trust of what the sentinels have said until then. */
TEST(a_master_that_falls_silent_is_believed_for_eight_seconds)
{
    assert_in_range(believed_ms(p), 3000 + 2000 + BELIEF_MS - 1500,
                    3000 + 2000 + BELIEF_MS);
}
