/* SPDX-License-Identifier: MIT */

/* next, park, and a close without a claim: whether a free name can be given, who is
   given it, frozen waiters, and the end of the outsiders' turn. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/layout3.h"

static void lapse(script_fixture *f)
{
    script_redis(f, "DEL n");
}

static const char *field(script_fixture *f, const char *name)
{
    return L3_REDIS(f, "HGET %s %s", L3_SIDE, name);
}

/* ---- a name that is held ---- */

L3_TEST(a_name_that_is_held_stays)
{
    l3_two_wait(f);
    assert_like(l3_next(f, "b1"), "0");
    assert_like(l3_holders(f), "a1");
    assert_like(l3_line(f), "b1 c1");
    assert_like(script_redis(f, "EXISTS %s", L3_SIDE), "0");
}

L3_TEST(an_owner_without_an_end_is_given_one)
{
    l3_two_wait(f);
    script_redis(f, "PERSIST n");
    script_redis(f, "PERSIST %s", L3_LINE);
    assert_like(l3_next(f, "b1"), "0");
    assert_in_range(script_pttl(f, "n"), 1, 3000);
    assert_true(script_pttl(f, L3_LINE) > 2000000);
}

L3_TEST(redissons_owner_is_given_a_longer_one_and_met)
{
    l3_at(4);
    script_redis(f, "HSET n " L3_JAVA " 1");
    l3_acquire(f, "b1");
    assert_like(l3_next(f, "b1"), "0");
    assert_in_range(script_pttl(f, "n"), 29000, 30000);
    assert_like(field(f, "met"), "1764385200004");
    assert_true(script_pttl(f, L3_SIDE) > 4400000);
}

/* ---- a free name ---- */

/* Its mark says whether the first lives. */
L3_TEST(a_free_name_with_a_line_can_be_given)
{
    l3_at(0);
    l3_two_wait(f);
    l3_touch(f, "b1");
    lapse(f);
    l3_at(2000);
    assert_like(l3_next(f, "c"), "1");
    l3_at(2001);
    assert_like(l3_next(f, "c"), "2");
    assert_like(l3_next(f, "b"), "1"); /* the caller is not silent */
    assert_like(l3_holders(f), "");
    assert_like(l3_line(f), "b1 c1");
    assert_like(l3_heard(f), "");
}

L3_TEST(a_first_that_never_touched_is_silent)
{
    l3_two_wait(f);
    lapse(f);
    assert_like(l3_next(f, "c"), "2");
}

L3_TEST(without_a_line_nothing_is_written)
{
    assert_like(l3_next(f, "b"), "0");
    assert_like(script_redis(f, "DBSIZE"), "0");
}

/* ---- what gives it: a close without a claim ---- */

L3_TEST(the_first_of_the_line_is_given_a_free_name)
{
    l3_at(0);
    l3_two_wait(f);
    lapse(f);
    assert_like(l3_give(f), "2");
    assert_like(l3_holders(f), "b1");
    assert_like(L3_REDIS(f, "HVALS n"), "1");
    assert_in_range(script_pttl(f, "n"), 1, 3000);
    assert_like(l3_line(f), "c1");
    assert_like(l3_heard(f), "in:b gb1 1764385200000032 n\n");
}

L3_TEST(a_name_that_is_held_is_not_given)
{
    l3_two_wait(f);
    assert_like(l3_give(f), "0");
    assert_like(l3_holders(f), "a1");
    assert_like(l3_line(f), "b1 c1");
    assert_like(l3_heard(f), "");
    script_redis(f, "DEL %s", L3_LINE);
    assert_like(l3_give(f), "0");
    assert_like(l3_holders(f), "a1");
}

L3_TEST(unheard_waiters_are_parked)
{
    l3_hear(f, "c");
    l3_acquire_first(f, "a1");
    l3_acquire(f, "b1");
    l3_acquire(f, "b2");
    l3_acquire(f, "c1");
    lapse(f);
    assert_like(l3_give(f), "2");
    assert_like(l3_holders(f), "c1");
    assert_in_range(script_pttl(f, "n"), 1, 3000);
    assert_like(l3_parked(f), "b1 b2");
}

