/* SPDX-License-Identifier: MIT */

/*
 * fairlock_acquire: a name that is free is not taken before those
 * who wait and live.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/script.h"

extern const lk__script lk__script_fairlock_acquire;

/* What a script is told that lacks a right. */
static const char cannot[] = "!*The user executing the script can't *";

static long long number(const char *text)
{
    return strtoll(text, NULL, 10);
}

static const char *
fair_ask(script_fixture *f, const char *claim, const char *queue)
{
    char inbox[64];

    snprintf(inbox, sizeof(inbox), "in:%s", claim);
    return script_call(f, &lk__script_fairlock_acquire, claim, "30000", queue,
                       inbox, "", "1", NULL);
}

static const char *fair_acquire(script_fixture *f, const char *claim)
{
    return fair_ask(f, claim, "1");
}

static const char *fair_try(script_fixture *f, const char *claim)
{
    return fair_ask(f, claim, "0");
}

static long long ticket_of(script_fixture *f, const char *claim)
{
    return number(script_redis(f, "ZSCORE %s %s", f->keys[KEY_QUEUE], claim));
}

/* The name is free, and nobody was told: u:2 and u:3 wait for it. */
static void two_wait_for_a_free_lock(script_fixture *f)
{
    script_listen(f, "in:u:2");
    script_listen(f, "in:u:3");
    fair_acquire(f, "u:1");
    fair_acquire(f, "u:2");
    fair_acquire(f, "u:3");
    script_expire(f);
}

static void dead_ones_wait_for_a_free_lock(script_fixture *f, int count)
{
    char claim[16];

    fair_acquire(f, "u:1");
    for (int i = 0; i < count; i++) {
        snprintf(claim, sizeof(claim), "dead:%d", i);
        fair_acquire(f, claim);
    }
    script_expire(f);
}

/* ---- as any lock ---- */

static void a_free_lock_that_nobody_waits_for_is_taken(void **state)
{
    script_fixture *f = *state;

    assert_like(fair_acquire(f, "u:1"), "1 * 30000 *");
    assert_like(script_redis(f, "HGETALL n"), "u:1 1");
    assert_in_range(number(script_redis(f, "PTTL n")), 29000, 30000);
    assert_like(script_redis(f, "EXISTS %s %s", f->keys[KEY_QUEUE],
                             f->keys[KEY_TICKETS]),
                "0");
}

static void a_lock_that_is_held_is_queued_for(void **state)
{
    script_fixture *f = *state;

    fair_acquire(f, "u:1");
    assert_like(fair_acquire(f, "u:2"), "0 * * 0");
    assert_in_range(script_item(f, 1), 29000, 30000);
    assert_true(script_item(f, 2) == ticket_of(f, "u:2"));
}

static void a_try_does_not_queue_for_a_lock_that_is_held(void **state)
{
    script_fixture *f = *state;

    fair_acquire(f, "u:1");
    assert_like(fair_try(f, "u:2"), "2 *");
    assert_like(script_redis(f, "EXISTS %s %s", f->keys[KEY_QUEUE],
                             f->keys[KEY_TICKETS]),
                "0");
}

/* Both kinds of lock are one lock with one queue. */
static void fair_and_other_claims_stand_in_one_queue(void **state)
{
    script_fixture *f = *state;

    script_listen(f, "in:u:2");
    script_listen(f, "in:u:3");
    script_listen(f, "in:u:4");
    script_acquire(f, "u:1");
    fair_acquire(f, "u:2");
    script_acquire(f, "u:3");
    fair_acquire(f, "u:4");
    script_release(f, "u:1", NULL);
    assert_like(script_redis(f, "HKEYS n"), "u:2");
    script_release(f, "u:2", NULL);
    assert_like(script_redis(f, "HKEYS n"), "u:3");
    script_release(f, "u:3", NULL);
    assert_like(script_redis(f, "HKEYS n"), "u:4");
}

/* ---- nobody is passed by ---- */

static void a_newcomer_queues_and_the_first_is_given_a_free_lock(void **state)
{
    script_fixture *f = *state;

    two_wait_for_a_free_lock(f);
    assert_like(fair_acquire(f, "u:4"), "0 * * 0 0");
    assert_in_range(script_item(f, 1), 2000, 3000);
    assert_true(script_item(f, 2) == ticket_of(f, "u:4"));
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]),
                "u:3 u:4");
    assert_like(script_heard(f), "in:u:2 grant lock u:2 * * * 3000 n\n");
}

