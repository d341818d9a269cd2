/* SPDX-License-Identifier: MIT */

/*
 * A hand-over by somebody who may not let the owner out; and a claim that stands
 * in the hash beside the owner all the same, as an earlier version left it there.
 */

#include <stdlib.h>

#include "support/check.h"
#include "support/lua_lock.h"

/* a:1 holds; b:1 and c:1 wait, and can be reached. */
static void assert_a_has_it(script_fixture *f)
{
    assert_like(script_redis(f, "HKEYS n"), "a:1");
    assert_true(strtoll(script_redis(f, "PTTL n"), NULL, 10) > 3000);
    assert_like(script_redis(f, "ZCARD " LUA_LOCK_QUEUE), "2");
    assert_string_equal(script_heard(f), "");
}

SCRIPT_TEST(whoever_may_not_let_the_owner_out_lets_nobody_in)
{
    lua_lock_two_wait(f);
    script_deny(f, "hdel");
    assert_like(lua_lock_release(f, "a:1", 0), "!DENIED *");
    assert_a_has_it(f);
    assert_like(lua_lock_force(f, ""), "!DENIED *");
    assert_a_has_it(f);
    script_deny(f, NULL);
}

/* It asks again after its grant was lost, and another one's end. */
SCRIPT_TEST(one_that_is_alone_holds_and_waits_no_more)
{
    lua_lock_two_wait(f);
    script_redis(f, "HSET n b:1 1");
    lua_lock_release_alone(f, "a:1");
    assert_like(lua_lock_acquire(f, "b:1"), "1 * * *");
    assert_like(script_redis(f, "ZCARD " LUA_LOCK_QUEUE), "1");
    lua_lock_release(f, "b:1", 0);
    assert_like(script_redis(f, "HKEYS n"), "c:1");
}

/* b:1, which was to be the next, stayed in the hash; where Redisson counts on,
   what is not plain is asked for. */
static int set_up_leftover(void **state)
{
    int status = script_setup(state);
    script_fixture *f = *state;

    if (status != 0)
        return status;
    lua_lock_two_wait(f);
    script_redis(f, "HSET n b:1 1");
    script_redis(f, "SET " LUA_LOCK_TOKEN " 7");
    return 0;
}

#define LEFTOVER_TEST(name)                                                    \
    CHECK_TEST_OF(name, script_fixture *f, set_up_leftover, script_teardown)

LEFTOVER_TEST(it_is_not_told_that_it_holds)
{
    assert_like(lua_lock_acquire(f, "b:1"), "2 * * 0");
    assert_like(script_redis(f, "HKEYS n"), "a:1");
    assert_like(script_redis(f, "ZCARD " LUA_LOCK_QUEUE), "2");
}

LEFTOVER_TEST(nor_if_the_record_is_lost_as_well)
{
    script_redis(f, "DEL " LUA_LOCK_RECORD);
    assert_like(lua_lock_acquire(f, "b:1"), "2 * * *");
    assert_like(script_redis(f, "HKEYS n"), "a:1");
}

LEFTOVER_TEST(nor_by_a_touch)
{
    assert_like(lua_lock_touch(f, "b:1", NULL), "2 * 0 0 0 (*) ()");
}

LEFTOVER_TEST(where_it_may_not_go_it_is_refused)
{
    script_deny(f, "hdel");
    assert_like(lua_lock_acquire(f, "b:1"), "!DENIED *");
    script_deny(f, NULL);
}

LEFTOVER_TEST(it_leaves_and_hands_nothing_on)
{
    lua_lock_leave(f, "b:1", false);
    assert_like(script_redis(f, "HKEYS n"), "a:1");
    assert_like(script_redis(f, "ZCARD " LUA_LOCK_QUEUE), "1");
    assert_string_equal(script_heard(f), "");
}

LEFTOVER_TEST(the_owner_takes_it_along_and_hands_on_to_one)
{
    lua_lock_leave(f, "b:1", false);
    script_redis(f, "HSET n b:1 1");
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    assert_like(script_redis(f, "HKEYS n"), "c:1");
    assert_like(script_heard(f), "latchkey:in::c grant 0 lock c:1 *\n");
}

LEFTOVER_TEST(the_owner_hands_on_to_it)
{
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    assert_like(script_redis(f, "HKEYS n"), "b:1");
    assert_like(script_heard(f), "latchkey:in::b grant 0 lock b:1 *\n");
}

LEFTOVER_TEST(a_force_of_the_owner_takes_it_along)
{
    lua_lock_leave(f, "b:1", false);
    script_redis(f, "HSET n b:1 1");
    assert_like(lua_lock_force(f, "a:1"), "1 2 0 0");
    assert_like(script_redis(f, "HKEYS n"), "c:1");
}

LEFTOVER_TEST(a_force_of_it_tells_the_owner_nothing)
{
    lua_lock_hear(f, "a", NULL);
    assert_like(lua_lock_force(f, "b:1"), "1 2 0 0");
    assert_like(script_redis(f, "HKEYS n"), "a:1");
    assert_string_equal(script_heard(f), "");
}

CHECK_GROUP(script_start_server, script_stop_server)
