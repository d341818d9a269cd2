/* SPDX-License-Identifier: MIT */

/* The semaphore of layout 3: permits are taken, given back and handed on. */

#include <stdio.h>

#include "support/check.h"
#include "support/counting3.h"

/* a1 has both permits; b1 and c1 wait for one each. All can be reached. */
static void two_wait(script_fixture *f)
{
    c3_hear(f, "abc");
    s3_make(f, "2");
    s3_acquire_first(f, "a1.2");
    s3_acquire(f, "b1.1");
    s3_acquire(f, "c1.1");
}

/* ---- acquire ---- */

C3_TEST(a_name_without_permits_is_unset)
{
    assert_like(s3_acquire(f, "a1.1"), "nil");
    assert_like(s3_try(f, "a1.1"), "nil");
    assert_like(script_redis(f, "DBSIZE"), "0");
}

C3_TEST(free_permits_are_taken_with_a_fence)
{
    assert_like(s3_make(f, "3"), "-1");
    assert_like(s3_acquire_first(f, "a1.2"), C3_FENCE_1);
    assert_like(s3_books(f), "1 2");
    assert_like(C3_REDIS(f, "ZRANGE %s 0 -1 WITHSCORES", C3_ZSET),
                "a1 1764385203000 a1:2 1764385203000");
    assert_true(script_pttl(f, C3_FENCE) > 4400000);
    assert_like(s3_acquire(f, "b1.1"), "1764385200000002");
}

C3_TEST(a_lost_counter_of_fences_goes_on_from_the_clock)
{
    s3_make(f, "1");
    assert_like(s3_acquire(f, "a1.1"), C3_FENCE_1);
    assert_true(script_pttl(f, C3_FENCE) > 4400000);
}

C3_TEST(a_lift_never_lowers_a_fence)
{
    s3_make(f, "2");
    script_redis(f, "SET %s 1764385999000000", C3_FENCE);
    assert_like(s3_acquire_first(f, "a1.1"), "1764385999000001");
    script_redis(f, "SET %s 9007199254740991", C3_FENCE);
    assert_like(s3_acquire(f, "b1.1"), "!LKRANGE *");
    assert_like(s3_books(f), "1 1");
}

C3_TEST(a_record_of_another_layout_is_told_before_anything_is_written)
{
    s3_make(f, "1");
    script_redis(f, "SET %s l2", C3_FENCE);
    assert_like(s3_acquire_first(f, "a1.1"), "!LKLAYOUT *");
    assert_like(s3_acquire(f, "a1.1"), "!*");
    assert_like(s3_next(f), "!LKLAYOUT *");
    assert_like(s3_books(f), "1 0");
    assert_like(script_redis(f, "GET %s", C3_FENCE), "l2");
}

C3_TEST(who_finds_none_free_waits_or_is_told_until_when)
{
    s3_make(f, "1");
    s3_acquire_first(f, "a1.1");
    c3_at(1000);
    assert_like(s3_try(f, "b1.1"), "-2002");
    assert_like(s3_acquire(f, "b1.1"), "-2");
    assert_like(s3_acquire(f, "c1.1"), "-4");
    assert_like(c3_line(f), "b1.1 c1.1");
    assert_true(script_pttl(f, C3_LINE) > 2000000);
}

/* A lease that is over is next's. */
C3_TEST(who_finds_a_lease_that_is_over_is_told_to_look_after_it)
{
    s3_make(f, "1");
    s3_acquire_first(f, "a1.1");
    c3_at(3000);
    assert_like(s3_try(f, "b1.1"), "0");
    assert_like(s3_acquire(f, "b1.1"), "-3");
}

C3_TEST(nobody_passes_a_line)
{
    s3_make(f, "2");
    s3_acquire_first(f, "a1.1");
    s3_acquire(f, "b1.2");
    assert_like(s3_acquire(f, "c1.1"), "-5"); /* one is free: next */
    assert_like(s3_try(f, "d1.1"), "0");
    assert_like(s3_books(f), "1 1");
}

