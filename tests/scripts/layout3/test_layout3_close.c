/* SPDX-License-Identifier: MIT */

/* close: who has the name behind it, and who is told. */

#include <stdio.h>

#include "support/check.h"
#include "support/layout3.h"

L3_TEST(a_name_that_nobody_waits_for_is_free)
{
    l3_acquire_first(f, "a1");
    assert_like(l3_close(f, "a1"), "1");
    assert_like(script_redis(f, "EXISTS n %s %s", L3_LINE, L3_SIDE), "0");
    assert_like(l3_close(f, "a1"), "0");
}

L3_TEST(a_claim_that_does_not_hold_ends_nothing)
{
    l3_acquire_first(f, "a1");
    assert_like(l3_close(f, "b1"), "0");
    assert_like(l3_holders(f), "a1");
}

L3_TEST(redisson_is_told_of_a_free_name)
{
    l3_at(l3_slice(0, false));
    script_listen(f, L3_CHANNEL);
    l3_acquire_first(f, "a1");
    assert_like(l3_close(f, "a1"), "1");
    assert_like(script_heard(f), L3_CHANNEL " 0\n");
}

/* ---- hand-over ---- */

L3_TEST(the_first_of_the_line_has_the_name_and_is_told)
{
    l3_at(0);
    l3_two_wait(f);
    l3_keep(f, "a1", "60000");
    assert_like(l3_close(f, "a1"), "2");
    assert_like(l3_holders(f), "b1");
    assert_in_range(script_pttl(f, "n"), 1, 3000);
    assert_like(l3_line(f), "c1");
    assert_like(l3_heard(f), "in:b gb1 1764385200000032 n\n");
    assert_like(script_redis(f, "GET %s", L3_FENCE), "1764385200000032");
}

/* The text of a grant, and its channel, in full. */
L3_TEST(a_grant_names_member_fence_and_name)
{
    char text[256];

    l3_at(0);
    l3_two_wait(f);
    l3_close(f, "a1");
    snprintf(text, sizeof(text), "in:%s g%s 1764385200000032 n\n",
             l3_client("b"), l3_member("b1"));
    assert_string_equal(script_heard(f), text);
}

L3_TEST(each_hand_over_has_a_fence_above_the_last)
{
    l3_at(0);
    l3_two_wait(f);
    l3_close(f, "a1");
    assert_like(l3_close(f, "b1"), "2");
    assert_like(l3_heard(f), "in:b gb1 1764385200000032 n\n"
                             "in:c gc1 1764385200000048 n\n");
    assert_like(l3_close(f, "c1"), "1");
}

L3_TEST(nobody_is_told_of_redissons_channel_in_a_hand_over)
{
    l3_two_wait(f);
    script_listen(f, L3_CHANNEL);
    l3_close(f, "a1");
    assert_like(l3_heard(f), "in:b gb1 * n\n");
}

/* Its lease ended, and the name is another's: it gives nothing. */
L3_TEST(a_late_close_gives_nothing)
{
    l3_two_wait(f);
    script_redis(f, "DEL n");
    script_redis(f, "HSET n %s 1", l3_claim("d1"));
    script_redis(f, "PERSIST %s", L3_LINE);
    assert_like(l3_close(f, "a1"), "0");
    assert_like(l3_holders(f), "d1");
    assert_like(l3_line(f), "b1 c1");
    assert_like(l3_heard(f), "");
    assert_true(script_pttl(f, L3_LINE) > 0);
}

L3_TEST(a_late_close_keeps_a_line_of_one)
{
    l3_hear(f, "b");
    l3_acquire_first(f, "a1");
    l3_acquire(f, "b1");
    script_redis(f, "DEL n");
    assert_like(l3_close(f, "a1"), "0");
    assert_like(l3_line(f), "b1");
    assert_true(script_pttl(f, L3_LINE) > 0);
    assert_like(l3_holders(f), "");
}

