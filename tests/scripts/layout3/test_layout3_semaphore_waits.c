/* SPDX-License-Identifier: MIT */

/* The semaphore of layout 3: who waits, keeps, leaves; what next, park, resize do. */

#include <stdio.h>

#include "support/check.h"
#include "support/counting3.h"

/* a1 has the only permit; b1 and c1 wait. */
static void two_wait(script_fixture *f)
{
    c3_hear(f, "abc");
    s3_make(f, "1");
    s3_acquire_first(f, "a1.1");
    s3_acquire(f, "b1.1");
    s3_acquire(f, "c1.1");
}

/* ---- touch ---- */

C3_TEST(a_touch_says_who_waits_who_holds_and_who_is_over)
{
    two_wait(f);
    c3_at(1000);
    assert_like(s3_touch(f, "b1.1 b2.1"), "2000 1 0");
    assert_like(s3_touch(f, "a1.1 a2.1"), "2000 1764385200000002 0");
    assert_like(s3_touch(f, "a1.1"), "2000 1764385200000003");
}

/* Two holds of one name have two ends, and one may be long. */
C3_TEST(a_holder_is_told_its_own_end)
{
    s3_make(f, "2");
    s3_acquire_first(f, "a1.1");
    s3_acquire(f, "b1.1");
    assert_like(s3_keep(f, "b1.1", "600000"), "600000");
    c3_at(1000);
    assert_like(s3_touch(f, "a1.1"), "2000 *");
    assert_like(s3_touch(f, "b1.1"), "599000 *");
}

C3_TEST(a_touch_of_a_holder_heals_a_lost_counter_of_fences)
{
    s3_make(f, "1");
    s3_acquire_first(f, "a1.1");
    script_redis(f, "DEL %s", C3_FENCE);
    c3_at(7);
    assert_like(s3_touch(f, "a1.1"), "2993 1764385200007000");
    assert_true(script_pttl(f, C3_FENCE) > 4400000);
}

C3_TEST(a_touch_brings_one_that_was_parked_back_to_its_place)
{
    two_wait(f);
    s3_acquire(f, "d1.1");
    s3_acquire(f, "e1.1");
    script_deafen(f, "in:*");
    script_redis(f, "LREM %s 1 %s", C3_LINE, c3_member("d1.1"));
    script_redis(f, "HSET %s p%s %s%s", C3_SIDE, c3_member("d1.1"),
                 c3_member("b1.1"), c3_member("c1.1"));
    assert_like(s3_touch(f, "d1.1"), "3000 3");
    assert_like(c3_line(f), "b1.1 c1.1 d1.1 e1.1");
    assert_like(c3_parked(f), "");
    assert_like(s3_touch(f, "d1.1"), "3000 1");
}

C3_TEST(one_whose_neighbours_are_gone_comes_back_behind_the_marker)
{
    two_wait(f);
    script_redis(f, "LREM %s 1 %s", C3_LINE, c3_member("b1.1"));
    script_redis(f, "HSET %s p%s ''", C3_SIDE, c3_member("b1.1"));
    script_redis(f, "LPUSH %s others", C3_LINE);
    assert_like(s3_touch(f, "b1.1"), "3000 3");
    assert_like(c3_line(f), "others b1.1 c1.1");
}

C3_TEST(a_touch_tells_that_something_may_be_given)
{
    two_wait(f);
    c3_at(2999);
    assert_like(s3_touch(f, "b1.1"), "1 1");
    c3_at(3000);
    assert_like(s3_touch(f, "b1.1"), "0 2"); /* a lease is over */
    s3_next(f);
    assert_like(s3_touch(f, "b1.1"), "0 2"); /* the first fits */
    s3_give(f);
    assert_like(s3_touch(f, "c1.1"), "3000 1");
    script_redis(f, "DECR n");
    assert_like(s3_touch(f, "c1.1"), "3000 2"); /* a cut lost one */
}

C3_TEST(a_touch_sees_outsiders_that_listen)
{
    two_wait(f);
    script_listen(f, C3_CHANNEL);
    assert_like(s3_touch(f, "b1.1"), "3000 1");
    assert_like(c3_line(f), "others b1.1 c1.1");
    s3_touch(f, "b1.1");
    assert_like(c3_line(f), "others b1.1 c1.1");
}

/* ---- next and park ---- */

C3_TEST(next_takes_back_leases_that_are_over)
{
    two_wait(f);
    c3_at(3000);
    s3_touch(f, "b1.1");
    assert_like(s3_next(f), "1");
    assert_like(s3_books(f), "1 0");
    assert_like(s3_give(f), "2");
    assert_like(s3_close(f, "a1.1"), "0");
    assert_like(s3_keep(f, "a1.1", "9000"), "-1");
    assert_like(s3_books(f), "0 1");
}

