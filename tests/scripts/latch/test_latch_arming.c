/* SPDX-License-Identifier: MIT */

/* Arming, resetting and deleting: what a latch is. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/latch_script.h"

static long long now_us(script_fixture *f)
{
    char *rest;
    long long seconds = strtoll(script_redis(f, "TIME"), &rest, 10);

    return seconds * 1000000 + strtoll(rest, NULL, 10);
}

/* ---- arming ---- */

SCRIPT_TEST(an_unset_latch_has_no_keys_and_no_count)
{
    assert_like(latch_count(f), "2");
    assert_like(script_redis(f, "DBSIZE"), "0");
}

SCRIPT_TEST(arming_writes_the_count_and_the_record)
{
    long long before = now_us(f);

    assert_like(latch_set(f, "op:1", "3"), "1 0");
    assert_like(script_redis(f, "GET n"), "3");
    assert_like(script_redis(f, "GET " LATCH_RECORD),
                "2t 0 0 0 - - armed,*,0,0,3,0,0,0,0," LATCH_NONCE
                " ????????????? - - - 0 0 - - ");
    assert_in_range(latch_mark(f, "gen"), before, now_us(f) + 1);
    assert_int_equal(latch_mark(f, "gen") % 2, 0);
    assert_like(latch_count(f), "1 3");
}

SCRIPT_TEST(an_armed_latch_without_a_time_stays)
{
    latch_set(f, "op:1", "3");
    assert_int_equal(latch_pttl(f, "n"), -1);
    assert_int_equal(latch_pttl(f, LATCH_RECORD), -1);
    assert_in_range(latch_pttl(f, LATCH_MEMO), 650000, 660000);
}

SCRIPT_TEST(arming_tells_redisson_and_nobody_else)
{
    latch_listen(f);
    latch_set(f, "op:1", "3");
    assert_string_equal(script_heard(f), LATCH_REDISSON " 1\n");
}

SCRIPT_TEST(an_armed_latch_is_not_armed_again)
{
    long long gen;

    latch_set(f, "op:1", "3");
    gen = latch_mark(f, "gen");
    latch_listen(f);
    assert_like(latch_set(f, "op:2", "5"), "2");
    assert_like(script_redis(f, "GET n"), "3");
    assert_int_equal(latch_mark(f, "gen"), gen);
    assert_string_equal(script_heard(f), "");
}

