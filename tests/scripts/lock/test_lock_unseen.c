/* SPDX-License-Identifier: MIT */

/*
 * Turns of those who are not seen to wait: an owner that had the name unasked, a
 * waiter that leaves no trace, as Redisson's spin lock, and where nobody of ours
 * waits.
 */

#include "support/check.h"
#include "support/lua_turns.h"

/* ---- waiters that are not seen ---- */

/* b:1 and c:1 wait behind one of theirs, who gives it to b:1. */
static void one_was_met(script_fixture *f)
{
    lua_lock_at(f, 0);
    lua_lock_hear(f, "b", "c", NULL);
    script_redis(f, "HSET n java:7 1");
    script_redis(f, "PEXPIRE n 30000");
    lua_lock_acquire(f, "b:1");
    lua_lock_acquire(f, "c:1");
    lua_lock_touch(f, "b:1", NULL);
    script_redis(f, "DEL n");
    assert_like(lua_lock_touch(f, "b:1", NULL), TURNS_HELD);
}

SCRIPT_TEST(who_had_it_unasked_gets_a_turn_unseen)
{
    one_was_met(f);
    lua_lock_release(f, "b:1", 0);
    turns_assert_left_open(f);
}

SCRIPT_TEST(long_ago_they_were_met_no_more)
{
    one_was_met(f);
    lua_lock_at(f, 10001);
    lua_lock_touch(f, "c:1", NULL);
    lua_lock_release(f, "b:1", 0);
    assert_like(script_redis(f, "HKEYS n"), "c:1");
}

SCRIPT_TEST(met_in_an_hour_is_not_met)
{
    one_was_met(f);
    lua_lock_at(f, -HOUR_MS);
    lua_lock_touch(f, "c:1", NULL);
    lua_lock_release(f, "b:1", 0);
    assert_like(script_redis(f, "HKEYS n"), "c:1");
}

SCRIPT_TEST(in_vain_twice_they_are_taken_to_be_gone)
{
    one_was_met(f);
    lua_lock_release(f, "b:1", 0);
    lua_lock_at(f, 200);
    assert_like(lua_lock_touch(f, "c:1", NULL), TURNS_HELD);
    lua_lock_acquire(f, "b:2");
    lua_lock_at(f, 800);
    lua_lock_release(f, "c:1", 0);
    turns_assert_left_open(f);
    lua_lock_at(f, 1000);
    assert_like(lua_lock_touch(f, "b:2", NULL), TURNS_HELD);
    lua_lock_acquire(f, "c:2");
    lua_lock_at(f, 1700);
    lua_lock_release(f, "b:2", 0);
    assert_like(script_redis(f, "HKEYS n"), "c:2");
}

/* It came because it listened; it will again. */
SCRIPT_TEST(who_was_seen_to_wait_is_not_met)
{
    lk__turn_text turn;

    turns_left_open(f);
    turns_theirs_had_it(f, 10, 10);
    lua_lock_turn(f, &turn);
    assert_int_equal(turn.met, 0);
}

/* ---- those that leave no trace, as Redisson's spin lock ---- */

/* a:1 took the name free, b:1 was given it at 0; c:1 waits. */
static void one_was_given_it(script_fixture *f)
{
    turns_two_wait(f);
    lua_lock_release(f, "a:1", 0);
    assert_like(script_redis(f, "HKEYS n"), "b:1");
    turns_assert(f, 'o', 0);
}

static void left_to_the_unseen(script_fixture *f)
{
    one_was_given_it(f);
    lua_lock_at(f, 1000);
    lua_lock_touch(f, "c:1", NULL);
    lua_lock_release(f, "b:1", 0);
    assert_like(script_redis(f, "EXISTS n"), "0");
    turns_assert(f, 'p', -1);
}

SCRIPT_TEST(after_less_than_a_second_it_is_handed_over)
{
    lk__turn_text first, second;

    one_was_given_it(f);
    lua_lock_turn(f, &first);
    lua_lock_at(f, 999);
    lua_lock_release(f, "b:1", 0);
    assert_like(script_redis(f, "HKEYS n"), "c:1");
    lua_lock_turn(f, &second);
    assert_int_equal(first.since, second.since);
}

