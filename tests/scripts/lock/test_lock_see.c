/* SPDX-License-Identifier: MIT */

/* see: who holds and who waits. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/lua_lock.h"

SCRIPT_TEST(it_tells_holder_and_waiters_in_order)
{
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    lua_lock_acquire(f, "c:1");
    assert_like(lua_lock_see(f), "1 2 (a:1 1 * * * because l) "
                                 "(b:1 1 * * because l c:1 1 * * because l)");
}

SCRIPT_TEST(lists_are_read_by_their_names)
{
    lk__any_see_answer answer;
    lk__waiter_group waiter;

    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    lua_lock_acquire(f, "c:1");
    lua_lock_see(f);
    assert_int_equal(lk__answer_read(&lk__any_see_answers, f->answer, &answer),
                     LK_OK);
    assert_int_equal(answer.kind, LK__ANY_SEE_SEEN);
    assert_int_equal(lk__list_count(&answer.seen.waiters), 2);
    lk__list_get(&answer.seen.waiters, 1, &waiter);
    assert_int_equal(waiter.claim.size, 3);
    assert_memory_equal(waiter.claim.bytes, "c:1", 3);
    assert_int_equal(waiter.need, 1);
}

SCRIPT_TEST(a_stranger_has_no_fence)
{
    script_redis(f, "HSET n java:7 2");
    script_redis(f, "PEXPIRE n 5000");
    assert_like(lua_lock_see(f), "1 0 (java:7 2 0 0 * \"\" \"\") ()");
    /* Nor where the record tells of one of ours. */
    script_redis(f, "DEL n");
    lua_lock_acquire(f, "a:1");
    script_redis(f, "DEL n");
    script_redis(f, "HSET n java:7 2");
    script_redis(f, "PEXPIRE n 5000");
    assert_like(lua_lock_see(f), "1 0 (java:7 2 0 0 * \"\" \"\") ()");
}

SCRIPT_TEST(a_free_name_has_nobody)
{
    assert_like(lua_lock_see(f), "1 0 () ()");
    assert_like(script_redis(f, "DBSIZE"), "0");
}

/* Nobody has come by who would take them out. */
SCRIPT_TEST(who_was_not_heard_of_does_not_wait)
{
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    lua_lock_acquire(f, "c:1");
    lua_lock_shift(f, 12000);
    assert_like(lua_lock_see(f), "1 2 (*) (b:1 * c:1 *)");
    lua_lock_touch(f, "c:1", NULL);
    lua_lock_shift(f, 14000);
    assert_like(lua_lock_see(f), "1 1 (*) (c:1 1 * * because l)");
    lua_lock_shift(f, 26000);
    assert_like(lua_lock_see(f), "1 0 (*) ()");
    assert_like(script_redis(f, "ZCOUNT " LUA_LOCK_QUEUE " 0 +inf"), "2");
}

/* The clock was set: they could not be heard of. */
SCRIPT_TEST(who_could_not_be_heard_of_waits)
{
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    lua_lock_acquire(f, "c:1");
    lua_lock_touch(f, "b:1", NULL);
    lua_lock_shift(f, 60000);
    assert_like(lua_lock_see(f), "1 0 (*) ()");
    lua_lock_touch(f, "c:1", NULL);
    assert_like(lua_lock_see(f), "1 2 (*) (b:1 * c:1 *)");
}

SCRIPT_TEST(those_behind_many_silent_ones_are_told)
{
    char claim[16];

    lua_lock_acquire(f, "a:1");
    for (int i = 0; i < 100; i++) {
        (void)snprintf(claim, sizeof(claim), "s%d:1", i);
        lua_lock_acquire(f, claim);
    }
    lua_lock_shift(f, 14000);
    lua_lock_acquire(f, "b:1");
    assert_like(lua_lock_see(f), "1 1 (*) (b:1 1 * * because l)");
}

SCRIPT_TEST(no_nonce_is_told)
{
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    assert_null(strstr(lua_lock_see(f), LUA_LOCK_NONCE));
}

CHECK_GROUP(script_start_server, script_stop_server)