SCRIPT_TEST(an_open_latch_is_not_armed_again)
{
    latch_set(f, "op:1", "1");
    latch_down(f, "op:2", "1");
    assert_like(latch_set(f, "op:3", "5"), "2");
    assert_like(latch_count(f), "1 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

/* The reply was lost: the second is the same operation. */
SCRIPT_TEST(arming_sent_twice_answers_the_same)
{
    long long gen;

    latch_set(f, "op:1", "3");
    gen = latch_mark(f, "gen");
    assert_like(latch_set(f, "op:1", "3"), "1 0");
    assert_int_equal(latch_mark(f, "gen"), gen);
    latch_down(f, "op:2", "3");
    assert_like(latch_set(f, "op:1", "3"), "1 0");
    assert_like(latch_count(f), "1 0");
    latch_delete(f, "op:3");
    assert_like(latch_set(f, "op:1", "3"), "1 0");
    assert_like(latch_count(f), "2");
}

SCRIPT_TEST(the_largest_count_is_kept_to_the_last_digit)
{
    latch_set(f, "op:1", "9007199254740991");
    assert_like(script_redis(f, "GET n"), "9007199254740991");
    assert_like(latch_count(f), "1 9007199254740991");
    latch_down(f, "op:2", "1");
    assert_like(latch_count(f), "1 9007199254740990");
    latch_down(f, "op:3", "9007199254740989");
    assert_like(latch_count(f), "1 1");
    latch_down(f, "op:4", "9007199254740991");
    assert_like(latch_count(f), "1 0");
}

SCRIPT_TEST(a_generation_grows_also_without_the_record)
{
    long long gen;

    latch_set(f, "op:1", "3");
    gen = latch_mark(f, "gen");
    server_flush(f->server);
    latch_set(f, "op:2", "3");
    assert_true(latch_mark(f, "gen") > gen);
}

/* A record from a server whose clock was ahead. */
SCRIPT_TEST(a_generation_grows_also_when_the_clock_is_behind)
{
    const long long ahead = now_us(f) / 2 * 2 + 86400000000;

    latch_set(f, "op:1", "3");
    latch_put(f, "gen", ahead);
    latch_reset(f, "op:2", "3");
    assert_int_equal(latch_mark(f, "gen"), ahead + 2);
}

/* ---- reset ---- */

SCRIPT_TEST(a_reset_arms_an_unset_latch)
{
    assert_like(latch_reset(f, "op:1", "2"), "1 0");
    assert_like(latch_count(f), "1 2");
}

SCRIPT_TEST(a_reset_arms_an_armed_latch_anew)
{
    long long gen;

    latch_arrive(f, "op:1", "3", "m");
    gen = latch_mark(f, "gen");
    latch_listen(f);
    assert_like(latch_reset(f, "op:2", "5"), "1 0");
    assert_like(latch_count(f), "1 5");
    assert_true(latch_mark(f, "gen") > gen);
    assert_like(script_redis(f, "EXISTS " LATCH_ARRIVED), "0");
    assert_int_equal(latch_mark(f, "opened"), 0);
    assert_int_equal(latch_mark(f, "gone"), 0);
    assert_string_equal(script_heard(f), LATCH_REDISSON " 1\n");
}

SCRIPT_TEST(a_reset_of_an_open_latch_keeps_in_mind_that_it_opened)
{
    long long gen;

    latch_set(f, "op:1", "1");
    gen = latch_mark(f, "gen");
    latch_down(f, "op:2", "1");
    assert_like(latch_reset(f, "op:3", "2"), "1 0");
    assert_like(latch_count(f), "1 2");
    assert_int_equal(latch_mark(f, "opened"), gen);
    assert_true(latch_mark(f, "gen") > gen);
}

SCRIPT_TEST(a_reset_sent_twice_resets_once)
{
    latch_reset(f, "op:1", "2");
    latch_down(f, "op:2", "1");
    assert_like(latch_reset(f, "op:1", "2"), "1 0");
    assert_like(latch_count(f), "1 1");
}

/* ---- delete ---- */

SCRIPT_TEST(a_delete_leaves_nothing_but_a_record_with_an_end)
{
    long long gen;

    latch_arrive(f, "op:1", "3", "m");
    gen = latch_mark(f, "gen");
    assert_like(latch_delete(f, "op:2"), "1 0");
    assert_like(latch_count(f), "2");
    assert_like(script_redis(f, "EXISTS n " LATCH_ARRIVED), "0");
    assert_int_equal(latch_mark(f, "gone"), gen);
    assert_in_range(latch_pttl(f, LATCH_RECORD), 3590000, 3600000);
}

SCRIPT_TEST(a_delete_has_everybody_look)
{
    latch_set(f, "op:1", "3");
    latch_listen(f);
    latch_delete(f, "op:2");
    assert_string_equal(script_heard(f),
                        LATCH_NEWS " look 0 latch n\n" LATCH_REDISSON " 1\n");
}

/* A waiter that has not heard yet that it opened is not sent away by what came next. */
SCRIPT_TEST(a_look_after_a_delete_tells_which_one_opened_before)
{
    long long opened;

    latch_set(f, "op:1", "1");
    latch_down(f, "op:2", "1");
    opened = latch_mark(f, "opened");
    latch_reset(f, "op:3", "1");
    latch_delete(f, "op:4");
    assert_like(latch_look(f, "u:1"), "2 -1 * * * *");
    assert_int_equal(script_item(f, 4), opened);
    assert_int_equal(script_item(f, 5), latch_mark(f, "gone"));
    assert_true(latch_mark(f, "gone") > opened);
}

/* As Redisson does it: there was no count to delete. */
SCRIPT_TEST(deleting_an_open_latch_tells_redisson_nothing)
{
    latch_set(f, "op:1", "1");
    latch_down(f, "op:2", "1");
    script_listen(f, LATCH_REDISSON);
    assert_like(latch_delete(f, "op:3"), "1 0");
    assert_string_equal(script_heard(f), "");
    assert_like(latch_count(f), "2");
}

SCRIPT_TEST(deleting_what_is_unset_changes_nothing)
{
    latch_listen(f);
    assert_like(latch_delete(f, "op:1"), "2");
    assert_like(script_redis(f, "KEYS *"), LATCH_MEMO);
    assert_string_equal(script_heard(f), "");
}

SCRIPT_TEST(a_delete_sent_twice_deletes_once)
{
    latch_set(f, "op:1", "3");
    latch_delete(f, "op:2");
    latch_set(f, "op:3", "4");
    assert_like(latch_delete(f, "op:2"), "1 0");
    assert_like(latch_count(f), "1 4");
}

SCRIPT_TEST(what_was_deleted_can_be_armed)
{
    long long gone;

    latch_set(f, "op:1", "3");
    latch_delete(f, "op:2");
    gone = latch_mark(f, "gone");
    assert_like(latch_set(f, "op:3", "4"), "1 0");
    assert_true(latch_mark(f, "gen") > gone);
    assert_int_equal(latch_mark(f, "gone"), gone);
    assert_int_equal(latch_pttl(f, LATCH_RECORD), -1);
}

/* ---- time to live ---- */

/* Redis tells it from 7.0 on. */
static void assert_ends(script_fixture *f, const char *key, long long till)
{
    const char *ends = script_redis(f, "PEXPIRETIME %s", key);

    if (strstr(ends, "unknown command") == NULL)
        assert_int_equal(strtoll(ends, NULL, 10), till);
    assert_in_range(latch_pttl(f, key), 55000, 60000);
}

SCRIPT_TEST(everything_of_a_latch_ends_together)
{
    long long till;

    latch_arrive_for(f, "op:1", "3", "m", "60000");
    till = latch_mark(f, "till");
    assert_ends(f, "n", till);
    assert_ends(f, LATCH_ARRIVED, till);
    assert_int_equal(latch_mark(f, "ttl"), 60000);
    /* The record knows for longer what became of it. */
    assert_in_range(latch_pttl(f, LATCH_RECORD), 3650000, 3660000);
}

SCRIPT_TEST(a_change_begins_the_time_anew)
{
    long long till;

    latch_set_for(f, "op:1", "3", "60000");
    till = latch_mark(f, "till") - 30000;
    latch_put(f, "till", till);
    script_redis(f, "PEXPIREAT n %lld", till);
    latch_down(f, "op:2", "1");
    assert_true(latch_mark(f, "till") >= till + 30000);
    assert_in_range(latch_pttl(f, "n"), 55000, 60000);
}

SCRIPT_TEST(the_time_that_was_set_stays_unless_another_is_given)
{
    latch_set_for(f, "op:1", "5", "60000");
    latch_down_for(f, "op:2", "1", "90000");
    assert_int_equal(latch_mark(f, "ttl"), 90000);
    latch_down(f, "op:3", "1");
    assert_in_range(latch_pttl(f, "n"), 85000, 90000);
    latch_reset(f, "op:4", "2");
    assert_int_equal(latch_pttl(f, "n"), -1);
    assert_int_equal(latch_pttl(f, LATCH_RECORD), -1);
    latch_down_for(f, "op:5", "1", "60000");
    assert_in_range(latch_pttl(f, "n"), 55000, 60000);
}

/* Makes the time of the latch end now. */
static void end_time(script_fixture *f)
{
    latch_put(f, "till", script_now_ms(f));
    script_redis(f, "DEL n " LATCH_ARRIVED);
}

SCRIPT_TEST(a_latch_whose_time_has_ended_is_unset)
{
    latch_set_for(f, "op:1", "3", "60000");
    end_time(f);
    assert_like(latch_count(f), "2");
    assert_like(latch_down(f, "op:2", "1"), "3");
    assert_like(latch_delete(f, "op:3"), "2");
    assert_like(latch_quit(f, "op:4", "m"), "2");
}

SCRIPT_TEST(an_open_latch_whose_time_has_ended_is_unset)
{
    latch_set_for(f, "op:1", "1", "60000");
    latch_down(f, "op:2", "1");
    assert_like(latch_count(f), "1 0");
    assert_in_range(latch_mark(f, "till"), script_now_ms(f) + 50000,
                    script_now_ms(f) + 60000);
    end_time(f);
    assert_like(latch_count(f), "2");
    assert_like(latch_set(f, "op:3", "2"), "1 0");
}

/* The server may drop the count a moment after the record's time. */
SCRIPT_TEST(a_count_about_to_expire_is_not_taken_for_anothers)
{
    long long gen;

    latch_set_for(f, "op:1", "3", "60000");
    gen = latch_mark(f, "gen");
    latch_put(f, "till", script_now_ms(f));
    assert_like(latch_wait(f, "u:1"), "2 * * * 0 0");
    assert_int_equal(script_item(f, 2), gen);
    assert_int_equal(latch_mark(f, "foreign"), 0);
}

CHECK_GROUP(script_start_server, script_stop_server)
