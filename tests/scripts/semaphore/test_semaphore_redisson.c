/* SPDX-License-Identifier: MIT */

/*
 * Semaphores that Redisson uses as well: its permits, its clocks, and turns
 * with its waiters, who stand in no queue of ours.
 */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/lua_lock.h"
#include "support/permits.h"

enum { SKEW_MS = 10000 };

/* u1:1 has 2 of 2; u2:1 waits for 1, and can be reached. */
static void one_waits(script_fixture *f)
{
    script_listen(f, "latchkey:in::u2");
    permits_set(f, 2);
    permits_acquire(f, "u1:1", 2);
    permits_acquire(f, "u2:1", 1);
}

/* ---- its clocks ---- */

/* A host of Redisson's whose clock is ahead would take them back too soon. */
PERMITS_TEST(beside_redisson_a_score_is_later_than_the_lease)
{
    f->interop = "1";
    permits_set(f, 2);
    assert_like(permits_acquire(f, "u1:1", 2), "1 * 30000");
    assert_in_range(permits_left(f, "u1:1", 2), 29000 + SKEW_MS,
                    30000 + SKEW_MS);
    assert_like(permits_acquire(f, "u1:1", 2), "1 * *");
    assert_in_range(script_item(f, 2), 29000, 30000);
    assert_like(permits_info(f), "3 0 (u1:1 2 * [23]???? \"\" p) ()");
}

/* Also one that nobody else wants. */
PERMITS_TEST(so_is_that_of_a_single_permit)
{
    permits_set(f, 2);
    permits_acquire(f, "u1:1", 1);
    f->interop = "1";
    assert_like(permits_acquire(f, "u2:1", 1), "1 * 30000");
    assert_in_range(permits_left(f, "u2:1", 1), 29000 + SKEW_MS,
                    30000 + SKEW_MS);
}

PERMITS_TEST(the_skew_stays_with_a_permit_as_it_is_renewed)
{
    f->interop = "1";
    permits_set(f, 1);
    permits_acquire(f, "u1:1", 1);
    assert_like(permits_renew(f, "u1:1", 60000), "1 ()");
    assert_in_range(permits_left(f, "u1:1", 1), 59000 + SKEW_MS,
                    60000 + SKEW_MS);
    f->interop = "0";
    assert_like(permits_keep(f, "u1:1", 0, 80000), "1 80000 0");
    assert_in_range(permits_left(f, "u1:1", 1), 79000 + SKEW_MS,
                    80000 + SKEW_MS);
}

/* Our own leases end when they end: all our clients go by the server. */
PERMITS_TEST(permits_of_ours_come_back_at_the_end_of_their_lease)
{
    f->interop = "1";
    permits_set(f, 3);
    permits_acquire(f, "u1:1", 3);
    permits_expire(f, 1 - SKEW_MS);
    assert_like(permits_count(f), "1 3 3");
    assert_like(permits_acquire(f, "u2:1", 2), "1 *");
    assert_books(f, 3, 1);
}

PERMITS_TEST(a_lease_of_ours_that_lasts_is_not_cut)
{
    f->interop = "1";
    permits_set(f, 2);
    permits_acquire(f, "u1:1", 2);
    permits_expire(f, -500 - SKEW_MS);
    assert_like(permits_try(f, "u2:1", 1), "3 *");
    assert_books(f, 2, 0);
}

/* Written by a host whose clock is behind, it ends before it should. */
PERMITS_TEST(a_permit_of_redissons_is_taken_back_late)
{
    f->interop = "1";
    permits_set(f, 2);
    permits_java_take(f, 'b', -1000);
    permits_java_take(f, 'c', -SKEW_MS - 1000);
    assert_like(permits_count(f), "1 2 1");
    assert_like(permits_acquire(f, "u1:1", 1), "1 *");
    assert_like(permits_try(f, "u2:1", 1), "3 *");
    assert_books(f, 2, 0);
}

