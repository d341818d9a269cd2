/* SPDX-License-Identifier: MIT */

/* acquire: take the lock if it is free, else queue for it. */

#include <stdlib.h>

#include "support/check.h"
#include "support/lua_lock.h"

/* ---- a free name ---- */

SCRIPT_TEST(a_free_name_is_taken_with_its_whole_lease)
{
    assert_like(lua_lock_acquire(f, "a:1"), "1 * 30000 63");
    assert_like(script_redis(f, "HGETALL n"), "a:1 1");
}

SCRIPT_TEST(the_record_says_who_and_since_when)
{
    lk__record_text record;
    long long before = script_now_ms(f);

    lua_lock_acquire(f, "a:1");
    assert_true(lua_lock_record(f, &record));
    assert_memory_equal(record.layout.bytes, "2l", 2);
    assert_memory_equal(record.claim.bytes, "a:1 ", 4);
    assert_memory_equal(record.nonce.bytes, LUA_LOCK_NONCE, 16);
    assert_int_equal(record.fence, script_item(f, 1));
    assert_int_equal(record.lease, 30000);
    assert_true(record.since >= before);
    assert_memory_equal(record.reason.bytes, "because", 8);
}

SCRIPT_TEST(sent_again_it_answers_the_same_hold_and_changes_nothing)
{
    long long fence;

    lua_lock_acquire(f, "a:1");
    fence = script_item(f, 1);
    script_redis(f, "PEXPIRE n 20000");
    assert_like(lua_lock_acquire(f, "a:1"), "1 * * 63");
    assert_int_equal(script_item(f, 1), fence);
    assert_in_range(script_item(f, 2), 1, 20000);
    assert_like(script_redis(f, "EXISTS " LUA_LOCK_QUEUE), "0");
}

SCRIPT_TEST(fences_grow_with_the_spare_ones_between)
{
    long long fence;

    lua_lock_shift(f, 1000000);
    lua_lock_acquire(f, "a:1");
    fence = script_item(f, 1);
    lua_lock_release(f, "a:1", 0);
    lua_lock_shift(f, 0);
    lua_lock_acquire(f, "b:1");
    assert_true(script_item(f, 1) > fence + 63);
}

