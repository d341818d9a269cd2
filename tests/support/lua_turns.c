/* SPDX-License-Identifier: MIT */
#include "support/lua_turns.h"

#include "support/check.h"

void turns_two_wait(script_fixture *f)
{
    lua_lock_at(f, 0);
    lua_lock_two_wait(f);
}

void turns_assert(script_fixture *f, char side, long long length)
{
    lk__turn_text turn;

    lua_lock_turn(f, &turn);
    assert_int_equal(turn.side.bytes[0], side);
    assert_int_equal(turn.length, length);
}

void turns_assert_left_open(script_fixture *f)
{
    assert_like(script_redis(f, "EXISTS n"), "0");
    turns_assert(f, 't', -1);
}

void turns_left_open(script_fixture *f)
{
    turns_two_wait(f);
    f->interop = "1";
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    turns_assert_left_open(f);
    script_heard(f);
}

void turns_theirs_had_it(script_fixture *f, long long from, long long till)
{
    script_redis(f, "HSET n java:7 1");
    script_redis(f, "PEXPIRE n 30000");
    lua_lock_at(f, from);
    assert_like(lua_lock_touch(f, "b:1", NULL), "2 * 1 0 0 (*) ()");
    script_redis(f, "DEL n");
    lua_lock_at(f, till);
}
