/* SPDX-License-Identifier: MIT */

/* Sharded channels: each waiter is told where its member says that it listens. */

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/lua_lock.h"

#define EAR_OF_B   "+latchkey:{n}:i:b"
#define EAR_OF_C   "+latchkey:{n}:i:c"
#define PLAIN_OF_B "latchkey:in::b"

#define SHARD_TEST(name)                                                       \
    CHECK_TEST_OF(name, script_fixture *f, setup, script_teardown)

static int setup(void **state)
{
    lua_lock_be_near(true);
    return script_setup(state);
}

SHARD_TEST(one_is_granted_the_name_by_its_own_channel)
{
    script_listen(f, EAR_OF_B);
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    assert_like(script_redis(f, "HGETALL n"), "b:1 1");
    assert_like(script_heard(f), "latchkey:{n}:i:b grant 0 lock b:1 *");
}

/* With another's in the line, the first of whom cannot be reached. */
SHARD_TEST(one_that_does_not_listen_there_is_passed_over)
{
    script_listen(f, PLAIN_OF_B);
    script_listen(f, EAR_OF_C);
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    lua_lock_acquire(f, "c:1");
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    assert_like(script_redis(f, "HGETALL n"), "c:1 1");
    assert_like(script_heard(f), "latchkey:{n}:i:c grant 0 lock c:1 *");
}

/* Whichever way the one that hands over is told of by itself. */
SHARD_TEST(it_is_the_waiter_who_says_how)
{
    script_listen(f, EAR_OF_B);
    script_listen(f, "latchkey:in::c");
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    lua_lock_be_near(false);
    lua_lock_acquire(f, "c:1");
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    assert_like(script_heard(f), "latchkey:{n}:i:b grant 0 lock b:1 *");
    lua_lock_be_near(true);
    assert_like(lua_lock_release(f, "b:1", 0), "1 2 0 0");
    assert_like(script_heard(f), "latchkey:in::c grant 0 lock c:1 *");
}

/* The first is dead, so that all are looked at; the second listens as of old. */
SHARD_TEST(those_of_both_ways_are_counted_in_one_line)
{
    script_listen(f, "latchkey:in::c");
    script_listen(f, "+latchkey:{n}:i:d");
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    lua_lock_be_near(false);
    lua_lock_acquire(f, "c:1");
    lua_lock_be_near(true);
    lua_lock_acquire(f, "d:1");
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    assert_like(script_redis(f, "HGETALL n"), "c:1 1");
    assert_like(script_heard(f), "latchkey:in::c grant 0 lock c:1 *");
    assert_like(lua_lock_release(f, "c:1", 0), "1 2 0 0");
    assert_like(script_heard(f), "latchkey:{n}:i:d grant 0 lock d:1 *");
}

SHARD_TEST(redissons_waiters_are_told_where_they_listen)
{
    script_listen(f, "+" LUA_LOCK_CHANNEL);
    lua_lock_acquire(f, "a:1");
    assert_like(lua_lock_keep(f, "a:1", 0, 30000, 0), "1 * 1 *");
    assert_like(lua_lock_release_alone(f, "a:1"), "1 2 0 0");
    assert_string_equal(script_heard(f), LUA_LOCK_CHANNEL " 0\n");
    lua_lock_acquire(f, "a:2");
    assert_like(lua_lock_release(f, "a:2", 0), "1 2 0 0");
    assert_string_equal(script_heard(f), LUA_LOCK_CHANNEL " 0\n");
}

SHARD_TEST(and_nowhere_else)
{
    script_listen(f, LUA_LOCK_CHANNEL);
    lua_lock_acquire(f, "a:1");
    assert_like(lua_lock_keep(f, "a:1", 0, 30000, 0), "1 * 0 *");
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    assert_string_equal(script_heard(f), "");
}

/* What one that holds has to know comes where it listens as long as it lives. */
SHARD_TEST(a_hold_is_revoked_at_the_inbox_of_the_client)
{
    script_listen(f, PLAIN_OF_B);
    script_listen(f, EAR_OF_B);
    lua_lock_acquire(f, "b:1");
    assert_like(lua_lock_revoke(f, "b:1"), "*");
    assert_like(script_heard(f), "latchkey:in::b revoked 0 lock b:1 *");
}

int test_lock_shards(void)
{
    if (script_start_server(NULL) != 0)
        return 1;
    if (!script_server_shards())
        return SERVER_LACKS;
    return check_all(NULL, script_stop_server);
}
