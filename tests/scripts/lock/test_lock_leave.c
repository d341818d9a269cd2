/* SPDX-License-Identifier: MIT */

/* Leaving for good, who is told of a hand-over, and who is listed. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/lua_lock.h"

enum { LOOKS = 64 };

static void many_wait(script_fixture *f, const char *client, int count)
{
    char claim[24];

    for (int i = 0; i < count; i++) {
        snprintf(claim, sizeof(claim), "%s:%d", client, i);
        lua_lock_acquire(f, claim);
    }
}

/* ---- void claims ---- */

/* Its first leave comes behind its second. */
SCRIPT_TEST(a_late_leave_does_not_end_what_is_void)
{
    lua_lock_leave(f, "b:1", true);
    assert_like(lua_lock_leave(f, "b:1", false), "1 0 0 0");
    assert_like(lua_lock_acquire(f, "b:1"), "!LKVOID*");
}

SCRIPT_TEST(a_holder_that_leaves_for_good_frees_the_lock)
{
    lua_lock_acquire(f, "a:1");
    assert_like(lua_lock_leave(f, "a:1", true), "1 2 0 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(lua_lock_acquire(f, "a:1"), "!LKVOID*");
}

/* Behind a holder a claim queues with few commands, if it may. */
SCRIPT_TEST(a_void_claim_does_not_queue_behind_a_holder)
{
    lua_lock_two_wait(f);
    lua_lock_leave(f, "d:1", true);
    assert_like(lua_lock_acquire(f, "d:1"), "!LKVOID*");
    assert_like(script_redis(f, "ZCOUNT " LUA_LOCK_QUEUE " 0 2251799813685247"),
                "2");
}

/* A queue that never ends loses them by the sweep; it takes few at a time. */
SCRIPT_TEST(what_was_void_for_eleven_minutes_is_swept)
{
    lua_lock_two_wait(f);
    lua_lock_leave(f, "d:1", true);
    lua_lock_shift_to_sweep(f, 650000);
    lua_lock_touch(f, "b:1", NULL);
    assert_like(lua_lock_acquire(f, "d:1"), "!LKVOID*");
    lua_lock_shift_to_sweep(f, 670000);
    lua_lock_touch(f, "b:1", NULL);
    assert_like(script_redis(f,
                             "ZCOUNT " LUA_LOCK_QUEUE " 2533274790395904 +inf"),
                "0");
}

/* ---- leaving ---- */

SCRIPT_TEST(a_parked_waiter_that_leaves_is_gone)
{
    lua_lock_two_wait(f);
    script_deafen(f, "latchkey:in::b");
    lua_lock_release(f, "a:1", 0);
    assert_like(script_redis(f, "HKEYS n"), "c:1");
    assert_like(lua_lock_leave(f, "b:1", false), "1 1 0 0");
    assert_like(lua_lock_touch(f, "b:1", NULL), "2 * 0 0 0 (0) ()");
}

/* The one who leaves was told that the lock is open, and nobody else was. */
SCRIPT_TEST(who_leaves_a_free_lock_hands_it_to_the_next)
{
    lua_lock_two_wait(f);
    script_expire(f);
    assert_like(lua_lock_leave(f, "b:1", false), "1 1 0 0");
    assert_like(script_redis(f, "HKEYS n"), "c:1");
}

SCRIPT_TEST(the_last_who_leaves_leaves_nothing_to_do)
{
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    script_expire(f);
    script_listen(f, LUA_LOCK_CHANNEL);
    assert_like(lua_lock_leave(f, "b:1", false), "1 1 0 0");
    assert_string_equal(script_heard(f), "");
    assert_like(script_redis(f, "EXISTS " LUA_LOCK_QUEUE), "0");
}

/* ---- force ---- */

/* The record is of a claim that is not in the lock any more. */
SCRIPT_TEST(force_on_a_foreign_hold_tells_none_of_ours)
{
    lua_lock_hear(f, "a", NULL);
    lua_lock_acquire(f, "a:1");
    script_expire(f);
    script_redis(f, "HSET n java:7 3");
    assert_like(lua_lock_force(f, ""), "1 2 0 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_string_equal(script_heard(f), "");
    script_redis(f, "HSET n java:7 3");
    assert_like(lua_lock_force(f, "java:7"), "1 2 0 0");
    assert_like(lua_lock_force(f, ""), "2 0");
}

/* ---- who is told of a hand-over, and who gets it ---- */

SCRIPT_TEST(waiters_are_served_in_the_order_of_their_tickets)
{
    lua_lock_two_wait(f);
    script_redis(f, "CONFIG RESETSTAT");
    lua_lock_release(f, "a:1", 0);
    assert_like(script_redis(f, "INFO commandstats"),
                "*cmdstat_publish:calls=1,*");
    assert_like(script_redis(f, "HKEYS n"), "b:1");
    assert_like(lua_lock_release(f, "b:1", 0), "1 2 0 0");
    assert_like(script_redis(f, "HKEYS n"), "c:1");
    assert_like(lua_lock_release(f, "c:1", 0), "1 2 0 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

SCRIPT_TEST(a_grant_lasts_no_longer_than_what_was_asked_for)
{
    lua_lock_hear(f, "b", NULL);
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire_with(f, "b:1", 'l', 'q', 700);
    lua_lock_release(f, "a:1", 0);
    assert_like(script_heard(f), "latchkey:in::b grant * 63 700 n\n");
    assert_in_range(script_pttl(f, "n"), 1, 700);
    /* By the other road as well. */
    script_redis(f, "SET " LUA_LOCK_TOKEN " 5");
    lua_lock_acquire_with(f, "b:2", 'l', 'q', 600);
    lua_lock_release(f, "b:1", 0);
    assert_like(script_heard(f), "latchkey:in::b grant * 63 600 n\n");
}

SCRIPT_TEST(names_of_any_bytes_come_whole_in_a_grant)
{
    script_set_name(f, "a {b} \xff\n%s");
    lua_lock_hear(f, "b", NULL);
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    assert_like(lua_lock_force(f, ""), "1 2 0 0");
    assert_like(script_heard(f),
                "latchkey:in::b grant 0 lock b:1 * 3000 a {b} \xff\n%s\n");
}

SCRIPT_TEST(a_pattern_is_not_an_inbox)
{
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    script_listen(f, "elsewhere");
    freeReplyObject(redisCommand(f->inboxes, "PSUBSCRIBE latchkey:in:*"));
    lua_lock_release(f, "a:1", 0);
    assert_like(script_redis(f, "EXISTS n"), "0");
}

SCRIPT_TEST(the_last_waiter_looked_at_may_be_the_one)
{
    lua_lock_hear(f, "b", NULL);
    lua_lock_acquire(f, "a:1");
    many_wait(f, "dead", LOOKS - 1);
    lua_lock_acquire(f, "b:1");
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    assert_like(script_redis(f, "HKEYS n"), "b:1");
}

SCRIPT_TEST(whoever_is_told_of_more_goes_on)
{
    lua_lock_hear(f, "b", NULL);
    lua_lock_acquire(f, "a:1");
    many_wait(f, "dead", LOOKS);
    lua_lock_acquire(f, "b:1");
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 1 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(lua_lock_touch(f, NULL, NULL), "2 3000 0 0 0 () ()");
    assert_like(script_redis(f, "HKEYS n"), "b:1");
}

SCRIPT_TEST(handing_on_does_nothing_to_a_held_lock)
{
    lua_lock_two_wait(f);
    assert_like(lua_lock_touch(f, NULL, NULL), "2 * 0 0 0 () ()");
    assert_like(script_redis(f, "HKEYS n"), "a:1");
    assert_like(script_redis(f, "ZCARD " LUA_LOCK_QUEUE), "2");
    assert_string_equal(script_heard(f), "");
}

/* ---- touches ---- */

SCRIPT_TEST(a_look_does_not_lengthen_a_revoked_lock)
{
    lua_lock_acquire(f, "a:1");
    script_redis(f, "PEXPIRE n 3000");
    lua_lock_revoke(f, "a:1");
    lua_lock_touch(f, "a:1", NULL);
    assert_in_range(script_pttl(f, "n"), 1, 3000);
}

SCRIPT_TEST(a_claim_whose_grant_lapsed_is_not_known)
{
    lua_lock_two_wait(f);
    lua_lock_release(f, "a:1", 0);
    script_expire(f);
    assert_like(lua_lock_touch(f, "b:1", NULL), "2 * 0 0 0 (0) ()");
    assert_like(script_redis(f, "HKEYS n"), "c:1");
}

SCRIPT_TEST(a_waiter_that_looks_needs_no_inbox)
{
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    script_expire(f);
    assert_like(lua_lock_touch(f, "b:1", NULL),
                "2 30000 0 0 0 (0) (1 * 30000 *)");
}

SCRIPT_TEST(a_waiter_behind_dead_ones_takes_a_free_lock)
{
    lua_lock_acquire(f, "a:1");
    many_wait(f, "dead", 2);
    lua_lock_acquire(f, "b:1");
    script_expire(f);
    assert_like(lua_lock_touch(f, "b:1", NULL),
                "2 30000 0 0 0 (0) (1 * 30000 *)");
    assert_like(script_redis(f,
                             "ZCOUNT " LUA_LOCK_QUEUE " 2251799813685248 +inf"),
                "2");
}

/* ---- who is listed ---- */

SCRIPT_TEST(see_lists_64_waiters_and_counts_all)
{
    lua_lock_acquire(f, "a:1");
    many_wait(f, "w", LOOKS + 2);
    lua_lock_see(f);
    assert_int_equal(script_item(f, 1), LOOKS + 2);
    assert_int_equal(f->answer->element[3]->elements, LOOKS * 6);
    assert_string_equal(f->answer->element[3]->element[378]->str, "w:63");
}

SCRIPT_TEST(see_lists_who_waits_for_redissons_fair_lock)
{
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    script_redis(f, "RPUSH " LUA_LOCK_FAIRQ " java:7 java:8");
    assert_like(lua_lock_see(f),
                "1 3 * (b:1 1 * java:7 0 0 0 * java:8 0 0 0 *");
    script_deny(f, "lrange");
    assert_like(lua_lock_see(f), "1 1 * (b:1 1 *");
    script_deny(f, NULL);
}

CHECK_GROUP(script_start_server, script_stop_server)
