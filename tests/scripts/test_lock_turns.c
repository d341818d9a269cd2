/* SPDX-License-Identifier: MIT */

/*
 * Taking turns with those who stand in no queue of ours. Handing over alone
 * would starve them: while one of ours waits the lock would never be free.
 */

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/script.h"

extern const lk__script lk__script_lock_touch;

/* u:1 holds, u:2 and u:3 wait and can be reached. */
static void two_wait(script_fixture *f)
{
    script_listen(f, "in:u:2");
    script_listen(f, "in:u:3");
    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    script_acquire(f, "u:3");
}

static void set_state(script_fixture *f, const char *field, long long value)
{
    script_redis(f, "HSET %s %s %lld", f->keys[KEY_STATE], field, value);
}

static long long state_number(script_fixture *f, const char *field)
{
    return strtoll(script_redis(f, "HGET %s %s", f->keys[KEY_STATE], field),
                   NULL, 10);
}

static void assert_left_open(script_fixture *f)
{
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]),
                "u:2 u:3");
    assert_true(state_number(f, "open") > 0);
}

/* ---- who is there ---- */

static void a_listener_on_redissons_channel_gets_its_turn(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_listen(f, f->channel);
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_left_open(f);
    assert_like(script_heard(f), "in:u:2 open lock u:2 * n\n"
                                 "redisson_lock__channel:{n} 0\n");
}

static void the_open_message_names_the_ticket(void **state)
{
    script_fixture *f = *state;
    char expected[64];

    script_set_name(f, "a b");
    script_listen(f, "in:u:2");
    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    snprintf(expected, sizeof(expected), "in:u:2 open lock u:2 %lld a b\n",
             script_item(f, 2));
    f->interop = "1";
    script_release(f, "u:1", NULL);
    assert_string_equal(script_heard(f), expected);
}

static void redissons_fair_queue_gets_its_turn(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_redis(f, "RPUSH %s java:7", f->keys[KEY_FAIRQ]);
    script_listen(f, "redisson_lock__channel:{n}:java:7");
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_left_open(f);
    assert_like(script_heard(f), "in:u:2 open lock u:2 * n\n"
                                 "redisson_lock__channel:{n}:java:7 0\n");
}

/* Killed, Redisson's waiters leave their queue behind, which has no end. */
static void a_fair_queue_in_which_nobody_listens_has_no_turn(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_redis(f, "RPUSH %s java:7 java:8", f->keys[KEY_FAIRQ]);
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_like(script_redis(f, "HKEYS n"), "u:2");
}

static void one_who_listens_behind_a_dead_head_has_a_turn(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_redis(f, "RPUSH %s java:7 java:8", f->keys[KEY_FAIRQ]);
    script_listen(f, "redisson_lock__channel:{n}:java:8");
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_left_open(f);
}

static void a_client_that_spins_gets_its_turn(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_redis(f, "SET %s 1 PX 60000", f->keys[KEY_SPIN]);
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_left_open(f);
}

/* Java on a replica, or spinning, cannot be seen. */
static void redisson_gets_its_turn_unseen_if_told_so(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    f->interop = "1";
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_left_open(f);
}

/* ---- whose turn it is ---- */

static void in_our_turn_the_lock_is_handed_over(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    f->interop = "1";
    script_stamp(f, "until", 400);
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
    assert_like(script_heard(f), "in:u:2 grant lock u:2 *");
}

static void when_our_turn_is_over_the_lock_is_left_open(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    f->interop = "1";
    set_state(f, "until", script_now_ms(f) - 1);
    script_release(f, "u:1", NULL);
    assert_left_open(f);
}

static void a_hand_over_does_not_lengthen_our_turn(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    f->interop = "1";
    script_stamp(f, "until", 400);
    script_release(f, "u:1", NULL);
    assert_true(state_number(f, "until") <= state_number(f, "since") + 400);
}

/* ---- whether they come ---- */

/* u:1 has left the lock open so long ago, 0: just now, whenever a script runs;
   came: ms ago, -1: they have not. */
