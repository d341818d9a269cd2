/* SPDX-License-Identifier: MIT */

/*
 * A client on a virtual clock, and the masters of a cluster that the test plays:
 * whom it believes, when it takes anything new from a master, and what it makes of
 * messages, hints and half moved slots.
 */

#include <latchkey/latchkey.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/played_cluster.h"

enum {
    MASTERS = 3,
    MANY = 5,
    BELIEF_MS = 3000,
    MISSED_MS = 10000,
    ROUND_MS = 1100, /* each master was asked again */
    SOON_MS = 300,   /* so are those that are asked more often */
    TWICE_MS = 2 * BELIEF_MS,
    NEVER_MS = 2 * (BELIEF_MS + MISSED_MS),
    TURN_MS = 80,
    PHASES = 12, /* of a round */
    PHASE_MS = 170,
    MOVE_MS = 20,
    LONG_MS = 60000,
    PENDING_MOST = 16,
    CROWD = 64, /* commands, behind which a question does not go */
    OTHERS = 512,
    OTHER_SIZE = 16
};

static played *p;

static int teardown(void **state)
{
    (void)state;
    played_free(p);
    return 0;
}

/* It takes from all of them. */
static void open_and_settle(size_t masters, const lk_client_options *options)
{
    p = played_new_cluster(3, options, masters, NULL);
    played_run_ms(p, BELIEF_MS + 2 * ROUND_MS);
}

static int setup(void **state)
{
    (void)state;
    open_and_settle(MASTERS, NULL);
    return 0;
}

static lk_hold *take(void)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(p->lock, LONG_MS, NULL, &hold), LK_OK);
    return hold;
}

/* How long it takes to get a hold, which is released. */
static uint64_t take_ms(void)
{
    uint64_t began = played_now_ms(p);
    lk_hold *hold = take();

    began = played_now_ms(p) - began;
    assert_status(lk_hold_release(hold), LK_OK);
    return began;
}

static void assert_not_taken(int64_t ms)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(p->lock, ms, NULL, &hold), LK_ETIMEDOUT);
}

static lk_status end_of(call *c)
{
    for (unsigned ms = 0; ms < LONG_MS && atomic_load(&c->ends) == 0; ms++)
        played_run_ms(p, 1);
    return call_wait(c, NULL);
}

static const char *at_slot(char text[64], const char *word, size_t node)
{
    (void)snprintf(text, 64, "-%s %u n%zu:6379\r\n", word, played_slot(), node);
    return text;
}

/* ---- a message by itself proves nothing -------------------------------------- */

/* Queued behind another; the connection for messages stands. */
static void queue_up(call *c)
{
    assert_status(lk_hold_release(take()), LK_OK);
    played_run_ms(p, 100);
    p->is_held = true;
    p->counts[PLAYED_CONFIRM] = 0;
    assert_status(lk_lock_acquire_async(p->lock, LK_FOREVER, NULL,
                                        call_on_acquire, c),
                  LK_OK);
    played_run_ms(p, 10);
    assert_int_equal(p->waiter_count, 1);
}