L3_TEST(a_lost_counter_goes_on_from_the_clock_in_a_hand_over)
{
    l3_two_wait(f);
    script_redis(f, "DEL %s", L3_FENCE);
    l3_at(9000);
    assert_like(l3_close(f, "a1"), "2");
    assert_like(l3_heard(f), "in:b gb1 1764385209000016 n\n");
    assert_true(script_pttl(f, L3_FENCE) > 4400000);
}

/* The one that was popped loses its place; nobody is made an owner. */
L3_TEST(no_owner_is_written_beyond_the_last_fence)
{
    l3_two_wait(f);
    script_redis(f, "SET %s 9007199254740980", L3_FENCE);
    assert_like(l3_close(f, "a1"), "!LKRANGE *");
    assert_like(l3_holders(f), "a1");
    assert_in_range(script_pttl(f, "n"), 1, 3000);
}

/* ---- waiters that nobody hears ---- */

L3_TEST(an_unheard_waiter_is_parked_and_the_next_has_the_name)
{
    l3_hear(f, "ac");
    l3_acquire_first(f, "a1");
    l3_acquire(f, "b1");
    l3_acquire(f, "c1");
    assert_like(l3_close(f, "a1"), "2");
    assert_like(l3_holders(f), "c1");
    assert_like(l3_parked(f), "b1");
    assert_like(l3_heard(f), "in:c gc1 * n\n");
    assert_true(script_pttl(f, L3_SIDE) > 4400000);
}

L3_TEST(without_anybody_who_hears_the_name_is_free)
{
    script_listen(f, L3_CHANNEL);
    l3_acquire_first(f, "a1");
    l3_acquire(f, "b1");
    l3_acquire(f, "c1");
    assert_like(l3_close(f, "a1"), "1");
    assert_like(script_redis(f, "EXISTS n %s", L3_LINE), "0");
    assert_like(l3_parked(f), "b1 c1");
    assert_like(script_heard(f), L3_CHANNEL " 0\n");
}

/* Each is noted with those that were parked before it, the nearest last. */
L3_TEST(those_parked_are_noted_with_those_before_them)
{
    l3_hear(f, "d");
    l3_acquire_first(f, "a1");
    l3_acquire(f, "b1");
    l3_acquire(f, "c1");
    l3_acquire(f, "d1");
    l3_close(f, "a1");
    assert_like(l3_note(f, "b1"), "\"\"");
    assert_like(l3_note(f, "c1"), "b1");
    l3_acquire(f, "e1");
    l3_close(f, "d1");
    assert_like(l3_note(f, "e1"), "b1c1");
    assert_like(L3_REDIS(f, "HGET %s last", L3_SIDE), "b1c1e1");
}

/* 64 in a call; those behind them wait for the next. */
L3_TEST(no_more_than_64_are_tried)
{
    char claim[16];

    l3_hear(f, "b");
    l3_acquire_first(f, "a1");
    for (int i = 0; i < 64; i++) {
        snprintf(claim, sizeof(claim), "c%d", i);
        l3_acquire(f, claim);
    }
    l3_acquire(f, "b1");
    assert_like(l3_close(f, "a1"), "3");
    assert_like(l3_holders(f), "");
    assert_like(l3_line(f), "b1");
}

L3_TEST(the_64th_is_tried)
{
    char claim[16];

    l3_hear(f, "b");
    l3_acquire_first(f, "a1");
    for (int i = 0; i < 63; i++) {
        snprintf(claim, sizeof(claim), "c%d", i);
        l3_acquire(f, claim);
    }
    l3_acquire(f, "b1");
    assert_like(l3_close(f, "a1"), "2");
    assert_like(l3_holders(f), "b1");
}

/* A later release may have texts of its own in a line. */
L3_TEST(a_text_that_is_no_member_is_dropped)
{
    l3_hear(f, "b");
    l3_acquire_first(f, "a1");
    script_redis(f, "RPUSH %s others2 %s", L3_LINE, "x");
    l3_acquire(f, "b1");
    assert_like(l3_close(f, "a1"), "2");
    assert_like(l3_holders(f), "b1");
    assert_like(script_redis(f, "EXISTS %s %s", L3_LINE, L3_SIDE), "0");
}

