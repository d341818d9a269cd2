/* SPDX-License-Identifier: MIT */

/* import, revoke, forget and term: what importers, operators and observers of an
   election ask. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/lua_lock.h"

enum { HOUR_MS = 3600000 };

/* The fence that the last answer begins with. */
static int64_t fence_of(const script_fixture *f)
{
    return script_item(f, 1);
}

static int64_t taken(script_fixture *f, const char *claim)
{
    assert_like(lua_lock_acquire(f, claim), "1 *");
    return fence_of(f);
}

static int64_t
imported(script_fixture *f, const char *from, int64_t fence, const char *to)
{
    assert_like(lua_lock_import(f, from, fence, to), "1 * ????? *");
    return fence_of(f);
}

/* ---- import ---- */

SCRIPT_TEST(one_importer_has_the_lock)
{
    int64_t old = taken(f, "a:1");
    int64_t top = old + script_item(f, 3);
    int64_t fence = imported(f, "a:1", old, "b:1");

    assert_true(fence > top);
    assert_like(script_redis(f, "HGETALL n"), "b:1 1");
    assert_in_range(script_pttl(f, "n"), 59000, 60000);
    assert_like(lua_lock_import(f, "a:1", old, "c:1"), "2 2");
    assert_like(lua_lock_keep(f, "a:1", old, 90000, 0), "2 2");
    assert_like(lua_lock_release(f, "a:1", old), "2 2");
    assert_like(lua_lock_keep(f, "b:1", fence, 70000, 0), "1 70000 0 *");
    assert_like(lua_lock_release(f, "b:1", fence), "1 2 0 0");
    assert_like(lua_lock_import(f, "a:1", old, "b:2"), "2 0");
}

SCRIPT_TEST(the_one_importer_may_ask_again)
{
    int64_t old = taken(f, "a:1");
    int64_t fence = imported(f, "a:1", old, "b:1");
    int64_t next;

    assert_int_equal(imported(f, "a:1", old, "b:1"), fence);
    next = imported(f, "b:1", fence, "c:1");
    assert_true(next > fence);
    assert_like(lua_lock_import(f, "a:1", old, "b:1"), "2 2");
    assert_like(lua_lock_import(f, "b:1", fence, "a:2"), "2 2");
}

SCRIPT_TEST(what_is_not_held_is_not_imported)
{
    int64_t fence;

    assert_like(lua_lock_import(f, "a:1", 5, "b:1"), "2 0");
    taken(f, "a:2");
    assert_like(lua_lock_import(f, "a:1", 5, "b:1"), "2 2");
    script_expire(f);
    fence = taken(f, "a:1");
    assert_like(lua_lock_import(f, "a:1", fence - 1, "b:1"), "2 3");
    script_redis(f, "DEL " LUA_LOCK_RECORD);
    assert_like(lua_lock_import(f, "a:1", fence, "b:1"), "2 0");
    assert_like(script_redis(f, "HGETALL n"), "a:1 1");
}

SCRIPT_TEST(what_is_revoked_is_not_imported)
{
    int64_t fence = taken(f, "a:1");

    lua_lock_revoke(f, "a:1");
    assert_like(lua_lock_import(f, "a:1", fence, "b:1"), "2 4");
    assert_like(script_redis(f, "HGETALL n"), "a:1 1");
}

SCRIPT_TEST(nor_has_it_the_importer_who_asks_again)
{
    int64_t fence = taken(f, "a:1");

    imported(f, "a:1", fence, "b:1");
    lua_lock_revoke(f, "b:1");
    assert_like(lua_lock_import(f, "a:1", fence, "b:1"), "2 4");
    assert_like(script_redis(f, "HGETALL n"), "b:1 1");
}

/* Its next fence is larger. */
SCRIPT_TEST(redissons_count_goes_along)
{
    int64_t fence = taken(f, "a:1");

    script_redis(f, "SET " LUA_LOCK_TOKEN " %lld", (long long)fence);
    fence = imported(f, "a:1", fence, "b:1");
    assert_int_equal(script_number(f, "GET " LUA_LOCK_TOKEN),
                     fence + script_item(f, 3));
}