static void a_grant_that_is_told_is_asked_for(void **state)
{
    call c = {0};

    (void)state;
    queue_up(&c);
    played_grant(p, p->ticket, 5000, 3000);
    played_run_ms(p, 2);
    assert_int_equal(atomic_load(&c.ends), 0);
    assert_int_equal(p->counts[PLAYED_CONFIRM], 1);
    assert_status(end_of(&c), LK_OK);
    assert_int_equal(lk_hold_fence(c.hold), 5000);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* As a master tells that stood still while another was elected. */
static void a_grant_that_its_master_does_not_know_is_none(void **state)
{
    call c = {0};

    (void)state;
    queue_up(&c);
    p->answers[PLAYED_CONFIRM] = PLAYED_LOST("2");
    played_grant(p, p->ticket, 5000, 3000);
    played_run_ms(p, 100);
    assert_int_equal(atomic_load(&c.ends), 0);
    assert_int_equal(played_stats(p).holding, 0);
    p->answers[PLAYED_CONFIRM] = NULL;
    p->is_held = false;
    assert_status(end_of(&c), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* ---- a master that was not heard of -------------------------------------------- */

static void whoever_stood_still_takes_nothing_new_for_a_while(void **state)
{
    (void)state;
    fake_world_freeze(p->world, (BELIEF_MS + 1000) * FAKE_MS);
    assert_in_range(take_ms(), BELIEF_MS, BELIEF_MS + ROUND_MS);
    assert_in_range(take_ms(), 0, SOON_MS);
}

/* It has never followed another, as far as its greeting goes; but that is from
   before, and it may have followed one and been elected again. */
static void a_greeting_from_before_says_nothing_of_that_while(void **state)
{
    (void)state;
    for (size_t i = 0; i < MASTERS; i++) {
        p->nodes[i].is_young = false;
        played_kill(p, i);
        p->nodes[i].connect_answer = 0;
    }
    assert_in_range(take_ms(), 0, ROUND_MS);
    played_run_ms(p, BELIEF_MS + ROUND_MS);
    fake_world_freeze(p->world, (BELIEF_MS + 1000) * FAKE_MS);
    assert_in_range(take_ms(), BELIEF_MS, BELIEF_MS + ROUND_MS);
    assert_in_range(take_ms(), 0, SOON_MS);
}

/* Whoever has nothing asks less often. */
static void a_moment_of_standing_still_costs_nothing(void **state)
{
    lk_hold *hold;

    (void)state;
    for (unsigned i = 0; i < PHASES; i++) {
        played_run_ms(p, PHASE_MS);
        fake_world_freeze(p->world, (BELIEF_MS - 2100) * FAKE_MS);
        assert_in_range(take_ms(), 0, SOON_MS);
    }
    hold = take();
    for (unsigned i = 0; i < PHASES; i++) {
        played_run_ms(p, TWICE_MS + PHASE_MS);
        fake_world_freeze(p->world, (BELIEF_MS - 1100) * FAKE_MS);
        assert_status(lk_hold_check(hold), LK_OK);
    }
    assert_status(lk_hold_release(hold), LK_OK);
}

static unsigned maps_all(void)
{
    unsigned sum = 0;

    for (size_t i = 0; i < MASTERS; i++)
        sum += p->nodes[i].maps;
    return sum;
}

/* The answers to what was asked before come behind its end. */
static void a_hold_that_was_over_is_not_valid_again(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PHASES; i++) {
        unsigned maps;
        lk_hold *hold;

        played_run_ms(p, TWICE_MS + 2 * ROUND_MS + i * PHASE_MS);
        hold = take();
        played_run_ms(p, TWICE_MS);
        maps = maps_all();
        while (maps_all() == maps)
            played_run_ms(p, 1);
        fake_world_freeze(p->world, (BELIEF_MS - 500) * FAKE_MS);
        assert_status(lk_hold_check(hold), LK_ELOST);
        played_run_ms(p, ROUND_MS);
        assert_status(lk_hold_check(hold), LK_ELOST);
        assert_int_equal(lk_hold_loss(hold), LK_LOSS_UNREACHABLE);
        assert_status(lk_hold_release(hold), LK_ELOST);
    }
}

/* No renewal is answered, and its lease is longer. */
static void assert_lost_with_belief(lk_hold *hold)
{
    played_run_ms(p, ROUND_MS);
    assert_status(lk_hold_check(hold), LK_OK);
    played_run_ms(p, BELIEF_MS);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_UNREACHABLE);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

static const char tryagain[] = "-TRYAGAIN Multiple keys request during "
                               "rehashing of slot\r\n";

/* Both masters are believed, but neither is known to know it. */
static void a_hold_is_under_no_other_master_before_that_knows_it(void **state)
{
    lk_hold *hold = take();

    (void)state;
    played_run_ms(p, TWICE_MS);
    for (size_t i = 0; i < MASTERS; i++)
        p->nodes[i].named[played_slot() / PLAYED_PART] = 1;
    p->nodes[1].says = tryagain;
    assert_lost_with_belief(hold);
}

static void a_hold_is_under_no_other_data_before_these_know_it(void **state)
{
    lk_hold *hold = take();

    (void)state;
    played_run_ms(p, TWICE_MS);
    p->nodes[0].data++;
    p->nodes[0].says = tryagain;
    played_kill(p, 0);
    p->nodes[0].connect_answer = 0;
    assert_lost_with_belief(hold);
}

/* ---- who is asked ---------------------------------------------------------------- */

static void assert_each_asked(uint64_t ms, unsigned least, unsigned most)
{
    for (size_t i = 0; i < MANY; i++)
        p->nodes[i].maps = 0;
    played_run_ms(p, ms);
    for (size_t i = 0; i < MANY; i++)
        assert_in_range(p->nodes[i].maps, least, most);
}

/* Three of five in each round, of a second if there is anything to be lost. */
static void a_majority_is_asked_in_turn(void **state)
{
    lk_hold *hold;

    (void)state;
    open_and_settle(MANY, NULL);
    assert_each_asked(LONG_MS, 17, 19);
    hold = take();
    assert_each_asked(LONG_MS, 35, 37);
    assert_status(lk_hold_release(hold), LK_OK);
}

static void all_are_asked_when_one_is_slow_to_answer(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PHASES; i++) {
        played_run_ms(p, TWICE_MS + PHASE_MS);
        p->nodes[1].is_mute = true;
        played_run_ms(p, BELIEF_MS);
        assert_in_range(take_ms(), 0, SOON_MS);
        p->nodes[1].is_mute = false;
    }
}

/* What a master will not say, the others do: at rest, when that ends, and later. */
static void others_are_asked_when_one_refuses(void **state)
{
    lk_hold *hold;

    (void)state;
    p->nodes[1].hides_map = true;
    played_run_ms(p, BELIEF_MS + MISSED_MS);
    for (unsigned i = 0; i < PHASES; i++) {
        played_run_ms(p, TWICE_MS + PHASE_MS);
        assert_in_range(take_ms(), 0, SOON_MS);
    }
    hold = take();
    for (unsigned i = 0; i < PHASES; i++) {
        played_run_ms(p, TWICE_MS + PHASE_MS);
        assert_status(lk_hold_check(hold), LK_OK);
    }
    assert_status(lk_hold_release(hold), LK_OK);
}

/* A hold that ends a rest bears as much as any. */
static void a_rest_that_ends_is_followed_by_questions(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PHASES; i++) {
        lk_hold *hold;

        played_run_ms(p, TWICE_MS + i * PHASE_MS);
        hold = take();
        played_run_ms(p, ROUND_MS);
        fake_world_freeze(p->world, (BELIEF_MS - 1200) * FAKE_MS);
        assert_status(lk_hold_check(hold), LK_OK);
        assert_status(lk_hold_release(hold), LK_OK);
    }
}

