/* SPDX-License-Identifier: MIT */

/* touch: a client's waiters are alive, and a free name goes to the next. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/lua_lock.h"

static void b_waits(script_fixture *f)
{
    lua_lock_hear(f, "b", NULL);
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
}

SCRIPT_TEST(it_tells_the_ticket_and_leaves_one_mark)
{
    long long ticket;
    char expected[100];

    b_waits(f);
    ticket = script_item(f, 2);
    lua_lock_acquire(f, "b:2");
    snprintf(expected, sizeof(expected), "2 * 0 0 0 (%lld *) ()", ticket);
    assert_like(lua_lock_touch(f, "b:1", "b:2"), expected);
    assert_like(script_redis(f, "ZCARD " LUA_LOCK_QUEUE), "3");
    assert_like(script_redis(f, "ZSCORE " LUA_LOCK_QUEUE " b"), "-*");
    lua_lock_touch(f, "b:1", "b:2");
    assert_like(script_redis(f, "ZCARD " LUA_LOCK_QUEUE), "3");
}

SCRIPT_TEST(a_claim_that_does_not_wait_makes_no_key)
{
    assert_like(lua_lock_touch(f, "b:1", NULL), "2 -2 0 0 0 (0) ()");
    assert_like(script_redis(f, "DBSIZE"), "0");
}

SCRIPT_TEST(a_void_claim_does_not_come_back)
{
    b_waits(f);
    lua_lock_leave(f, "b:1", true);
    assert_like(lua_lock_touch(f, "b:1", NULL), "2 * 0 0 0 (0) ()");
}

SCRIPT_TEST(one_that_is_parked_gets_its_place_back)
{
    lua_lock_hear(f, "c", "d", NULL);
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    lua_lock_acquire(f, "c:1");
    lua_lock_acquire(f, "d:1");
    lua_lock_release(f, "a:1", 0);
    assert_like(script_redis(f, "HGETALL n"), "c:1 1");
    lua_lock_hear(f, "b", NULL);
    assert_like(lua_lock_touch(f, "b:1", NULL), "2 * 0 0 0 (*) ()");
    lua_lock_release(f, "c:1", 0);
    assert_like(script_redis(f, "HGETALL n"), "b:1 1");
}

/* Its place counts within the very call that gives it back. */
SCRIPT_TEST(it_comes_before_those_behind_it_at_once)
{
    lua_lock_hear(f, "c", "d", NULL);
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    lua_lock_acquire(f, "c:1");
    lua_lock_acquire(f, "d:1");
    lua_lock_release(f, "a:1", 0);
    script_redis(f, "DEL n");
    assert_like(lua_lock_touch(f, "b:1", NULL),
                "2 30000 0 0 0 (0) (1 * 30000 *)");
    assert_like(script_redis(f, "HGETALL n"), "b:1 1");
    assert_like(script_redis(f, "ZCOUNT " LUA_LOCK_QUEUE " 0 +inf"), "1");
}

SCRIPT_TEST(nor_does_it_come_before_those_in_front_of_it)
{
    lua_lock_hear(f, "d", NULL);
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    lua_lock_acquire(f, "c:1");
    lua_lock_acquire(f, "d:1");
    lua_lock_release(f, "a:1", 0);
    assert_like(script_redis(f, "HGETALL n"), "d:1 1");
    lua_lock_hear(f, "b", "c", NULL);
    lua_lock_touch(f, "b:1", NULL);
    script_redis(f, "DEL n");
    assert_like(lua_lock_touch(f, "c:1", NULL), "2 3000 0 0 0 (*) ()");
    assert_like(script_redis(f, "HGETALL n"), "b:1 1");
}

SCRIPT_TEST(a_free_name_goes_to_the_first_with_a_message)
{
    b_waits(f);
    lua_lock_acquire(f, "c:1");
    script_redis(f, "DEL n");
    assert_like(lua_lock_touch(f, "c:1", NULL), "2 3000 0 0 0 (*) ()");
    assert_like(script_redis(f, "HGETALL n"), "b:1 1");
    assert_non_null(
        strstr(script_heard(f), "grant 0 lock b:1 " LUA_LOCK_NONCE));
}

SCRIPT_TEST(of_two_members_the_hold_lasts_for_the_claim_lease)
{
    b_waits(f);
    lua_lock_acquire(f, "b:2");
    script_redis(f, "DEL n");
    assert_like(lua_lock_touch(f, "b:1", "b:2"),
                "2 3000 0 0 0 (0 *) (1 * 3000 *)");
    /* The answer tells it; no message does. */
    assert_string_equal(script_heard(f), "");
}

SCRIPT_TEST(a_grant_whose_message_was_lost_is_told)
{
    b_waits(f);
    lua_lock_release(f, "a:1", 0);
    assert_like(lua_lock_touch(f, "b:1", NULL), "2 * 0 0 0 (0) (1 * * 63)");
    assert_true(f->answer->element[6]->element[1]->integer ==
                lua_lock_fence(f));
}

SCRIPT_TEST(of_none_it_goes_on_handing_over)
{
    b_waits(f);
    script_redis(f, "DEL n");
    assert_like(lua_lock_touch(f, NULL, NULL), "2 3000 0 0 0 () ()");
    assert_like(script_redis(f, "HGETALL n"), "b:1 1");
}

SCRIPT_TEST(the_first_behind_redisson_is_told_and_redisson_met)
{
    lk__record_text record;

    b_waits(f);
    script_redis(f, "DEL n");
    script_redis(f, "HSET n java:7 1");
    script_redis(f, "PEXPIRE n 30000");
    assert_like(lua_lock_touch(f, "b:1", NULL), "2 * 1 0 0 (*) ()");
    assert_true(lua_lock_record(f, &record));
    assert_true(record.turn.size > 1);
}

SCRIPT_TEST(a_peek_at_a_held_name_is_one_look)
{
    b_waits(f);
    assert_like(lua_lock_peek(f, "b:1"), "1 *");
    assert_like(script_redis(f, "ZSCORE " LUA_LOCK_QUEUE " b"), "nil");
    script_redis(f, "DEL n");
    assert_like(lua_lock_peek(f, "b:1"), "2 30000 0 0 0 (0) (1 * 30000 *)");
}

SCRIPT_TEST(those_that_nobody_comes_back_for_are_swept)
{
    lua_lock_hear(f, "c", NULL);
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    lua_lock_acquire(f, "c:1");
    lua_lock_touch(f, "b:1", NULL);
    lua_lock_release(f, "a:1", 0);
    script_redis(f, "PEXPIRE n 600000"); /* however slow the machine is */
    assert_like(script_redis(f, "ZCOUNT " LUA_LOCK_QUEUE " 0 +inf"), "1");
    lua_lock_acquire(f, "c:2");
    for (int ms = 1000; ms <= 80000; ms += 1000) {
        lua_lock_shift_to_sweep(f, ms);
        lua_lock_touch(f, "c:2", NULL);
    }
    assert_like(script_redis(f, "ZCOUNT " LUA_LOCK_QUEUE " 0 +inf"), "1");
    assert_like(script_redis(f, "ZSCORE " LUA_LOCK_QUEUE " b"), "nil");
}

SCRIPT_TEST(a_full_server_does_not_refuse_it)
{
    b_waits(f);
    script_redis(f, "DEL n");
    script_fill_memory(f, true);
    assert_like(lua_lock_touch(f, "b:1", NULL),
                "2 30000 0 0 0 (0) (1 * 30000 *)");
    script_fill_memory(f, false);
}

CHECK_GROUP(script_start_server, script_stop_server)