/* It was free then, and who spins could have had it. */
SCRIPT_TEST(who_took_it_free_begins_the_time)
{
    lk__turn_text first, second;

    one_was_given_it(f);
    lua_lock_turn(f, &first);
    script_redis(f, "DEL n");
    lua_lock_at(f, 900);
    assert_like(lua_lock_touch(f, "c:1", NULL), TURNS_HELD);
    lua_lock_acquire(f, "b:2");
    lua_lock_at(f, 1800);
    lua_lock_release(f, "c:1", 0);
    assert_like(script_redis(f, "HKEYS n"), "b:2");
    lua_lock_turn(f, &second);
    assert_true(second.since > first.since);
}

SCRIPT_TEST(in_our_turn_no_moment_is_left_to_the_unseen)
{
    turns_left_open(f);
    f->interop = "0";
    script_redis(f, "EVAL %s 1 " LUA_LOCK_RECORD,
                 "local r = redis.call('GET', KEYS[1]) return redis.call("
                 "'SET', KEYS[1], (string.gsub(r, 't,(%d+),%-1,0,0', "
                 "'o,%1,2000,0,4')), 'KEEPTTL')");
    lua_lock_acquire(f, "a:2");
    lua_lock_at(f, 1500);
    lua_lock_touch(f, "b:1", NULL);
    lua_lock_release(f, "a:2", 0);
    assert_like(script_redis(f, "HKEYS n"), "b:1");
}

SCRIPT_TEST(the_first_of_ours_waits_for_a_moment)
{
    left_to_the_unseen(f);
    lua_lock_at(f, 1011);
    assert_like(lua_lock_touch(f, "c:1", NULL), "2 -2 2 0 0 (*) ()");
    assert_like(lua_lock_acquire(f, "b:2"), "2 0 * 0");
    lua_lock_at(f, 1012);
    assert_like(lua_lock_touch(f, "c:1", NULL), TURNS_HELD);
    turns_assert(f, 'o', 0);
}

SCRIPT_TEST(a_listener_that_comes_then_has_a_whole_turn)
{
    left_to_the_unseen(f);
    script_listen(f, LUA_LOCK_CHANNEL);
    lua_lock_at(f, 1149);
    assert_like(lua_lock_touch(f, "c:1", NULL), "2 -2 2 0 0 (*) ()");
    lua_lock_at(f, 1150);
    assert_like(lua_lock_touch(f, "c:1", NULL), TURNS_HELD);
}

SCRIPT_TEST(who_comes_then_is_met)
{
    lk__turn_text turn;

    left_to_the_unseen(f);
    script_redis(f, "HSET n java:7 1");
    lua_lock_touch(f, "c:1", NULL);
    lua_lock_turn(f, &turn);
    assert_int_equal(turn.side.bytes[0], 't');
    assert_true(turn.met >= turn.since);
    assert_int_equal(turn.vain, 0);
}

/* ---- where nobody of ours waits ---- */

SCRIPT_TEST(without_a_waiter_no_turn_begins)
{
    lua_lock_at(f, 0);
    f->interop = "1";
    lua_lock_acquire(f, "a:1");
    lua_lock_release(f, "a:1", 0);
    turns_assert(f, '-', 0);
}

/* Else the next thread of the same client would always come before them. */
SCRIPT_TEST(without_a_waiter_those_who_are_seen_have_a_turn)
{
    static const char *const seen[] = {"PING", "SET " LUA_LOCK_SPIN " 1",
                                       "RPUSH " LUA_LOCK_FAIRQ " java:7"};

    for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
        lua_lock_at(f, 0);
        lua_lock_acquire(f, "a:1");
        script_redis(f, seen[i]);
        script_listen(f,
                      i == 0 ? LUA_LOCK_CHANNEL : LUA_LOCK_CHANNEL ":java:7");
        assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
        assert_like(lua_lock_acquire(f, "b:1"), "2 0 * 2");
        script_deafen(f, LUA_LOCK_CHANNEL);
        script_redis(f, "FLUSHALL");
    }
}

SCRIPT_TEST(without_a_waiter_no_turn_of_ours_is_cut_short)
{
    turns_left_open(f);
    lua_lock_at(f, 200);
    assert_like(lua_lock_touch(f, "b:1", NULL), TURNS_HELD);
    lua_lock_leave(f, "c:1", false);
    script_listen(f, LUA_LOCK_CHANNEL);
    lua_lock_release(f, "b:1", 0);
    turns_assert(f, 'o', 500);
    assert_like(lua_lock_acquire(f, "d:1"), "1 *");
    turns_assert(f, 'o', 500);
}

CHECK_GROUP(script_start_server, script_stop_server)
