/* SPDX-License-Identifier: MIT */

/* acquire of a fair lock: nobody who waits and lives is passed by. */

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/lua_lock.h"

enum { LOOKS = 64, HOUR_MS = 3600000 };

static const char *fair_acquire(script_fixture *f, const char *claim)
{
    return lua_lock_acquire_with(f, claim, 'f', 'q', 30000);
}

static const char *fair_try(script_fixture *f, const char *claim)
{
    return lua_lock_acquire_with(f, claim, 'f', 't', 30000);
}

/* The name is free, and nobody was told: b:1 and c:1 wait for it. */
static void two_wait_for_a_free_lock(script_fixture *f)
{
    lua_lock_hear(f, "b", "c", NULL);
    fair_acquire(f, "a:1");
    fair_acquire(f, "b:1");
    fair_acquire(f, "c:1");
    script_redis(f, "DEL n");
}

static void dead_ones_wait_for_a_free_lock(script_fixture *f, int count)
{
    char claim[16];

    fair_acquire(f, "a:1");
    for (int i = 0; i < count; i++) {
        snprintf(claim, sizeof(claim), "dead:%d", i);
        fair_acquire(f, claim);
    }
    script_redis(f, "DEL n");
}

static const char *holder(script_fixture *f)
{
    return script_redis(f, "HKEYS n");
}

/* ---- nobody is passed by ---- */

/* Both kinds of lock are one lock with one queue. */
SCRIPT_TEST(fair_and_other_claims_stand_in_one_queue)
{
    lua_lock_hear(f, "b", "c", "d", NULL);
    lua_lock_acquire(f, "a:1");
    fair_acquire(f, "b:1");
    lua_lock_acquire(f, "c:1");
    fair_acquire(f, "d:1");
    lua_lock_release(f, "a:1", 0);
    assert_like(holder(f), "b:1");
    lua_lock_release(f, "b:1", 0);
    assert_like(holder(f), "c:1");
    lua_lock_release(f, "c:1", 0);
    assert_like(holder(f), "d:1");
}