/* A publication that is refused may have been heard all the same. */
L3_TEST(a_refused_publication_counts_as_heard)
{
    l3_hear(f, "c");
    l3_acquire_first(f, "a1");
    l3_acquire(f, "b1");
    l3_acquire(f, "c1");
    script_deny(f, "publish");
    assert_like(l3_close(f, "a1"), "2");
    assert_like(l3_holders(f), "b1");
    assert_like(l3_close(f, "b1"), "2");
    assert_like(l3_close(f, "c1"), "1"); /* of Redisson's it is nobody */
    assert_like(script_redis(f, "EXISTS n %s", L3_LINE), "0");
}

/* ---- the outsiders' turn ---- */

L3_TEST(in_their_slice_listeners_have_a_turn)
{
    l3_at(l3_slice(0, true));
    script_listen(f, L3_CHANNEL);
    l3_acquire_first(f, "a1");
    assert_like(l3_close(f, "a1"), "4");
    assert_like(l3_line(f), "others");
    assert_true(script_pttl(f, L3_LINE) > 2000000);
    assert_like(L3_REDIS(f, "HGET %s open", L3_SIDE), "17643852*");
    assert_true(script_pttl(f, L3_SIDE) > 4400000);
}

L3_TEST(no_turn_is_given_while_they_rest)
{
    long long ms = l3_slice(0, true);

    l3_at(ms);
    script_listen(f, L3_CHANNEL);
    l3_acquire_first(f, "a1");
    script_redis(f, "HSET %s rest %lld", L3_SIDE, L3_BEGINS_S * 1000 + ms + 1);
    assert_like(l3_close(f, "a1"), "1");
    l3_acquire_first(f, "a2");
    script_redis(f, "HSET %s rest %lld", L3_SIDE, L3_BEGINS_S * 1000 + ms);
    assert_like(l3_close(f, "a2"), "4");
}

/* A clock that went back by hours does not keep them out. */
L3_TEST(a_rest_that_is_too_long_is_none)
{
    long long ms = l3_slice(0, true);

    l3_at(ms);
    script_listen(f, L3_CHANNEL);
    l3_acquire_first(f, "a1");
    script_redis(f, "HSET %s rest %lld", L3_SIDE,
                 L3_BEGINS_S * 1000 + ms + 17001);
    assert_like(l3_close(f, "a1"), "4");
}

static void two_wait_behind_the_marker(script_fixture *f)
{
    l3_two_wait(f);
    script_redis(f, "LPUSH %s others", L3_LINE);
}

L3_TEST(in_their_slice_the_marker_stays_and_the_first_is_told)
{
    l3_at(l3_slice(0, true));
    two_wait_behind_the_marker(f);
    script_listen(f, L3_CHANNEL);
    assert_like(l3_close(f, "a1"), "4");
    assert_like(l3_holders(f), "");
    assert_like(l3_line(f), "others b1 c1");
    assert_like(l3_heard(f), L3_CHANNEL " 0\nin:b ob1 0 n\n");
    assert_like(L3_REDIS(f, "HGET %s open", L3_SIDE), "17643852*");
}

/* A rest is from the last turn to the next marker; this one stands. */
L3_TEST(a_marker_that_stands_asks_for_no_rest)
{
    long long ms = l3_slice(0, true);

    l3_at(ms);
    two_wait_behind_the_marker(f);
    script_redis(f, "HSET %s rest %lld", L3_SIDE,
                 L3_BEGINS_S * 1000 + ms + 5000);
    assert_like(l3_close(f, "a1"), "4");
}

L3_TEST(in_our_slice_the_marker_goes_back_behind_the_grant)
{
    l3_at(l3_slice(0, false));
    two_wait_behind_the_marker(f);
    assert_like(l3_close(f, "a1"), "2");
    assert_like(l3_holders(f), "b1");
    assert_like(l3_line(f), "others c1");
    assert_like(l3_close(f, "b1"), "2");
    assert_like(l3_line(f), "others");
    assert_like(l3_close(f, "c1"), "1");
    assert_like(script_redis(f, "EXISTS n %s", L3_LINE), "0");
}

CHECK_GROUP(script_start_server, script_stop_server)