/* ---- a crowd of commands ---------------------------------------------------------- */

static const lk_client_options patient = {LK_CLIENT_OPTIONS_INIT,
                                          .command_timeout_ms = LONG_MS};

/* To any name. */
static const char granted[] = PLAYED_GRANTED("500000", "30000");

/* A lock of a name at this node. */
static lk_lock *lock_at(size_t node)
{
    static unsigned last;
    lk_lock *lock = NULL;
    char name[16];

    do
        (void)snprintf(name, sizeof(name), "m%u", last++);
    while (lk__slot_of(name, strlen(name)) * MASTERS / LK__SLOTS != node);
    assert_status(lk_lock_new(&lock, p->client, name, NULL), LK_OK);
    return lock;
}

/* Nothing passes that stream any more. */
static void stall_commands(size_t node)
{
    fake_link *link = p->nodes[node].script_link;

    assert_non_null(link);
    fake_stall(link, fake_world_now(p->world) + LONG_MS * FAKE_MS);
}

static void acquire_at(size_t node, unsigned count, call *calls)
{
    for (unsigned i = 0; i < count; i++) {
        lk_lock *lock = lock_at(node);

        assert_status(lk_lock_acquire_async(lock, LONG_MS, NULL,
                                            call_on_acquire, &calls[i]),
                      LK_OK);
        lk_lock_free(lock);
    }
}

/* Such a client is not shut down in order. */
static void end_with(lk_hold *hold, const call *calls, unsigned count)
{
    (void)lk_hold_release(hold);
    lk_lock_free(p->lock);
    p->lock = NULL;
    assert_status(lk_client_shutdown(p->client, 0), LK_ETIMEDOUT);
    played_run_ms(p, 1);
    while (count-- > 0) {
        assert_int_equal(atomic_load(&calls[count].ends), 1);
        if (calls[count].hold != NULL)
            (void)lk_hold_release(calls[count].hold);
    }
}

static void a_belief_does_not_stand_behind_a_crowd_of_commands(void **state)
{
    static call calls[MASTERS][CROWD + 1];
    lk_hold *hold;

    (void)state;
    memset(calls, 0, sizeof(calls));
    open_and_settle(MASTERS, &patient);
    hold = take();
    p->answers[PLAYED_ACQUIRE] = granted;
    for (size_t i = 0; i < MASTERS; i++) {
        acquire_at(i, 1, &calls[i][CROWD]);
        played_run_ms(p, SOON_MS);
        stall_commands(i);
        acquire_at(i, CROWD, calls[i]);
    }
    for (unsigned i = 0; i < PHASES; i++) {
        played_run_ms(p, ROUND_MS);
        assert_status(lk_hold_check(hold), LK_OK);
    }
    end_with(hold, calls[0], MASTERS * (CROWD + 1));
}