/* Nobody said that Redisson is there: leases end when they say so. */
PERMITS_TEST(without_redisson_nothing_is_taken_back_late)
{
    permits_set(f, 1);
    permits_java_take(f, 'b', -1);
    assert_like(permits_acquire(f, "u1:1", 1), "1 *");
    assert_books(f, 1, 0);
}

PERMITS_TEST(a_permit_without_an_end_is_never_taken_back)
{
    permits_set(f, 1);
    script_redis(f, "ZADD %s 922337203685477 bbbbbbbbbbbbbbbb",
                 f->keys[PERMITS_ZSET]);
    script_redis(f, "DECR n");
    assert_like(permits_try(f, "u1:1", 1), "3 -1");
    assert_like(permits_count(f), "1 1 0");
}

/* ---- what it leaves behind ---- */

/* As many holders as permits are on record, and Redisson took all back. */
static void forty_are_taken_back(script_fixture *f)
{
    char claim[16];

    permits_set(f, 40);
    for (int i = 100; i < 140; i++) {
        snprintf(claim, sizeof(claim), "u%d:1", i);
        permits_acquire(f, claim, 1);
        permits_sweep_one(f, claim, 1);
    }
    assert_like(script_redis(f, "HLEN %s", f->keys[PERMITS_HOLDERS]), "40");
    permits_acquire(f, "u1:1", 39);
}

static long long on_record(script_fixture *f)
{
    return script_number(f, "HLEN %s", f->keys[PERMITS_HOLDERS]);
}

/* A look at them begins where the clock says. */
PERMITS_TEST(holders_that_redisson_took_back_are_forgotten)
{
    permits_set(f, 2);
    permits_acquire(f, "u1:1", 1);
    permits_acquire(f, "u2:1", 2);
    for (int i = 0; i < 40; i++)
        script_redis(f, "HSET %s a-permit-long-gone-%d x",
                     f->keys[PERMITS_HOLDERS], i);
    for (int i = 0; i < 200; i++)
        permits_look(f, "u2:1");
    assert_int_equal(on_record(f), 1);
    assert_books(f, 2, 1);
}

PERMITS_TEST(a_touch_forgets_them_as_well)
{
    forty_are_taken_back(f);
    for (int i = 0; i < 100; i++)
        permits_touch(f, "u2:1", NULL);
    assert_in_range(on_record(f), 1, 39);
}

PERMITS_TEST(who_has_to_wait_forgets_them_as_well)
{
    char claim[16];

    forty_are_taken_back(f);
    for (int i = 200; i < 300; i++) {
        snprintf(claim, sizeof(claim), "u%d:1", i);
        permits_acquire(f, claim, 2);
        permits_look(f, claim);
    }
    assert_in_range(on_record(f), 1, 39);
}

PERMITS_TEST(what_redisson_gave_back_goes_to_who_waits)
{
    script_listen(f, "latchkey:in::u2");
    permits_set(f, 2);
    permits_acquire(f, "u1:1", 1);
    permits_java_take(f, 'b', 30000);
    permits_acquire(f, "u2:1", 1);
    permits_java_release(f, 'b');
    assert_like(permits_look(f, "u2:1"), "2 * (0) (1 *");
    assert_books(f, 2, 0);
}

/* ---- turns ---- */

/* Handing over alone would starve who stands in no queue of ours. */
PERMITS_TEST(a_listener_on_redissons_channel_gets_its_turn)
{
    one_waits(f);
    script_listen(f, f->channel);
    assert_like(permits_release(f, "u1:1", 0), "1 2 0 0");
    assert_books(f, 2, 2);
    assert_like(script_heard(f), "latchkey:in::u2 open 0 semaphore u2:1 * * n\n"
                                 "redisson_sc:{n} 2\n");
    assert_int_equal(permits_turn(f, NULL, NULL), 't');
}

PERMITS_TEST(what_ours_take_then_ends_the_turn)
{
    long long now, since, length;
    char turn[64];

    one_waits(f);
    script_listen(f, f->channel);
    permits_release(f, "u1:1", 0);
    now = script_now_ms(f);
    snprintf(turn, sizeof(turn), "t,%lld,-1,0,0", now - 400);
    permits_put_turn(f, turn);
    assert_like(permits_look(f, "u2:1"), "2 * (0) (1 *");
    assert_int_equal(permits_turn(f, &since, &length), 'o');
    assert_true(since >= now);
    assert_in_range(length, 200, 500);
}

