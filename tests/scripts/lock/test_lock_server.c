/* SPDX-License-Identifier: MIT */

/*
 * The lock's scripts where the server is full, or a key is not what it should
 * be, or a right is missing. A full server refuses what is new; what is held can
 * still be kept, given up and handed over.
 */

#include <stdio.h>

#include "support/check.h"
#include "support/lua_lock.h"
#include "support/wait.h"

/* Nobody listens for them. */
static void dead_wait(script_fixture *f, int count)
{
    char claim[16];

    for (int i = 0; i < count; i++) {
        snprintf(claim, sizeof(claim), "dead:%d", i);
        lua_lock_acquire(f, claim);
    }
}

/* ---- a full server ---- */

/* Once a script did a write that a full server allows, the rest gets through. */
SCRIPT_TEST(a_full_server_refuses_to_queue_a_claim)
{
    lua_lock_acquire(f, "a:1");
    dead_wait(f, 1);
    lua_lock_release(f, "a:1", 0);
    lua_lock_acquire(f, "a:2");
    script_fill_memory(f, true);
    assert_like(lua_lock_acquire(f, "b:1"), "!*OOM*");
    assert_like(lua_lock_acquire_with(f, "b:1", 'f', 'q', 30000), "!*OOM*");
    script_fill_memory(f, false);
    assert_like(script_redis(f, "ZCOUNT " LUA_LOCK_QUEUE " 0 +inf"), "1");
}

SCRIPT_TEST(a_full_server_lets_a_release_be_open)
{
    lk__record_text record;

    lua_lock_two_wait(f);
    f->interop = "1";
    script_fill_memory(f, true);
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    script_fill_memory(f, false);
    assert_true(lua_lock_record(f, &record));
    assert_memory_equal(record.turn.bytes, "t,", 2);
}

SCRIPT_TEST(a_full_server_lets_redissons_count_follow)
{
    lua_lock_two_wait(f);
    script_redis(f, "SET " LUA_LOCK_TOKEN " 5");
    script_fill_memory(f, true);
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    script_fill_memory(f, false);
    assert_like(script_redis(f, "HGETALL n"), "b:1 1");
    assert_true(script_number(f, "GET " LUA_LOCK_TOKEN) > lua_lock_fence(f));
}

SCRIPT_TEST(a_full_server_lets_dead_waiters_be_parked)
{
    lua_lock_acquire(f, "a:1");
    dead_wait(f, 1);
    lua_lock_hear(f, "b", NULL);
    lua_lock_acquire(f, "b:1");
    script_fill_memory(f, true);
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    script_fill_memory(f, false);
    assert_like(script_redis(f, "HGETALL n"), "b:1 1");
    assert_like(script_redis(f,
                             "ZCOUNT " LUA_LOCK_QUEUE " 2251799813685248 +inf"),
                "1");
}

/* Else who hands on would be told of more again and again. */
SCRIPT_TEST(so_does_it_where_nobody_is_alive)
{
    lua_lock_acquire(f, "a:1");
    dead_wait(f, 70);
    script_redis(f, "DEL n");
    script_fill_memory(f, true);
    assert_like(lua_lock_touch(f, NULL, NULL), "2 -2 0 1 0 () ()");
    assert_like(lua_lock_touch(f, NULL, NULL), "2 -2 0 0 0 () ()");
    script_fill_memory(f, false);
    assert_like(script_redis(f,
                             "ZCOUNT " LUA_LOCK_QUEUE " 2251799813685248 +inf"),
                "70");
}

SCRIPT_TEST(where_none_may_be_parked_there_is_no_more_to_do)
{
    lua_lock_acquire(f, "a:1");
    dead_wait(f, 70);
    script_redis(f, "DEL n");
    script_deny(f, "zadd");
    assert_like(lua_lock_touch(f, NULL, NULL), "2 -2 0 0 1 () ()");
    script_deny(f, NULL);
}

SCRIPT_TEST(a_full_server_lets_a_claim_end)
{
    lua_lock_two_wait(f);
    script_fill_memory(f, true);
    assert_like(lua_lock_leave(f, "a:1", true), "1 2 0 0");
    assert_like(script_redis(f, "HGETALL n"), "b:1 1");
    assert_like(lua_lock_leave(f, "c:1", true), "1 1 0 0");
    assert_like(lua_lock_leave(f, "d:1", true), "1 0 0 0");
    assert_like(lua_lock_force(f, ""), "1 2 0 0");
    script_fill_memory(f, false);
    assert_like(lua_lock_acquire(f, "a:1"), "!LKVOID*");
    assert_like(lua_lock_acquire(f, "c:1"), "!LKVOID*");
    assert_like(lua_lock_acquire(f, "d:1"), "!LKVOID*");
}

SCRIPT_TEST(a_full_server_lets_a_hold_be_revoked)
{
    lua_lock_acquire(f, "a:1");
    script_fill_memory(f, true);
    assert_like(lua_lock_revoke(f, "a:1"), "1 * 1");
    script_fill_memory(f, false);
    assert_like(lua_lock_keep(f, "a:1", 0, 60000, 0), "2 4");
}