/* Where there is no lane it is not long in coming all the same: a millisecond for
   each of them, and more. */
static void no_more_is_under_way_than_a_belief_may_stand_behind(void **state)
{
    static call calls[OTHERS];
    lk_hold *hold;

    (void)state;
    memset(calls, 0, sizeof(calls));
    open_and_settle(MASTERS, &patient);
    hold = take();
    p->answers[PLAYED_ACQUIRE] = granted;
    played_run_ms(p, SOON_MS);
    stall_commands(0);
    acquire_at(0, OTHERS, calls);
    assert_in_range(played_stats(p).pending, CROWD, BELIEF_MS / 12 + MASTERS);
    end_with(hold, calls, OTHERS);
}

/* It goes over the lane of the renewals, and is answered when the commands are back
   already. */
static void a_question_under_way_outlives_the_commands(void **state)
{
    const lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                                     .watchdog_ms = 6000};
    unsigned maps;
    fake_link *commands;
    lk_hold *hold;

    (void)state;
    open_and_settle(MASTERS, &brief);
    hold = take();
    commands = p->nodes[0].script_link;
    played_run_ms(p, BELIEF_MS);
    assert_ptr_not_equal(p->nodes[0].script_link, commands);
    p->nodes[0].slow_ms = ROUND_MS;
    for (maps = p->nodes[0].maps; p->nodes[0].maps == maps;)
        played_run_ms(p, 1);
    fake_break(commands, -ECONNRESET);
    played_run_ms(p, LONG_MS);
    assert_int_equal(played_stats(p).disconnects, 1);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* ---- a master that few name ----------------------------------------------------- */

static void a_master_that_few_name_for_a_while_gives_nothing_new(void **state)
{
    (void)state;
    p->nodes[1].is_mute = p->nodes[2].is_mute = true;
    played_run_ms(p, BELIEF_MS + ROUND_MS);
    p->nodes[1].is_mute = p->nodes[2].is_mute = false;
    assert_in_range(take_ms(), BELIEF_MS, 2 * BELIEF_MS);
}

/* What it said before may be of another election. */
static void one_that_is_still_silent_does_not_name_it(void **state)
{
    (void)state;
    p->nodes[2].is_mute = true;
    fake_world_freeze(p->world, (BELIEF_MS + 1000) * FAKE_MS);
    /* At rest a belief may have had a second left. */
    assert_in_range(take_ms(), MISSED_MS + BELIEF_MS - 3000,
                    MISSED_MS + BELIEF_MS + ROUND_MS);
}

/* To stand still is not to have heard nothing. */
static void time_that_the_client_stood_still_is_no_silence(void **state)
{
    (void)state;
    p->nodes[2].is_mute = true;
    fake_world_freeze(p->world, (MISSED_MS + BELIEF_MS) * FAKE_MS);
    assert_in_range(take_ms(), MISSED_MS + BELIEF_MS,
                    MISSED_MS + BELIEF_MS + ROUND_MS);
}

/* Nor is it known that nobody was there meanwhile. */
static void time_that_the_client_stood_still_is_no_refusal(void **state)
{
    (void)state;
    played_kill(p, 2);
    played_run_ms(p, SOON_MS);
    fake_world_freeze(p->world, (MISSED_MS + BELIEF_MS) * FAKE_MS);
    assert_in_range(take_ms(), 2 * BELIEF_MS, 2 * BELIEF_MS + 2 * ROUND_MS);
}

/* ---- a new master ----------------------------------------------------------------- */