/* A permit of Java's has another clock's end: a skew more is waited for. */
C3_TEST(an_outsiders_permit_ends_a_skew_late_ours_a_skew_early)
{
    s3_make(f, "2");
    script_redis(f, "SET n 0");
    script_redis(f, "ZADD %s 1764385200000 java 1764385210000 %s", C3_ZSET,
                 c3_claim("a1"));
    c3_at(-1);
    assert_like(c3_run(f, "semaphore/next", "NZqrx", C3_CHANNEL, "10000", NULL),
                "0");
    assert_like(s3_books(f), "0 2");
    c3_at(0);
    c3_run(f, "semaphore/next", "NZqrx", C3_CHANNEL, "10000", NULL);
    assert_like(C3_REDIS(f, "ZRANGE %s 0 -1", C3_ZSET), "java");
    c3_at(10000);
    c3_run(f, "semaphore/next", "NZqrx", C3_CHANNEL, "10000", NULL);
    assert_like(s3_books(f), "2 0");
}

C3_TEST(next_puts_the_number_right_unless_java_rules_it)
{
    s3_make(f, "5");
    s3_acquire_first(f, "a1.2");
    script_redis(f, "DECR n");
    s3_next(f);
    assert_like(s3_books(f), "3 2");
    script_redis(f, "INCRBY n 4");
    s3_next(f);
    assert_like(s3_books(f), "3 2");
    script_redis(f, "HSET %s n 0", C3_SIDE);
    script_redis(f, "INCRBY n 4");
    s3_next(f);
    assert_like(s3_books(f), "7 2");
}

C3_TEST(what_is_free_of_a_name_that_nobody_noted_is_noted)
{
    script_redis(f, "SET n 4");
    s3_acquire_first(f, "a1.1");
    s3_next(f);
    assert_like(script_redis(f, "HGET %s n", C3_SIDE), "4");
    assert_true(script_pttl(f, C3_SIDE) > 4400000);
}

C3_TEST(a_first_that_is_silent_is_to_be_parked)
{
    two_wait(f);
    c3_at(3000);
    assert_like(s3_next(f), "2");
    s3_touch(f, "b1.1");
    assert_like(s3_next(f), "1");
}

/* b1 and c1 stood there when d1 touched, and are silent for two seconds; d1 lives. */
C3_TEST(the_frozen_are_parked_together)
{
    two_wait(f);
    s3_acquire(f, "d1.1");
    s3_acquire(f, "e1.1");
    for (int s = 0; s <= 4; s++) {
        c3_at(s * 1000LL);
        s3_touch(f, "d1.1");
    }
    s3_acquire(f, "f1.1"); /* it came just now */
    s3_next(f);
    assert_like(s3_park(f, "d1"), "3");
    assert_like(c3_parked(f), "b1.1 c1.1 e1.1");
    assert_like(c3_line(f), "d1.1 f1.1");
}

C3_TEST(nobody_is_parked_where_the_server_stood_still)
{
    two_wait(f);
    for (int s = 0; s <= 2; s++) {
        c3_at(s * 1000LL);
        s3_touch(f, "c1.1");
    }
    c3_at(4500);
    s3_next(f);
    assert_like(s3_park(f, "d1"), "0");
    assert_like(c3_line(f), "b1.1 c1.1");
}

/* Tries alone: nobody touches, and each sends next and park once a second. */
C3_TEST(tries_alone_park_the_frozen_as_well)
{
    two_wait(f);
    script_redis(f, "INCR n");
    for (int s = 0; s <= 2; s++) {
        c3_at(s * 1000LL);
        assert_like(s3_park(f, "d1"), "0");
    }
    c3_at(3000);
    assert_like(s3_park(f, "d1"), "2");
    assert_like(c3_line(f), "");
}

/* The tail of the line has gone: the one before it says who stood there. */
C3_TEST(frozen_ones_are_found_though_the_last_has_left)
{
    two_wait(f);
    s3_acquire(f, "d1.1");
    for (int s = 0; s <= 2; s++) {
        c3_at(s * 1000LL);
        s3_touch(f, "d1.1");
    }
    s3_leave(f, "d1.1");
    s3_acquire(f, "e1.1");
    c3_at(3000);
    s3_touch(f, "e1.1");
    s3_next(f);
    assert_like(s3_park(f, "e1"), "2");
    assert_like(c3_line(f), "e1.1");
}

C3_TEST(who_needs_more_than_there_are_is_taken_out)
{
    s3_make(f, "3");
    s3_acquire_first(f, "a1.3");
    s3_acquire(f, "b1.2");
    s3_acquire(f, "c1.1");
    c3_run(f, "semaphore/resize", "NZx", "1", "s", "0", C3_CHANNEL, NULL);
    assert_like(s3_books(f), "-2 3");
    assert_like(s3_next(f), "2");
    assert_like(s3_park(f, "c1"), "1");
    assert_like(c3_line(f), "c1.1");
    assert_like(s3_touch(f, "b1.2"), "3000 0");
}