/* ---- keys that are not ours ---- */

static void
assert_all_refuse(script_fixture *f, const char *error, const char *kept)
{
    assert_like(lua_lock_acquire(f, "a:1"), error);
    assert_like(lua_lock_acquire_with(f, "a:1", 'l', 's', 30000), error);
    assert_like(lua_lock_release(f, "a:1", 5), error);
    assert_like(lua_lock_leave(f, "a:1", true), error);
    assert_like(lua_lock_force(f, ""), error);
    assert_like(lua_lock_touch(f, "a:1", NULL), error);
    assert_like(lua_lock_keep(f, "a:1", 5, 30000, 0), kept);
    assert_like(lua_lock_see(f), error);
    assert_like(lua_lock_import(f, "a:1", 5, "b:1"), error);
    assert_like(lua_lock_revoke(f, "a:1"), error);
    assert_like(lua_lock_forget(f), error);
    assert_like(lua_lock_term(f), error);
}

SCRIPT_TEST(a_name_that_is_no_lock_is_refused)
{
    script_redis(f, "SET n 5");
    assert_all_refuse(f, "!LKTYPE*", "2 2");
    assert_like(script_redis(f, "GET n"), "5");
    assert_like(script_redis(f, "DBSIZE"), "1");
}

/* A later release may keep other things in the same keys. */
SCRIPT_TEST(another_layout_is_refused)
{
    script_redis(f, "SET " LUA_LOCK_RECORD " %s",
                 "3l 5 0 0 - - - 0 - - - 0 0 - - ");
    assert_all_refuse(f, "!LKLAYOUT*", "!LKLAYOUT*");
    assert_like(script_redis(f, "DBSIZE"), "1");
}

/* It is no hold whose end could come; none of ours is in it. */
static void assert_left_alone(script_fixture *f)
{
    char before[200];

    snprintf(before, sizeof(before), "%s", script_redis(f, "HGETALL n"));
    assert_like(lua_lock_acquire(f, "a:1"), "!LKTYPE*");
    assert_like(lua_lock_force(f, ""), "!LKTYPE*");
    assert_like(lua_lock_see(f), "!LKTYPE*");
    assert_like(lua_lock_forget(f), "!LKTYPE*");
    assert_like(lua_lock_release(f, "a:1", 5), "2 2");
    assert_like(lua_lock_keep(f, "a:1", 5, 30000, 0), "2 2");
    assert_like(lua_lock_import(f, "a:1", 5, "b:1"), "2 2");
    assert_like(lua_lock_revoke(f, "a:1"), "2");
    assert_string_equal(script_redis(f, "HGETALL n"), before);
    assert_like(script_redis(f, "DBSIZE"), "1");
}

SCRIPT_TEST(a_map_or_another_kind_of_lock_is_left_alone)
{
    static const char *const maps[][2] = {{"key", "value"},
                                          {"a:1b", "value"},
                                          {"key", "1"},
                                          {"mode", "read"}};

    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
        script_redis(f, "HSET n %s %s", maps[i][0], maps[i][1]);
        assert_left_alone(f);
        script_redis(f, "FLUSHALL");
    }
    script_redis(f, "HSET n mode read u:1 1");
    assert_left_alone(f);
}

/* Types are looked at before the first write: nothing is done by halves. */
SCRIPT_TEST(a_queue_of_another_type_stops_a_script_before_it_begins)
{
    lua_lock_acquire(f, "a:1");
    script_redis(f, "SET " LUA_LOCK_QUEUE " x");
    assert_like(lua_lock_release(f, "a:1", 0), "!*WRONGTYPE*");
    assert_like(lua_lock_leave(f, "a:1", true), "!*WRONGTYPE*");
    assert_like(lua_lock_force(f, ""), "!*WRONGTYPE*");
    assert_like(lua_lock_acquire(f, "b:1"), "!*WRONGTYPE*");
    assert_like(lua_lock_touch(f, "b:1", NULL), "!*WRONGTYPE*");
    assert_like(script_redis(f, "HGETALL n"), "a:1 1");
    assert_like(script_redis(f, "DBSIZE"), "3");
}

SCRIPT_TEST(a_token_that_is_no_counter_leaves_the_name_free)
{
    script_redis(f, "SET " LUA_LOCK_TOKEN " word");
    assert_like(lua_lock_acquire(f, "a:1"), "!LKTYPE*");
    assert_like(script_redis(f, "EXISTS n"), "0");
    script_redis(f, "DEL " LUA_LOCK_TOKEN);
    lua_lock_two_wait(f);
    script_redis(f, "SET " LUA_LOCK_TOKEN " word");
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 1");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(script_redis(f, "ZCARD " LUA_LOCK_QUEUE), "2");
    assert_like(lua_lock_touch(f, "b:1", NULL), "!LKTYPE*");
}

