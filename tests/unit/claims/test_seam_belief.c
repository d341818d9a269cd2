/* SPDX-License-Identifier: MIT */

/*
 * A client on a virtual clock, and the masters of a cluster that the test plays:
 * whom it believes, when it takes anything new from a master, and what it makes of
 * messages and hints.
 */

#include <latchkey/latchkey.h>

#include <errno.h>
#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/masters.h"

enum {
    MISSED_MS = 10000,
    SOON_MS = 300, /* masters that are asked more often were so again */
    TWICE_MS = 2 * BELIEF_MS,
    NEVER_MS = 2 * (BELIEF_MS + MISSED_MS),
    PHASES = 12, /* of a round */
    PHASE_MS = 170
};

static void assert_not_taken(int64_t ms)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(masters->lock, ms, NULL, &hold),
                  LK_ETIMEDOUT);
}

static lk_status end_of(call *c)
{
    for (unsigned ms = 0; ms < LONG_MS && atomic_load(&c->ends) == 0; ms++)
        played_run_ms(masters, 1);
    return call_wait(c, NULL);
}

/* ---- a message by itself proves nothing -------------------------------------- */

/* Queued behind another; the connection for messages stands. */
static void queue_up(call *c)
{
    assert_status(lk_hold_release(masters_take()), LK_OK);
    played_run_ms(masters, 100);
    masters->is_held = true;
    masters->counts[PLAYED_CONFIRM] = 0;
    assert_status(lk_lock_acquire_async(masters->lock, LK_FOREVER, NULL,
                                        call_on_acquire, c),
                  LK_OK);
    played_run_ms(masters, 10);
    assert_int_equal(masters->waiter_count, 1);
}

