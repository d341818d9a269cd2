/* SPDX-License-Identifier: MIT */

/* touch: what a waiter is told, parked ones that come back, marks, and the marker. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/layout3.h"

/* b1 is parked, a1 holds. */
static void park(script_fixture *f, const char *claim)
{
    script_redis(f, "LREM %s 0 %s", L3_LINE, l3_member(claim));
    script_redis(f, "EVAL %s 1 %s %s",
                 "return redis.call('HSET', KEYS[1], 'p' .. ARGV[1], '')",
                 L3_SIDE, l3_member(claim));
}

/* ---- what it tells ---- */

L3_TEST(a_waiter_waits_and_its_client_is_noted)
{
    l3_at(5);
    l3_two_wait(f);
    assert_like(l3_touch(f, "b1"), "????? 1");
    assert_like(L3_REDIS(f, "HGET %s %s", L3_SIDE, l3_client("b")),
                "1764385200005");
    assert_true(script_pttl(f, L3_SIDE) > 4400000);
    assert_like(l3_heard(f), "");
}

L3_TEST(a_touch_gives_the_line_its_life)
{
    l3_two_wait(f);
    script_redis(f, "PERSIST %s", L3_LINE);
    l3_touch(f, "b1");
    assert_true(script_pttl(f, L3_LINE) > 2000000);
}

L3_TEST(a_holder_is_told_one_fence_and_nothing_is_noted)
{
    l3_at(0);
    l3_two_wait(f);
    l3_close(f, "a1");
    assert_like(l3_touch(f, "b1"), "* 1764385200000032");
    assert_like(script_redis(f, "EXISTS %s", L3_SIDE), "0");
}

L3_TEST(without_a_counter_the_fence_is_the_clock)
{
    l3_at(7);
    l3_acquire_first(f, "a1");
    script_redis(f, "DEL %s", L3_FENCE);
    assert_like(l3_touch(f, "a1"), "* 1764385200007000");
}

L3_TEST(of_several_claims_each_is_told)
{
    l3_at(0);
    l3_acquire_first(f, "b1");
    l3_acquire(f, "b2");
    l3_acquire(f, "b3");
    park(f, "b3");
    assert_like(l3_touch(f, "b4 b3 b1 b2"), "* 0 1 17643852000000?? 1");
    assert_like(l3_line(f), "b3 b2");
}

/* Behind a cut two stand in N: who asks goes, and nobody holds. */
L3_TEST(beside_another_a_claim_holds_nothing)
{
    l3_two_wait(f);
    script_redis(f, "HSET n %s 1", l3_claim("d1"));
    assert_like(l3_touch(f, "d1"), "* 0");
    assert_like(l3_holders(f), "a1");
}

L3_TEST(a_free_name_is_told)
{
    l3_two_wait(f);
    script_redis(f, "DEL n");
    assert_like(l3_touch(f, "b1"), "-2 1");
}

L3_TEST(an_unknown_claim_is_over_and_pushed_nowhere)
{
    l3_two_wait(f);
    assert_like(l3_touch(f, "d1"), "* 0");
    assert_like(l3_line(f), "b1 c1");
    assert_like(script_redis(f, "EXISTS %s", L3_SIDE), "0");
}

/* ---- a holder without an end ---- */

L3_TEST(an_owner_without_an_end_is_given_one)
{
    l3_two_wait(f);
    script_redis(f, "PERSIST n");
    assert_like(l3_touch(f, "b1"), "3000 1");
    assert_in_range(script_pttl(f, "n"), 1, 3000);
}

/* A living one renews it. */
L3_TEST(redissons_owner_is_given_a_longer_one)
{
    l3_hear(f, "b");
    script_redis(f, "HSET n " L3_JAVA " 1");
    l3_acquire(f, "b1");
    assert_like(l3_touch(f, "b1"), "30000 2");
    assert_in_range(script_pttl(f, "n"), 29000, 30000);
}

static void assert_untouched(script_fixture *f)
{
    assert_like(l3_touch(f, "b1"), "!LKKIND *");
    assert_like(l3_next(f, "b1"), "!LKKIND *");
    assert_int_equal(script_pttl(f, "n"), -1);
    script_redis(f, "DEL n");
}

L3_TEST(a_hash_of_another_kind_is_given_none)
{
    script_redis(f, "HSET n name alice");
    assert_untouched(f);
    script_redis(f, "HSET n %s:write 1", l3_claim("b1"));
    assert_untouched(f);
    script_redis(f, "HSET n 12:34 1");
    assert_untouched(f);
}

/* ---- parked ones ---- */

L3_TEST(a_parked_one_comes_back_to_the_head)
{
    l3_two_wait(f);
    park(f, "c1");
    assert_like(l3_touch(f, "c1"), "* 1");
    assert_like(l3_line(f), "c1 b1");
    assert_like(l3_parked(f), "");
}