SCRIPT_TEST(a_fair_queue_of_another_type_does_not_stop_a_release)
{
    lua_lock_acquire(f, "a:1");
    script_redis(f, "SET " LUA_LOCK_FAIRQ " x");
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

SCRIPT_TEST(what_is_no_member_does_not_keep_a_hold_from_its_end)
{
    lua_lock_acquire(f, "a:1");
    script_redis(f, "ZADD " LUA_LOCK_QUEUE " 281474976710657 x");
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

/* ---- without a right ---- */

/* Without word of the living, each takes it at its own turn, in order. */
SCRIPT_TEST(waiters_that_may_not_ask_still_get_the_lock)
{
    lua_lock_two_wait(f);
    script_deny(f, "pubsub");
    lua_lock_release(f, "a:1", 0);
    assert_like(lua_lock_touch(f, "c:1", NULL), "2 -2 0 0 1 (*) ()");
    assert_like(lua_lock_touch(f, "b:1", NULL),
                "2 30000 0 0 * (0) (1 * 30000 *)");
    script_deny(f, NULL);
}

/* The hold has ended by then. */
SCRIPT_TEST(a_close_that_may_not_count_is_answered)
{
    lua_lock_acquire(f, "a:1");
    dead_wait(f, 1);
    script_deny(f, "zcount");
    assert_like(lua_lock_leave(f, "dead:0", false), "1 1 0 0");
    assert_like(lua_lock_force(f, ""), "1 2 0 0");
    script_deny(f, NULL);
}

SCRIPT_TEST(a_revocation_that_may_not_be_told_is_one)
{
    lua_lock_acquire(f, "a:1");
    script_deny(f, "publish");
    assert_like(lua_lock_revoke(f, "a:1"), "1 * 1");
    script_deny(f, NULL);
    assert_like(lua_lock_keep(f, "a:1", 0, 60000, 0), "2 4");
}

SCRIPT_TEST(a_renewal_that_is_denied_says_so)
{
    lua_lock_acquire(f, "a:1");
    script_deny(f, "pexpire");
    assert_like(lua_lock_renew(f, "a:1", "b:1", 60000), "!DENIED *");
    assert_like(lua_lock_keep(f, "a:1", 0, 60000, 0), "!DENIED *");
    script_deny(f, "hexists");
    assert_like(lua_lock_renew(f, "a:1", "b:1", 60000), "!DENIED *");
    script_deny(f, NULL);
}

/* When it cannot be told whether somebody waits, somebody may. */
SCRIPT_TEST(a_keep_that_may_not_ask_says_that_somebody_waits)
{
    lua_lock_acquire(f, "a:1");
    script_deny(f, "pubsub");
    assert_like(lua_lock_keep(f, "a:1", 0, 60000, 0), "1 60000 1 *");
    script_deny(f, NULL);
}

/* ---- cost ---- */

SCRIPT_TEST(a_lock_that_nobody_else_wants_costs_few_commands)
{
    int64_t fence;

    lua_lock_acquire(f, "a:1");
    lua_lock_release(f, "a:1", 0);
    script_redis(f, "CONFIG RESETSTAT");
    lua_lock_acquire(f, "a:2");
    assert_in_range(script_commands_called(f), 1, 6);
    fence = lua_lock_fence(f);
    script_redis(f, "CONFIG RESETSTAT");
    lua_lock_release(f, "a:2", fence);
    assert_in_range(script_commands_called(f), 1, 4);
}

/* What a release costs that hands the name from this claim to that one. */
static long long
hand_over_cost(script_fixture *f, const char *from, const char *to)
{
    int64_t fence = lua_lock_fence(f);

    lua_lock_touch(f, to, NULL); /* heard of lately, however slow we are */
    script_redis(f, "CONFIG RESETSTAT");
    lua_lock_release(f, from, fence);
    return script_commands_called(f);
}

/* A release costs the same however many wait. A run of hand-overs that is longer
   than a second lets others in, so the two come one right after the other, and
   those after a break of ours are not compared. */
SCRIPT_TEST(a_hand_over_costs_the_same_with_many_waiters)
{
    enum { MANY = 200, RUN_MS = 900 };
    char claim[16];
    uint64_t begun;
    long long many, few;

    do {
        script_redis(f, "FLUSHALL");
        lua_lock_two_wait(f);
        for (int i = 0; i < MANY; i++) {
            snprintf(claim, sizeof(claim), "w:%d", i);
            lua_lock_acquire(f, claim);
        }
        begun = wait_now_ms();
        many = hand_over_cost(f, "a:1", "b:1");
        assert_like(script_redis(f, "HGETALL n"), "b:1 1");
        script_redis(f, "ZREMRANGEBYRANK latchkey:{n}:q -%d -1", MANY);
        few = hand_over_cost(f, "b:1", "c:1");
    } while (wait_now_ms() - begun > RUN_MS);
    assert_like(script_redis(f, "HGETALL n"), "c:1 1");
    assert_in_range(few, 1, 30);
    assert_in_range(many, 1, few + 6);
}

CHECK_GROUP(script_start_server, script_stop_server)
