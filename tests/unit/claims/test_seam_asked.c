/* SPDX-License-Identifier: MIT */

/* Whom a client of a cluster asks for what it believes, how often, and behind what. */

#include <latchkey/latchkey.h>

#include <errno.h>
#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/masters.h"

enum {
    MANY = 5,
    MISSED_MS = 10000,
    SOON_MS = 300, /* masters that are asked more often were so again */
    TWICE_MS = 2 * BELIEF_MS,
    PHASES = 12, /* of a round */
    PHASE_MS = 170,
    CROWD = 64, /* commands, behind which a question does not go */
    OTHERS = 512
};

/* ---- who is asked ---------------------------------------------------------------- */

static void assert_each_asked(uint64_t ms, unsigned least, unsigned most)
{
    for (size_t i = 0; i < MANY; i++)
        masters->nodes[i].maps = 0;
    played_run_ms(masters, ms);
    for (size_t i = 0; i < MANY; i++)
        assert_in_range(masters->nodes[i].maps, least, most);
}

/* Three of five in each round, of a second if there is anything to be lost. */
MASTERS_OWN_TEST(a_majority_is_asked_in_turn)
{
    lk_hold *hold;

    masters_begin(MANY, NULL);
    assert_each_asked(LONG_MS, 17, 19);
    hold = masters_take();
    assert_each_asked(LONG_MS, 35, 37);
    assert_status(lk_hold_release(hold), LK_OK);
}

MASTERS_TEST(all_are_asked_when_one_is_slow_to_answer)
{
    for (unsigned i = 0; i < PHASES; i++) {
        played_run_ms(masters, TWICE_MS + PHASE_MS);
        masters->nodes[1].is_mute = true;
        played_run_ms(masters, BELIEF_MS);
        assert_in_range(masters_take_ms(), 0, SOON_MS);
        masters->nodes[1].is_mute = false;
    }
}

/* What a master will not say, the others do: at rest, when that ends, and later. */
MASTERS_TEST(others_are_asked_when_one_refuses)
{
    lk_hold *hold;

    masters->nodes[1].hides_map = true;
    played_run_ms(masters, BELIEF_MS + MISSED_MS);
    for (unsigned i = 0; i < PHASES; i++) {
        played_run_ms(masters, TWICE_MS + PHASE_MS);
        assert_in_range(masters_take_ms(), 0, SOON_MS);
    }
    hold = masters_take();
    for (unsigned i = 0; i < PHASES; i++) {
        played_run_ms(masters, TWICE_MS + PHASE_MS);
        assert_status(lk_hold_check(hold), LK_OK);
    }
    assert_status(lk_hold_release(hold), LK_OK);
}

/* A hold that ends a rest bears as much as any. */
MASTERS_TEST(a_rest_that_ends_is_followed_by_questions)
{
    for (unsigned i = 0; i < PHASES; i++) {
        lk_hold *hold;

        played_run_ms(masters, TWICE_MS + i * PHASE_MS);
        hold = masters_take();
        played_run_ms(masters, ROUND_MS);
        fake_world_freeze(masters->world, (BELIEF_MS - 1200) * FAKE_MS);
        assert_status(lk_hold_check(hold), LK_OK);
        assert_status(lk_hold_release(hold), LK_OK);
    }
}

/* ---- a crowd of commands ---------------------------------------------------------- */

static const lk_client_options patient = {LK_CLIENT_OPTIONS_INIT,
                                          .command_timeout_ms = LONG_MS};

/* To any name. */
static const char granted[] = PLAYED_GRANTED("500000", "30000");

/* Nothing passes that stream any more. */
static void stall_commands(size_t node)
{
    fake_link *link = masters->nodes[node].script_link;

    assert_non_null(link);
    fake_stall(link, fake_world_now(masters->world) + LONG_MS * FAKE_MS);
}

static void acquire_at(size_t node, unsigned count, call *calls)
{
    for (unsigned i = 0; i < count; i++) {
        lk_lock *lock = played_lock_at(masters, node);

        assert_status(lk_lock_acquire_async(lock, LONG_MS, NULL,
                                            call_on_acquire, &calls[i]),
                      LK_OK);
        lk_lock_free(lock);
    }
}

/* The client is not shut down in order. */
static void end_with(lk_hold *hold, const call *calls, unsigned count)
{
    (void)lk_hold_release(hold);
    lk_lock_free(masters->lock);
    masters->lock = NULL;
    assert_status(lk_client_shutdown(masters->client, 0), LK_ETIMEDOUT);
    played_run_ms(masters, 1);
    while (count-- > 0) {
        assert_int_equal(atomic_load(&calls[count].ends), 1);
        if (calls[count].hold != NULL)
            (void)lk_hold_release(calls[count].hold);
    }
}

MASTERS_OWN_TEST(a_belief_does_not_stand_behind_a_crowd_of_commands)
{
    static call calls[MASTERS][CROWD + 1];
    lk_hold *hold;

    memset(calls, 0, sizeof(calls));
    masters_begin(MASTERS, &patient);
    hold = masters_take();
    masters->answers[PLAYED_ACQUIRE] = granted;
    for (size_t i = 0; i < MASTERS; i++) {
        acquire_at(i, 1, &calls[i][CROWD]);
        played_run_ms(masters, SOON_MS);
        stall_commands(i);
        acquire_at(i, CROWD, calls[i]);
    }
    for (unsigned i = 0; i < PHASES; i++) {
        played_run_ms(masters, ROUND_MS);
        assert_status(lk_hold_check(hold), LK_OK);
    }
    end_with(hold, calls[0], MASTERS * (CROWD + 1));
}

/* Where there is no lane it is not long in coming all the same: a millisecond for
   each of them, and more. */
MASTERS_OWN_TEST(no_more_is_under_way_than_a_belief_may_stand_behind)
{
    static call calls[OTHERS];
    lk_hold *hold;

    memset(calls, 0, sizeof(calls));
    masters_begin(MASTERS, &patient);
    hold = masters_take();
    masters->answers[PLAYED_ACQUIRE] = granted;
    played_run_ms(masters, SOON_MS);
    stall_commands(0);
    acquire_at(0, OTHERS, calls);
    assert_in_range(played_stats(masters).pending, CROWD,
                    BELIEF_MS / 12 + MASTERS);
    end_with(hold, calls, OTHERS);
}

/* It goes over the lane of the renewals, and is answered when the commands are back
   already. */
MASTERS_OWN_TEST(a_question_under_way_outlives_the_commands)
{
    const lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                                     .watchdog_ms = 6000};
    unsigned maps;
    fake_link *commands;
    lk_hold *hold;

    masters_begin(MASTERS, &brief);
    hold = masters_take();
    commands = masters->nodes[0].script_link;
    played_run_ms(masters, BELIEF_MS);
    assert_ptr_not_equal(masters->nodes[0].script_link, commands);
    masters->nodes[0].slow_ms = ROUND_MS;
    for (maps = masters->nodes[0].maps; masters->nodes[0].maps == maps;)
        played_run_ms(masters, 1);
    fake_break(commands);
    played_run_ms(masters, LONG_MS);
    assert_int_equal(played_stats(masters).disconnects, 1);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}