L3_TEST(if_nobody_hears_it_the_name_is_free_and_redisson_told)
{
    script_listen(f, L3_CHANNEL);
    l3_acquire_first(f, "a1");
    l3_acquire(f, "b1");
    lapse(f);
    assert_like(l3_give(f), "1");
    assert_like(script_redis(f, "EXISTS n %s", L3_LINE), "0");
    assert_like(script_heard(f), L3_CHANNEL " 0\n");
}

/* ---- frozen ones: park ---- */

/* b1 c1 d1 stand in line from 0 on, e1 from 1,200; c alone is heard of until 2,400; a1's
   hold ends. */
static void freeze(script_fixture *f)
{
    l3_at(0);
    l3_two_wait(f);
    l3_acquire(f, "d1");
    l3_touch(f, "b1");
    l3_touch(f, "c1");
    l3_at(1200);
    l3_touch(f, "c1");
    l3_acquire(f, "e1");
    l3_at(2400);
    l3_touch(f, "c1");
    lapse(f);
}

L3_TEST(frozen_ones_are_parked_together)
{
    freeze(f);
    script_redis(f, "PERSIST %s", L3_LINE);
    script_redis(f, "PERSIST %s", L3_SIDE);
    l3_at(2500);
    assert_like(l3_park(f, "c"), "2");
    assert_like(l3_parked(f), "b1 d1");
    assert_like(l3_note(f, "b1"), "\"\"");
    assert_like(l3_note(f, "d1"), "b1c1");
    assert_like(field(f, "last"), "b1d1");
    assert_like(l3_line(f), "c1 e1"); /* e came later */
    assert_true(script_pttl(f, L3_LINE) > 2000000);
    assert_true(script_pttl(f, L3_SIDE) > 4400000);
    assert_like(l3_holders(f), "");
}

L3_TEST(those_parked_before_stand_in_each_note)
{
    freeze(f);
    script_redis(f, "HSET %s last %s", L3_SIDE, l3_member("f1"));
    l3_at(2500);
    l3_park(f, "c");
    assert_like(l3_note(f, "b1"), "f1");
    assert_like(l3_note(f, "d1"), "f1b1c1");
    assert_like(field(f, "last"), "f1b1d1");
}

L3_TEST(the_caller_is_not_frozen)
{
    freeze(f);
    l3_at(2500);
    assert_like(l3_park(f, "b"), "1");
    assert_like(l3_parked(f), "d1");
}

L3_TEST(silent_for_two_seconds_is_not_yet_frozen)
{
    freeze(f);
    l3_at(2400);
    script_redis(f, "HSET %s %s 1764385200400", L3_SIDE, l3_client("b"));
    assert_like(l3_park(f, "c"), "1");
    assert_like(l3_parked(f), "d1");
}

/* The server stood still: all marks are old, and nobody is judged. */
L3_TEST(a_pause_judges_nobody)
{
    freeze(f);
    l3_at(3901);
    assert_like(l3_park(f, "c"), "0");
    assert_like(l3_parked(f), "");
    assert_like(field(f, "t"), "1764385203901");
    assert_like(field(f, "at"), "1764385203901b1c1d1e1");
    assert_like(field(f, "at0"), "\"\"");
}

/* The last of those that are noted has gone: the one before it counts. */
L3_TEST(notes_outlive_the_tail_of_the_line)
{
    freeze(f);
    l3_leave(f, "d1");
    l3_at(2500);
    assert_like(l3_park(f, "e"), "1");
    assert_like(l3_parked(f), "b1");
}

/* And of a note whose eight have gone the older one. */
L3_TEST(the_older_note_counts_if_the_younger_says_nothing)
{
    freeze(f);
    script_redis(f, "HSET %s at 1764385200450%s", L3_SIDE, l3_member("f1"));
    l3_at(2500);
    assert_like(l3_park(f, "c"), "2");
    assert_like(l3_parked(f), "b1 d1");
}

L3_TEST(no_more_than_64_are_parked_in_a_call)
{
    char claim[16];

    l3_at(0);
    l3_acquire_first(f, "a1");
    for (int i = 0; i < 70; i++) {
        snprintf(claim, sizeof(claim), "c%d", i);
        l3_acquire(f, claim);
    }
    for (int ms = 0; ms <= 3000; ms += 1000) {
        l3_at(ms);
        assert_like(l3_park(f, "d"), ms < 3000 ? "0" : "64");
    }
    assert_like(L3_REDIS(f, "LLEN %s", L3_LINE), "6");
    assert_like(l3_park(f, "d"), "6");
}