static void a_hint_is_no_election(void **state)
{
    char moved[64];
    call c = {0};
    uint64_t elected;

    (void)state;
    played_name(p, 3, 0, 3);
    p->nodes[0].says = at_slot(moved, "MOVED", 3);
    assert_status(lk_lock_acquire_async(p->lock, LK_FOREVER, NULL,
                                        call_on_acquire, &c),
                  LK_OK);
    played_run_ms(p, 1500);
    assert_true(p->nodes[3].connects > 0);
    played_replace(p, 0, 3);
    elected = played_now_ms(p);
    assert_status(end_of(&c), LK_OK);
    assert_in_range(played_now_ms(p) - elected, BELIEF_MS,
                    BELIEF_MS + ROUND_MS);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* The hold is known at the new master before a majority has named that. */
static void a_hold_outlasts_that_few_know_of_its_new_master(void **state)
{
    const lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                                     .watchdog_ms = 6000};
    lk_hold *hold;
    char moved[64];

    (void)state;
    open_and_settle(MASTERS, &brief);
    hold = take();
    played_name(p, 3, 0, 3);
    p->nodes[0].says = at_slot(moved, "MOVED", 3);
    while (p->nodes[3].scripts == 0)
        played_run_ms(p, 10);
    played_run_ms(p, SOON_MS);
    assert_status(lk_hold_check(hold), LK_OK);
    played_replace(p, 0, 3);
    played_run_ms(p, BELIEF_MS);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* Two of three are a majority, and so are the other and the one before. */
static void of_three_both_others_have_to_name_a_new_master(void **state)
{
    (void)state;
    played_kill(p, 0);
    played_run_ms(p, 1);
    for (size_t i = 1; i <= MASTERS; i++)
        played_name(p, i, i == 2 ? PLAYED_NOBODY : 0, 3);
    assert_not_taken(NEVER_MS);
    assert_int_equal(p->nodes[3].scripts, 0);
    played_replace(p, 0, 3);
    assert_in_range(take_ms(), BELIEF_MS, BELIEF_MS + ROUND_MS);
}

/* One that names nobody may have named the one before a moment ago. */
static void one_that_names_nobody_has_not_named_a_new_master(void **state)
{
    (void)state;
    played_kill(p, 0);
    played_run_ms(p, 1);
    played_name(p, 1, 0, 3);
    played_name(p, 2, 0, PLAYED_NOBODY);
    played_name(p, 3, 0, 3);
    assert_not_taken(NEVER_MS);
    assert_int_equal(p->nodes[3].scripts, 0);
    played_name(p, 2, PLAYED_NOBODY, 3);
    assert_in_range(take_ms(), BELIEF_MS, BELIEF_MS + ROUND_MS);
}

/* It is taken from the new master, else that would never be named for all. */
static void a_slot_that_is_nobodys_any_more_keeps_no_other_waiting(void **state)
{
    size_t part = PLAYED_PARTS / MASTERS - 1;

    (void)state;
    played_kill(p, 0);
    played_replace(p, 0, 3);
    while (p->nodes[3].maps == 0)
        played_run_ms(p, 1);
    for (size_t i = 1; i <= MASTERS; i++)
        p->nodes[i].named[part] = PLAYED_NOBODY;
    assert_in_range(take_ms(), BELIEF_MS, 2 * BELIEF_MS + ROUND_MS);
}

/* How long after both were lost it takes until the new one gives. */
static uint64_t take_without_ms(size_t other, int connect_answer)
{
    uint64_t began = played_now_ms(p);

    played_kill(p, 0);
    played_kill(p, other);
    p->nodes[other].connect_answer = connect_answer;
    played_replace(p, 0, 3);
    (void)take_ms();
    return played_now_ms(p) - began;
}

/* Others may reach it, and believe what it says. */
static void
one_that_says_nothing_is_waited_for_in_vain_only_so_long(void **state)
{
    (void)state;
    assert_in_range(take_without_ms(2, -EHOSTUNREACH), MISSED_MS + BELIEF_MS,
                    MISSED_MS + BELIEF_MS + 2 * ROUND_MS);
}

static void
one_that_is_not_there_is_waited_for_as_long_as_believed(void **state)
{
    (void)state;
    assert_in_range(take_without_ms(2, -ECONNREFUSED), 2 * BELIEF_MS,
                    2 * BELIEF_MS + 2 * ROUND_MS);
}

/* Only what is so all the time shows that nobody is there. */
static void one_that_is_not_reached_between_refusals_may_be_there(void **state)
{
    call c = {0};

    (void)state;
    played_kill(p, 0);
    played_kill(p, 2);
    played_replace(p, 0, 3);
    assert_status(lk_lock_acquire_async(p->lock, LK_FOREVER, NULL,
                                        call_on_acquire, &c),
                  LK_OK);
    for (unsigned i = 0; i < 2; i++) {
        played_run_ms(p, BELIEF_MS - ROUND_MS);
        p->nodes[2].connect_answer = -EHOSTUNREACH;
        played_run_ms(p, ROUND_MS);
        p->nodes[2].connect_answer = -ECONNREFUSED;
    }
    played_run_ms(p, BELIEF_MS - ROUND_MS);
    assert_int_equal(p->nodes[3].scripts, 0);
    assert_status(end_of(&c), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* It has started anew with a map from before. */
static void one_that_is_there_again_has_its_say(void **state)
{
    call c = {0};

    (void)state;
    played_kill(p, 0);
    played_kill(p, 2);
    played_name(p, 1, 0, 3);
    played_name(p, 3, 0, 3);
    assert_status(lk_lock_acquire_async(p->lock, LK_FOREVER, NULL,
                                        call_on_acquire, &c),
                  LK_OK);
    played_run_ms(p, 2 * BELIEF_MS - ROUND_MS);
    p->nodes[2].connect_answer = 0;
    p->nodes[2].is_mute = true; /* not at once */
    played_run_ms(p, BELIEF_MS);
    p->nodes[2].is_mute = false;
    played_run_ms(p, NEVER_MS);
    assert_int_equal(p->nodes[3].scripts, 0);
    played_name(p, 2, 0, 3);
    assert_status(end_of(&c), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* A caller's own time ends it, or nobody waits for the master any more. */
static void a_wait_without_its_master_has_its_own_time(void **state)
{
    lk_hold *hold = NULL;
    uint64_t began;

    (void)state;
    played_kill(p, 0);
    played_run_ms(p, 1);
    began = played_now_ms(p);
    assert_not_taken(LONG_MS / 2);
    assert_in_range(played_now_ms(p) - began, LONG_MS / 2, LONG_MS / 2 + 1);
    assert_non_null(strstr(lk_last_error(), "n0:6379 cannot be reached"));
    assert_status(lk_lock_acquire(p->lock, LK_FOREVER, NULL, &hold),
                  LK_EOFFLINE);
    assert_in_range(played_now_ms(p) - began, LONG_MS - 10, LONG_MS + 10);
}

/* As a short command that locks. */
static void
a_client_that_starts_while_a_master_is_away_waits_as_long(void **state)
{
    (void)state;
    played_free(p);
    p = played_new_cluster(3, NULL, MASTERS, NULL);
    played_kill(p, 2);
    assert_in_range(take_ms(), 2 * BELIEF_MS, 2 * BELIEF_MS + ROUND_MS);
}

/* ---- slots that go from master to master --------------------------------------- */

/* From now on the masters are asked one after the other, as each is from when it
   was connected. */
static void ask_in_turn(void)
{
    for (size_t i = 1; i < MASTERS; i++) {
        fake_world_settings(p->world)->connect_ns = i * TURN_MS * FAKE_MS;
        played_kill(p, i);
        p->nodes[i].connect_answer = 0;
        played_run_ms(p, 2);
    }
    fake_world_settings(p->world)->connect_ns = FAKE_MS;
    played_run_ms(p, ROUND_MS);
}

/* Parts of n1's go to n0 for longer than anybody is believed, faster than all are
   asked; and all that are asked know it. */
static void a_reshard_ends_no_belief(void **state)
{
    lk_hold *hold;
    size_t part = PLAYED_PARTS / MASTERS + 1;

    (void)state;
    ask_in_turn();
    hold = take();
    for (unsigned i = 0; i < BELIEF_MS / MOVE_MS + 10; i++, part++) {
        for (size_t node = 0; node < MASTERS; node++)
            p->nodes[node].named[part] = 0;
        played_run_ms(p, MOVE_MS);
        assert_status(lk_hold_check(hold), LK_OK);
    }
    assert_status(lk_hold_release(hold), LK_OK);
}

/* Those that are asked after it go on to name the one that sent it. */
static void a_hint_that_all_others_deny_is_given_up(void **state)
{
    char moved[64];
    unsigned scripts;

    (void)state;
    p->nodes[0].says = at_slot(moved, "MOVED", 1);
    assert_in_range(take_ms(), 0, SOON_MS);
    assert_true(p->nodes[1].scripts > 0);
    p->nodes[0].says = NULL;
    played_run_ms(p, TWICE_MS);
    scripts = p->nodes[0].scripts;
    assert_in_range(take_ms(), 0, SOON_MS);
    assert_true(p->nodes[0].scripts > scripts);
}

/* It is nobody's, so nobody else has it. */
static void a_slot_without_a_master_denies_nobody(void **state)
{
    lk_hold *hold = take();

    (void)state;
    p->nodes[1].named[0] = p->nodes[2].named[0] = PLAYED_NOBODY;
    played_run_ms(p, TWICE_MS);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_in_range(take_ms(), 0, SOON_MS);
}

/* Nor is what is held there lost while masters disagree about others. */
static void a_slot_without_a_master_stays_where_it_was(void **state)
{
    unsigned part = played_slot() / PLAYED_PART;
    lk_hold *hold = take();

    (void)state;
    p->nodes[1].named[part] = p->nodes[2].named[part] = PLAYED_NOBODY;
    p->nodes[1].named[PLAYED_PARTS - 1] = 1;
    played_run_ms(p, TWICE_MS);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

static void masters_that_all_have_new_addresses_are_found(void **state)
{
    (void)state;
    p = played_new_cluster(3, NULL, MASTERS, "n0,n1,n6");
    played_run_ms(p, BELIEF_MS + ROUND_MS);
    for (size_t i = 0; i < MASTERS; i++) {
        played_kill(p, i);
        played_replace(p, i, MASTERS + i);
    }
    (void)take_ms();
    assert_true(p->nodes[3].scripts > 0);
}

/* ---- half moved slots ------------------------------------------------------------- */

static unsigned renewals_of_a_second(void)
{
    unsigned before = p->nodes[0].scripts;

    played_run_ms(p, 1000);
    return p->nodes[0].scripts - before;
}

/* The target knows nothing of the slot any more, as one that was restarted. */
static void a_renewal_that_is_refused_elsewhere_pauses(void **state)
{
    lk_hold *hold = take();
    char ask[64];

    (void)state;
    p->nodes[0].says = at_slot(ask, "ASK", 1);
    p->nodes[1].says = "-TRYAGAIN Multiple keys request during rehashing of "
                       "slot\r\n";
    while (p->nodes[1].askings == 0)
        played_run_ms(p, 10);
    assert_in_range(renewals_of_a_second(), 1, 40);
    p->nodes[0].says = p->nodes[1].says = NULL;
    assert_status(lk_hold_release(hold), LK_OK);
}

/* Others may have held there meanwhile, with a higher fence. */
static void the_next_server_is_asked_by_fence(void **state)
{
    const lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                                     .watchdog_ms = 6000};
    unsigned part = played_slot() / PLAYED_PART;
    char moved[64];
    lk_hold *hold;
    unsigned scripts;

    (void)state;
    open_and_settle(MASTERS, &brief);
    hold = take();
    scripts = p->nodes[0].scripts;
    p->nodes[0].says = "-TRYAGAIN Multiple keys request during rehashing of "
                       "slot\r\n";
    while (p->nodes[0].scripts == scripts)
        played_run_ms(p, 1);
    for (size_t i = 0; i < MASTERS; i++)
        p->nodes[i].named[part] = 1;
    p->nodes[0].says = at_slot(moved, "MOVED", 1);
    while (p->counts[PLAYED_CONFIRM] + p->counts[PLAYED_RENEW] == 0)
        played_run_ms(p, 1);
    assert_true(p->nodes[1].scripts > 0);
    assert_int_equal(p->counts[PLAYED_RENEW], 0);
    assert_status(lk_hold_release(hold), LK_OK);
}

static const lk_client_options narrow = {LK_CLIENT_OPTIONS_INIT,
                                         .watchdog_ms = 3000,
                                         .max_pending = PENDING_MOST};

/* Else what comes next on the connection would be meant by it. */
static void nothing_stands_behind_an_asking_without_its_question(void **state)
{
    call calls[PENDING_MOST] = {0};
    lk_lock *locks[PENDING_MOST];
    size_t count = 0;
    unsigned connects;
    lk_hold *hold;
    char ask[64];

    (void)state;
    open_and_settle(MASTERS, &narrow);
    hold = take();
    connects = p->nodes[1].connects;
    p->nodes[1].is_mute = true;
    played_run_ms(p, ROUND_MS); /* the question for its map waits there */
    while (played_stats(p).pending < PENDING_MOST - 1) {
        locks[count] = played_lock_at(p, 1);
        assert_status(lk_lock_acquire_async(locks[count], LONG_MS, NULL,
                                            call_on_acquire, &calls[count]),
                      LK_OK);
        played_run_ms(p, 10);
        count++;
    }
    p->nodes[0].says = at_slot(ask, "ASK", 1);
    played_run_ms(p, 2000);
    assert_int_equal(p->nodes[1].askings, 0);
    assert_true(p->nodes[1].connects > connects);
    (void)lk_hold_release(hold);
    lk_lock_free(p->lock);
    p->lock = NULL;
    assert_status(lk_client_shutdown(p->client, 0), LK_ETIMEDOUT);
    played_run_ms(p, 1);
    while (count-- > 0) {
        assert_int_equal(atomic_load(&calls[count].ends), 1);
        assert_null(calls[count].hold);
        lk_lock_free(locks[count]);
    }
}

static void *others[OTHERS];

/* What was freed is somebody else's now. */
static void memory_goes(void *data)
{
    (void)data;
    for (size_t i = 0; i < OTHERS; i++) {
        size_t size = (i % (OTHERS / 8) + 1) * OTHER_SIZE;

        others[i] = malloc(size);
        assert_non_null(others[i]);
        memset(others[i], 0, size);
    }
}

static void an_answer_to_a_question_that_has_ended_sets_no_alarm(void **state)
{
    lk_hold *hold = take();
    call c = {0};

    (void)state;
    p->nodes[0].says = "-ERR Script attempted to access a non local key in a "
                       "cluster node\r\n";
    played_ways(p, 1, 50);
    fake_world_at(p->world, fake_world_now(p->world) + 51 * FAKE_MS + 1000,
                  memory_goes, NULL);
    assert_status(lk_lock_force_release_async(p->lock, call_on_done, &c),
                  LK_OK);
    played_run_ms(p, 10);
    assert_status(lk_client_shutdown(p->client, 1000), LK_ETIMEDOUT);
    assert_status(call_wait(&c, NULL), LK_ECLOSED);
    (void)lk_hold_release(hold);
    for (size_t i = 0; i < OTHERS; i++)
        free(others[i]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_grant_that_is_told_is_asked_for),
        TEST(a_grant_that_its_master_does_not_know_is_none),
        TEST(whoever_stood_still_takes_nothing_new_for_a_while),
        TEST(a_greeting_from_before_says_nothing_of_that_while),
        TEST(a_moment_of_standing_still_costs_nothing),
        TEST(a_hold_that_was_over_is_not_valid_again),
        TEST(a_hold_is_under_no_other_master_before_that_knows_it),
        TEST(a_hold_is_under_no_other_data_before_these_know_it),
        cmocka_unit_test_teardown(a_majority_is_asked_in_turn, teardown),
        TEST(all_are_asked_when_one_is_slow_to_answer),
        TEST(others_are_asked_when_one_refuses),
        TEST(a_rest_that_ends_is_followed_by_questions),
        cmocka_unit_test_teardown(
            a_belief_does_not_stand_behind_a_crowd_of_commands, teardown),
        cmocka_unit_test_teardown(a_question_under_way_outlives_the_commands,
                                  teardown),
        cmocka_unit_test_teardown(
            no_more_is_under_way_than_a_belief_may_stand_behind, teardown),
        TEST(a_master_that_few_name_for_a_while_gives_nothing_new),
        TEST(one_that_is_still_silent_does_not_name_it),
        TEST(time_that_the_client_stood_still_is_no_silence),
        TEST(time_that_the_client_stood_still_is_no_refusal),
        TEST(a_hint_is_no_election),
        cmocka_unit_test_teardown(
            a_hold_outlasts_that_few_know_of_its_new_master, teardown),
        TEST(of_three_both_others_have_to_name_a_new_master),
        TEST(one_that_names_nobody_has_not_named_a_new_master),
        TEST(a_slot_that_is_nobodys_any_more_keeps_no_other_waiting),
        TEST(one_that_says_nothing_is_waited_for_in_vain_only_so_long),
        TEST(one_that_is_not_there_is_waited_for_as_long_as_believed),
        TEST(one_that_is_not_reached_between_refusals_may_be_there),
        TEST(one_that_is_there_again_has_its_say),
        TEST(a_client_that_starts_while_a_master_is_away_waits_as_long),
        TEST(a_wait_without_its_master_has_its_own_time),
        TEST(a_reshard_ends_no_belief),
        TEST(a_hint_that_all_others_deny_is_given_up),
        TEST(a_slot_without_a_master_denies_nobody),
        TEST(a_slot_without_a_master_stays_where_it_was),
        cmocka_unit_test_teardown(masters_that_all_have_new_addresses_are_found,
                                  teardown),
        TEST(a_renewal_that_is_refused_elsewhere_pauses),
        cmocka_unit_test_teardown(the_next_server_is_asked_by_fence, teardown),
        cmocka_unit_test_teardown(
            nothing_stands_behind_an_asking_without_its_question, teardown),
        TEST(an_answer_to_a_question_that_has_ended_sets_no_alarm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