C3_TEST(who_needs_more_than_there_are_is_told_how_many)
{
    s3_make(f, "3");
    s3_acquire_first(f, "a1.1");
    assert_like(s3_acquire(f, "b1.4"), "3");
    assert_like(s3_try(f, "b1.4"), "3");
    assert_like(c3_line(f), "");
}

C3_TEST(a_lost_counter_is_no_unset_name)
{
    s3_make(f, "3");
    s3_acquire_first(f, "a1.2");
    script_redis(f, "DEL n");
    assert_like(s3_acquire(f, "b1.1"), "-1");
    assert_like(c3_line(f), "");
    assert_like(s3_next(f), "0");
    assert_like(s3_books(f), "1 2");
    assert_like(s3_acquire(f, "b1.1"), "1*");
}

/* ---- close ---- */

C3_TEST(permits_are_given_back_once)
{
    s3_make(f, "3");
    s3_acquire_first(f, "a1.3");
    assert_like(s3_close(f, "a1.3"), "1");
    assert_like(s3_books(f), "3 0");
    assert_like(s3_close(f, "a1.3"), "0");
    assert_like(s3_books(f), "3 0");
}

C3_TEST(those_in_the_line_are_given_them_in_order)
{
    two_wait(f);
    assert_like(s3_close(f, "a1.2"), "2");
    assert_like(c3_heard(f), "in:b gb1.1 1764385200000002 n\n"
                             "in:c gc1.1 1764385200000003 n\n");
    assert_like(s3_books(f), "0 2");
    assert_like(C3_REDIS(f, "ZRANGE %s 0 -1 WITHSCORES", C3_ZSET),
                "b1 1764385203000 c1 1764385203000");
    assert_like(c3_line(f), "");
}

C3_TEST(a_late_close_gives_nothing)
{
    two_wait(f);
    assert_like(s3_close(f, "d1.2"), "0");
    assert_like(c3_line(f), "b1.1 c1.1");
    assert_like(s3_books(f), "0 2");
    assert_like(c3_heard(f), "");
}

C3_TEST(a_large_need_at_the_head_is_not_passed)
{
    c3_hear(f, "bc");
    s3_make(f, "3");
    s3_acquire_first(f, "a1.1");
    s3_acquire(f, "a2.2");
    s3_acquire(f, "b1.3");
    s3_acquire(f, "c1.1");
    assert_like(s3_close(f, "a1.1"), "1");
    assert_like(c3_line(f), "b1.3 c1.1");
    assert_like(s3_books(f), "1 2");
    assert_true(script_pttl(f, C3_LINE) > 2000000);
    assert_like(s3_close(f, "a2.2"), "2");
    assert_like(c3_heard(f), "in:b gb1.3 * n\n");
    assert_like(s3_books(f), "0 3");
}

C3_TEST(one_that_nobody_heard_is_parked_and_the_next_is_tried)
{
    s3_make(f, "2");
    s3_acquire_first(f, "a1.2");
    s3_acquire(f, "b1.2");
    s3_acquire(f, "c1.1");
    c3_hear(f, "c");
    assert_like(s3_close(f, "a1.2"), "2");
    assert_like(c3_parked(f), "b1.2");
    assert_like(c3_line(f), "");
    assert_like(s3_books(f), "1 1");
    assert_true(script_pttl(f, C3_SIDE) > 4400000);
}

/* A client that no message reaches waits as kind l: it finds its grant by a touch. */
C3_TEST(one_of_kind_l_counts_as_heard)
{
    char member[72];

    s3_make(f, "1");
    s3_acquire_first(f, "a1.1");
    snprintf(member, sizeof(member), "%s", c3_member("b1.1"));
    member[49] = 'l';
    assert_like(c3_run(f, "semaphore/acquire", "NZqr", c3_claim("b1"), "3000",
                       member, NULL),
                "-2");
    assert_like(s3_close(f, "a1.1"), "2");
    assert_like(C3_REDIS(f, "ZRANGE %s 0 -1", C3_ZSET), "b1");
    assert_like(c3_parked(f), "");
}