/* The name has an owner and an end at each moment, and one owner afterwards. */
SCRIPT_TEST(an_import_that_is_denied_leaves_the_old_owner)
{
    static const char *const denied[] = {"mget", "hmget",   "pttl", "time",
                                         "hset", "pexpire", "hdel", "set"};

    for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++) {
        int64_t fence = taken(f, "a:1");

        script_deny(f, denied[i]);
        assert_like(lua_lock_import(f, "a:1", fence, "b:1"), "!*");
        script_deny(f, NULL);
        assert_like(script_redis(f, "HGETALL n"), "a:1 1");
        assert_true(script_pttl(f, "n") > 0);
        assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    }
}

SCRIPT_TEST(a_full_server_lets_an_import_through)
{
    int64_t fence = taken(f, "a:1");

    script_fill_memory(f, true);
    imported(f, "a:1", fence, "b:1");
    script_fill_memory(f, false);
}

/* ---- revoke ---- */

SCRIPT_TEST(a_revoked_lock_stays_held_and_its_holder_is_told)
{
    char said[200];

    lua_lock_hear(f, "a", NULL);
    (void)snprintf(said, sizeof(said),
                   "latchkey:in::a revoked 0 lock a:1 " LUA_LOCK_NONCE
                   " %lld n\n",
                   (long long)taken(f, "a:1"));
    assert_like(lua_lock_revoke(f, "a:1"), "1 ????? 1");
    assert_string_equal(script_heard(f), said);
    assert_like(script_redis(f, "HKEYS n"), "a:1");
    assert_in_range(script_pttl(f, "n"), 20000, 30000);
    assert_like(lua_lock_keep(f, "a:1", lua_lock_fence(f), 90000, 0), "2 4");
    assert_in_range(script_pttl(f, "n"), 20000, 30000);
}

SCRIPT_TEST(who_waits_gets_a_revoked_lock_afterwards)
{
    lua_lock_hear(f, "b", NULL);
    taken(f, "a:1");
    lua_lock_acquire(f, "b:1");
    lua_lock_revoke(f, "a:1");
    assert_string_equal(script_heard(f), "");
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    assert_like(script_redis(f, "HKEYS n"), "b:1");
    assert_like(lua_lock_keep(f, "b:1", lua_lock_fence(f), 40000, 0),
                "1 40000 *");
}

/* As where the answer to its acquire was lost. Among others it is told nothing of
   a hold, and looks alone. */
SCRIPT_TEST(who_does_not_know_of_a_revoked_lock_is_void)
{
    taken(f, "a:1");
    lua_lock_revoke(f, "a:1");
    assert_like(lua_lock_acquire(f, "a:1"), "!LKVOID *");
    assert_like(lua_lock_touch(f, "a:1", NULL), "!LKVOID *");
    assert_like(lua_lock_touch(f, "a:1", "a:2"), "2 * (0 0) ()");
    assert_like(script_redis(f, "HKEYS n"), "a:1");
}

SCRIPT_TEST(revoking_twice_is_revoking_once)
{
    char before[400];

    taken(f, "a:1");
    lua_lock_revoke(f, "a:1");
    (void)snprintf(before, sizeof(before), "%s",
                   script_redis(f, "GET " LUA_LOCK_RECORD));
    script_redis(f, "PEXPIRE n 5000");
    assert_like(lua_lock_revoke(f, "a:1"), "1 ???? 1");
    assert_string_equal(script_redis(f, "GET " LUA_LOCK_RECORD), before);
}

SCRIPT_TEST(what_is_not_held_by_that_owner_is_not_revoked)
{
    assert_like(lua_lock_revoke(f, "a:1"), "2");
    taken(f, "a:1");
    assert_like(lua_lock_revoke(f, "a:2"), "2");
    script_expire(f);
    assert_like(lua_lock_revoke(f, "a:1"), "2");
}

SCRIPT_TEST(another_librarys_hold_cannot_be_told)
{
    script_redis(f, "HSET n java:7 1");
    script_redis(f, "PEXPIRE n 5000");
    assert_like(lua_lock_revoke(f, "java:7"), "1 * 0");
    assert_like(script_redis(f, "EXISTS " LUA_LOCK_RECORD), "0");
}

/* ---- forget ---- */

