/* SPDX-License-Identifier: MIT */

/*
 * The latch's scripts where Redisson changed the count without the record:
 * the count is the truth, and what contradicts it is read as Redisson does.
 */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/latch_script.h"

static long long told_gen(const script_fixture *f)
{
    return script_item(f, script_item(f, 0) == 1 ? 1 : 2);
}

/* ---- Redisson alone ---- */

SCRIPT_TEST(what_redisson_armed_is_armed)
{
    redisson_set(f, "3");
    assert_like(latch_count(f), "1 3");
    assert_like(script_redis(f, "EXISTS " LATCH_RECORD), "0");
    assert_like(latch_set(f, "op:1", "5"), "2");
    assert_like(script_redis(f, "GET n"), "3");
    assert_int_equal(latch_mark(f, "foreign"), 1);
}

SCRIPT_TEST(a_wait_notes_what_redisson_armed)
{
    long long gen;

    redisson_set(f, "3");
    assert_like(latch_wait(f, "u:1"), "2 -1 * 0 0");
    gen = told_gen(f);
    assert_int_equal(gen % 2, 0);
    assert_int_equal(latch_mark(f, "gen"), gen);
    assert_int_equal(latch_mark(f, "foreign"), 1);
    assert_in_range(latch_pttl(f, LATCH_RECORD), 3590000, 3600000);
    assert_int_equal(latch_pttl(f, "n"), -1);
    latch_wait(f, "u:2");
    assert_int_equal(told_gen(f), gen);
}

/* Its waiters pass, later ones find it unset. */
SCRIPT_TEST(what_redisson_armed_and_opened_is_gone_once_open)
{
    char expected[128];
    long long gen;

    redisson_set(f, "1");
    latch_wait(f, "u:1");
    gen = told_gen(f);
    redisson_down(f);
    latch_listen(f);
    latch_look(f, "u:1");
    assert_int_equal(script_item(f, 4), gen);
    assert_int_equal(told_gen(f) % 2, 1);
    snprintf(expected, sizeof(expected),
             LATCH_NEWS " opened 0 latch %lld " LATCH_NONCE " n\n", gen);
    assert_string_equal(script_heard(f), expected);
    latch_look(f, "u:1");
    assert_string_equal(script_heard(f), "");
    assert_like(latch_count(f), "2");
    latch_wait(f, "u:2");
    assert_true(told_gen(f) > gen);
    assert_like(script_redis(f, "DEL n"), "0");
    assert_true(latch_pttl(f, LATCH_RECORD) > 0);
}

SCRIPT_TEST(what_redisson_used_unseen_is_unset)
{
    redisson_set(f, "1");
    redisson_down(f);
    assert_like(latch_count(f), "2");
    assert_like(latch_down(f, "op:1", "1"), "3");
    assert_like(latch_set(f, "op:2", "1"), "1 0");
}