/* What the mode is for. */
static void a_newcomer_that_is_not_fair_takes_a_free_lock(void **state)
{
    script_fixture *f = *state;

    two_wait_for_a_free_lock(f);
    assert_like(script_acquire(f, "u:4"), "1 * 30000 *");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]),
                "u:2 u:3");
}

static void a_try_is_refused_while_somebody_waits_for_a_free_lock(void **state)
{
    script_fixture *f = *state;

    two_wait_for_a_free_lock(f);
    assert_like(fair_try(f, "u:4"), "2 *");
    assert_in_range(script_item(f, 1), 2000, 3000);
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]), "u:3");
    assert_like(script_redis(f, "HEXISTS %s u:4", f->keys[KEY_TICKETS]), "0");
}

/* An unclear answer of a connection that broke: the same claim asks again. */
static void the_first_that_asks_again_takes_a_free_lock(void **state)
{
    script_fixture *f = *state;
    long long ticket;

    two_wait_for_a_free_lock(f);
    ticket = ticket_of(f, "u:2");
    assert_like(fair_acquire(f, "u:2"), "1 * 30000 *");
    assert_true(number(script_redis(f, "HGET %s ticket", f->keys[KEY_STATE])) ==
                ticket);
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]), "u:3");
    assert_like(script_redis(f, "HEXISTS %s u:2", f->keys[KEY_TICKETS]), "0");
}

static void another_that_asks_again_keeps_its_ticket(void **state)
{
    script_fixture *f = *state;
    long long ticket;

    two_wait_for_a_free_lock(f);
    ticket = ticket_of(f, "u:3");
    assert_like(fair_acquire(f, "u:3"), "0 * * 0 0");
    assert_true(script_item(f, 2) == ticket);
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
    assert_like(fair_acquire(f, "u:3"), "0 * * 0");
    assert_true(script_item(f, 2) == ticket);
    assert_like(script_redis(f, "ZCARD %s", f->keys[KEY_QUEUE]), "1");
}

static void a_holder_that_asks_again_is_told_its_fence(void **state)
{
    script_fixture *f = *state;
    long long fence;

    fair_acquire(f, "u:1");
    fence = script_item(f, 1);
    fair_acquire(f, "u:2");
    assert_like(fair_acquire(f, "u:1"), "1 * * *");
    assert_true(script_item(f, 1) == fence);
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]), "u:2");
}

/* The server's clock goes back; tickets do not. */
static void a_ticket_is_above_all_before_it(void **state)
{
    script_fixture *f = *state;

    fair_acquire(f, "u:1");
    fair_acquire(f, "u:2");
    script_redis(f, "HSET %s # 4000000000000000", f->keys[KEY_TICKETS]);
    fair_acquire(f, "u:3");
    assert_true(ticket_of(f, "u:3") == 4000000000000001);
    fair_acquire(f, "u:4");
    assert_true(ticket_of(f, "u:4") == 4000000000000002);
}

/* ---- the dead are passed by ---- */

static void a_free_lock_that_only_the_dead_wait_for_is_taken(void **state)
{
    script_fixture *f = *state;

    dead_ones_wait_for_a_free_lock(f, 2);
    assert_like(fair_acquire(f, "u:4"), "1 * 30000 *");
    assert_like(script_redis(f, "HGETALL n"), "u:4 1");
    assert_like(script_redis(f, "EXISTS %s", f->keys[KEY_QUEUE]), "0");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_SKIPPED]),
                "dead:0 dead:1");
    assert_like(script_redis(f, "HEXISTS %s u:4", f->keys[KEY_TICKETS]), "0");
}

static void a_try_takes_a_free_lock_that_only_the_dead_wait_for(void **state)
{
    script_fixture *f = *state;

    dead_ones_wait_for_a_free_lock(f, 2);
    assert_like(fair_try(f, "u:4"), "1 * 30000 *");
}

static void one_that_was_not_seen_for_three_seconds_is_passed_by(void **state)
{
    script_fixture *f = *state;

    two_wait_for_a_free_lock(f);
    script_age(f, "u:2", 3500);
    assert_like(fair_acquire(f, "u:4"), "0 * * 0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:3 1");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_SKIPPED]), "u:2");
}

