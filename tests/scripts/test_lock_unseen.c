/* SPDX-License-Identifier: MIT */

/*
 * Others that leave no trace, as Redisson's spin lock: where ours have handed
 * the name over for a second, it is left to whoever may be there.
 */

#include <stdlib.h>

#include "support/check.h"
#include "support/script.h"

enum { PROBE_MS = 12, HOUR_MS = 3600000 };

static void set_state(script_fixture *f, const char *field, long long value)
{
    script_redis(f, "HSET %s %s %lld", f->keys[KEY_STATE], field, value);
}

static long long state_number(script_fixture *f, const char *field)
{
    return strtoll(script_redis(f, "HGET %s %s", f->keys[KEY_STATE], field),
                   NULL, 10);
}

/* Killed, Redisson's waiters leave it; the quick road is not for such names. */
static void no_quick_road(script_fixture *f)
{
    script_redis(f, "RPUSH %s java:7", f->keys[KEY_FAIRQ]);
}

/* u:1 took the name when it was free; u:2 and u:3 wait. */
static void one_took_it_free(script_fixture *f)
{
    script_listen(f, "in:u:2");
    script_listen(f, "in:u:3");
    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    script_acquire(f, "u:3");
}

/* u:2 was given the name by u:1; u:3 waits. */
static void one_was_given_it(script_fixture *f)
{
    one_took_it_free(f);
    script_release(f, "u:1", NULL);
    assert_like(script_redis(f, "HKEYS n"), "u:2");
    script_heard(f);
}

/* The name is left open, ours having handed it over for so long; u:3 waits. */
static void left_to_the_unseen(script_fixture *f)
{
    one_was_given_it(f);
    script_stamp(f, "run", -1000);
    assert_like(script_release(f, "u:2", NULL), "1 0 0");
    script_stamp(f, NULL, 0);
    script_heard(f);
}

static void assert_left_open(script_fixture *f)
{
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_true(state_number(f, "open") > 0);
    assert_int_equal(state_number(f, "came"), 0);
}

static void assert_handed_over(script_fixture *f)
{
    assert_like(script_redis(f, "HKEYS n"), "u:3");
    assert_int_equal(state_number(f, "open"), 0);
}

/* ---- when ---- */

static void after_a_second_the_name_is_left_open(void **state)
{
    script_fixture *f = *state;

    one_was_given_it(f);
    script_stamp(f, "run", -1000);
    assert_like(script_release(f, "u:2", NULL), "1 0 0");
    assert_left_open(f);
    assert_like(script_heard(f), "in:u:3 open lock u:3 * n\n");
}

static void after_less_it_is_handed_over_and_the_time_runs_on(script_fixture *f)
{
    long long run;

    one_was_given_it(f);
    script_stamp(f, "run", -900);
    assert_like(script_release(f, "u:2", NULL), "1 0 0");
    assert_handed_over(f);
    run = state_number(f, "run");
    assert_true(run <= state_number(f, "since") - 900);
}

static void after_less_it_is_handed_over(void **state)
{
    after_less_it_is_handed_over_and_the_time_runs_on(*state);
}

static void so_it_is_on_the_long_road(void **state)
{
    no_quick_road(*state);
    after_less_it_is_handed_over_and_the_time_runs_on(*state);
}

/* It was free then, and who spins could have had it. */
static void after_a_grant_of_the_free_name_the_time_begins(script_fixture *f)
{
    one_took_it_free(f);
    script_stamp(f, "run", -5000);
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_like(script_redis(f, "HKEYS n"), "u:2");
    assert_int_equal(state_number(f, "run"), state_number(f, "since"));
}

static void who_took_it_free_begins_the_time(void **state)
{
    after_a_grant_of_the_free_name_the_time_begins(*state);
}

static void who_took_it_free_begins_the_time_on_the_long_road(void **state)
{
    no_quick_road(*state);
    after_a_grant_of_the_free_name_the_time_begins(*state);
}

static void a_time_that_begins_in_an_hour_begins_now(script_fixture *f)
{
    one_was_given_it(f);
    script_stamp(f, "run", HOUR_MS);
    assert_like(script_release(f, "u:2", NULL), "1 0 0");
    assert_handed_over(f);
    assert_int_equal(state_number(f, "run"), state_number(f, "since"));
}