static void left_open(script_fixture *f, long long ms, long long came)
{
    long long now;

    two_wait(f);
    f->interop = "1";
    script_release(f, "u:1", NULL);
    script_heard(f);
    now = script_now_ms(f);
    if (ms == 0)
        script_stamp(f, "open", 0);
    else
        set_state(f, "open", now - ms);
    if (came >= 0)
        set_state(f, "came", now - came);
}

/* How long the turn is that has begun with a grant. */
static long long our_turn(script_fixture *f)
{
    assert_int_equal(state_number(f, "open"), 0);
    return state_number(f, "until") - state_number(f, "since");
}

/* ---- a clock that was set back ---- */

enum { HOUR_MS = 3600000 };

static void a_turn_that_begins_in_an_hour_is_over(void **state)
{
    script_fixture *f = *state;

    left_open(f, -HOUR_MS, -1);
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
    assert_int_equal(state_number(f, "open"), 0);
    assert_true(state_number(f, "until") <= script_now_ms(f) + 500);
}

static void who_came_in_an_hour_came_long_ago(void **state)
{
    script_fixture *f = *state;

    left_open(f, 60000, -1);
    script_listen(f, f->channel);
    set_state(f, "came", script_now_ms(f) + HOUR_MS);
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
    assert_true(state_number(f, "until") <= script_now_ms(f) + 500);
}

static void our_turn_does_not_last_for_an_hour(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    f->interop = "1";
    set_state(f, "until", script_now_ms(f) + HOUR_MS);
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_left_open(f);
}

static void nor_where_nobody_of_ours_waits(void **state)
{
    script_fixture *f = *state;

    script_listen(f, f->channel);
    script_acquire(f, "u:1");
    set_state(f, "until", script_now_ms(f) + HOUR_MS);
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_true(state_number(f, "open") > 0);
}

static void what_is_left_open_twice_was_left_open_first(void **state)
{
    script_fixture *f = *state;

    left_open(f, 0, -1);
    script_stamp(f, "open", -100);
    assert_like(script_pass(f), "0 0");
    assert_left_open(f);
    assert_true(state_number(f, "open") <= script_now_ms(f) - 100);
}

/* One that does not note whether they come. */
static void a_turn_that_another_release_began_is_counted_from_then(void **state)
{
    script_fixture *f = *state;

    left_open(f, 60000, -1);
    script_redis(f, "HDEL %s came", f->keys[KEY_STATE]);
    set_state(f, "open", 12345);
    assert_like(script_pass(f), "0 0");
    assert_int_equal(state_number(f, "open"), 12345);
    assert_like(script_acquire(f, "u:4"), "1 * 30000 *");
}

/* It is told for how long the lock is theirs, and nothing in its inbox. */
static void our_first_waits_for_them_to_come(void **state)
{
    script_fixture *f = *state;

    left_open(f, 0, -1);
    assert_like(script_recheck(f, "u:2"), "0 * * 2 0 0");
    assert_in_range(script_item(f, 1), 1, 150);
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(script_heard(f), "");
}

static void whoever_looks_tells_our_first_that_it_is_theirs_yet(void **state)
{
    script_fixture *f = *state;

    left_open(f, 0, -1);
    assert_like(script_recheck(f, "u:3"), "0 -2 * 0 0 0");
    assert_like(script_heard(f), "in:u:2 open lock u:2 * n\n");
    assert_like(script_call(f, &lk__script_lock_touch, "", "u:2", "u:3",
                            (char *)NULL),
                "-2 1 0 0 * *");
    assert_like(script_heard(f), "");
}

/* Asleep between two tries they may not hear that it is open. */
static void if_they_do_not_come_in_time_our_first_has_a_long_turn(void **state)
{
    script_fixture *f = *state;

    left_open(f, 200, -1);
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
    assert_int_equal(our_turn(f), 500);
}

/* A listener on the same channel may be one of another database. */
static void turns_in_vain_make_ours_twice_as_long(void **state)
{
    static const long long turns[] = {500, 500, 1000, 2000, 2000};
    script_fixture *f = *state;

    two_wait(f);
    script_listen(f, f->channel);
    for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
        const char *holder = i % 2 == 0 ? "u:1" : "u:2";
        const char *next = i % 2 == 0 ? "u:2" : "u:1";

        set_state(f, "until", script_now_ms(f) - 1);
        script_release(f, holder, NULL);
        set_state(f, "open", script_now_ms(f) - 200);
        assert_like(script_recheck(f, next), "1 * 30000 * *");
        assert_int_equal(our_turn(f), turns[i]);
        script_leave(f, "u:3", "0");
        script_acquire(f, holder);
    }
}