static void one_that_was_passed_by_comes_before_who_came_later(void **state)
{
    script_fixture *f = *state;

    two_wait_for_a_free_lock(f);
    script_deafen(f, "in:u:2");
    script_listen(f, "in:u:4");
    fair_acquire(f, "u:4");
    assert_like(script_redis(f, "HKEYS n"), "u:3");
    script_listen(f, "in:u:2");
    script_recheck(f, "u:2");
    script_release(f, "u:3", NULL);
    assert_like(script_redis(f, "HKEYS n"), "u:2");
}

/* One call looks at 64; what is left to do is said, and the look goes on. */
static void behind_too_many_dead_ones_it_is_told_of_more(void **state)
{
    script_fixture *f = *state;

    dead_ones_wait_for_a_free_lock(f, 64);
    assert_like(fair_acquire(f, "u:4"), "0 -2 * 0 1");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(script_recheck(f, "u:4"), "1 * 30000 * *");
}

static void a_waiter_whose_ticket_is_gone_is_dropped(void **state)
{
    script_fixture *f = *state;

    two_wait_for_a_free_lock(f);
    script_redis(f, "HDEL %s u:2", f->keys[KEY_TICKETS]);
    assert_like(fair_acquire(f, "u:4"), "0 * * 0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:3 1");
    assert_like(script_redis(f, "EXISTS %s", f->keys[KEY_SKIPPED]), "0");
}

/* ---- beside others ---- */

static void the_first_contends_with_a_foreign_holder(void **state)
{
    script_fixture *f = *state;

    script_redis(f, "HSET n java:7 1");
    script_redis(f, "PEXPIRE n 20000");
    assert_like(fair_acquire(f, "u:1"), "0 * * 1");
    assert_like(fair_acquire(f, "u:2"), "0 * * 0");
}

/* Behind one who was given it just now nobody needs to look so soon. */
static void who_is_next_behind_a_new_holder_does_not_contend(void **state)
{
    script_fixture *f = *state;

    two_wait_for_a_free_lock(f);
    script_leave(f, "u:3", "0");
    script_expire(f);
    script_listen(f, "in:u:4");
    fair_acquire(f, "u:4");
    assert_like(script_redis(f, "HKEYS n"), "u:4");
    fair_acquire(f, "u:5");
    script_expire(f);
    script_listen(f, "in:u:5");
    assert_like(fair_acquire(f, "u:6"), "0 * * 0 0");
    assert_like(script_redis(f, "HKEYS n"), "u:5");
}

static void a_lock_left_open_to_others_goes_to_our_first(void **state)
{
    script_fixture *f = *state;

    script_listen(f, "in:u:2");
    f->interop = "1";
    fair_acquire(f, "u:1");
    fair_acquire(f, "u:2");
    script_release(f, "u:1", NULL);
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(fair_acquire(f, "u:3"), "0 * * 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
    script_redis(f, "HSET %s came 1", f->keys[KEY_STATE]);
    assert_like(script_recheck(f, "u:3"), "0 * * 0 0 0");
    assert_like(script_redis(f, "HKEYS n"), "u:2");
    assert_like(script_redis(f, "HGET %s open", f->keys[KEY_STATE]), "0");
}

static void a_claim_that_was_given_up_is_refused(void **state)
{
    script_fixture *f = *state;

    two_wait_for_a_free_lock(f);
    script_leave(f, "u:9", "60000");
    assert_like(fair_acquire(f, "u:9"), "!LKVOID *");
    assert_like(script_redis(f, "HEXISTS %s u:9", f->keys[KEY_TICKETS]), "0");
}

/* ---- a server that refuses ---- */

static void a_full_server_refuses_a_newcomer_before_anything(void **state)
{
    script_fixture *f = *state;
    char queue[128];

    two_wait_for_a_free_lock(f);
    script_redis(f, "ZADD %s 1 gone", f->keys[KEY_SKIPPED]);
    snprintf(queue, sizeof(queue), "%s",
             script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]));
    script_fill_memory(f, true);
    assert_like(fair_acquire(f, "u:4"), "!OOM*");
    assert_like(fair_try(f, "u:4"), "!OOM*");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]), queue);
    assert_like(script_redis(f, "ZCARD %s", f->keys[KEY_SKIPPED]), "1");
}

static void without_the_right_to_ask_who_lives_nobody_overtakes(void **state)
{
    script_fixture *f = *state;

    two_wait_for_a_free_lock(f);
    script_deny(f, "pubsub");
    assert_like(fair_acquire(f, "u:4"), "0 -2 * 0 0");
    assert_like(fair_try(f, "u:5"), "2 -2");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]),
                "u:2 u:3 u:4");
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
}