static void a_clock_that_was_set_back_begins_the_time(void **state)
{
    a_time_that_begins_in_an_hour_begins_now(*state);
}

static void
a_clock_that_was_set_back_begins_the_time_on_the_long_road(void **state)
{
    no_quick_road(*state);
    a_time_that_begins_in_an_hour_begins_now(*state);
}

static void in_our_turn_it_is_handed_over(void **state)
{
    script_fixture *f = *state;

    one_was_given_it(f);
    no_quick_road(f);
    set_state(f, "until", script_now_ms(f) + 1500);
    script_stamp(f, "run", -1000);
    assert_like(script_release(f, "u:2", NULL), "1 0 0");
    assert_handed_over(f);
}

/* ---- how long ---- */

static void the_first_of_ours_has_to_wait_for_a_moment(void **state)
{
    script_fixture *f = *state;

    left_to_the_unseen(f);
    script_stamp(f, "open", 0);
    assert_like(script_recheck(f, "u:3"), "0 12 * 2 0 0");
}

static void if_nobody_comes_it_goes_on_as_before(void **state)
{
    script_fixture *f = *state;

    left_to_the_unseen(f);
    set_state(f, "alone", 1);
    script_stamp(f, "open", -PROBE_MS);
    assert_like(script_recheck(f, "u:3"), "1 * 30000 * *");
    assert_int_equal(state_number(f, "alone"), 1);
    assert_int_equal(state_number(f, "run"), state_number(f, "since"));
    assert_in_range(state_number(f, "until"), state_number(f, "since"),
                    state_number(f, "since") + PROBE_MS);
}

static void newcomers_of_ours_queue_meanwhile(void **state)
{
    script_fixture *f = *state;

    left_to_the_unseen(f);
    assert_like(script_acquire(f, "u:2"), "0 -1 * 0");
    assert_left_open(f);
}

static void a_listener_that_comes_then_has_a_whole_turn(void **state)
{
    script_fixture *f = *state;

    left_to_the_unseen(f);
    script_listen(f, f->channel);
    script_stamp(f, "open", -50);
    assert_like(script_recheck(f, "u:3"), "0 100 * 2 0 0");
}

/* ---- who comes ---- */

static void who_comes_is_met(void **state)
{
    script_fixture *f = *state;

    left_to_the_unseen(f);
    set_state(f, "alone", 2);
    script_redis(f, "HSET n java:7 1");
    assert_like(script_recheck(f, "u:3"), "0 -1 * 1 0 0");
    assert_true(state_number(f, "met") >= state_number(f, "open"));
    assert_int_equal(state_number(f, "alone"), 0);
}

static void who_was_met_so_has_turns_from_then_on(void **state)
{
    script_fixture *f = *state;

    left_to_the_unseen(f);
    script_redis(f, "HSET n java:7 1");
    script_recheck(f, "u:3");
    script_acquire(f, "u:2");
    script_redis(f, "DEL n");
    assert_like(script_recheck(f, "u:3"), "1 * 30000 * *");
    set_state(f, "until", script_now_ms(f) - 1);
    assert_like(script_release(f, "u:3", NULL), "1 0 0");
    assert_left_open(f);
    assert_true(state_number(f, "run") > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(after_a_second_the_name_is_left_open),
        SCRIPT_TEST(after_less_it_is_handed_over),
        SCRIPT_TEST(so_it_is_on_the_long_road),
        SCRIPT_TEST(who_took_it_free_begins_the_time),
        SCRIPT_TEST(who_took_it_free_begins_the_time_on_the_long_road),
        SCRIPT_TEST(a_clock_that_was_set_back_begins_the_time),
        SCRIPT_TEST(a_clock_that_was_set_back_begins_the_time_on_the_long_road),
        SCRIPT_TEST(in_our_turn_it_is_handed_over),
        SCRIPT_TEST(the_first_of_ours_has_to_wait_for_a_moment),
        SCRIPT_TEST(if_nobody_comes_it_goes_on_as_before),
        SCRIPT_TEST(newcomers_of_ours_queue_meanwhile),
        SCRIPT_TEST(a_listener_that_comes_then_has_a_whole_turn),
        SCRIPT_TEST(who_comes_is_met),
        SCRIPT_TEST(who_was_met_so_has_turns_from_then_on),
    };

    return cmocka_run_group_tests_name("lock_unseen", tests,
                                       script_start_server, script_stop_server);
}
