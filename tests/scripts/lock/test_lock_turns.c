/* SPDX-License-Identifier: MIT */

/*
 * Taking turns with those who stand in no queue of ours. Handing over alone
 * would starve them: while one of ours waits the lock would never be free.
 */

#include <stdio.h>

#include "support/check.h"
#include "support/lua_turns.h"

/* ---- who is there ---- */

SCRIPT_TEST(the_open_message_names_the_ticket)
{
    char expected[200];

    lua_lock_at(f, 0);
    lua_lock_hear(f, "b", NULL);
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    snprintf(expected, sizeof(expected),
             "latchkey:in::b open 0 lock b:1 " LUA_LOCK_NONCE " %lld n\n",
             script_item(f, 2));
    f->interop = "1";
    lua_lock_release(f, "a:1", 0);
    assert_string_equal(script_heard(f), expected);
}

/* A client keeps its fences for longer than those that note turns. */
static void assert_long_record(script_fixture *f)
{
    assert_true(script_pttl(f, LUA_LOCK_RECORD) > 900000000);
}

SCRIPT_TEST(a_turn_that_is_noted_shortens_no_record)
{
    lua_lock_hear(f, "b", NULL);
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    script_redis(f, "PEXPIRE " LUA_LOCK_RECORD " 1000000000");
    script_redis(f, "SET " LUA_LOCK_SPIN " 1 PX 1000000");
    lua_lock_release(f, "a:1", 0);
    turns_assert(f, 't', -1);
    assert_long_record(f);
    script_redis(f, "HSET n java:7 1");
    lua_lock_touch(f, "b:1", NULL);
    assert_long_record(f);
}

SCRIPT_TEST(a_waiter_behind_redisson_shortens_no_record)
{
    lua_lock_acquire(f, "a:1");
    lua_lock_release(f, "a:1", 0);
    script_redis(f, "PEXPIRE " LUA_LOCK_RECORD " 1000000000");
    script_redis(f, "HSET n java:7 1");
    assert_like(lua_lock_acquire(f, "b:1"), "2 * 1");
    turns_assert(f, 'o', 0);
    assert_long_record(f);
}

SCRIPT_TEST(an_end_that_redisson_hears_shortens_no_record)
{
    script_listen(f, LUA_LOCK_CHANNEL);
    lua_lock_acquire(f, "a:1");
    script_redis(f, "PEXPIRE " LUA_LOCK_RECORD " 1000000000");
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    turns_assert(f, 't', -1);
    assert_long_record(f);
}

SCRIPT_TEST(redissons_fair_queue_gets_its_turn)
{
    turns_two_wait(f);
    script_redis(f, "RPUSH " LUA_LOCK_FAIRQ " java:7 java:8");
    script_listen(f, LUA_LOCK_CHANNEL ":java:8");
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    turns_assert_left_open(f);
}

SCRIPT_TEST(the_head_of_the_fair_queue_is_told_on_its_own_channel)
{
    lua_lock_acquire(f, "a:1");
    script_redis(f, "RPUSH " LUA_LOCK_FAIRQ " java:7 java:8");
    script_listen(f, LUA_LOCK_CHANNEL ":java:7");
    script_listen(f, LUA_LOCK_CHANNEL ":java:8");
    lua_lock_release(f, "a:1", 0);
    assert_string_equal(script_heard(f), LUA_LOCK_CHANNEL ":java:7 0\n");
}

/* Killed, Redisson's waiters leave their queue behind, which has no end. */
SCRIPT_TEST(a_fair_queue_in_which_nobody_listens_has_no_turn)
{
    turns_two_wait(f);
    script_redis(f, "RPUSH " LUA_LOCK_FAIRQ " java:7 java:8");
    lua_lock_release(f, "a:1", 0);
    assert_like(script_redis(f, "HKEYS n"), "b:1");
}

SCRIPT_TEST(a_client_that_spins_gets_its_turn)
{
    turns_two_wait(f);
    script_redis(f, "SET " LUA_LOCK_SPIN " 1 PX 60000");
    lua_lock_release(f, "a:1", 0);
    turns_assert_left_open(f);
}

SCRIPT_TEST(force_leaves_the_lock_open_in_the_others_turn)
{
    turns_two_wait(f);
    f->interop = "1";
    assert_like(lua_lock_force(f, ""), "1 2 0 0");
    turns_assert_left_open(f);
}

/* ---- whose turn it is ---- */

