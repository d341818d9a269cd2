/* SPDX-License-Identifier: MIT */

/* latch_down, latch_arrive, latch_quit: each thing counts once. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/latch_script.h"

/* ---- counting down ---- */

SCRIPT_TEST(counting_down_takes_from_the_count)
{
    latch_set(f, "op:1", "5");
    latch_listen(f);
    assert_like(latch_down(f, "op:2", "2"), "1 0");
    assert_like(script_redis(f, "GET n"), "3");
    assert_like(latch_count(f), "1 3");
    assert_string_equal(script_heard(f), "");
}

SCRIPT_TEST(the_last_count_opens)
{
    char expected[128];
    long long gen;

    latch_set(f, "op:1", "2");
    gen = latch_mark(f, "gen");
    latch_down(f, "op:2", "1");
    latch_listen(f);
    assert_like(latch_down(f, "op:3", "1"), "1 0");
    snprintf(expected, sizeof(expected),
             LATCH_NEWS " opened 0 latch %lld " LATCH_NONCE
                        " n\n" LATCH_REDISSON " 0\n",
             gen);
    assert_string_equal(script_heard(f), expected);
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(latch_word(f, "phase"), "open");
    assert_int_equal(latch_mark(f, "foreign"), 0);
    assert_int_equal(latch_mark(f, "opened"), gen);
    assert_int_equal(latch_mark(f, "gen"), gen);
    assert_in_range(latch_pttl(f, LATCH_RECORD), 3590000, 3600000);
}