C3_TEST(sixty_four_are_tried_in_a_call)
{
    char member[8];

    s3_make(f, "1");
    s3_acquire_first(f, "a1.1");
    for (int i = 1; i <= 65; i++) {
        snprintf(member, sizeof(member), "b%d.1", i % 10);
        s3_acquire(f, member);
    }
    s3_acquire(f, "c1.1");
    c3_hear(f, "c");
    assert_like(s3_close(f, "a1.1"), "3");
    assert_like(s3_books(f), "1 0");
    assert_like(c3_line(f), "b5.1 c1.1");
    assert_like(s3_give(f), "2");
    assert_like(c3_heard(f), "in:c gc1.1 * n\n");
}

C3_TEST(what_is_no_member_is_dropped)
{
    two_wait(f);
    script_redis(f, "LPUSH %s something", C3_LINE);
    assert_like(s3_close(f, "a1.2"), "2");
    assert_like(c3_line(f), "");
}

/* Redisson's waiters are woken as it does. */
C3_TEST(redisson_is_told_how_many_are_free)
{
    script_listen(f, C3_CHANNEL);
    s3_make(f, "5");
    assert_like(c3_heard(f), C3_CHANNEL " 5\n");
    s3_acquire_first(f, "a1.2");
    assert_like(s3_close(f, "a1.2"), "4");
    assert_like(c3_heard(f), C3_CHANNEL " 5\n");
}

/* ---- turns ---- */

C3_TEST(the_marker_gives_outsiders_what_is_in_hand_in_their_slice)
{
    two_wait(f);
    script_redis(f, "LPUSH %s others", C3_LINE);
    c3_at(c3_slice(0, true));
    assert_like(s3_close(f, "a1.2"), "4");
    assert_like(s3_books(f), "2 0");
    assert_like(c3_line(f), "others b1.1 c1.1");
    assert_like(s3_next(f), "-150");
}

C3_TEST(otherwise_it_stays_in_front)
{
    two_wait(f);
    s3_acquire(f, "d1.1");
    script_redis(f, "LPUSH %s others", C3_LINE);
    c3_at(c3_slice(0, false));
    assert_like(s3_close(f, "a1.2"), "2");
    assert_like(c3_line(f), "others d1.1");
}

C3_TEST(a_turn_that_nobody_took_is_not_repeated_at_once)
{
    long long theirs = c3_slice(0, true);

    two_wait(f);
    script_redis(f, "LPUSH %s others", C3_LINE);
    c3_at(theirs);
    s3_close(f, "a1.2");
    c3_at(theirs + 150);
    s3_touch(f, "b1.1");
    assert_like(s3_next(f), "1");
    assert_like(c3_line(f), "b1.1 c1.1");
    assert_like(s3_give(f), "2");
    s3_acquire(f, "d1.1");
    script_listen(f, C3_CHANNEL);
    s3_touch(f, "d1.1");
    assert_like(c3_line(f), "d1.1"); /* `rest` */
    c3_at(theirs + 1200);
    s3_touch(f, "d1.1");
    assert_like(c3_line(f), "others d1.1");
}

/* They took what there was: the marker stays. */
C3_TEST(a_turn_that_they_took_is_none_in_vain)
{
    long long theirs = c3_slice(0, true);

    two_wait(f);
    script_redis(f, "LPUSH %s others", C3_LINE);
    c3_at(theirs);
    s3_close(f, "a1.2");
    script_redis(f, "DECRBY n 2");
    script_redis(f, "ZADD %s 1764385230000 java 1764385230000 java2", C3_ZSET);
    c3_at(theirs + 150);
    assert_like(s3_next(f), "0");
    assert_like(c3_line(f), "others b1.1 c1.1");
    assert_like(script_redis(f, "HMGET %s open rest vain", C3_SIDE),
                "nil nil nil");
}

CHECK_GROUP(script_start_server, script_stop_server)