/* Whoever hands over next gives it to the first. */
SCRIPT_TEST(a_newcomer_queues_and_the_first_is_given_a_free_lock)
{
    two_wait_for_a_free_lock(f);
    assert_like(fair_acquire(f, "d:1"), "2 0 * 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(lua_lock_touch(f, NULL, NULL), "2 3000 0 0 0 () ()");
    assert_like(holder(f), "b:1");
}

SCRIPT_TEST(nor_is_one_behind_a_dead_one_passed)
{
    lua_lock_hear(f, "c", NULL);
    fair_acquire(f, "a:1");
    fair_acquire(f, "b:1");
    fair_acquire(f, "c:1");
    script_redis(f, "DEL n");
    assert_like(fair_try(f, "d:1"), "3 -1");
    assert_like(lua_lock_acquire_with(f, "d:1", 'l', 't', 30000), "3 -1");
    assert_like(fair_acquire(f, "d:1"), "2 0 * 0");
    lua_lock_touch(f, NULL, NULL);
    assert_like(holder(f), "c:1");
}

/* An unclear answer of a connection that broke: the same claim asks again. */
SCRIPT_TEST(the_first_that_asks_again_takes_a_free_lock)
{
    lk__record_text record;

    two_wait_for_a_free_lock(f);
    assert_like(fair_acquire(f, "b:1"), "1 * 30000 *");
    assert_true(lua_lock_record(f, &record));
    assert_true(record.floor > 0);
    assert_like(script_redis(f, "ZCARD " LUA_LOCK_QUEUE), "1");
}

SCRIPT_TEST(another_that_asks_again_keeps_its_ticket)
{
    long long ticket;

    lua_lock_hear(f, "b", "c", NULL);
    fair_acquire(f, "a:1");
    fair_acquire(f, "b:1");
    fair_acquire(f, "c:1");
    ticket = script_item(f, 2);
    script_redis(f, "DEL n");
    assert_like(fair_acquire(f, "c:1"), "2 0 * 0");
    assert_int_equal(script_item(f, 2), ticket);
    assert_like(script_redis(f, "ZCARD " LUA_LOCK_QUEUE), "2");
}

SCRIPT_TEST(a_holder_that_asks_again_is_told_its_fence)
{
    long long fence;

    fair_acquire(f, "a:1");
    fence = script_item(f, 1);
    fair_acquire(f, "b:1");
    assert_like(fair_acquire(f, "a:1"), "1 * * *");
    assert_int_equal(script_item(f, 1), fence);
    assert_like(script_redis(f, "ZCARD " LUA_LOCK_QUEUE), "1");
}

/* Nobody knows whether the first is alive. */
SCRIPT_TEST(without_the_right_to_ask_who_lives_nobody_overtakes)
{
    two_wait_for_a_free_lock(f);
    script_deny(f, "pubsub");
    assert_like(fair_try(f, "e:1"), "3 -1");
    assert_like(fair_acquire(f, "d:1"), "2 0 * 0");
    script_deny(f, NULL);
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(script_redis(f, "ZCARD " LUA_LOCK_QUEUE), "3");
}

/* ---- the dead are passed by ---- */

SCRIPT_TEST(one_that_was_not_heard_of_for_three_seconds_is_passed)
{
    lua_lock_hear(f, "b", NULL);
    fair_acquire(f, "a:1");
    fair_acquire(f, "b:1");
    script_redis(f, "DEL n");
    lua_lock_shift(f, 2000);
    assert_like(fair_try(f, "d:1"), "3 -1");
    lua_lock_shift(f, 20000);
    assert_like(fair_try(f, "d:1"), "1 * 30000 *");
}

/* One call looks at 64; a touch goes on. */
SCRIPT_TEST(behind_too_many_dead_ones_it_waits)
{
    dead_ones_wait_for_a_free_lock(f, LOOKS);
    assert_like(fair_try(f, "d:1"), "3 -1");
    assert_like(fair_acquire(f, "d:1"), "2 0 * 0");
    assert_like(lua_lock_touch(f, NULL, NULL), "2 -2 0 1 0 () ()");
    assert_like(fair_acquire(f, "d:1"), "1 * 30000 *");
}

SCRIPT_TEST(behind_fewer_it_takes_the_lock)
{
    dead_ones_wait_for_a_free_lock(f, LOOKS - 1);
    assert_like(fair_try(f, "d:1"), "1 * 30000 *");
}

/* ---- a clock that was set, a server that stood still ---- */

/* Another claim of b's client is touched. */
static void b_was_heard_of(script_fixture *f)
{
    two_wait_for_a_free_lock(f);
    script_redis(f, "HSET n a:1 1");
    script_redis(f, "PEXPIRE n 30000");
    lua_lock_acquire(f, "b:2");
    lua_lock_touch(f, "b:2", NULL);
    script_redis(f, "DEL n");
}

SCRIPT_TEST(nobody_is_passed_when_the_clock_was_set_forward)
{
    b_was_heard_of(f);
    lua_lock_shift(f, HOUR_MS);
    assert_like(fair_try(f, "d:1"), "3 -1");
}

SCRIPT_TEST(nobody_is_passed_when_the_clock_was_set_back)
{
    b_was_heard_of(f);
    lua_lock_shift(f, -HOUR_MS);
    assert_like(fair_try(f, "d:1"), "3 -1");
}

SCRIPT_TEST(one_that_does_not_listen_is_not_spared)
{
    b_was_heard_of(f);
    lua_lock_shift(f, HOUR_MS);
    script_deafen(f, "latchkey:in::b");
    script_deafen(f, "latchkey:in::c");
    assert_like(fair_try(f, "d:1"), "1 * 30000 *");
}

/* ---- beside others ---- */

SCRIPT_TEST(the_first_contends_with_a_foreign_holder)
{
    script_redis(f, "HSET n java:7 1");
    script_redis(f, "PEXPIRE n 20000");
    assert_like(fair_acquire(f, "a:1"), "2 * * 1");
    assert_like(fair_acquire(f, "b:1"), "2 * * 0");
}

SCRIPT_TEST(a_claim_that_was_given_up_is_refused)
{
    two_wait_for_a_free_lock(f);
    lua_lock_leave(f, "d:1", true);
    script_redis(f, "DEL n");
    assert_like(lua_lock_acquire(f, "d:1"), "!LKVOID*");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

SCRIPT_TEST(a_full_server_refuses_a_newcomer_before_anything)
{
    dead_ones_wait_for_a_free_lock(f, 2);
    script_fill_memory(f, true);
    assert_like(fair_try(f, "d:1"), "!*OOM*");
    assert_like(fair_acquire(f, "d:1"), "!*OOM*");
    script_fill_memory(f, false);
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(script_redis(f, "ZCOUNT " LUA_LOCK_QUEUE " 0 2251799813685247"),
                "2");
}

CHECK_GROUP(script_start_server, script_stop_server)