/* Every command that the script may call. */
static const char *const commands[] = {"del",     "exists", "get",
                                       "hdel",    "hget",   "hgetall",
                                       "hmget",   "hset",   "lindex",
                                       "pexpire", "pttl",   "publish",
                                       "pubsub",  "set",    "time",
                                       "zadd",    "zrange", "zrangebyscore",
                                       "zrem",    "zscore"};

/* The first has it, or it is free and both wait; u:4 waits at most once, does
   not hold, and no key stays for ever. */
static void assert_sound(script_fixture *f, const char *denied)
{
    static const int own[] = {KEY_LOCK, KEY_STATE, KEY_QUEUE, KEY_TICKETS,
                              KEY_SKIPPED};
    bool is_given = strcmp(script_redis(f, "HKEYS n"), "u:2") == 0;

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (number(script_redis(f, "PTTL %s", f->keys[own[i]])) == -1)
            fail_msg("without %s: %s for ever", denied, f->keys[own[i]]);
    }
    assert_like(script_redis(f, "HLEN n"), is_given ? "1" : "0");
    assert_like(script_redis(f, "ZRANGE %s 0 1", f->keys[KEY_QUEUE]),
                is_given ? "u:3*" : "u:2 u:3");
}

static void an_acquire_without_a_right_passes_nobody_by(void **state)
{
    script_fixture *f = *state;

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        two_wait_for_a_free_lock(f);
        script_deny(f, commands[i]);
        fair_acquire(f, "u:4");
        assert_sound(f, commands[i]);
        script_deny(f, NULL);
        server_flush(f->server);
    }
}

static void taking_what_only_the_dead_wait_for_is_undone_whole(void **state)
{
    script_fixture *f = *state;

    dead_ones_wait_for_a_free_lock(f, 1);
    f->interop = "1";
    script_deny(f, "set");
    assert_like(fair_acquire(f, "u:4"), cannot);
    assert_like(script_redis(f, "EXISTS n"), "0");
    script_deny(f, NULL);
    assert_like(fair_acquire(f, "u:4"), "1 * 30000 *");
    assert_like(script_redis(f, "EXISTS %s", f->keys[KEY_QUEUE]), "0");
}

static void a_queue_of_another_type_is_refused_before_anything(void **state)
{
    script_fixture *f = *state;

    script_redis(f, "SET %s text", f->keys[KEY_QUEUE]);
    assert_like(fair_acquire(f, "u:1"), "!*WRONGTYPE*");
    assert_like(script_redis(f, "DBSIZE"), "1");
}

/* ---- a clock that was set, a server that stood still ---- */

/* All that is noted of when a claim was seen is ms older, or ms to come. */
static void shift(script_fixture *f, const char *claim, long long ms)
{
    script_age(f, claim, ms);
    script_redis(f, "HSET %s @ %lld", f->keys[KEY_TICKETS],
                 script_now_ms(f) - ms);
}

static void assert_nobody_passes(script_fixture *f)
{
    fair_acquire(f, "u:4");
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
}

static void nobody_is_passed_when_the_clock_was_set_forward(void **state)
{
    script_fixture *f = *state;

    two_wait_for_a_free_lock(f);
    shift(f, "u:2", 3600000);
    shift(f, "u:3", 3600000);
    assert_nobody_passes(f);
}

static void nobody_is_passed_when_the_clock_was_set_back(void **state)
{
    script_fixture *f = *state;

    two_wait_for_a_free_lock(f);
    shift(f, "u:2", -3600000);
    shift(f, "u:3", -3600000);
    assert_nobody_passes(f);
}

static void nobody_is_passed_who_waited_before_the_first_look(void **state)
{
    script_fixture *f = *state;

    two_wait_for_a_free_lock(f);
    shift(f, "u:2", 5000);
    shift(f, "u:3", 5000);
    script_redis(f, "HDEL %s @", f->keys[KEY_TICKETS]);
    assert_nobody_passes(f);
}

/* The first to say that it lives is not thereby the only one. */
static void whoever_looks_first_afterwards_passes_nobody(void **state)
{
    script_fixture *f = *state;

    two_wait_for_a_free_lock(f);
    shift(f, "u:2", 3600000);
    shift(f, "u:3", 3600000);
    script_recheck(f, "u:3");
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
}