/* Else the name would go from side to side at each release. */
static void while_some_listen_they_have_it_for_a_moment_at_least(void **state)
{
    script_fixture *f = *state;

    left_open(f, 10, -1);
    script_listen(f, f->channel);
    script_stamp_both(f, "came", -9, "open", -19);
    assert_like(script_recheck(f, "u:2"), "0 1 * 2 0 0");
    script_stamp_both(f, "came", -10, "open", -20);
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
}

/* Slow as they are then, they would get little else. */
static void who_took_long_to_come_has_it_for_as_long(void **state)
{
    script_fixture *f = *state;

    left_open(f, 300, -1);
    script_listen(f, f->channel);
    script_stamp_both(f, "came", -99, "open", -99 - 400);
    assert_like(script_recheck(f, "u:2"), "0 * * 2 0 0");
    script_stamp_both(f, "came", -99, "open", -99 - 60);
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
}

static void if_none_listens_any_more_it_is_ours_at_once(void **state)
{
    script_fixture *f = *state;

    left_open(f, 60000, -1);
    script_stamp(f, "came", 0);
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
}

static void who_comes_makes_it_short_again(void **state)
{
    script_fixture *f = *state;

    left_open(f, 210, 200);
    set_state(f, "alone", 4);
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
    assert_in_range(our_turn(f), 200, 500);
    assert_int_equal(state_number(f, "alone"), 0);
}

/* ---- who is not seen to wait ---- */

/* u:2 and u:3 wait behind one of theirs, who gives it to u:2. */
static void one_was_met(script_fixture *f)
{
    script_listen(f, "in:u:2");
    script_listen(f, "in:u:3");
    script_redis(f, "HSET n java:7 1");
    script_redis(f, "PEXPIRE n 30000");
    script_acquire(f, "u:2");
    script_acquire(f, "u:3");
    script_redis(f, "DEL n");
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
}