MASTERS_TEST(a_grant_that_is_told_is_asked_for)
{
    call c = {0};

    queue_up(&c);
    played_grant(masters, masters->ticket, 5000, 3000);
    played_run_ms(masters, 2);
    assert_int_equal(atomic_load(&c.ends), 0);
    assert_int_equal(masters->counts[PLAYED_CONFIRM], 1);
    assert_status(end_of(&c), LK_OK);
    assert_int_equal(lk_hold_fence(c.hold), 5000);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* As a master tells that stood still while another was elected. */
MASTERS_TEST(a_grant_that_its_master_does_not_know_is_none)
{
    call c = {0};

    queue_up(&c);
    masters->answers[PLAYED_CONFIRM] = PLAYED_LOST("2");
    played_grant(masters, masters->ticket, 5000, 3000);
    played_run_ms(masters, 100);
    assert_int_equal(atomic_load(&c.ends), 0);
    assert_int_equal(played_stats(masters).holding, 0);
    masters->answers[PLAYED_CONFIRM] = NULL;
    masters->is_held = false;
    assert_status(end_of(&c), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* ---- a master that was not heard of -------------------------------------------- */

MASTERS_TEST(whoever_stood_still_takes_nothing_new_for_a_while)
{
    fake_world_freeze(masters->world, (BELIEF_MS + 1000) * FAKE_MS);
    assert_in_range(masters_take_ms(), BELIEF_MS, BELIEF_MS + ROUND_MS);
    assert_in_range(masters_take_ms(), 0, SOON_MS);
}

/* It has never followed another, as far as its greeting goes; but that is from
   before, and it may have followed one and been elected again. */
MASTERS_TEST(a_greeting_from_before_says_nothing_of_that_while)
{
    for (size_t i = 0; i < MASTERS; i++) {
        masters->nodes[i].is_young = false;
        played_kill(masters, i);
        masters->nodes[i].connect_answer = 0;
    }
    assert_in_range(masters_take_ms(), 0, ROUND_MS);
    played_run_ms(masters, BELIEF_MS + ROUND_MS);
    fake_world_freeze(masters->world, (BELIEF_MS + 1000) * FAKE_MS);
    assert_in_range(masters_take_ms(), BELIEF_MS, BELIEF_MS + ROUND_MS);
    assert_in_range(masters_take_ms(), 0, SOON_MS);
}

/* A client that has nothing asks less often. */
MASTERS_TEST(a_moment_of_standing_still_costs_nothing)
{
    lk_hold *hold;

    for (unsigned i = 0; i < PHASES; i++) {
        played_run_ms(masters, PHASE_MS);
        fake_world_freeze(masters->world, (BELIEF_MS - 2100) * FAKE_MS);
        assert_in_range(masters_take_ms(), 0, SOON_MS);
    }
    hold = masters_take();
    for (unsigned i = 0; i < PHASES; i++) {
        played_run_ms(masters, TWICE_MS + PHASE_MS);
        fake_world_freeze(masters->world, (BELIEF_MS - 1100) * FAKE_MS);
        assert_status(lk_hold_check(hold), LK_OK);
    }
    assert_status(lk_hold_release(hold), LK_OK);
}

static unsigned maps_all(void)
{
    unsigned sum = 0;

    for (size_t i = 0; i < MASTERS; i++)
        sum += masters->nodes[i].maps;
    return sum;
}

/* The answers to what was asked before come behind its end. */
MASTERS_TEST(a_hold_that_was_over_is_not_valid_again)
{
    for (unsigned i = 0; i < PHASES; i++) {
        unsigned maps;
        lk_hold *hold;

        played_run_ms(masters, TWICE_MS + 2 * ROUND_MS + i * PHASE_MS);
        hold = masters_take();
        played_run_ms(masters, TWICE_MS);
        maps = maps_all();
        while (maps_all() == maps)
            played_run_ms(masters, 1);
        fake_world_freeze(masters->world, (BELIEF_MS - 500) * FAKE_MS);
        assert_status(lk_hold_check(hold), LK_ELOST);
        played_run_ms(masters, ROUND_MS);
        assert_status(lk_hold_check(hold), LK_ELOST);
        assert_int_equal(lk_hold_loss(hold), LK_LOSS_UNREACHABLE);
        assert_status(lk_hold_release(hold), LK_ELOST);
    }
}

/* No renewal is answered, and its lease is longer. */
static void assert_lost_with_belief(lk_hold *hold)
{
    played_run_ms(masters, ROUND_MS);
    assert_status(lk_hold_check(hold), LK_OK);
    played_run_ms(masters, BELIEF_MS);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_UNREACHABLE);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

static const char tryagain[] = "-TRYAGAIN Multiple keys request during "
                               "rehashing of slot\r\n";

/* Both masters are believed, but neither is known to know it. */
MASTERS_TEST(a_hold_is_under_no_other_master_before_that_knows_it)
{
    lk_hold *hold = masters_take();

    played_run_ms(masters, TWICE_MS);
    for (size_t i = 0; i < MASTERS; i++)
        masters->nodes[i].named[played_slot() / PLAYED_PART] = 1;
    masters->nodes[1].says = tryagain;
    assert_lost_with_belief(hold);
}

MASTERS_TEST(a_hold_is_under_no_other_data_before_these_know_it)
{
    lk_hold *hold = masters_take();

    played_run_ms(masters, TWICE_MS);
    masters->nodes[0].data++;
    masters->nodes[0].says = tryagain;
    played_kill(masters, 0);
    masters->nodes[0].connect_answer = 0;
    assert_lost_with_belief(hold);
}

/* ---- a master that few name ----------------------------------------------------- */

MASTERS_TEST(a_master_that_few_name_for_a_while_gives_nothing_new)
{
    masters->nodes[1].is_mute = masters->nodes[2].is_mute = true;
    played_run_ms(masters, BELIEF_MS + ROUND_MS);
    masters->nodes[1].is_mute = masters->nodes[2].is_mute = false;
    assert_in_range(masters_take_ms(), BELIEF_MS, 2 * BELIEF_MS);
}

/* What it said before may be of another election. */
MASTERS_TEST(one_that_is_still_silent_does_not_name_it)
{
    masters->nodes[2].is_mute = true;
    fake_world_freeze(masters->world, (BELIEF_MS + 1000) * FAKE_MS);
    /* At rest a belief may have had a second left. */
    assert_in_range(masters_take_ms(), MISSED_MS + BELIEF_MS - 3000,
                    MISSED_MS + BELIEF_MS + ROUND_MS);
}

/* To stand still is not to have heard nothing. */
MASTERS_TEST(time_that_the_client_stood_still_is_no_silence)
{
    masters->nodes[2].is_mute = true;
    fake_world_freeze(masters->world, (MISSED_MS + BELIEF_MS) * FAKE_MS);
    assert_in_range(masters_take_ms(), MISSED_MS + BELIEF_MS,
                    MISSED_MS + BELIEF_MS + ROUND_MS);
}

/* Nor is it known that nobody was there meanwhile. */
MASTERS_TEST(time_that_the_client_stood_still_is_no_refusal)
{
    played_kill(masters, 2);
    played_run_ms(masters, SOON_MS);
    fake_world_freeze(masters->world, (MISSED_MS + BELIEF_MS) * FAKE_MS);
    assert_in_range(masters_take_ms(), 2 * BELIEF_MS,
                    2 * BELIEF_MS + 2 * ROUND_MS);
}

/* ---- a new master ----------------------------------------------------------------- */

MASTERS_TEST(a_hint_is_no_election)
{
    char moved[64];
    call c = {0};
    uint64_t elected;

    played_name(masters, 3, 0, 3);
    masters->nodes[0].says = masters_at_slot(moved, "MOVED", 3);
    assert_status(lk_lock_acquire_async(masters->lock, LK_FOREVER, NULL,
                                        call_on_acquire, &c),
                  LK_OK);
    played_run_ms(masters, 1500);
    assert_true(masters->nodes[3].connects > 0);
    played_replace(masters, 0, 3);
    elected = played_now_ms(masters);
    assert_status(end_of(&c), LK_OK);
    assert_in_range(played_now_ms(masters) - elected, BELIEF_MS,
                    BELIEF_MS + ROUND_MS);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* The hold is known at the new master before a majority has named that. */
static lk_hold *hold_that_few_follow(const lk_client_options *options)
{
    lk_hold *hold;
    char moved[64];

    masters_begin(MASTERS, options);
    hold = masters_take();
    played_name(masters, 3, 0, 3);
    masters->nodes[0].says = masters_at_slot(moved, "MOVED", 3);
    while (masters->nodes[3].scripts == 0)
        played_run_ms(masters, 10);
    played_run_ms(masters, SOON_MS);
    assert_status(lk_hold_check(hold), LK_OK);
    return hold;
}

MASTERS_OWN_TEST(a_hold_outlasts_that_few_know_of_its_new_master)
{
    const lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                                     .watchdog_ms = 6000};
    lk_hold *hold = hold_that_few_follow(&brief);

    played_replace(masters, 0, 3);
    played_run_ms(masters, BELIEF_MS);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* The master was not asked, so it is no answer that is missing. */
MASTERS_OWN_TEST(an_extension_says_that_nothing_new_is_taken)
{
    const lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                                     .watchdog_ms = 6000,
                                     .command_timeout_ms = 500};
    lk_hold *hold = hold_that_few_follow(&brief);

    assert_status(lk_hold_extend(hold, LONG_MS), LK_EOFFLINE);
    assert_non_null(
        strstr(lk_last_error(), "nothing new is taken from it yet"));
    assert_status(lk_hold_release(hold), LK_OK);
}

/* Two of three are a majority, and so are the other and the one before. */
MASTERS_TEST(of_three_both_others_have_to_name_a_new_master)
{
    played_kill(masters, 0);
    played_run_ms(masters, 1);
    for (size_t i = 1; i <= MASTERS; i++)
        played_name(masters, i, i == 2 ? PLAYED_NOBODY : 0, 3);
    assert_not_taken(NEVER_MS);
    assert_int_equal(masters->nodes[3].scripts, 0);
    played_replace(masters, 0, 3);
    assert_in_range(masters_take_ms(), BELIEF_MS, BELIEF_MS + ROUND_MS);
}

/* One that names nobody may have named the one before a moment ago. */
MASTERS_TEST(one_that_names_nobody_has_not_named_a_new_master)
{
    played_kill(masters, 0);
    played_run_ms(masters, 1);
    played_name(masters, 1, 0, 3);
    played_name(masters, 2, 0, PLAYED_NOBODY);
    played_name(masters, 3, 0, 3);
    assert_not_taken(NEVER_MS);
    assert_int_equal(masters->nodes[3].scripts, 0);
    played_name(masters, 2, PLAYED_NOBODY, 3);
    assert_in_range(masters_take_ms(), BELIEF_MS, BELIEF_MS + ROUND_MS);
}

/* It is taken from the new master, else that would never be named for all. */
MASTERS_TEST(a_slot_that_is_nobodys_any_more_keeps_no_other_waiting)
{
    size_t part = PLAYED_PARTS / MASTERS - 1;

    played_kill(masters, 0);
    played_replace(masters, 0, 3);
    while (masters->nodes[3].maps == 0)
        played_run_ms(masters, 1);
    for (size_t i = 1; i <= MASTERS; i++)
        masters->nodes[i].named[part] = PLAYED_NOBODY;
    assert_in_range(masters_take_ms(), BELIEF_MS, 2 * BELIEF_MS + ROUND_MS);
}

/* How long after both were lost it takes until the new one gives. */
static uint64_t take_without_ms(size_t other, int connect_answer)
{
    uint64_t began = played_now_ms(masters);

    played_kill(masters, 0);
    played_kill(masters, other);
    masters->nodes[other].connect_answer = connect_answer;
    played_replace(masters, 0, 3);
    (void)masters_take_ms();
    return played_now_ms(masters) - began;
}

/* Others may reach it, and believe what it says. */
MASTERS_TEST(one_that_says_nothing_is_waited_for_in_vain_only_so_long)
{
    assert_in_range(take_without_ms(2, -EHOSTUNREACH), MISSED_MS + BELIEF_MS,
                    MISSED_MS + BELIEF_MS + 2 * ROUND_MS);
}

MASTERS_TEST(one_that_is_not_there_is_waited_for_as_long_as_believed)
{
    assert_in_range(take_without_ms(2, -ECONNREFUSED), 2 * BELIEF_MS,
                    2 * BELIEF_MS + 2 * ROUND_MS);
}

/* Only what is so all the time shows that nobody is there. */
MASTERS_TEST(one_that_is_not_reached_between_refusals_may_be_there)
{
    call c = {0};

    played_kill(masters, 0);
    played_kill(masters, 2);
    played_replace(masters, 0, 3);
    assert_status(lk_lock_acquire_async(masters->lock, LK_FOREVER, NULL,
                                        call_on_acquire, &c),
                  LK_OK);
    for (unsigned i = 0; i < 2; i++) {
        played_run_ms(masters, BELIEF_MS - ROUND_MS);
        masters->nodes[2].connect_answer = -EHOSTUNREACH;
        played_run_ms(masters, ROUND_MS);
        masters->nodes[2].connect_answer = -ECONNREFUSED;
    }
    played_run_ms(masters, BELIEF_MS - ROUND_MS);
    assert_int_equal(masters->nodes[3].scripts, 0);
    assert_status(end_of(&c), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* It has started again with a map from before. */
MASTERS_TEST(one_that_is_there_again_has_its_say)
{
    call c = {0};

    played_kill(masters, 0);
    played_kill(masters, 2);
    played_name(masters, 1, 0, 3);
    played_name(masters, 3, 0, 3);
    assert_status(lk_lock_acquire_async(masters->lock, LK_FOREVER, NULL,
                                        call_on_acquire, &c),
                  LK_OK);
    played_run_ms(masters, 2 * BELIEF_MS - ROUND_MS);
    masters->nodes[2].connect_answer = 0;
    masters->nodes[2].is_mute = true; /* not at once */
    played_run_ms(masters, BELIEF_MS);
    masters->nodes[2].is_mute = false;
    played_run_ms(masters, NEVER_MS);
    assert_int_equal(masters->nodes[3].scripts, 0);
    played_name(masters, 2, 0, 3);
    assert_status(end_of(&c), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* A caller's own time ends it, or nobody waits for the master any more. */
MASTERS_TEST(a_wait_without_its_master_has_its_own_time)
{
    lk_hold *hold = NULL;
    uint64_t began;

    played_kill(masters, 0);
    played_run_ms(masters, 1);
    began = played_now_ms(masters);
    assert_not_taken(LONG_MS / 2);
    assert_in_range(played_now_ms(masters) - began, LONG_MS / 2,
                    LONG_MS / 2 + 1);
    assert_non_null(strstr(lk_last_error(), "n0:6379 cannot be reached"));
    assert_status(lk_lock_acquire(masters->lock, INT64_C(10) * LONG_MS, NULL,
                                  &hold),
                  LK_EOFFLINE);
    assert_in_range(played_now_ms(masters) - began, LONG_MS - 10, LONG_MS + 10);
}

/* As a short command that locks. */
MASTERS_OWN_TEST(a_client_that_starts_while_a_master_is_away_waits_as_long)
{
    masters = played_new_cluster(3, NULL, MASTERS, NULL);
    played_kill(masters, 2);
    assert_in_range(masters_take_ms(), 2 * BELIEF_MS, 2 * BELIEF_MS + ROUND_MS);
}