SCRIPT_TEST(in_our_turn_the_lock_is_handed_over)
{
    turns_left_open(f);
    lua_lock_at(f, 200);
    assert_like(lua_lock_touch(f, "b:1", NULL), TURNS_HELD);
    turns_assert(f, 'o', 500);
    lua_lock_at(f, 600);
    lua_lock_touch(f, "c:1", NULL);
    lua_lock_release(f, "b:1", 0);
    assert_like(script_redis(f, "HKEYS n"), "c:1");
    turns_assert(f, 'o', 500);
    lua_lock_acquire(f, "b:2");
    lua_lock_at(f, 700);
    lua_lock_release(f, "c:1", 0);
    turns_assert_left_open(f);
}

SCRIPT_TEST(a_turn_of_ours_that_begins_in_an_hour_is_over)
{
    turns_left_open(f);
    lua_lock_touch(f, "b:1", NULL);
    lua_lock_touch(f, "c:1", NULL);
    lua_lock_at(f, HOUR_MS);
    assert_like(lua_lock_touch(f, "b:1", NULL), TURNS_HELD);
    lua_lock_release(f, "b:1", 0);
    turns_assert_left_open(f);
    lua_lock_at(f, HOUR_MS + 200);
    assert_like(lua_lock_touch(f, "c:1", NULL), TURNS_HELD);
    turns_assert(f, 'o', 500);
    lua_lock_at(f, 100);
    lua_lock_acquire(f, "b:2");
    lua_lock_release(f, "c:1", 0);
    turns_assert_left_open(f);
}

SCRIPT_TEST(what_is_left_open_twice_was_left_open_first)
{
    lk__turn_text first, second;

    turns_left_open(f);
    lua_lock_turn(f, &first);
    lua_lock_at(f, 100);
    assert_like(lua_lock_touch(f, NULL, NULL), "2 -2 0 0 0 () ()");
    assert_like(lua_lock_leave(f, "c:1", false), "1 1 0 0");
    lua_lock_turn(f, &second);
    turns_assert_left_open(f);
    assert_int_equal(first.since, second.since);
}

/* ---- whether they come ---- */

SCRIPT_TEST(our_first_waits_for_them_to_come)
{
    turns_left_open(f);
    lua_lock_at(f, 149);
    assert_like(lua_lock_touch(f, "b:1", NULL), "2 -2 2 0 0 (*) ()");
    assert_like(lua_lock_touch(f, "c:1", NULL), "2 -2 0 0 0 (*) ()");
    lua_lock_at(f, 150);
    assert_like(lua_lock_touch(f, "b:1", NULL), TURNS_HELD);
    turns_assert(f, 'o', 500);
}

/* A listener on the same channel may be one of another database. */
SCRIPT_TEST(turns_in_vain_make_ours_twice_as_long)
{
    static const long long turns[] = {500, 500, 1000, 2000, 2000};
    long long ms = 0;

    turns_two_wait(f);
    lua_lock_hear(f, "a", NULL);
    script_listen(f, LUA_LOCK_CHANNEL);
    for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
        char holder[16], next[16];

        snprintf(holder, sizeof(holder), i == 0 ? "a:1" : "b:%zu", i);
        snprintf(next, sizeof(next), "b:%zu", i + 1);
        if (i > 0)
            lua_lock_acquire(f, next);
        assert_like(lua_lock_release(f, holder, 0), "1 2 0 0");
        turns_assert_left_open(f);
        if (i == 0)
            lua_lock_leave(f, "c:1", false);
        lua_lock_at(f, ms += 200);
        assert_like(lua_lock_touch(f, next, NULL), TURNS_HELD);
        turns_assert(f, 'o', turns[i]);
        lua_lock_at(f, ms += 2100);
    }
}

/* Else the name would go from side to side at each release. */
SCRIPT_TEST(while_some_listen_they_have_it_for_a_moment_at_least)
{
    turns_left_open(f);
    turns_theirs_had_it(f, 10, 19);
    turns_assert(f, 't', 10);
    assert_like(lua_lock_touch(f, "b:1", NULL), "2 -2 2 0 0 (*) ()");
    lua_lock_at(f, 20);
    assert_like(lua_lock_touch(f, "b:1", NULL), TURNS_HELD);
}

/* Slow as they are then, they would get little else. */
SCRIPT_TEST(who_took_long_to_come_has_it_for_as_long)
{
    turns_left_open(f);
    turns_theirs_had_it(f, 140, 140 + 129);
    assert_like(lua_lock_touch(f, "b:1", NULL), "2 -2 2 0 0 (*) ()");
    lua_lock_at(f, 140 + 130);
    assert_like(lua_lock_touch(f, "b:1", NULL), TURNS_HELD);
}

SCRIPT_TEST(if_none_is_there_any_more_it_is_ours_at_once)
{
    turns_left_open(f);
    f->interop = "0";
    assert_like(lua_lock_touch(f, "b:1", NULL), TURNS_HELD);
}

