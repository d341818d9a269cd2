/* SPDX-License-Identifier: MIT */

/*
 * Taking turns with those who stand in no queue of ours. Handing over alone
 * would starve them: while one of ours waits the lock would never be free.
 */

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/script.h"

static long long number(const char *text)
{
    return strtoll(text, NULL, 10);
}

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

static void assert_left_open(script_fixture *f)
{
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]),
                "u:2 u:3");
    assert_true(number(script_redis(f, "HGET %s open", f->keys[KEY_STATE])) >
                0);
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
    set_state(f, "until", script_now_ms(f) + 60000);
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
    long long until = script_now_ms(f) + 60000;

    two_wait(f);
    f->interop = "1";
    set_state(f, "until", until);
    script_release(f, "u:1", NULL);
    assert_true(number(script_redis(f, "HGET %s until", f->keys[KEY_STATE])) ==
                until);
}

/* Our turn is measured by theirs, from when the lock was left to them. */
static void a_turn_is_counted_from_the_first_open_release(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    f->interop = "1";
    script_release(f, "u:1", NULL);
    set_state(f, "open", 12345);
    assert_like(script_pass(f), "0 0");
    assert_like(script_redis(f, "HGET %s open", f->keys[KEY_STATE]), "12345");
}

static void a_waiter_that_takes_an_open_lock_begins_our_turn(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    f->interop = "1";
    script_release(f, "u:1", NULL);
    set_state(f, "open", script_now_ms(f) - 60000);
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
    assert_in_range(number(
                        script_redis(f, "HGET %s until", f->keys[KEY_STATE])),
                    script_now_ms(f) - 5000, script_now_ms(f) + 500);
    assert_like(script_redis(f, "HGET %s open", f->keys[KEY_STATE]), "0");
}

/* Ours queue behind each other; only the first contends. */
static void
a_waiter_that_is_not_first_gives_an_open_lock_to_the_first(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    f->interop = "1";
    script_release(f, "u:1", NULL);
    script_heard(f);
    assert_like(script_recheck(f, "u:3"), "0 * * 0 0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
    assert_like(script_heard(f), "in:u:2 grant lock u:2 *");
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

    two_wait(f);
    f->interop = "1";
    script_release(f, "u:1", NULL);
    script_heard(f);
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
    assert_true(number(script_redis(f, "PTTL %s", f->keys[KEY_STATE])) > 0);
    assert_like(script_redis(f, "HGET %s v", f->keys[KEY_STATE]), "1");
}

/* Nobody of ours waits: then there is nothing to take turns about. */
static void without_a_waiter_of_ours_no_turn_begins(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    f->interop = "1";
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_like(script_redis(f, "HGET %s open", f->keys[KEY_STATE]), "0");
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
        SCRIPT_TEST(a_client_that_spins_gets_its_turn),
        SCRIPT_TEST(redisson_gets_its_turn_unseen_if_told_so),
        SCRIPT_TEST(in_our_turn_the_lock_is_handed_over),
        SCRIPT_TEST(when_our_turn_is_over_the_lock_is_left_open),
        SCRIPT_TEST(a_hand_over_does_not_lengthen_our_turn),
        SCRIPT_TEST(a_turn_is_counted_from_the_first_open_release),
        SCRIPT_TEST(a_waiter_that_takes_an_open_lock_begins_our_turn),
        SCRIPT_TEST(a_waiter_that_is_not_first_gives_an_open_lock_to_the_first),
        SCRIPT_TEST(only_a_waiter_alive_is_told_that_the_lock_is_open),
        SCRIPT_TEST(who_leaves_an_open_lock_passes_the_word_on),
        SCRIPT_TEST(an_open_release_makes_no_state_that_stays),
        SCRIPT_TEST(without_a_waiter_of_ours_no_turn_begins),
        SCRIPT_TEST(force_leaves_the_lock_open_in_the_others_turn),
        SCRIPT_TEST(a_lock_that_redisson_released_goes_to_our_first),
    };

    return cmocka_run_group_tests_name("lock_turns", tests, script_start_server,
                                       script_stop_server);
}