SCRIPT_TEST(a_lock_at_rest_is_forgotten_but_for_its_fence)
{
    int64_t fence = taken(f, "a:1");

    lua_lock_release(f, "a:1", 0);
    assert_like(lua_lock_forget(f), "2");
    assert_like(script_redis(f, "KEYS *"), LUA_LOCK_RECORD);
    assert_in_range(script_pttl(f, LUA_LOCK_RECORD), HOUR_MS - 60000, HOUR_MS);
    assert_like(lua_lock_forget(f), "1");
    assert_true(taken(f, "a:2") > fence);
}

SCRIPT_TEST(the_next_fence_is_larger_though_the_clock_is_behind)
{
    int64_t ahead = (script_now_ms(f) + HOUR_MS) * 1000;
    char text[300];

    (void)snprintf(text, sizeof(text), "2l %lld 0 0 - - - 0 - - - 0 0 - - ",
                   (long long)ahead);
    script_redis(f, "SET " LUA_LOCK_RECORD " %s", text);
    assert_like(lua_lock_forget(f), "2");
    assert_int_equal(taken(f, "a:1"), ahead + 1);
}

SCRIPT_TEST(what_is_used_stays)
{
    taken(f, "a:1");
    assert_like(lua_lock_forget(f), "3 a:1 ?????");
    lua_lock_acquire(f, "b:1");
    script_expire(f);
    assert_like(lua_lock_forget(f), "4 1");
    lua_lock_leave(f, "b:1", false);
    script_listen(f, LUA_LOCK_CHANNEL);
    assert_like(lua_lock_forget(f), "4 1");
    script_deafen(f, LUA_LOCK_CHANNEL);
    script_redis(f, "SET " LUA_LOCK_SPIN " 1");
    assert_like(lua_lock_forget(f), "4 1");
    script_redis(f, "DEL " LUA_LOCK_SPIN);
    assert_like(lua_lock_forget(f), "2");
}

SCRIPT_TEST(what_is_void_stays_so)
{
    taken(f, "a:1");
    lua_lock_release(f, "a:1", 0);
    lua_lock_leave(f, "b:1", true);
    assert_like(lua_lock_forget(f), "2");
    assert_like(lua_lock_acquire(f, "b:1"), "!LKVOID *");
}

SCRIPT_TEST(a_name_of_another_kind_stays)
{
    script_redis(f, "SET " LUA_LOCK_RECORD " %s",
                 "2t 5 0 0 - - - 0 - - - 0 0 - - ");
    assert_like(lua_lock_forget(f), "!LKTYPE*");
    script_redis(f, "SET " LUA_LOCK_RECORD " other");
    assert_like(lua_lock_forget(f), "!LKLAYOUT*");
    script_redis(f, "DEL " LUA_LOCK_RECORD);
    script_redis(f, "HSET n a 1 b 2");
    assert_like(lua_lock_forget(f), "!LKTYPE*");
}

SCRIPT_TEST(a_full_server_forgets)
{
    taken(f, "a:1");
    lua_lock_release(f, "a:1", 0);
    script_fill_memory(f, true);
    assert_like(lua_lock_forget(f), "2");
    script_fill_memory(f, false);
}

/* ---- term ---- */

SCRIPT_TEST(the_term_is_the_fence_of_one_of_ours_that_holds)
{
    char expected[64];

    assert_like(lua_lock_term(f), "1 -2 0");
    (void)snprintf(expected, sizeof(expected), "1 ????? %lld",
                   (long long)taken(f, "a:1"));
    assert_like(lua_lock_term(f), expected);
    lua_lock_release(f, "a:1", 0);
    assert_like(lua_lock_term(f), "1 -2 0");
    script_redis(f, "HSET n java:7 1");
    script_redis(f, "PEXPIRE n 5000");
    assert_like(lua_lock_term(f), "1 * 0");
}

SCRIPT_TEST(a_look_at_the_term_makes_no_key)
{
    lua_lock_term(f);
    script_fill_memory(f, true);
    lua_lock_term(f);
    script_fill_memory(f, false);
    assert_like(script_redis(f, "DBSIZE"), "0");
}

SCRIPT_TEST(a_replica_is_not_looked_at)
{
    script_redis(f, "REPLICAOF 127.0.0.1 1");
    assert_like(lua_lock_term(f), "!READONLY *");
    assert_like(lua_lock_see(f), "!READONLY *");
    script_redis(f, "REPLICAOF NO ONE");
}

CHECK_GROUP(script_start_server, script_stop_server)