/* u:2 stands still, as it did then: it was spared once. */
static void one_that_stands_still_is_spared_once(void **state)
{
    script_fixture *f = *state;
    char gap[32];

    two_wait_for_a_free_lock(f);
    shift(f, "u:2", 7200000);
    snprintf(gap, sizeof(gap), "%lld 0", script_now_ms(f) - 3600000);
    script_redis(f, "HSET %s ! %s", f->keys[KEY_TICKETS], gap);
    fair_acquire(f, "u:4");
    assert_like(script_redis(f, "HKEYS n"), "u:3");
}

static void one_that_was_seen_by_a_later_clock_is_passed(void **state)
{
    script_fixture *f = *state;

    two_wait_for_a_free_lock(f);
    script_age(f, "u:2", -3600000); /* others are seen now */
    fair_acquire(f, "u:4");
    assert_like(script_redis(f, "HKEYS n"), "u:3");
}

static void one_that_does_not_listen_is_not_spared(void **state)
{
    script_fixture *f = *state;

    two_wait_for_a_free_lock(f);
    shift(f, "u:2", 3600000);
    shift(f, "u:3", 3600000);
    script_deafen(f, "in:u:2");
    fair_acquire(f, "u:4");
    assert_like(script_redis(f, "HKEYS n"), "u:3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(a_free_lock_that_nobody_waits_for_is_taken),
        SCRIPT_TEST(a_lock_that_is_held_is_queued_for),
        SCRIPT_TEST(a_try_does_not_queue_for_a_lock_that_is_held),
        SCRIPT_TEST(fair_and_other_claims_stand_in_one_queue),
        SCRIPT_TEST(a_newcomer_queues_and_the_first_is_given_a_free_lock),
        SCRIPT_TEST(a_newcomer_that_is_not_fair_takes_a_free_lock),
        SCRIPT_TEST(a_try_is_refused_while_somebody_waits_for_a_free_lock),
        SCRIPT_TEST(the_first_that_asks_again_takes_a_free_lock),
        SCRIPT_TEST(another_that_asks_again_keeps_its_ticket),
        SCRIPT_TEST(a_holder_that_asks_again_is_told_its_fence),
        SCRIPT_TEST(a_ticket_is_above_all_before_it),
        SCRIPT_TEST(a_free_lock_that_only_the_dead_wait_for_is_taken),
        SCRIPT_TEST(a_try_takes_a_free_lock_that_only_the_dead_wait_for),
        SCRIPT_TEST(one_that_was_not_seen_for_three_seconds_is_passed_by),
        SCRIPT_TEST(one_that_was_passed_by_comes_before_who_came_later),
        SCRIPT_TEST(behind_too_many_dead_ones_it_is_told_of_more),
        SCRIPT_TEST(a_waiter_whose_ticket_is_gone_is_dropped),
        SCRIPT_TEST(the_first_contends_with_a_foreign_holder),
        SCRIPT_TEST(who_is_next_behind_a_new_holder_does_not_contend),
        SCRIPT_TEST(a_lock_left_open_to_others_goes_to_our_first),
        SCRIPT_TEST(a_claim_that_was_given_up_is_refused),
        SCRIPT_TEST(a_full_server_refuses_a_newcomer_before_anything),
        SCRIPT_TEST(without_the_right_to_ask_who_lives_nobody_overtakes),
        SCRIPT_TEST(an_acquire_without_a_right_passes_nobody_by),
        SCRIPT_TEST(taking_what_only_the_dead_wait_for_is_undone_whole),
        SCRIPT_TEST(a_queue_of_another_type_is_refused_before_anything),
        SCRIPT_TEST(nobody_is_passed_when_the_clock_was_set_forward),
        SCRIPT_TEST(nobody_is_passed_when_the_clock_was_set_back),
        SCRIPT_TEST(nobody_is_passed_who_waited_before_the_first_look),
        SCRIPT_TEST(whoever_looks_first_afterwards_passes_nobody),
        SCRIPT_TEST(one_that_stands_still_is_spared_once),
        SCRIPT_TEST(one_that_was_seen_by_a_later_clock_is_passed),
        SCRIPT_TEST(one_that_does_not_listen_is_not_spared),
    };

    return cmocka_run_group_tests_name("lock_fair", tests, script_start_server,
                                       script_stop_server);
}