SCRIPT_TEST(more_than_is_left_opens_as_well)
{
    latch_set(f, "op:1", "2");
    assert_like(latch_down(f, "op:2", "7"), "1 0");
    assert_like(latch_count(f), "1 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

SCRIPT_TEST(a_latch_opens_once)
{
    latch_set(f, "op:1", "1");
    latch_down(f, "op:2", "1");
    latch_listen(f);
    assert_like(latch_down(f, "op:3", "1"), "1 0");
    assert_like(latch_down(f, "op:2", "1"), "1 0");
    assert_string_equal(script_heard(f), "");
    assert_like(latch_count(f), "1 0");
}

/* Its number could not be told from the next one. */
SCRIPT_TEST(the_last_generation_is_not_counted)
{
    latch_set(f, "op:1", "2");
    latch_put(f, "gen", 9007199254740990);
    assert_non_null(strstr(latch_down(f, "op:2", "1"), "LKRANGE"));
    assert_non_null(strstr(latch_down(f, "op:3", "2"), "LKRANGE"));
    assert_like(script_redis(f, "GET n"), "2");
    latch_put(f, "gen", 9007199254740988);
    assert_like(latch_down(f, "op:4", "2"), "1 0");
}

SCRIPT_TEST(there_is_nothing_to_count_on_an_unset_latch)
{
    assert_like(latch_down(f, "op:1", "1"), "3");
    assert_like(script_redis(f, "KEYS *"), LATCH_MEMO);
}

SCRIPT_TEST(a_count_that_is_sent_again_counts_once)
{
    latch_set(f, "op:1", "3");
    latch_down(f, "op:2", "1");
    assert_like(latch_down(f, "op:2", "1"), "1 0");
    assert_like(latch_count(f), "1 2");
    latch_reset(f, "op:3", "3");
    assert_like(latch_down(f, "op:2", "1"), "1 0");
    assert_like(latch_count(f), "1 3");
    latch_delete(f, "op:4");
    assert_like(latch_down(f, "op:2", "1"), "1 0");
}

/* The reply was lost, or the request runs late: what it was answered holds, though
   the latch is another one since. */
SCRIPT_TEST(a_count_that_found_it_open_does_not_count_later)
{
    latch_set(f, "op:1", "1");
    latch_down(f, "op:2", "1");
    assert_like(latch_down(f, "late", "1"), "1 0");
    latch_reset(f, "op:3", "2");
    assert_like(latch_down(f, "late", "1"), "1 0");
    assert_like(latch_count(f), "1 2");
}

SCRIPT_TEST(what_was_refused_is_refused_again)
{
    assert_like(latch_down(f, "late:1", "1"), "3");
    assert_like(latch_delete(f, "late:2"), "2");
    latch_arrive(f, "op:1", "2", "m1");
    assert_like(latch_set(f, "late:3", "7"), "2");
    assert_like(latch_arrive(f, "late:4", "3", "m2"), "4 2");
    assert_like(latch_down(f, "late:1", "1"), "3");
    assert_like(latch_delete(f, "late:2"), "2");
    assert_like(latch_count(f), "1 1");
    latch_delete(f, "op:2");
    assert_like(latch_set(f, "late:3", "7"), "2");
    assert_like(latch_arrive(f, "late:4", "3", "m2"), "4 0");
    assert_like(latch_count(f), "2");
}

SCRIPT_TEST(a_count_is_remembered_longer_than_it_is_sent)
{
    long long now = script_now_ms(f);
    char old[32], young[32];

    latch_set(f, "op:1", "5");
    snprintf(old, sizeof(old), "%lld done", now - 660001);
    snprintf(young, sizeof(young), "%lld done", now - 650000);
    script_redis(f, "HSET " LATCH_MEMO " old %s young %s # %s", old, young,
                 "1 0"); /* a sweep is due */
    latch_down(f, "op:2", "1");
    assert_like(script_redis(f, "HMGET " LATCH_MEMO " old young op:1 op:2"),
                "nil * done * done * done");
    assert_in_range(latch_pttl(f, LATCH_MEMO), 650000, 660000);
}

SCRIPT_TEST(opening_empties_the_list_of_those_who_wait)
{
    latch_set(f, "op:1", "1");
    latch_wait(f, "u:1");
    latch_wait(f, "u:2");
    latch_down(f, "op:2", "1");
    assert_like(script_redis(f, "EXISTS " LATCH_QUEUE), "0");
}

/* ---- arriving ---- */

SCRIPT_TEST(the_first_to_arrive_arms_the_latch)
{
    latch_listen(f);
    assert_like(latch_arrive(f, "op:1", "3", "m1"), "1 0");
    assert_like(latch_count(f), "1 2");
    assert_int_equal(latch_mark(f, "size"), 3);
    assert_true(strtoll(script_redis(f, "ZSCORE " LATCH_ARRIVED " m1"), NULL,
                        10) >= latch_mark(f, "gen"));
    assert_string_equal(script_heard(f), LATCH_REDISSON " 1\n");
}

SCRIPT_TEST(the_last_to_arrive_opens_it)
{
    char expected[128];

    latch_arrive(f, "op:1", "2", "m1");
    latch_listen(f);
    assert_like(latch_arrive(f, "op:2", "2", "m2"), "1 0");
    snprintf(expected, sizeof(expected),
             LATCH_NEWS " opened 0 latch %lld " LATCH_NONCE
                        " n\n" LATCH_REDISSON " 0\n",
             latch_mark(f, "gen"));
    assert_string_equal(script_heard(f), expected);
    assert_like(latch_count(f), "1 0");
    assert_like(script_redis(f, "ZRANGE " LATCH_ARRIVED " 0 -1"), "m1 m2");
}

SCRIPT_TEST(the_last_to_arrive_empties_the_list_of_those_who_wait)
{
    latch_arrive(f, "op:1", "2", "m1");
    latch_wait(f, "u:1");
    assert_like(script_redis(f, "EXISTS " LATCH_QUEUE), "1");
    latch_arrive(f, "op:2", "2", "m2");
    assert_like(script_redis(f, "EXISTS " LATCH_QUEUE), "0");
}

SCRIPT_TEST(one_who_expects_nobody_else_opens_it_at_once)
{
    char expected[128];

    latch_listen(f);
    assert_like(latch_arrive(f, "op:1", "1", "m1"), "1 0");
    snprintf(expected, sizeof(expected),
             LATCH_NEWS " opened 0 latch %lld " LATCH_NONCE
                        " n\n" LATCH_REDISSON " 0\n",
             latch_mark(f, "gen"));
    assert_string_equal(script_heard(f), expected);
    assert_like(latch_count(f), "1 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

SCRIPT_TEST(a_member_counts_once)
{
    latch_arrive(f, "op:1", "3", "m1");
    assert_like(latch_arrive(f, "op:2", "3", "m1"), "1 0");
    assert_like(latch_count(f), "1 2");
}

SCRIPT_TEST(an_arrival_that_is_sent_again_counts_once)
{
    latch_arrive(f, "op:1", "3", "m1");
    latch_reset(f, "op:2", "3");
    assert_like(latch_arrive(f, "op:1", "3", "m1"), "1 0");
    assert_like(latch_count(f), "1 3");
    latch_delete(f, "op:3");
    assert_like(latch_arrive(f, "op:1", "3", "m1"), "1 0");
    assert_like(latch_count(f), "2");
}

/* It ran late, and the member has left since. */
SCRIPT_TEST(an_arrival_that_changed_nothing_does_not_count_later)
{
    latch_arrive(f, "op:1", "3", "m1");
    latch_arrive(f, "op:2", "3", "m2");
    assert_like(latch_arrive(f, "late", "3", "m1"), "1 0");
    latch_quit(f, "op:3", "m1");
    assert_like(latch_arrive(f, "late", "3", "m1"), "1 0");
    assert_like(latch_count(f), "1 2");
}

SCRIPT_TEST(a_member_counts_again_after_a_reset)
{
    latch_arrive(f, "op:1", "2", "m1");
    latch_reset(f, "op:2", "2");
    assert_like(latch_arrive(f, "op:3", "2", "m1"), "1 0");
    assert_like(latch_count(f), "1 1");
}

/* Where the members of an older generation could not be removed. */
SCRIPT_TEST(a_member_of_an_older_generation_does_not_count)
{
    latch_arrive(f, "op:1", "2", "m1");
    script_redis(f, "COPY " LATCH_ARRIVED " kept");
    latch_reset(f, "op:2", "2");
    script_redis(f, "RENAME kept " LATCH_ARRIVED);
    assert_like(latch_info(f), "3 0 () ()");
    assert_like(latch_arrive(f, "op:3", "2", "m1"), "1 0");
    assert_like(latch_count(f), "1 1");
}

/* As if they had arrived while the server's clock was an hour ahead. */
static void arrive_in_an_hour(script_fixture *f, const char *member)
{
    script_redis(f, "ZADD " LATCH_ARRIVED " XX %lld %s",
                 (script_now_ms(f) + 3600000) * 1000, member);
}

SCRIPT_TEST(a_member_that_arrived_in_the_future_counts_again)
{
    static const char *const times[] = {"0", "60000"};

    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        latch_arrive_for(f, "op:1", "2", "m1", times[i]);
        arrive_in_an_hour(f, "m1");
        latch_reset_for(f, "op:2", "2", times[i]);
        assert_like(latch_info(f), "3 0 () ()");
        latch_arrive_for(f, "op:3", "2", "m1", times[i]);
        assert_like(latch_count(f), "1 1");
        latch_arrive_for(f, "op:4", "2", "m2", times[i]);
        assert_like(latch_count(f), "1 0");
        server_flush(f->server);
    }
}

/* The first to arrive arms it over what could not be removed. */
SCRIPT_TEST(also_one_that_did_so_before_the_first_of_now)
{
    static const char *const times[] = {"0", "60000"};

    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        latch_arrive_for(f, "op:1", "2", "m1", times[i]);
        arrive_in_an_hour(f, "m1");
        script_redis(f, "COPY " LATCH_ARRIVED " kept");
        latch_delete(f, "op:2");
        script_redis(f, "RENAME kept " LATCH_ARRIVED);
        latch_arrive_for(f, "op:3", "2", "m2", times[i]);
        latch_arrive_for(f, "op:4", "2", "m1", times[i]);
        assert_like(latch_count(f), "1 0");
        server_flush(f->server);
    }
}

SCRIPT_TEST(also_at_what_redisson_has_armed_since)
{
    latch_arrive(f, "op:1", "2", "m1");
    latch_arrive(f, "op:2", "2", "m2");
    arrive_in_an_hour(f, "m1");
    arrive_in_an_hour(f, "m2");
    redisson_set(f, "2");
    assert_like(latch_info(f), "3 0 () ()");
    latch_arrive(f, "op:3", "2", "m1");
    assert_like(latch_count(f), "1 1");
    latch_arrive(f, "op:4", "2", "m2");
    assert_like(latch_count(f), "1 0");
}

SCRIPT_TEST(who_comes_late_passes)
{
    latch_arrive(f, "op:1", "1", "m1");
    latch_listen(f);
    assert_like(latch_arrive(f, "op:2", "1", "m2"), "1 0");
    assert_like(latch_arrive(f, "op:3", "1", "m1"), "1 0");
    assert_like(latch_count(f), "1 0");
    assert_string_equal(script_heard(f), "");
}

SCRIPT_TEST(members_that_expect_different_numbers_are_refused)
{
    latch_arrive(f, "op:1", "3", "m1");
    assert_like(latch_arrive(f, "op:2", "4", "m2"), "4 3");
    assert_like(latch_arrive(f, "op:3", "4", "m1"), "4 3");
    assert_like(latch_count(f), "1 2");
    latch_arrive(f, "op:4", "3", "m2");
    latch_arrive(f, "op:5", "3", "m3");
    assert_like(latch_arrive(f, "op:6", "4", "m4"), "4 3");
}

SCRIPT_TEST(members_arrive_at_a_latch_that_was_armed_for_them)
{
    latch_set(f, "op:1", "2");
    assert_like(latch_arrive(f, "op:2", "3", "m1"), "4 2");
    assert_like(latch_arrive(f, "op:3", "2", "m1"), "1 0");
    assert_like(latch_count(f), "1 1");
}

SCRIPT_TEST(members_and_counts_open_a_latch_together)
{
    latch_arrive(f, "op:1", "3", "m1");
    latch_down(f, "op:2", "1");
    latch_arrive(f, "op:3", "3", "m2");
    assert_like(latch_count(f), "1 0");
}

/* Of a latch that has no time, every key does once it is open. */
SCRIPT_TEST(what_is_left_of_an_open_latch_has_an_end)
{
    static const char *const keys[] = {LATCH_RECORD, LATCH_ARRIVED, LATCH_MEMO};

    latch_set(f, "op:1", "2");
    latch_arrive(f, "op:2", "2", "m1");
    assert_int_equal(latch_pttl(f, LATCH_ARRIVED), -1);
    latch_down(f, "op:3", "1");
    assert_like(latch_count(f), "1 0");
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        assert_in_range(latch_pttl(f, keys[i]), 1, 3600000);
    assert_like(script_redis(f, "DBSIZE"), "3");
}

/* Nor is it taken for what the script itself keeps beside the members. */
SCRIPT_TEST(a_member_of_any_name_counts_once)
{
    static const char *const names[] = {"#", "-", "0", " "};
    char op[16];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        for (int again = 0; again < 3; again++) {
            (void)snprintf(op, sizeof(op), "op:%zu%d", i, again);
            assert_like(latch_arrive_for(f, op, "3", names[i], "60000"), "1 0");
        }
        assert_like(latch_count(f), "1 2");
        server_flush(f->server);
    }
}

SCRIPT_TEST(a_member_may_have_any_name)
{
    latch_arrive(f, "op:1", "4", " a b\n{c}");
    latch_arrive(f, "op:2", "4", "-inf");
    latch_arrive(f, "op:3", "4", " a b\n{c}");
    assert_like(latch_count(f), "1 2");
    assert_like(latch_info(f),
                "3 0 ( a b\n{c} 1 0 * -1 \"\" \"\" -inf 1 0 * -1 "
                "\"\" \"\") ()");
}

/* ---- taking an arrival back ---- */

SCRIPT_TEST(an_arrival_is_taken_back)
{
    latch_arrive(f, "op:1", "2", "m1");
    latch_listen(f);
    assert_like(latch_quit(f, "op:2", "m1"), "2");
    assert_like(script_redis(f, "EXISTS " LATCH_ARRIVED " n"), "0");
    latch_arrive(f, "op:3", "2", "m2");
    assert_like(latch_count(f), "1 1");
}

/* Not one that was armed otherwise, nor one for which somebody waits. */
SCRIPT_TEST(the_last_to_leave_takes_away_what_the_first_armed)
{
    latch_arrive(f, "op:1", "3", "m1");
    latch_arrive(f, "op:2", "3", "m2");
    latch_quit(f, "op:3", "m1");
    assert_like(latch_count(f), "1 2");
    latch_quit(f, "op:4", "m2");
    assert_like(latch_count(f), "2");
    assert_like(latch_word(f, "phase"), "unset");

    latch_arrive(f, "op:5", "3", "m1");
    latch_wait(f, "u:1");
    latch_quit(f, "op:6", "m1");
    assert_like(latch_count(f), "1 3");
}

/* Without a time of its own it would be there for ever. */
SCRIPT_TEST(a_latch_at_rest_is_forgotten_in_an_hour)
{
    latch_arrive(f, "op:1", "2", "m1");
    assert_like(script_redis(f, "PTTL " LATCH_RECORD), "-1");
    latch_arrive(f, "op:2", "2", "m2");
    assert_like(latch_count(f), "1 0");
    assert_in_range(latch_pttl(f, LATCH_RECORD), 3590000, 3600000);
    assert_in_range(latch_pttl(f, LATCH_ARRIVED), 3590000, 3600000);
}

SCRIPT_TEST(who_has_not_arrived_takes_nothing_back)
{
    assert_like(latch_quit(f, "op:1", "m1"), "2");
    assert_like(script_redis(f, "KEYS *"), LATCH_MEMO);
    latch_arrive(f, "op:2", "2", "m1");
    assert_like(latch_quit(f, "op:3", "m2"), "2");
    assert_like(latch_count(f), "1 1");
}

SCRIPT_TEST(nothing_is_taken_back_from_an_open_latch)
{
    latch_arrive(f, "op:1", "1", "m1");
    assert_like(latch_quit(f, "op:2", "m1"), "1 0");
    assert_like(latch_count(f), "1 0");
}

/* It left, so it does not start, though the latch has opened since. */
SCRIPT_TEST(who_has_left_is_told_so_again)
{
    latch_arrive(f, "op:1", "2", "m1");
    assert_like(latch_quit(f, "op:2", "m1"), "2");
    latch_arrive(f, "op:3", "2", "m2");
    latch_arrive(f, "op:4", "2", "m3");
    assert_like(latch_quit(f, "op:2", "m1"), "2");
}

SCRIPT_TEST(who_was_told_to_start_is_told_so_again)
{
    latch_arrive(f, "op:1", "2", "m1");
    assert_like(latch_quit(f, "other", "m2"), "2");
    latch_arrive(f, "op:2", "2", "m2");
    assert_like(latch_quit(f, "op:3", "m1"), "1 0");
    latch_reset(f, "op:4", "2");
    assert_like(latch_quit(f, "op:3", "m1"), "1 0");
    latch_arrive(f, "op:5", "2", "m2");
    assert_like(latch_quit(f, "other", "m2"), "2");
    assert_like(latch_count(f), "1 1");
}

SCRIPT_TEST(taking_back_twice_counts_once)
{
    latch_arrive(f, "op:1", "3", "m1");
    latch_arrive(f, "op:5", "3", "m2");
    latch_quit(f, "op:2", "m1");
    latch_quit(f, "op:2", "m1");
    latch_quit(f, "op:3", "m1");
    assert_like(latch_count(f), "1 2");
    latch_arrive(f, "op:4", "3", "m1");
    assert_like(latch_count(f), "1 1");
}

SCRIPT_TEST(every_change_by_a_member_begins_the_time_anew)
{
    latch_arrive_for(f, "op:1", "3", "m1", "60000");
    script_redis(f, "PEXPIRE n 1000");
    script_redis(f, "PEXPIRE " LATCH_ARRIVED " 1000");
    latch_arrive(f, "op:2", "3", "m2");
    assert_in_range(latch_pttl(f, "n"), 55000, 60000);
    assert_in_range(latch_pttl(f, LATCH_ARRIVED), 55000, 60000);
    latch_quit_for(f, "op:3", "m2", "90000");
    assert_in_range(latch_pttl(f, "n"), 85000, 90000);
    assert_in_range(latch_pttl(f, LATCH_ARRIVED), 85000, 90000);
}

CHECK_GROUP(script_start_server, script_stop_server)
