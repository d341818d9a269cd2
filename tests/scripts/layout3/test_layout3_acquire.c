/* SPDX-License-Identifier: MIT */

/* acquire and lift: a name is taken, waited for, or tried; the counter is raised. */

#include <stdlib.h>

#include "support/check.h"
#include "support/layout3.h"

enum { LINE_MS = 2100000, FENCE_MS = 4500000 };

static void assert_lives(script_fixture *f, const char *key, int ms)
{
    assert_in_range(script_pttl(f, key), ms / 2, ms);
}

/* ---- a free name ---- */

L3_TEST(a_free_name_is_taken_for_its_lease)
{
    script_redis(f, "SET %s 1764385200000000 PX 90000", L3_FENCE);
    assert_like(l3_acquire(f, "a1"), "1764385200000016");
    assert_like(l3_holders(f), "a1");
    assert_like(L3_REDIS(f, "HVALS n"), "1");
    assert_lives(f, "n", 60000);
    assert_like(l3_line(f), "");
}

L3_TEST(a_shorter_lease_is_written_as_it_is)
{
    l3_run(f, "acquire", "Nqr", l3_claim("a1"), "9000", NULL);
    assert_in_range(script_pttl(f, "n"), 1, 9000);
}

L3_TEST(a_try_takes_a_free_name_as_well)
{
    assert_like(l3_try(f, "a1"), "17*");
    assert_like(l3_holders(f), "a1");
}

/* A counter that was lost goes on from the clock, and ends. */
L3_TEST(a_lost_counter_goes_on_from_the_clock)
{
    l3_at(1234);
    assert_like(l3_acquire(f, "a1"), "1764385201234016");
    assert_lives(f, L3_FENCE, FENCE_MS);
    assert_like(script_redis(f, "GET %s", L3_FENCE), "1764385201234016");
}

L3_TEST(each_grant_has_sixteen_fences)
{
    l3_at(0);
    l3_acquire_first(f, "a1");
    l3_close(f, "a1");
    assert_like(l3_acquire(f, "a2"), "1764385200000032");
    l3_close(f, "a2");
    assert_like(l3_try(f, "a3"), "1764385200000048");
}

L3_TEST(there_is_no_fence_beyond_the_last)
{
    script_redis(f, "SET %s 9007199254740980 PX 90000", L3_FENCE);
    assert_like(l3_acquire(f, "a1"), "!LKRANGE *");
    assert_like(l3_acquire_first(f, "a1"), "!LKRANGE *");
    assert_like(l3_run(f, "lift", "r", NULL), "!LKRANGE *");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

/* ---- a name that is taken ---- */

L3_TEST(waiters_are_told_their_places)
{
    l3_acquire_first(f, "a1");
    assert_like(l3_acquire(f, "b1"), "-2");
    assert_lives(f, L3_LINE, LINE_MS);
    assert_like(l3_acquire(f, "c1"), "-4");
    assert_like(l3_line(f), "b1 c1");
    assert_like(l3_holders(f), "a1");
}

L3_TEST(a_waiter_gives_an_old_line_no_longer_life)
{
    l3_acquire_first(f, "a1");
    l3_acquire(f, "b1");
    script_redis(f, "PEXPIRE %s 5000", L3_LINE);
    l3_acquire(f, "c1");
    assert_in_range(script_pttl(f, L3_LINE), 1, 5000);
}

L3_TEST(a_try_is_told_how_long_the_holder_has)
{
    l3_acquire_first(f, "a1");
    assert_in_range(-l3_number(l3_try(f, "b1")), 50002, 60002);
    assert_like(l3_line(f), "");
}

L3_TEST(a_try_is_told_of_a_holder_without_an_end)
{
    script_redis(f, "HSET n %s 1", l3_claim("a1"));
    assert_like(l3_try(f, "b1"), "-1");
}

/* Nobody passes a line. */
L3_TEST(a_free_name_with_a_line_is_not_taken)
{
    l3_two_wait(f);
    script_redis(f, "DEL n");
    assert_like(l3_try(f, "d1"), "0");
    assert_like(l3_acquire(f, "d1"), "-7");
    assert_like(l3_holders(f), "");
    assert_like(l3_line(f), "b1 c1 d1");
}

/* ---- lifts ---- */

L3_TEST(a_lift_raises_the_counter_to_the_clock)
{
    l3_at(5);
    assert_like(l3_run(f, "lift", "r", NULL), "1764385200005016");
    assert_lives(f, L3_FENCE, FENCE_MS);
    assert_like(l3_run(f, "lift", "r", NULL), "1764385200005032");
    l3_at(6);
    assert_like(l3_run(f, "lift", "r", NULL), "1764385200006016");
    assert_like(script_redis(f, "GET %s", L3_FENCE), "1764385200006016");
}

/* With its range, since nobody else draws: no second draw. */
L3_TEST(the_first_acquire_of_a_client_lifts)
{
    l3_at(5);
    script_redis(f, "SET %s 1000000000016 PX 90000", L3_FENCE);
    assert_like(l3_acquire_first(f, "a1"), "1764385200005016");
    assert_lives(f, L3_FENCE, FENCE_MS);
    assert_like(l3_acquire_first(f, "b1"), "-2");
    assert_like(script_redis(f, "GET %s", L3_FENCE), "1764385200005032");
    assert_like(l3_run(f, "acquire", "Nqr", l3_claim("c1"), "60000", "l", NULL),
                "-*");
    assert_like(script_redis(f, "GET %s", L3_FENCE), "1764385200005048");
}

/* What another layout has in the counter's place is no number. */
L3_TEST(another_layout_is_refused_before_anything_is_written)
{
    script_redis(f, "SET %s %s", L3_FENCE, "2 17 a:1");
    assert_like(l3_acquire(f, "a1"), "!*not an integer*");
    assert_like(l3_acquire_first(f, "a1"), "!LKLAYOUT *");
    assert_like(l3_run(f, "lift", "r", NULL), "!LKLAYOUT *");
    assert_like(script_redis(f, "EXISTS n %s", L3_LINE), "0");
    assert_like(script_redis(f, "GET %s", L3_FENCE), "2 17 a:1");
}

static void assert_other_kind(script_fixture *f)
{
    assert_like(l3_acquire_first(f, "a1"), "!LKKIND *");
    assert_like(script_redis(f, "EXISTS %s %s", L3_LINE, L3_FENCE), "0");
    script_redis(f, "DEL n");
}

L3_TEST(another_kind_is_refused_before_anything_is_written)
{
    script_redis(f, "HSET n name alice");
    assert_other_kind(f);
    script_redis(f, "HSET n %s:write 1", l3_claim("b1"));
    assert_other_kind(f);
    for (int i = 0; i < 20; i++) { /* which field is read is by chance */
        script_redis(f, "HSET n mode read %s 1", l3_claim("b1"));
        assert_other_kind(f);
    }
    script_redis(f, "HSET n 12:34 1");
    assert_other_kind(f);
    script_redis(f, "SET n 3");
    assert_like(l3_acquire_first(f, "a1"), "!*WRONGTYPE*");
    assert_like(script_redis(f, "EXISTS %s %s", L3_LINE, L3_FENCE), "0");
}

L3_TEST(owners_of_ours_and_of_redissons_are_of_this_kind)
{
    l3_acquire_first(f, "a1");
    assert_like(l3_acquire_first(f, "b1"), "-2");
    script_redis(f, "DEL n %s", L3_LINE);
    script_redis(f, "HSET n " L3_JAVA " 1");
    assert_like(l3_acquire_first(f, "b1"), "-2");
}

CHECK_GROUP(script_start_server, script_stop_server)