/* Tries alone: park notes who stands there as a touch does. */
L3_TEST(park_notes_the_line_as_well)
{
    l3_two_wait(f);
    for (int ms = 0; ms <= 2001; ms += 667) {
        l3_at(ms);
        l3_park(f, "d");
    }
    assert_like(field(f, "t"), "1764385202001");
    assert_like(field(f, "at"), "1764385202001b1c1");
    assert_like(field(f, "at0"), "1764385200000b1c1");
    assert_like(l3_parked(f), "b1 c1");
}

/* ---- the outsiders' turn ---- */

/* b1 and c1 wait behind the marker of a free name, whose turn is so many ms old. */
static void open_turn(script_fixture *f, long long now, long long age)
{
    l3_at(now);
    l3_two_wait(f);
    lapse(f);
    script_redis(f, "LPUSH %s others", L3_LINE);
    script_redis(f, "HSET %s %s %lld open %lld", L3_SIDE, l3_client("b"),
                 L3_BEGINS_S * 1000 + now, L3_BEGINS_S * 1000 + now - age);
}

L3_TEST(a_turn_without_listeners_lasts_12_ms)
{
    open_turn(f, 5000, 0);
    assert_like(l3_next(f, "b"), "-12");
    l3_at(5011);
    assert_like(l3_next(f, "b"), "-1");
    assert_like(l3_line(f), "others b1 c1");
    l3_at(5012);
    assert_like(l3_next(f, "b"), "1");
    assert_like(l3_line(f), "b1 c1");
}

L3_TEST(with_listeners_150_ms)
{
    script_listen(f, L3_CHANNEL);
    open_turn(f, 5000, 149);
    assert_like(l3_next(f, "b"), "-1");
    l3_at(5001);
    assert_like(l3_next(f, "b"), "1");
}

L3_TEST(fair_waiters_and_known_ones_count_as_listeners)
{
    open_turn(f, 5000, 100);
    script_redis(f, "RPUSH %s java", L3_FAIR);
    assert_like(l3_next(f, "b"), "-50");
    script_redis(f, "DEL %s", L3_FAIR);
    l3_know_outsiders();
    assert_like(l3_next(f, "b"), "-50");
}

/* They came: until their slice ends, and the marker stands again behind the grant. */
L3_TEST(if_they_came_it_lasts_until_their_slice_ends)
{
    long long now = l3_slice(0, true);

    open_turn(f, now, 100);
    script_redis(f, "HSET %s met %lld", L3_SIDE, L3_BEGINS_S * 1000 + now - 50);
    script_redis(f, "HSET %s vain 3", L3_SIDE);
    assert_in_range(-l3_number(l3_next(f, "b")), 1, 50);
    l3_at(l3_slice(now, false));
    assert_like(l3_next(f, "c"), "1");
    assert_like(field(f, "vain"), "0");
    assert_like(field(f, "open"), "0");
    assert_like(field(f, "rest"), "nil");
    assert_like(l3_give(f), "2");
    assert_like(l3_holders(f), "b1");
    assert_like(l3_line(f), "others c1");
}

/* A marker whose turn never began: the name just lapsed. */
L3_TEST(a_turn_that_never_was_is_not_in_vain)
{
    l3_at(0);
    l3_two_wait(f);
    lapse(f);
    script_redis(f, "LPUSH %s others", L3_LINE);
    assert_like(l3_next(f, "b"), "1");
    assert_like(l3_line(f), "others b1 c1");
    assert_like(field(f, "vain"), "0");
}

/* In their slice it begins now. */
L3_TEST(a_free_name_is_theirs_in_their_slice)
{
    l3_at(l3_slice(0, true));
    l3_two_wait(f);
    lapse(f);
    script_redis(f, "LPUSH %s others", L3_LINE);
    assert_like(l3_give(f), "4");
    assert_like(l3_line(f), "others b1 c1");
    assert_like(l3_heard(f), "in:b ob1 0 n\n");
    assert_like(l3_next(f, "b"), "-12");
}