SCRIPT_TEST(so_it_is_when_they_came)
{
    turns_left_open(f);
    turns_theirs_had_it(f, 10, 10);
    f->interop = "0";
    assert_like(lua_lock_touch(f, "b:1", NULL), TURNS_HELD);
}

SCRIPT_TEST(when_they_came_is_noted_once)
{
    turns_left_open(f);
    turns_theirs_had_it(f, 10, 10);
    turns_theirs_had_it(f, 90, 90);
    turns_assert(f, 't', 10);
}

/* ---- how long our turn is ---- */

SCRIPT_TEST(our_turn_is_as_long_as_they_had_the_lock)
{
    lk__turn_text turn;

    turns_left_open(f);
    turns_theirs_had_it(f, 10, 310);
    assert_like(lua_lock_touch(f, "b:1", NULL), TURNS_HELD);
    lua_lock_turn(f, &turn);
    assert_int_equal(turn.length, 300);
    assert_int_equal(turn.vain, 0);
}

/* What is free while they are slow to come is lost to both. */
SCRIPT_TEST(our_turn_is_as_long_as_the_lock_lay_free)
{
    turns_left_open(f);
    turns_theirs_had_it(f, 410, 800);
    assert_like(lua_lock_touch(f, "b:1", NULL), "2 -2 2 0 0 (*) ()");
    lua_lock_at(f, 810);
    assert_like(lua_lock_touch(f, "b:1", NULL), TURNS_HELD);
    turns_assert(f, 'o', 400);
}

SCRIPT_TEST(our_turn_is_half_a_second_at_most)
{
    turns_left_open(f);
    turns_theirs_had_it(f, 10, 4000);
    assert_like(lua_lock_touch(f, "b:1", NULL), TURNS_HELD);
    turns_assert(f, 'o', 500);
}

/* ---- newcomers of ours ---- */

SCRIPT_TEST(who_comes_in_their_turn_queues)
{
    turns_left_open(f);
    lua_lock_hear(f, "d", NULL);
    assert_like(lua_lock_acquire(f, "d:1"), "2 0 * 0");
    lua_lock_leave(f, "b:1", false);
    lua_lock_leave(f, "c:1", false);
    assert_like(lua_lock_acquire(f, "d:1"), "2 0 * 2");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

SCRIPT_TEST(who_only_tries_has_what_is_free_in_their_turn)
{
    turns_left_open(f);
    assert_like(lua_lock_acquire_with(f, "d:1", 'l', 't', 30000), "1 *");
}

/* A multilock tries all of its names before it waits for the first. */
SCRIPT_TEST(who_tries_and_will_wait_leaves_it_to_them)
{
    turns_left_open(f);
    assert_like(lua_lock_acquire_with(f, "d:1", 'l', 'y', 30000), "3 -1");
    turns_assert_left_open(f);
    lua_lock_at(f, 150);
    assert_like(lua_lock_acquire_with(f, "d:1", 'l', 'y', 30000), "1 *");
    assert_like(lua_lock_acquire_with(f, "e:1", 'l', 'y', 30000), "3 *");
}

SCRIPT_TEST(who_spins_is_one_of_them)
{
    turns_left_open(f);
    lua_lock_at(f, 100);
    assert_like(lua_lock_acquire_with(f, "d:1", 'l', 's', 30000), "1 *");
    turns_assert(f, 't', 100);
    lua_lock_at(f, 300);
    lua_lock_release(f, "d:1", 0);
    assert_like(script_redis(f, "HKEYS n"), "b:1");
    turns_assert(f, 'o', 200);
}

/* ---- our side of an open release ---- */

SCRIPT_TEST(only_a_waiter_alive_is_told_that_the_lock_is_open)
{
    turns_two_wait(f);
    f->interop = "1";
    script_deafen(f, "latchkey:in::b");
    lua_lock_release(f, "a:1", 0);
    assert_like(script_heard(f), "latchkey:in::c open 0 lock c:1 *");
}

SCRIPT_TEST(who_leaves_an_open_lock_passes_the_word_on)
{
    turns_left_open(f);
    assert_like(lua_lock_leave(f, "b:1", false), "1 1 0 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(script_heard(f), "latchkey:in::c open 0 lock c:1 *");
}

SCRIPT_TEST(an_open_release_makes_no_record_that_stays)
{
    turns_two_wait(f);
    f->interop = "1";
    script_redis(f, "DEL " LUA_LOCK_RECORD);
    assert_like(lua_lock_release(f, "a:1", 1), "1 2 0 0");
    turns_assert_left_open(f);
    assert_like(script_redis(f, "PTTL " LUA_LOCK_RECORD), "[1-9]*");
}

CHECK_GROUP(script_start_server, script_stop_server)
