/* SPDX-License-Identifier: MIT */

/* close: release, leave, force; and handing over to the next. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/lua_lock.h"

/* ---- nobody waits ---- */

SCRIPT_TEST(a_release_frees_the_name_and_tells_redisson)
{
    lua_lock_acquire(f, "a:1");
    script_listen(f, LUA_LOCK_CHANNEL);
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_string_equal(script_heard(f), LUA_LOCK_CHANNEL " 0\n");
}

SCRIPT_TEST(sent_again_it_says_that_nobody_holds)
{
    int64_t fence;

    lua_lock_acquire(f, "a:1");
    fence = lua_lock_fence(f);
    lua_lock_release(f, "a:1", fence);
    assert_like(lua_lock_release(f, "a:1", fence), "2 0");
}

SCRIPT_TEST(under_another_fence_nothing_changes)
{
    lua_lock_two_wait(f);
    assert_like(lua_lock_release(f, "a:1", 12345), "2 3");
    assert_like(script_redis(f, "HGETALL n"), "a:1 1");
    assert_string_equal(script_heard(f), "");
}

SCRIPT_TEST(what_another_holds_stays)
{
    lua_lock_two_wait(f);
    assert_like(lua_lock_release(f, "x:1", 0), "2 2");
    assert_like(script_redis(f, "HGETALL n"), "a:1 1");
}

SCRIPT_TEST(the_record_of_a_claim_that_is_not_in_the_hash_counts_for_nothing)
{
    lua_lock_acquire(f, "a:1");
    script_redis(f, "DEL n");
    script_redis(f, "HSET n java:7 1");
    assert_like(lua_lock_release(f, "a:1", 0), "2 2");
    assert_like(script_redis(f, "HGETALL n"), "java:7 1");
}

SCRIPT_TEST(nor_does_it_where_somebody_waits)
{
    lua_lock_two_wait(f);
    script_redis(f, "DEL n");
    script_redis(f, "HSET n java:7 1");
    assert_like(lua_lock_release(f, "a:1", 0), "2 2");
    assert_like(script_redis(f, "HGETALL n"), "java:7 1");
    assert_like(script_redis(f, "ZCARD " LUA_LOCK_QUEUE), "2");
    assert_string_equal(script_heard(f), "");
}