static void left_to_whom_we_met(script_fixture *f)
{
    assert_like(script_release(f, "u:2", NULL), "1 0 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_true(state_number(f, "open") > 0);
}

static void handed_over(script_fixture *f)
{
    assert_like(script_release(f, "u:2", NULL), "1 0 0");
    assert_like(script_redis(f, "HKEYS n"), "u:3");
}

static void who_had_it_unasked_gets_a_turn_unseen(void **state)
{
    script_fixture *f = *state;

    one_was_met(f);
    left_to_whom_we_met(f);
}

static void long_ago_they_were_met_no_more(void **state)
{
    script_fixture *f = *state;

    one_was_met(f);
    set_state(f, "met", script_now_ms(f) - 10000);
    handed_over(f);
}

static void met_in_an_hour_is_not_met(void **state)
{
    script_fixture *f = *state;

    one_was_met(f);
    set_state(f, "met", script_now_ms(f) + HOUR_MS);
    handed_over(f);
}

static void in_vain_twice_they_are_taken_to_be_gone(void **state)
{
    script_fixture *f = *state;

    one_was_met(f);
    set_state(f, "alone", 1);
    left_to_whom_we_met(f);
    set_state(f, "open", script_now_ms(f) - 200);
    assert_like(script_recheck(f, "u:3"), "1 * 30000 * *");
    assert_int_equal(state_number(f, "alone"), 2);
    set_state(f, "until", script_now_ms(f) - 1);
    script_acquire(f, "u:2");
    assert_like(script_release(f, "u:3", NULL), "1 0 0");
    assert_like(script_redis(f, "HKEYS n"), "u:2");
}

static void who_comes_in_that_turn_is_met_again(void **state)
{
    script_fixture *f = *state;

    one_was_met(f);
    left_to_whom_we_met(f);
    set_state(f, "met", script_now_ms(f) - 5000);
    script_redis(f, "HSET n java:7 1");
    assert_like(script_recheck(f, "u:3"), "0 -1 * 1 0 0");
    assert_true(state_number(f, "met") > script_now_ms(f) - 4000);
}

/* It came because it listened; it will again. */
static void who_was_seen_to_wait_is_not_met(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_listen(f, f->channel);
    script_release(f, "u:1", NULL);
    script_redis(f, "HSET n java:7 1");
    assert_like(script_recheck(f, "u:2"), "0 -1 * 1 0 0");
    assert_int_equal(state_number(f, "met"), 0);
}

static void nobody_waits_for_them_when_they_are_gone(void **state)
{
    script_fixture *f = *state;

    left_open(f, 0, -1);
    f->interop = "0";
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
}

static void a_foreign_holder_is_seen_to_have_come(void **state)
{
    script_fixture *f = *state;
    long long before = script_now_ms(f);

    left_open(f, 0, -1);
    script_redis(f, "HSET n java:7 1");
    assert_like(script_recheck(f, "u:2"), "0 -1 * 1 0 0");
    assert_in_range(state_number(f, "came"), before, script_now_ms(f));
    script_redis(f, "DEL n");
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
}

static void when_they_came_is_noted_once(void **state)
{
    script_fixture *f = *state;

    left_open(f, 300, -1);
    set_state(f, "came", 12345);
    script_redis(f, "HSET n java:7 1");
    assert_like(script_recheck(f, "u:2"), "0 -1 * 1 0 0");
    assert_int_equal(state_number(f, "came"), 12345);
}

static void one_of_ours_has_not_come_as_one_of_them(void **state)
{
    script_fixture *f = *state;

    left_open(f, 200, -1);
    script_recheck(f, "u:2");
    set_state(f, "open", 1);
    assert_like(script_recheck(f, "u:3"), "0 * * 0 0 0");
    assert_int_equal(state_number(f, "came"), 0);
}

/* ---- how long our turn is ---- */

static void our_turn_is_as_long_as_they_had_the_lock(void **state)
{
    script_fixture *f = *state;
    long long had;

    left_open(f, 210, 200);
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
    had = state_number(f, "since") - state_number(f, "came");
    assert_int_equal(our_turn(f), had < 500 ? had : 500);
}

/* What is free while they are slow to come is lost to both. */
static void our_turn_is_as_long_as_the_lock_lay_free(void **state)
{
    script_fixture *f = *state;

    left_open(f, 410, 0);
    set_state(f, "open", state_number(f, "came") - 410);
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
    assert_in_range(our_turn(f), 400, 500);
}

static void our_turn_is_half_a_second_at_most(void **state)
{
    script_fixture *f = *state;

    left_open(f, 60000, 59000);
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
    assert_int_equal(our_turn(f), 500);
}

/* ---- newcomers of ours ---- */

/* Ours queue behind each other; only the first contends. */
static void
a_waiter_that_is_not_first_gives_an_open_lock_to_the_first(void **state)
{
    script_fixture *f = *state;

    left_open(f, 30, 20);
    assert_like(script_recheck(f, "u:3"), "0 * * 0 0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
    assert_like(script_heard(f), "in:u:2 grant lock u:2 *");
}

/* Most of all the one that has just released it. */
static void who_comes_in_their_turn_queues(void **state)
{
    script_fixture *f = *state;

    left_open(f, 0, -1);
    assert_like(script_acquire(f, "u:4"), "0 -1 * 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
    script_leave(f, "u:2", "0");
    script_leave(f, "u:3", "0");
    assert_like(script_acquire(f, "u:4"), "0 -1 * 2");
}

static void who_only_tries_has_what_is_free_in_their_turn(void **state)
{
    script_fixture *f = *state;

    left_open(f, 0, -1);
    assert_like(script_try(f, "u:4"), "1 * 30000 *");
}

/* A multilock tries all of its names before it waits for the first. */
static void who_tries_and_will_wait_leaves_it_to_them(void **state)
{
    script_fixture *f = *state;

    left_open(f, 0, -1);
    assert_like(script_acquire_with(f, "u:4", "30000", "t", "", "", "0"),
                "2 -1");
    assert_left_open(f);
    script_stamp(f, "open", -500);
    assert_like(script_acquire_with(f, "u:4", "30000", "t", "", "", "0"),
                "1 * 30000 *");
    assert_like(script_acquire_with(f, "u:5", "30000", "t", "", "", "0"),
                "2 *");
}

/* ---- our own who spin ---- */

static void who_spins_is_one_of_them(void **state)
{
    script_fixture *f = *state;

    left_open(f, 300, -1);
    assert_like(script_acquire_with(f, "u:4", "30000", "s", "", "", "0"),
                "1 * 30000 *");
    assert_true(state_number(f, "open") > 0);
    assert_true(state_number(f, "came") > 0);
}

static void what_a_spinner_releases_in_their_turn_is_handed_over(void **state)
{
    script_fixture *f = *state;

    left_open(f, 300, -1);
    script_acquire_with(f, "u:4", "30000", "s", "", "", "0");
    assert_like(script_release(f, "u:4", NULL), "1 0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
    assert_in_range(our_turn(f), 290, 500);
}

/* ---- our side of an open release ---- */

static void only_a_waiter_alive_is_told_that_the_lock_is_open(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    f->interop = "1";
    script_deafen(f, "in:u:2");
    script_release(f, "u:1", NULL);
    assert_like(script_heard(f), "in:u:3 open lock u:3 * n\n");
}

static void who_leaves_an_open_lock_passes_the_word_on(void **state)
{
    script_fixture *f = *state;

    left_open(f, 0, -1);
    assert_like(script_leave(f, "u:2", "0"), "1 0 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(script_heard(f), "in:u:3 open lock u:3 * n\n");
}

static void an_open_release_makes_no_state_that_stays(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    f->interop = "1";
    script_redis(f, "DEL %s", f->keys[KEY_STATE]);
    assert_like(script_release(f, "u:1", "1"), "1 0 0");
    assert_like(script_redis(f, "PTTL %s", f->keys[KEY_STATE]), "[1-9]*");
    assert_int_equal(state_number(f, "v"), 1);
}

/* Nobody of ours waits, and nobody of theirs can be seen to. */
static void without_a_waiter_no_turn_begins(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    f->interop = "1";
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_int_equal(state_number(f, "open"), 0);
}

/* Else the next thread of the same client would always come before them. */
static void without_a_waiter_of_ours_those_who_listen_have_a_turn(void **state)
{
    script_fixture *f = *state;

    script_listen(f, f->channel);
    script_acquire(f, "u:1");
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_true(state_number(f, "open") > 0);
    assert_like(script_acquire(f, "u:2"), "0 -1 * 2");
}

static void
without_a_waiter_of_ours_redissons_fair_queue_has_a_turn(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_redis(f, "RPUSH %s java:7", f->keys[KEY_FAIRQ]);
    script_listen(f, "redisson_lock__channel:{n}:java:7");
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_like(script_acquire(f, "u:2"), "0 -1 * 2");
}

static void without_a_waiter_of_ours_those_who_spin_have_a_turn(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_redis(f, "SET %s 1", f->keys[KEY_SPIN]);
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_like(script_acquire(f, "u:2"), "0 -1 * 2");
}

static void without_a_waiter_no_turn_of_ours_is_cut_short(void **state)
{
    script_fixture *f = *state;

    script_listen(f, f->channel);
    script_acquire(f, "u:1");
    script_stamp(f, "until", 400);
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_int_equal(state_number(f, "open"), 0);
}

static void force_leaves_the_lock_open_in_the_others_turn(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    f->interop = "1";
    assert_like(script_force(f), "1 0 0");
    assert_left_open(f);
}

/* Redisson gives it back, tells its own, and knows nothing of our queue. */
static void a_lock_that_redisson_released_goes_to_our_first(void **state)
{
    script_fixture *f = *state;

    script_redis(f, "HSET n java:7 1");
    script_redis(f, "PEXPIRE n 30000");
    script_acquire(f, "u:2");
    script_redis(f, "DEL n");
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(a_listener_on_redissons_channel_gets_its_turn),
        SCRIPT_TEST(the_open_message_names_the_ticket),
        SCRIPT_TEST(redissons_fair_queue_gets_its_turn),
        SCRIPT_TEST(a_fair_queue_in_which_nobody_listens_has_no_turn),
        SCRIPT_TEST(one_who_listens_behind_a_dead_head_has_a_turn),
        SCRIPT_TEST(a_client_that_spins_gets_its_turn),
        SCRIPT_TEST(redisson_gets_its_turn_unseen_if_told_so),
        SCRIPT_TEST(in_our_turn_the_lock_is_handed_over),
        SCRIPT_TEST(when_our_turn_is_over_the_lock_is_left_open),
        SCRIPT_TEST(a_hand_over_does_not_lengthen_our_turn),
        SCRIPT_TEST(a_turn_that_begins_in_an_hour_is_over),
        SCRIPT_TEST(who_came_in_an_hour_came_long_ago),
        SCRIPT_TEST(our_turn_does_not_last_for_an_hour),
        SCRIPT_TEST(nor_where_nobody_of_ours_waits),
        SCRIPT_TEST(what_is_left_open_twice_was_left_open_first),
        SCRIPT_TEST(a_turn_that_another_release_began_is_counted_from_then),
        SCRIPT_TEST(our_first_waits_for_them_to_come),
        SCRIPT_TEST(whoever_looks_tells_our_first_that_it_is_theirs_yet),
        SCRIPT_TEST(if_they_do_not_come_in_time_our_first_has_a_long_turn),
        SCRIPT_TEST(turns_in_vain_make_ours_twice_as_long),
        SCRIPT_TEST(while_some_listen_they_have_it_for_a_moment_at_least),
        SCRIPT_TEST(who_took_long_to_come_has_it_for_as_long),
        SCRIPT_TEST(if_none_listens_any_more_it_is_ours_at_once),
        SCRIPT_TEST(who_comes_makes_it_short_again),
        SCRIPT_TEST(who_had_it_unasked_gets_a_turn_unseen),
        SCRIPT_TEST(long_ago_they_were_met_no_more),
        SCRIPT_TEST(met_in_an_hour_is_not_met),
        SCRIPT_TEST(in_vain_twice_they_are_taken_to_be_gone),
        SCRIPT_TEST(who_comes_in_that_turn_is_met_again),
        SCRIPT_TEST(who_was_seen_to_wait_is_not_met),
        SCRIPT_TEST(nobody_waits_for_them_when_they_are_gone),
        SCRIPT_TEST(a_foreign_holder_is_seen_to_have_come),
        SCRIPT_TEST(when_they_came_is_noted_once),
        SCRIPT_TEST(one_of_ours_has_not_come_as_one_of_them),
        SCRIPT_TEST(our_turn_is_as_long_as_they_had_the_lock),
        SCRIPT_TEST(our_turn_is_as_long_as_the_lock_lay_free),
        SCRIPT_TEST(our_turn_is_half_a_second_at_most),
        SCRIPT_TEST(a_waiter_that_is_not_first_gives_an_open_lock_to_the_first),
        SCRIPT_TEST(who_comes_in_their_turn_queues),
        SCRIPT_TEST(who_only_tries_has_what_is_free_in_their_turn),
        SCRIPT_TEST(who_tries_and_will_wait_leaves_it_to_them),
        SCRIPT_TEST(who_spins_is_one_of_them),
        SCRIPT_TEST(what_a_spinner_releases_in_their_turn_is_handed_over),
        SCRIPT_TEST(only_a_waiter_alive_is_told_that_the_lock_is_open),
        SCRIPT_TEST(who_leaves_an_open_lock_passes_the_word_on),
        SCRIPT_TEST(an_open_release_makes_no_state_that_stays),
        SCRIPT_TEST(without_a_waiter_no_turn_begins),
        SCRIPT_TEST(without_a_waiter_of_ours_those_who_listen_have_a_turn),
        SCRIPT_TEST(without_a_waiter_of_ours_redissons_fair_queue_has_a_turn),
        SCRIPT_TEST(without_a_waiter_of_ours_those_who_spin_have_a_turn),
        SCRIPT_TEST(without_a_waiter_no_turn_of_ours_is_cut_short),
        SCRIPT_TEST(force_leaves_the_lock_open_in_the_others_turn),
        SCRIPT_TEST(a_lock_that_redisson_released_goes_to_our_first),
    };

    return cmocka_run_group_tests_name("lock_turns", tests, script_start_server,
                                       script_stop_server);
}