/* As Redisson stores it; it is open until it is counted down or deleted. */
SCRIPT_TEST(a_count_of_zero_is_open)
{
    redisson_set(f, "0");
    assert_like(latch_count(f), "1 0");
    assert_like(latch_wait(f, "u:1"), "1 0 0 0");
    assert_like(latch_down(f, "op:1", "1"), "1 0");
    assert_like(latch_arrive(f, "op:2", "3", "m"), "1 0");
    assert_like(latch_quit(f, "op:3", "m"), "1 0");
    assert_like(latch_set(f, "op:4", "2"), "2");
    assert_like(script_redis(f, "GET n"), "0");
    assert_like(latch_delete(f, "op:5"), "1 0");
    assert_like(latch_count(f), "2");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

SCRIPT_TEST(a_count_below_zero_is_open)
{
    script_redis(f, "SET n -3");
    assert_like(latch_count(f), "1 0");
    assert_like(latch_wait(f, "u:1"), "1 0 0 0");
    assert_like(latch_reset(f, "op:1", "2"), "1 0");
    assert_like(latch_count(f), "1 2");
}

/* ---- together ---- */

SCRIPT_TEST(redisson_counts_down_what_we_armed)
{
    latch_set(f, "op:1", "3");
    redisson_down(f);
    assert_like(latch_count(f), "1 2");
    latch_down(f, "op:2", "1");
    assert_like(latch_count(f), "1 1");
}

SCRIPT_TEST(what_redisson_opened_of_ours_stays_open)
{
    char expected[128];
    long long gen;

    latch_set(f, "op:1", "1");
    latch_wait(f, "u:1");
    gen = told_gen(f);
    redisson_down(f);
    assert_like(latch_count(f), "1 0");
    latch_listen(f);
    assert_like(latch_look(f, "u:1"), "1 * * 0");
    assert_int_equal(script_item(f, 2), gen);
    snprintf(expected, sizeof(expected),
             LATCH_NEWS " opened 0 latch %lld " LATCH_NONCE " n\n", gen);
    assert_string_equal(script_heard(f), expected);
    assert_like(latch_word(f, "phase"), "open");
    assert_like(script_redis(f, "EXISTS " LATCH_QUEUE), "0");
    assert_like(latch_wait(f, "u:2"), "1 * * 0");
    assert_like(latch_set(f, "op:2", "2"), "2");
    assert_string_equal(script_heard(f), "");
}

SCRIPT_TEST(what_we_open_of_redissons_stays_open)
{
    redisson_set(f, "2");
    redisson_down(f);
    latch_listen(f);
    assert_like(latch_down(f, "op:1", "1"), "1 0");
    assert_like(script_heard(f), LATCH_NEWS " opened 0 latch * " LATCH_NONCE
                                            " n\n" LATCH_REDISSON " 0\n");
    assert_like(latch_wait(f, "u:1"), "1 * * 0");
    assert_int_equal(latch_mark(f, "foreign"), 0);
    assert_in_range(latch_pttl(f, LATCH_RECORD), 3590000, 3600000);
}

/* Then it is ours, and stays open whoever counts the last. */
SCRIPT_TEST(what_we_count_of_redissons_is_ours)
{
    redisson_set(f, "2");
    latch_wait(f, "u:1");
    assert_int_equal(latch_mark(f, "foreign"), 1);
    assert_like(latch_down(f, "op:1", "1"), "1 0");
    assert_int_equal(latch_mark(f, "foreign"), 0);
    redisson_down(f);
    assert_like(latch_count(f), "1 0");
}

/* It is another generation than the one that opened. */
SCRIPT_TEST(what_redisson_arms_is_counted_anew)
{
    long long gen;

    latch_set(f, "op:1", "1");
    latch_down(f, "op:2", "1");
    gen = latch_mark(f, "gen");
    redisson_set(f, "3");
    assert_like(latch_down(f, "op:3", "1"), "1 0");
    assert_in_range(latch_mark(f, "gen"), gen + 1, LLONG_MAX);
    assert_string_equal(latch_word(f, "phase"), "armed");
    assert_like(latch_count(f), "1 2");
}

SCRIPT_TEST(what_is_no_count_is_not_counted)
{
    latch_set(f, "op:1", "2");
    script_redis(f, "SET n 2x");
    assert_like(latch_down(f, "op:2", "1"), "!LKTYPE *");
    assert_like(script_redis(f, "HEXISTS " LATCH_MEMO " op:2"), "0");
    assert_like(script_redis(f, "GET n"), "2x");
}

/* Redisson does not know that it is open: it may arm it. */
SCRIPT_TEST(what_redisson_arms_of_an_open_latch_is_armed)
{
    long long gen;

    latch_arrive(f, "op:1", "1", "m");
    gen = latch_mark(f, "gen");
    redisson_set(f, "2");
    assert_like(latch_count(f), "1 2");
    latch_wait(f, "u:1");
    assert_true(told_gen(f) > gen);
    assert_int_equal(script_item(f, 4), gen);
    assert_like(script_redis(f, "EXISTS " LATCH_ARRIVED), "0");
    assert_like(latch_arrive(f, "op:2", "2", "m"), "1 0");
    assert_like(latch_count(f), "1 1");
}

SCRIPT_TEST(members_arrive_at_what_redisson_armed)
{
    redisson_set(f, "3");
    assert_like(latch_arrive(f, "op:1", "3", "m1"), "1 0");
    assert_int_equal(latch_mark(f, "size"), 3);
    assert_like(latch_arrive(f, "op:2", "4", "m2"), "4 3");
    redisson_down(f);
    assert_like(latch_arrive(f, "op:3", "3", "m2"), "1 0");
    assert_like(latch_count(f), "1 0");
}

SCRIPT_TEST(redisson_takes_no_part_in_an_arrival_that_is_taken_back)
{
    redisson_set(f, "3");
    latch_arrive(f, "op:1", "3", "m1");
    redisson_down(f);
    assert_like(latch_quit(f, "op:2", "m1"), "2");
    assert_like(script_redis(f, "GET n"), "2");
}

/* Redisson reads a missing count as open, however it came to be missing. */
SCRIPT_TEST(what_redisson_deleted_of_ours_is_open)
{
    latch_set(f, "op:1", "3");
    redisson_delete(f);
    assert_like(latch_count(f), "1 0");
    assert_like(latch_down(f, "op:2", "1"), "1 0");
    assert_like(latch_word(f, "phase"), "open");
}

SCRIPT_TEST(a_reset_and_a_delete_tell_redisson_as_it_does_itself)
{
    script_listen(f, LATCH_REDISSON);
    redisson_set(f, "3");
    script_heard(f);
    latch_reset(f, "op:1", "2");
    assert_string_equal(script_heard(f), LATCH_REDISSON " 1\n");
    latch_delete(f, "op:2");
    assert_string_equal(script_heard(f), LATCH_REDISSON " 1\n");
}

/* The time of ours ended; what stands there now is Redisson's. */
SCRIPT_TEST(what_redisson_arms_after_our_time_is_its_own)
{
    long long gen;

    latch_set_for(f, "op:1", "1", "60000");
    gen = latch_mark(f, "gen");
    latch_put(f, "till", script_now_ms(f));
    script_redis(f, "DEL n");
    redisson_set(f, "4");
    latch_look(f, "u:1");
    assert_true(told_gen(f) > gen);
    assert_int_equal(script_item(f, 5), gen);
    assert_int_equal(latch_mark(f, "foreign"), 1);
    assert_int_equal(latch_mark(f, "till"), 0);
}

/* ---- a clock that was set back ---- */

/* The count has ended by the clock that armed it, and the record not yet by the
   one that reads it. */
SCRIPT_TEST(a_count_that_has_ended_was_not_counted_down)
{
    long long gen;

    latch_set_for(f, "op:1", "2", "60000");
    gen = latch_mark(f, "gen");
    script_redis(f, "DEL n " LATCH_ARRIVED);
    latch_look(f, "u:1");
    assert_int_equal(script_item(f, 0), 2);
    assert_int_equal(script_item(f, 5), gen); /* gone */
    assert_like(latch_count(f), "2");
    assert_like(latch_down(f, "op:2", "1"), "3");
}

SCRIPT_TEST(nor_one_whose_members_had_arrived)
{
    latch_arrive_for(f, "op:1", "2", "m", "60000");
    script_redis(f, "DEL n " LATCH_ARRIVED);
    assert_like(latch_count(f), "2");
}

SCRIPT_TEST(redisson_counts_down_a_latch_that_has_a_time)
{
    latch_set_for(f, "op:1", "2", "60000");
    redisson_down(f);
    redisson_down(f);
    latch_look(f, "u:1");
    assert_int_equal(script_item(f, 0), 1);
    assert_like(latch_count(f), "1 0");
}

SCRIPT_TEST(also_one_that_was_armed_anew)
{
    latch_arrive_for(f, "op:1", "2", "m", "60000");
    latch_reset_for(f, "op:2", "1", "60000");
    redisson_down(f);
    assert_like(latch_count(f), "1 0");
    latch_reset_for(f, "op:3", "1", "0");
    assert_like(script_redis(f, "EXISTS " LATCH_ARRIVED), "0");
    redisson_down(f);
    assert_like(latch_count(f), "1 0");
}

SCRIPT_TEST(an_end_is_no_further_away_than_it_was_set)
{
    long long late;

    latch_set_for(f, "op:1", "2", "60000");
    late = script_now_ms(f) + 3600000;
    latch_put(f, "till", late);
    script_redis(f, "PEXPIREAT n %lld", late);
    script_redis(f, "PEXPIREAT " LATCH_ARRIVED " %lld", late);
    latch_look(f, "u:1");
    assert_in_range(script_item(f, 1), 55000, 60001);
    assert_true(latch_mark(f, "till") <= script_now_ms(f) + 60000);
    assert_in_range(latch_pttl(f, "n"), 55000, 60000);
    assert_in_range(latch_pttl(f, LATCH_ARRIVED), 55000, 60000);
    assert_like(latch_count(f), "1 2");
}

/* Even where it came too fast for anybody to look in between. */
SCRIPT_TEST(messages_to_a_name_in_braces_go_where_redisson_listens)
{
    script_set_name(f, "a{x}");
    script_listen(f, "latchkey::a{x}:n");
    script_listen(f, "redisson_countdownlatch__channel__{a{x}}");
    latch_set(f, "op:1", "1");
    latch_down(f, "op:2", "1");
    assert_like(script_heard(f),
                "redisson_countdownlatch__channel__{a{x}} 1\n"
                "latchkey::a{x}:n opened 0 latch * " LATCH_NONCE " a{x}\n"
                "redisson_countdownlatch__channel__{a{x}} 0\n");
}

CHECK_GROUP(script_start_server, script_stop_server)