/* Tries would be refused by it for ever. */
L3_TEST(a_marker_alone_goes)
{
    l3_at(l3_slice(0, false));
    script_redis(f, "RPUSH %s others", L3_LINE);
    assert_like(l3_try(f, "d1"), "0");
    assert_like(l3_next(f, "d"), "1");
    assert_like(l3_give(f), "1");
    assert_like(l3_try(f, "d1"), "17*");
}

static void assert_rest(script_fixture *f, const char *vain, const char *rest)
{
    open_turn(f, 5000, 200);
    assert_like(l3_next(f, "b"), "1");
    assert_like(l3_line(f), "b1 c1");
    assert_like(field(f, "vain"), vain);
    assert_like(field(f, "rest"), rest);
    assert_like(field(f, "open"), "0");
    script_redis(f, "DEL n %s", L3_LINE);
}

/* Doubled from 0.5 s to 16 s. */
L3_TEST(turns_in_vain_are_followed_by_longer_rests)
{
    script_listen(f, L3_CHANNEL);
    assert_rest(f, "1", "1764385205500");
    script_redis(f, "HDEL %s rest", L3_SIDE);
    assert_rest(f, "2", "1764385206000");
    assert_rest(f, "3", "1764385207000");
    script_redis(f, "HSET %s vain 9", L3_SIDE);
    assert_rest(f, "10", "1764385221000");
}

L3_TEST(where_nobody_was_met_the_rest_is_long)
{
    assert_rest(f, "1", "1764385221000");
    script_redis(f, "HSET %s vain 0 met 1764385195000", L3_SIDE);
    assert_rest(f, "1", "1764385221000");
    open_turn(f, 5000, 200);
    script_redis(f, "HSET %s open 1764385204700 met 1764385204699", L3_SIDE);
    l3_next(f, "b");
    assert_like(field(f, "rest"), "1764385206000");
}

/* Of another clock, or old: over. */
L3_TEST(a_turn_that_begins_ahead_or_long_ago_is_over)
{
    script_listen(f, L3_CHANNEL);
    open_turn(f, 5000, -1);
    assert_like(l3_next(f, "b"), "1");
    script_redis(f, "DEL n %s", L3_LINE);
    open_turn(f, l3_slice(0, true), 651);
    script_redis(f, "HSET %s met 1764385300000", L3_SIDE);
    assert_like(l3_next(f, "b"), "1");
}

L3_TEST(a_try_takes_the_name_in_their_turn)
{
    open_turn(f, 5000, 5);
    script_redis(f, "PERSIST %s", L3_FENCE);
    assert_like(l3_next_try(f, "d1"), "17643852050000??");
    assert_like(l3_holders(f), "d1");
    assert_in_range(script_pttl(f, "n"), 1, 3000);
    assert_like(l3_line(f), "others b1 c1");
    assert_like(field(f, "met"), "1764385205000");
    assert_like(script_redis(f, "GET %s", L3_FENCE), "17643852050000??");
    assert_true(script_pttl(f, L3_FENCE) > 4400000);
}

L3_TEST(it_has_fences_above_the_last_and_the_clock_or_none)
{
    open_turn(f, 5000, 5);
    script_redis(f, "SET %s 1764385300000000", L3_FENCE);
    assert_like(l3_next_try(f, "d1"), "1764385300000016");
    lapse(f);
    script_redis(f, "SET %s 3", L3_FENCE);
    assert_like(l3_next_try(f, "d2"), "1764385205000016");
    lapse(f);
    script_redis(f, "SET %s 9007199254740980", L3_FENCE);
    assert_like(l3_next_try(f, "d3"), "!LKRANGE *");
    script_redis(f, "SET %s %s", L3_FENCE, "2 17 a:1");
    assert_like(l3_next_try(f, "d3"), "!LKLAYOUT *");
    assert_like(l3_holders(f), "");
}

L3_TEST(in_ours_a_try_takes_nothing)
{
    open_turn(f, 5000, 12);
    assert_like(l3_next_try(f, "d1"), "1");
    assert_like(l3_holders(f), "");
}

CHECK_GROUP(script_start_server, script_stop_server)