SCRIPT_TEST(alone_it_ends_the_hold_and_hands_nothing_over)
{
    lua_lock_two_wait(f);
    script_listen(f, LUA_LOCK_CHANNEL);
    assert_like(lua_lock_release_alone(f, "a:1"), "1 2 0 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_string_equal(script_heard(f), LUA_LOCK_CHANNEL " 0\n");
    assert_like(lua_lock_release_alone(f, "a:1"), "2 0");
}

/* ---- a hand-over ---- */

SCRIPT_TEST(the_next_is_the_owner_for_the_claim_lease)
{
    long long left;

    lua_lock_two_wait(f);
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    assert_like(script_redis(f, "HGETALL n"), "b:1 1");
    left = script_pttl(f, "n");
    assert_in_range(left, 1, 3000);
    assert_like(script_redis(f, "ZCARD " LUA_LOCK_QUEUE), "1");
}

SCRIPT_TEST(the_grant_repeats_nonce_ticket_and_fence)
{
    long long ticket;
    char expected[200];

    lua_lock_hear(f, "b", "c", NULL);
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    ticket = script_item(f, 2);
    lua_lock_acquire(f, "c:1");
    lua_lock_release(f, "a:1", 0);
    snprintf(expected, sizeof(expected),
             "latchkey:in::b grant 0 lock b:1 " LUA_LOCK_NONCE
             " %lld %lld 63 3000 n\n",
             ticket, (long long)lua_lock_fence(f));
    assert_string_equal(script_heard(f), expected);
}

SCRIPT_TEST(fences_grow_over_a_hand_over)
{
    int64_t fence;

    lua_lock_two_wait(f);
    fence = lua_lock_fence(f);
    lua_lock_release(f, "a:1", 0);
    assert_true(lua_lock_fence(f) > fence + 63);
}

SCRIPT_TEST(one_whose_inbox_nobody_hears_is_parked)
{
    lua_lock_hear(f, "c", NULL);
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    lua_lock_acquire(f, "c:1");
    lua_lock_release(f, "a:1", 0);
    assert_like(script_redis(f, "HGETALL n"), "c:1 1");
    assert_like(script_redis(f, "ZCOUNT " LUA_LOCK_QUEUE
                                " 2251799813685248 2533274790395904"),
                "1");
}

/* Marks live for three seconds; b says nothing for ten, c does. */
SCRIPT_TEST(one_that_was_not_heard_of_is_parked)
{
    lua_lock_two_wait(f);
    lua_lock_touch(f, "b:1", NULL);
    lua_lock_shift(f, 10000);
    lua_lock_touch(f, "c:1", NULL);
    lua_lock_shift(f, 14000);
    lua_lock_touch(f, "c:1", NULL);
    lua_lock_release(f, "a:1", 0);
    assert_like(script_redis(f, "HGETALL n"), "c:1 1");
}

/* Nobody could be heard: the clock was set. It spares them once. */
SCRIPT_TEST(after_a_jump_of_the_clock_who_waits_is_spared_once)
{
    lua_lock_two_wait(f);
    lua_lock_touch(f, "b:1", NULL);
    lua_lock_touch(f, "c:1", NULL);
    lua_lock_shift(f, 100000);
    lua_lock_release(f, "a:1", 0);
    assert_like(script_redis(f, "HGETALL n"), "b:1 1");
    lua_lock_shift(f, 104000);
    lua_lock_release(f, "b:1", 0);
    assert_like(script_redis(f, "EXISTS n"), "0");
}

/* The mark of the first to speak does not hide that all were late. */
SCRIPT_TEST(nor_does_a_touch_after_a_jump_make_the_others_dead)
{
    lua_lock_two_wait(f);
    lua_lock_touch(f, "b:1", NULL);
    lua_lock_touch(f, "c:1", NULL);
    lua_lock_shift(f, 100000);
    lua_lock_touch(f, "c:1", NULL);
    lua_lock_release(f, "a:1", 0);
    assert_like(script_redis(f, "HGETALL n"), "b:1 1");
}

SCRIPT_TEST(more_than_one_call_looks_at_is_said)
{
    char claim[24];

    lua_lock_acquire(f, "a:1");
    for (int i = 0; i < 70; i++) {
        snprintf(claim, sizeof(claim), "b:%d", i);
        lua_lock_acquire(f, claim);
    }
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 1 0");
    assert_like(script_redis(f, "ZCOUNT " LUA_LOCK_QUEUE " 0 2251799813685247"),
                "6");
}

/* ---- leaving and forcing ---- */

SCRIPT_TEST(a_waiter_leaves_and_the_others_go_on)
{
    lua_lock_two_wait(f);
    assert_like(lua_lock_leave(f, "b:1", false), "1 1 0 0");
    assert_like(script_redis(f, "ZCARD " LUA_LOCK_QUEUE), "1");
    assert_like(lua_lock_leave(f, "b:1", false), "1 0 0 0");
    lua_lock_release(f, "a:1", 0);
    assert_like(script_redis(f, "HGETALL n"), "c:1 1");
}

SCRIPT_TEST(one_that_was_granted_meanwhile_hands_on)
{
    lua_lock_two_wait(f);
    lua_lock_release(f, "a:1", 0);
    assert_like(lua_lock_leave(f, "b:1", false), "1 2 0 0");
    assert_like(script_redis(f, "HGETALL n"), "c:1 1");
}

SCRIPT_TEST(a_void_claim_stays_known_for_eleven_minutes)
{
    lua_lock_two_wait(f);
    assert_like(lua_lock_leave(f, "b:1", true), "1 1 0 0");
    lua_lock_release(f, "a:1", 0);
    assert_like(script_redis(f, "HGETALL n"), "c:1 1");
    lua_lock_release(f, "c:1", 0);
    assert_in_range(script_pttl(f, LUA_LOCK_QUEUE), 600000, 660000);
    assert_like(lua_lock_acquire(f, "b:1"), "!LKVOID*");
}

SCRIPT_TEST(a_force_ends_the_hold_tells_its_owner_and_hands_on)
{
    char expected[200];

    lua_lock_hear(f, "a", NULL);
    lua_lock_two_wait(f);
    snprintf(expected, sizeof(expected),
             "revoked 0 lock a:1 " LUA_LOCK_NONCE " %lld n",
             (long long)lua_lock_fence(f));
    assert_like(lua_lock_force(f, ""), "1 2 0 0");
    assert_like(script_redis(f, "HGETALL n"), "b:1 1");
    assert_non_null(strstr(script_heard(f), expected));
}

SCRIPT_TEST(a_force_of_another_claim_changes_nothing)
{
    lua_lock_acquire(f, "a:1");
    assert_like(lua_lock_force(f, "x:1"), "2 2");
    assert_like(script_redis(f, "HGETALL n"), "a:1 1");
}

/* ---- turns ---- */

SCRIPT_TEST(while_redisson_listens_the_sides_take_turns)
{
    lua_lock_two_wait(f);
    script_listen(f, LUA_LOCK_CHANNEL);
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_non_null(strstr(script_heard(f), "latchkey:in::b open 0 lock b:1 "));
    /* Theirs for 150 ms, then ours for half a second. */
    assert_like(lua_lock_touch(f, "b:1", NULL), "2 -2 2 0 0 (*) ()");
    lua_lock_shift(f, 200);
    assert_like(lua_lock_touch(f, "b:1", NULL),
                "2 30000 0 0 0 (0) (1 * 30000 *)");
    lua_lock_release(f, "b:1", 0);
    assert_like(script_redis(f, "HGETALL n"), "c:1 1");
}

SCRIPT_TEST(a_turn_that_began_in_the_future_is_over)
{
    lua_lock_two_wait(f);
    script_listen(f, LUA_LOCK_CHANNEL);
    lua_lock_shift(f, 3600000);
    lua_lock_touch(f, "b:1", NULL);
    lua_lock_release(f, "a:1", 0);
    assert_like(script_redis(f, "EXISTS n"), "0");
    lua_lock_shift(f, 0);
    assert_like(lua_lock_touch(f, "b:1", NULL), "2 * 0 0 0 (0) (1 * * *)");
}

/* One that spins leaves no trace while ours hand the name on. */
SCRIPT_TEST(after_a_second_of_hand_overs_the_name_is_left_free_once)
{
    lua_lock_two_wait(f);
    lua_lock_release(f, "a:1", 0);
    assert_like(script_redis(f, "HGETALL n"), "b:1 1");
    lua_lock_shift(f, 1500);
    lua_lock_release(f, "b:1", 0);
    assert_like(script_redis(f, "EXISTS n"), "0");
    lua_lock_shift(f, 1600);
    assert_like(lua_lock_touch(f, "c:1", NULL), "2 * 0 0 0 (0) (1 * * *)");
}

/* ---- refusals ---- */

SCRIPT_TEST(a_full_server_lets_a_hand_over_through)
{
    lua_lock_two_wait(f);
    script_fill_memory(f, true);
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    assert_like(lua_lock_leave(f, "c:1", true), "1 1 0 0");
    assert_like(lua_lock_release(f, "b:1", 0), "1 2 0 0");
    script_fill_memory(f, false);
    assert_like(script_redis(f, "EXISTS n"), "0");
}

SCRIPT_TEST(what_may_not_be_finished_leaves_a_free_name_and_a_queue)
{
    const char *const denied[] = {"hset", "pexpire", "set"};

    for (size_t i = 0; i < sizeof(denied) / sizeof(*denied); i++) {
        script_deny(f, NULL);
        script_redis(f, "FLUSHALL");
        lua_lock_hear(f, "b", NULL);
        lua_lock_acquire(f, "a:1");
        lua_lock_acquire(f, "b:1");
        script_heard(f);
        script_deny(f, denied[i]);
        assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 1");
        assert_like(script_redis(f, "EXISTS n"), "0");
        assert_like(script_redis(f, "ZCARD " LUA_LOCK_QUEUE), "1");
        assert_non_null(
            strstr(script_heard(f), "latchkey:in::b open 0 lock b:1 "));
    }
    script_deny(f, NULL);
}

SCRIPT_TEST(if_it_is_not_told_who_listens_nobody_is_granted)
{
    lua_lock_two_wait(f);
    script_deny(f, "pubsub");
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 1");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(script_redis(f, "ZCARD " LUA_LOCK_QUEUE), "2");
    script_deny(f, NULL);
}

SCRIPT_TEST(a_grant_that_may_not_be_told_stands)
{
    lua_lock_two_wait(f);
    script_deny(f, "publish");
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 1");
    script_deny(f, NULL);
    assert_like(script_redis(f, "HGETALL n"), "b:1 1");
    assert_like(lua_lock_touch(f, "b:1", NULL), "2 * 0 0 0 (0) (1 * * *)");
}

/* So that a slot that is half moved is never left without an owner. */
SCRIPT_TEST(the_new_owner_is_written_before_the_old_one_goes)
{
    const char *seen;

    lua_lock_two_wait(f);
    snprintf(
        f->stamp, sizeof(f->stamp),
        "local R = redis local redis = setmetatable({pcall = "
        "function(...) local r = R.pcall(...) if R.call('EXISTS', 'n') "
        "== 0 then R.call('SET', 'gap:{n}', '1') end return r end}, {__index "
        "= R}) ");
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    f->stamp[0] = '\0';
    seen = script_redis(f, "EXISTS gap:{n}");
    assert_string_equal(seen, "0");
    assert_like(script_redis(f, "HGETALL n"), "b:1 1");
}

CHECK_GROUP(script_start_server, script_stop_server)