PERMITS_TEST(in_our_turn_permits_are_handed_over)
{
    char turn[64];

    one_waits(f);
    script_listen(f, f->channel);
    snprintf(turn, sizeof(turn), "o,%lld,400,0,0", script_now_ms(f) - 10);
    permits_put_turn(f, turn);
    lua_lock_at(f, 0);
    assert_like(permits_release(f, "u1:1", 0), "1 2 0 0");
    assert_like(script_heard(f),
                "latchkey:in::u2 grant 0 semaphore u2:1 * n\n");
    assert_books(f, 2, 1);
}

/* Redisson's client hands nothing over: the next waiter must look for itself. */
PERMITS_TEST(who_waits_for_redissons_permits_contends)
{
    f->interop = "1";
    permits_set(f, 2);
    permits_java_take(f, 'b', 30000);
    permits_acquire(f, "u1:1", 1);
    assert_like(permits_acquire(f, "u2:1", 1), "2 * * 1");
    assert_like(permits_acquire(f, "u3:1", 1), "2 * * 0");
    assert_like(permits_look(f, "u2:1"), "2 * 1 0 0 (*) ()");
    assert_like(permits_touch(f, "u3:1", "u2:1"), "2 * 1 0 0 (*) ()");
}

PERMITS_TEST(who_waits_for_ours_does_not)
{
    f->interop = "1";
    permits_set(f, 2);
    permits_acquire(f, "u1:1", 1);
    permits_acquire(f, "u4:1", 1);
    assert_like(permits_acquire(f, "u2:1", 1), "2 * * 0");
    assert_like(permits_touch(f, "u3:1", "u2:1"), "2 * 0 0 0 (*) *");
}

/* ---- what is known of those who hold ---- */

/* A holder renews alone for as long as its own client's fence_keep_ms says, not for
   as long as that of whoever finds the zset gone. */
PERMITS_TEST(whoever_keeps_fences_for_less_finds_what_others_hold)
{
    permits_set(f, 3);
    permits_acquire_with(f, "u1:1", 1, (permits_wish){.lease = 3000});
    lua_lock_shift(f, 60000);
    script_redis(f, "DEL %s", f->keys[PERMITS_ZSET]);
    permits_set_life(4000);
    permits_pass(f);
    assert_books(f, 3, 2);
}

/* Redisson took the one of ours back, and another one: as many are known as are
   taken. */
static void one_of_theirs_among_as_many(script_fixture *f)
{
    permits_set(f, 2);
    permits_acquire(f, "u1:1", 1);
    permits_acquire(f, "u2:1", 1);
    permits_sweep_one(f, "u1:1", 1);
    permits_java_take(f, 'b', 30000);
    assert_books(f, 2, 0);
}

PERMITS_TEST(one_of_theirs_is_seen_among_as_many_of_ours)
{
    script_listen(f, "latchkey:in::u3");
    one_of_theirs_among_as_many(f);
    assert_like(permits_acquire(f, "u3:1", 2), "2 * * 1");
    permits_look(f, "u3:1");
    assert_int_equal(script_item(f, 2), 1);
}

/* Both of ours are gone, and are forgotten, whatever Redisson holds. */
PERMITS_TEST(what_redisson_took_back_is_forgotten_beside_its_own)
{
    script_listen(f, "latchkey:in::u3");
    one_of_theirs_among_as_many(f);
    permits_acquire(f, "u3:1", 1);
    for (int i = 0; i < 40; i++)
        permits_look(f, "u3:1");
    assert_like(script_redis(f, "HLEN %s", f->keys[PERMITS_HOLDERS]), "1");
    assert_true(permits_fence(f, "u2:1") > 0);
}

CHECK_GROUP(script_start_server, script_stop_server)