L3_TEST(it_comes_back_into_an_empty_line_that_ends)
{
    l3_acquire_first(f, "a1");
    l3_acquire(f, "b1");
    park(f, "b1");
    assert_like(l3_touch(f, "b1"), "* 1");
    assert_like(l3_line(f), "b1");
    assert_true(script_pttl(f, L3_LINE) > 2000000);
}

L3_TEST(it_comes_back_behind_the_marker)
{
    l3_two_wait(f);
    park(f, "c1");
    script_redis(f, "LPUSH %s others", L3_LINE);
    l3_touch(f, "c1");
    assert_like(l3_line(f), "others c1 b1");
}

/* Behind the nearest of those that stood before it. */
L3_TEST(it_comes_back_behind_those_that_stood_before_it)
{
    static const char *const waiters[] = {"b1", "c1", "d1", "e1"};

    l3_hear(f, "f");
    l3_acquire_first(f, "a1");
    for (int i = 0; i < 4; i++)
        l3_acquire(f, waiters[i]);
    l3_acquire(f, "f1");
    l3_acquire(f, "f2");
    l3_close(f, "a1"); /* all before f1 are parked */
    assert_like(l3_touch(f, "c1"), "* 1");
    assert_like(l3_touch(f, "d1"), "* 1");
    assert_like(l3_line(f), "c1 d1 f2");
    assert_like(l3_touch(f, "b1"), "* 1");
    assert_like(l3_line(f), "b1 c1 d1 f2");
    assert_like(l3_touch(f, "e1"), "* 1");
    assert_like(l3_line(f), "b1 c1 d1 e1 f2");
}

L3_TEST(parked_ones_of_one_client_come_back_in_their_order)
{
    l3_hear(f, "c");
    l3_acquire_first(f, "a1");
    l3_acquire(f, "b1");
    l3_acquire(f, "b2");
    l3_acquire(f, "b3");
    l3_acquire(f, "c1");
    l3_acquire(f, "c2");
    l3_close(f, "a1");
    assert_like(l3_touch(f, "b1 b2 b3"), "* 1 1 1");
    assert_like(l3_line(f), "b1 b2 b3 c2");
}

/* Behind a cut a claim may hold and be parked: it holds. */
L3_TEST(a_parked_one_that_holds_is_parked_no_more)
{
    l3_acquire_first(f, "a1");
    park(f, "a1");
    assert_like(l3_touch(f, "a1"), "* 17*");
    assert_like(l3_parked(f), "");
}

/* ---- deep in a long line ---- */

static void fill_line(script_fixture *f, int count)
{
    script_redis(
        f, "EVAL %s 1 %s %d %s",
        "for i = 1, ARGV[1] do redis.call('RPUSH', KEYS[1], ARGV[2]) end",
        L3_LINE, count, l3_member("e1"));
}

/* Alone, and at one of 16 times, the whole line is asked. */
L3_TEST(beyond_a_thousand_it_is_not_known)
{
    const long long now = L3_BEGINS_S * 1000;
    long long asked = (16 - now % 16) % 16;

    l3_acquire_first(f, "a1");
    l3_at(asked + 1);
    fill_line(f, 1000);
    l3_acquire(f, "b1");
    l3_acquire(f, "b2");
    assert_like(l3_touch(f, "b1"), "* -1");
    assert_like(l3_touch(f, "b3"), "* -1");
    l3_at(asked);
    assert_like(l3_touch(f, "b1 b3"), "* -1 -1");
    assert_like(l3_touch(f, "b1"), "* 1");
    assert_like(l3_touch(f, "b3"), "* 0");
    script_redis(f, "LTRIM %s 2 -1", L3_LINE);
    l3_at(asked + 1);
    assert_like(l3_touch(f, "b1"), "* 1");
    assert_like(l3_touch(f, "b3"), "* 0");
}

/* ---- who stood in line when ---- */

static const char *field(script_fixture *f, const char *name)
{
    return L3_REDIS(f, "HGET %s %s", L3_SIDE, name);
}

L3_TEST(the_last_of_the_line_are_noted_each_two_seconds)
{
    l3_two_wait(f);
    l3_at(10000);
    l3_touch(f, "b1");
    assert_like(field(f, "at"), "1764385210000b1c1");
    assert_like(field(f, "at0"), "\"\"");
    l3_acquire(f, "d1");
    l3_at(11400);
    l3_touch(f, "b1");
    assert_like(field(f, "at"), "1764385210000b1c1");
    l3_at(12001);
    l3_touch(f, "b1");
    assert_like(field(f, "at"), "1764385212001b1c1d1");
    assert_like(field(f, "at0"), "1764385210000b1c1");
}