SCRIPT_TEST(a_fence_set_to_the_end_is_an_error_and_takes_nothing)
{
    script_redis(f, "SET " LUA_LOCK_TOKEN " 9007199254740991");
    assert_like(lua_lock_acquire(f, "a:1"), "!LKRANGE*");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

SCRIPT_TEST(another_familys_record_counts_with_its_fences_only)
{
    script_redis(f, "SET " LUA_LOCK_RECORD " %s",
                 "2w 9000000000000000 7 99 v - - 1 x:1 - w 1 1 - - r");
    assert_like(lua_lock_acquire(f, "a:1"), "1 9000000000000008 30000 0");
}

SCRIPT_TEST(what_is_no_record_is_refused)
{
    script_redis(f, "SET " LUA_LOCK_RECORD " hello");
    assert_like(lua_lock_acquire(f, "a:1"), "!LKLAYOUT*");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

/* ---- a held name ---- */

SCRIPT_TEST(behind_a_holder_it_queues_once)
{
    long long ticket;

    lua_lock_acquire(f, "a:1");
    assert_like(lua_lock_acquire(f, "b:1"), "2 * * 0");
    ticket = script_item(f, 2);
    assert_like(lua_lock_acquire(f, "b:1"), "2 * * 0");
    assert_int_equal(script_item(f, 2), ticket);
    assert_like(script_redis(f, "ZCARD " LUA_LOCK_QUEUE), "1");
}

SCRIPT_TEST(tickets_are_in_order_though_the_clock_was_set_back)
{
    long long first;

    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    first = script_item(f, 2);
    lua_lock_shift(f, -3600000);
    assert_like(lua_lock_acquire(f, "c:1"), "2 * * 0");
    assert_int_equal(script_item(f, 2), first + 1);
    /* Its ticket is no sign of life, so there is a mark of it. */
    assert_like(script_redis(f, "ZSCORE " LUA_LOCK_QUEUE " c"), "-*");
}

SCRIPT_TEST(a_try_does_not_queue)
{
    lua_lock_acquire(f, "a:1");
    assert_like(lua_lock_acquire_with(f, "b:1", 'l', 't', 30000), "3 *");
    assert_like(script_redis(f, "EXISTS " LUA_LOCK_QUEUE), "0");
}

SCRIPT_TEST(one_that_spins_leaves_word)
{
    lua_lock_acquire(f, "a:1");
    assert_like(lua_lock_acquire_with(f, "b:1", 'l', 's', 30000), "3 *");
    assert_like(script_redis(f, "EXISTS " LUA_LOCK_SPIN), "1");
}

/* Nobody hands over to it, so its client looks. */
SCRIPT_TEST(the_first_behind_redisson_is_told)
{
    script_redis(f, "HSET n java:7 1");
    script_redis(f, "PEXPIRE n 30000");
    assert_like(lua_lock_acquire(f, "a:1"), "2 * * 1");
    assert_like(lua_lock_acquire(f, "b:1"), "2 * * 0");
}

SCRIPT_TEST(a_fair_one_does_not_pass_who_waits)
{
    lua_lock_hear(f, "b", NULL);
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire_with(f, "b:1", 'f', 'q', 30000);
    script_redis(f, "DEL n");
    assert_like(lua_lock_acquire_with(f, "c:1", 'f', 't', 30000), "3 -1");
    assert_like(lua_lock_acquire_with(f, "c:1", 'f', 'q', 30000), "2 0 * 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

SCRIPT_TEST(nor_does_another_pass_a_fair_one)
{
    lua_lock_hear(f, "b", NULL);
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire_with(f, "b:1", 'f', 'q', 30000);
    script_redis(f, "DEL n");
    assert_like(lua_lock_acquire_with(f, "c:1", 'l', 't', 30000), "3 -1");
}

SCRIPT_TEST(a_fair_one_passes_the_dead)
{
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire_with(f, "b:1", 'f', 'q', 30000);
    script_redis(f, "DEL n");
    assert_like(lua_lock_acquire_with(f, "c:1", 'f', 't', 30000), "1 *");
}

SCRIPT_TEST(a_waiter_that_finds_the_name_free_takes_it_and_waits_no_more)
{
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    script_redis(f, "DEL n");
    assert_like(lua_lock_acquire(f, "b:1"), "1 * 30000 *");
    assert_like(script_redis(f, "EXISTS " LUA_LOCK_QUEUE), "0");
}

/* ---- refusals ---- */

SCRIPT_TEST(a_void_claim_is_refused)
{
    lua_lock_leave(f, "a:1", true);
    assert_like(lua_lock_acquire(f, "a:1"), "!LKVOID*");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

SCRIPT_TEST(what_is_no_lock_is_refused)
{
    script_redis(f, "SET n 1");
    assert_like(lua_lock_acquire(f, "a:1"), "!LKTYPE*");
    script_redis(f, "DEL n");
    script_redis(f, "HSET n mode read");
    assert_like(lua_lock_acquire(f, "a:1"), "!LKTYPE*");
    script_redis(f, "HSET n a 1 b 2");
    assert_like(lua_lock_acquire(f, "a:1"), "!LKTYPE*");
    assert_like(script_redis(f, "EXISTS " LUA_LOCK_QUEUE), "0");
}

SCRIPT_TEST(a_full_server_refuses_before_anything_is_written)
{
    script_fill_memory(f, true);
    assert_like(lua_lock_acquire(f, "a:1"), "!*OOM*");
    script_fill_memory(f, false);
    assert_like(script_redis(f, "DBSIZE"), "0");
    lua_lock_acquire(f, "a:1");
    script_fill_memory(f, true);
    assert_like(lua_lock_acquire(f, "b:1"), "!*OOM*");
    script_fill_memory(f, false);
    assert_like(script_redis(f, "EXISTS " LUA_LOCK_QUEUE), "0");
}

SCRIPT_TEST(what_may_not_be_finished_is_taken_back)
{
    script_deny(f, "pexpire");
    assert_like(lua_lock_acquire(f, "a:1"), "!*");
    assert_like(script_redis(f, "DBSIZE"), "0");
    script_deny(f, "set");
    assert_like(lua_lock_acquire(f, "a:1"), "!*");
    assert_like(script_redis(f, "DBSIZE"), "0");
    script_deny(f, NULL);
    lua_lock_acquire(f, "a:1");
    script_deny(f, "pexpire");
    assert_like(lua_lock_acquire(f, "b:1"), "!*");
    assert_like(script_redis(f, "EXISTS " LUA_LOCK_QUEUE), "0");
    script_deny(f, NULL);
}

CHECK_GROUP(script_start_server, script_stop_server)