/* ---- keep, renew, give up ---- */

C3_TEST(a_keep_only_lengthens)
{
    s3_make(f, "2");
    s3_acquire_first(f, "a1.2");
    assert_like(s3_keep(f, "a1.2", "30000"), "30000");
    assert_like(s3_keep(f, "a1.2", "400"), "30000");
    assert_like(script_redis(f, "ZCOUNT %s 1764385230000 1764385230000",
                             C3_ZSET),
                "2");
    assert_like(script_redis(f, "HGET %s h%s", C3_SIDE, c3_claim("a1")),
                "7 8 9 because");
    assert_like(s3_keep(f, "b1.1", "30000"), "-1");
}

C3_TEST(a_keep_tells_that_a_hold_is_revoked)
{
    s3_make(f, "1");
    s3_acquire_first(f, "a1.1");
    script_redis(f, "HSET %s v%s 1", C3_SIDE, c3_claim("a1"));
    assert_like(s3_keep(f, "a1.1", "30000"), "-2");
}

C3_TEST(what_was_given_up_is_nobodys_and_counted_once)
{
    const char *permits[4];

    s3_make(f, "2");
    s3_acquire_first(f, "a1.2");
    s3_permits(permits, 0, "a1.2");
    assert_like(c3_run_with(f, "semaphore/give_up", "Z", permits), "1");
    assert_like(s3_keep(f, "a1.2", "30000"), "-1");
    assert_like(s3_touch(f, "a1.2"), "0 0");
    s3_permits(permits, 0, "b1.2");
    assert_like(c3_run_with(f, "semaphore/give_up", "Z", permits), "0");
    s3_next(f);
    s3_next(f);
    assert_like(s3_books(f), "2 0");
}

C3_TEST(a_renewal_says_which_are_over)
{
    char a[64], b[64];

    s3_make(f, "3");
    s3_acquire_first(f, "a1.2");
    snprintf(a, sizeof(a), "0002%s", c3_claim("a1"));
    snprintf(b, sizeof(b), "0001%s", c3_claim("b1"));
    assert_like(c3_run(f, "semaphore/renew", "ZZ", "30000", b, a, NULL), "1");
    assert_like(script_redis(f, "ZCOUNT %s 1764385230000 1764385230000",
                             C3_ZSET),
                "2");
    script_redis(f, "SET %s text", C3_ARRIVED);
    assert_like(c3_run(f, "semaphore/renew", "aZ", "60000", a, a, NULL), "1");
    assert_like(script_redis(f, "ZCOUNT %s 1764385260000 1764385260000",
                             C3_ZSET),
                "2");
}

/* ---- leave, resize, sweep ---- */

C3_TEST(one_that_leaves_says_whether_the_next_may_fit)
{
    s3_make(f, "2");
    s3_acquire_first(f, "a1.1");
    s3_acquire(f, "b1.2");
    s3_acquire(f, "c1.1");
    assert_like(s3_leave(f, "b1.2"), "-2");
    assert_like(s3_leave(f, "b1.2"), "0");
    assert_like(s3_leave(f, "a1.1"), "1");
    s3_give(f);
    s3_park(f, "c1");
    script_redis(f, "SET n 0");
    assert_like(s3_leave(f, "c1.1"), "-1"); /* it was parked */
    assert_like(c3_parked(f), "");
}

C3_TEST(a_number_is_set_once_or_changed)
{
    assert_like(s3_make(f, "3"), "-1");
    assert_like(s3_make(f, "5"), "3");
    s3_acquire_first(f, "a1.2");
    assert_like(c3_run(f, "semaphore/resize", "NZx", "5", "s", "0", C3_CHANNEL,
                       NULL),
                "3");
    assert_like(s3_books(f), "3 2");
    assert_like(script_redis(f, "HGET %s n", C3_SIDE), "5");
    c3_run(f, "semaphore/resize", "NZx", "1", "s", "1", C3_CHANNEL, NULL);
    assert_like(s3_books(f), "-1 2");
    assert_like(script_redis(f, "HGET %s n", C3_SIDE), "0");
}

C3_TEST(a_sweep_takes_old_marks_and_what_their_clients_parked)
{
    s3_make(f, "1");
    script_redis(f, "HSET %s %s 1764385139999 p%s '' %s 1764385140000", C3_SIDE,
                 c3_client("a"), c3_member("a1.1"), c3_client("b"));
    c3_run(f, "semaphore/sweep", "x", NULL);
    assert_like(script_redis(f, "HEXISTS %s %s", C3_SIDE, c3_client("b")), "1");
    for (int s = 0; s <= 122; s += 61) { /* in any order */
        c3_at(s * 1000LL);
        c3_run(f, "semaphore/sweep", "x", NULL);
    }
    assert_like(script_redis(f, "HKEYS %s", C3_SIDE), "n");
}

CHECK_GROUP(script_start_server, script_stop_server)