L3_TEST(eight_of_the_line_are_noted)
{
    static char claim[8];

    l3_acquire_first(f, "a1");
    for (int i = 1; i <= 9; i++) {
        snprintf(claim, sizeof(claim), "b%d", i);
        l3_acquire(f, claim);
    }
    l3_at(0);
    l3_touch(f, "b1");
    assert_like(field(f, "at"), "1764385200000b2b3b4b5b6b7b8b9");
}

/* The server stood still, or its clock went: nobody is judged by what was before. */
L3_TEST(a_pause_empties_the_notes)
{
    l3_two_wait(f);
    l3_at(10000);
    l3_touch(f, "b1");
    l3_at(11501);
    l3_touch(f, "b1");
    assert_like(field(f, "at"), "1764385211501*");
    assert_like(field(f, "at0"), "\"\"");
    l3_at(10000);
    l3_touch(f, "b1");
    assert_like(field(f, "at"), "1764385210000*");
    assert_like(field(f, "at0"), "\"\"");
}

/* ---- the outsiders' marker ---- */

L3_TEST(a_listener_of_redissons_has_a_marker)
{
    l3_two_wait(f);
    script_listen(f, L3_CHANNEL);
    l3_touch(f, "b1");
    assert_like(l3_line(f), "others b1 c1");
    l3_touch(f, "b1");
    assert_like(l3_line(f), "others b1 c1");
}

L3_TEST(so_has_its_fair_queue)
{
    l3_two_wait(f);
    script_redis(f, "RPUSH %s java", L3_FAIR);
    l3_touch(f, "b1");
    assert_like(l3_line(f), "others b1 c1");
}

L3_TEST(so_has_one_that_is_known_of)
{
    l3_two_wait(f);
    l3_know_outsiders();
    l3_touch(f, "b1");
    assert_like(l3_line(f), "others b1 c1");
}

/* It touches without members. */
L3_TEST(so_has_one_of_ours_that_spins)
{
    l3_acquire_first(f, "a1");
    l3_know_outsiders();
    assert_like(l3_touch(f, "d"), "?????");
    assert_like(l3_line(f), "others");
    assert_true(script_pttl(f, L3_LINE) > 2000000);
}

L3_TEST(a_stranger_that_holds_is_met)
{
    l3_at(77);
    script_redis(f, "HSET n " L3_JAVA " 1");
    script_redis(f, "PEXPIRE n 5000");
    l3_acquire(f, "b1");
    l3_acquire(f, "c1");
    assert_like(l3_touch(f, "c1"), "* 1");
    assert_like(field(f, "met"), "1764385200077");
    assert_like(l3_line(f), "others b1 c1");
    assert_like(l3_touch(f, "b1"), "* 2"); /* the first contends */
}

L3_TEST(while_they_rest_there_is_no_marker)
{
    l3_at(0);
    l3_two_wait(f);
    l3_know_outsiders();
    script_redis(f, "HSET %s rest 1764385200001", L3_SIDE);
    l3_touch(f, "b1");
    assert_like(l3_line(f), "b1 c1");
    script_redis(f, "HSET %s rest 1764385217001",
                 L3_SIDE); /* of another clock */
    l3_touch(f, "b1");
    assert_like(l3_line(f), "others b1 c1");
}

L3_TEST(a_free_name_has_no_marker)
{
    l3_two_wait(f);
    l3_know_outsiders();
    script_redis(f, "DEL n");
    l3_touch(f, "b1");
    assert_like(l3_line(f), "b1 c1");
}

L3_TEST(behind_the_marker_of_a_free_name_the_first_contends)
{
    l3_two_wait(f);
    script_redis(f, "LPUSH %s others", L3_LINE);
    assert_like(l3_touch(f, "b1"), "* 1");
    script_redis(f, "DEL n");
    assert_like(l3_touch(f, "c1"), "-2 1");
    assert_like(l3_touch(f, "b1"), "-2 2");
}

/* For those that nobody sees: 16 s after a line forms, and each 16 s. */
L3_TEST(a_probe_comes_each_16_seconds)
{
    l3_at(0);
    l3_two_wait(f);
    l3_touch(f, "b1");
    assert_like(field(f, "asked"), "1764385216000");
    assert_like(l3_line(f), "b1 c1");
    l3_at(15999);
    l3_touch(f, "b1");
    assert_like(l3_line(f), "b1 c1");
    l3_at(16000);
    l3_touch(f, "b1");
    assert_like(l3_line(f), "others b1 c1");
    assert_like(field(f, "asked"), "1764385232000");
}

/* Whether Redisson is there cannot be asked: it is not. */
L3_TEST(what_cannot_be_asked_is_nobody)
{
    l3_two_wait(f);
    script_redis(f, "SET %s x", L3_FAIR);
    script_deny(f, "pubsub");
    assert_like(l3_touch(f, "b1"), "* 1");
    assert_like(l3_line(f), "b1 c1");
}

CHECK_GROUP(script_start_server, script_stop_server)
