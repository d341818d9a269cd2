/* SPDX-License-Identifier: MIT */

/* keep and renew: lengthening leases. */

#include <stdio.h>

#include "support/check.h"
#include "support/lua_lock.h"

/* ---- keep ---- */

SCRIPT_TEST(it_lengthens_and_never_shortens)
{
    lua_lock_acquire(f, "a:1");
    assert_like(lua_lock_keep(f, "a:1", 0, 60000, 0), "1 60000 0 63");
    assert_in_range(script_pttl(f, "n"), 50000, 60000);
    assert_like(lua_lock_keep(f, "a:1", 0, 1000, 0), "1 * 0 63");
    assert_in_range(script_pttl(f, "n"), 50000, 60000);
    assert_in_range(script_pttl(f, LUA_LOCK_RECORD), 3640000, 3660000);
}

SCRIPT_TEST(it_says_whether_anybody_waits)
{
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    assert_like(lua_lock_keep(f, "a:1", 0, 30000, 0), "1 * 1 63");
}

SCRIPT_TEST(redissons_listeners_wait_as_well)
{
    lua_lock_acquire(f, "a:1");
    script_listen(f, LUA_LOCK_CHANNEL);
    assert_like(lua_lock_keep(f, "a:1", 0, 30000, 0), "1 * 1 63");
}

/* Killed, Redisson's waiters leave their queue, which has no end. */
SCRIPT_TEST(of_redissons_fair_queue_those_who_listen_wait)
{
    lua_lock_acquire(f, "a:1");
    script_redis(f, "RPUSH " LUA_LOCK_FAIRQ " java:7 java:8");
    assert_like(lua_lock_keep(f, "a:1", 0, 30000, 0), "1 * 0 63");
    script_listen(f, LUA_LOCK_CHANNEL ":java:8");
    assert_like(lua_lock_keep(f, "a:1", 0, 30000, 0), "1 * 1 63");
}

SCRIPT_TEST(those_who_spin_wait)
{
    lua_lock_acquire(f, "a:1");
    script_redis(f, "SET " LUA_LOCK_SPIN " 1");
    assert_like(lua_lock_keep(f, "a:1", 0, 30000, 0), "1 * 1 63");
    script_redis(f, "DEL " LUA_LOCK_SPIN);
    assert_like(lua_lock_keep(f, "a:1", 0, 30000, 0), "1 * 0 63");
    f->interop = "1";
    assert_like(lua_lock_keep(f, "a:1", 0, 30000, 0), "1 * 1 63");
}

SCRIPT_TEST(neither_the_void_nor_the_parked_wait)
{
    lua_lock_acquire(f, "a:1");
    lua_lock_leave(f, "b:1", true);
    assert_like(lua_lock_keep(f, "a:1", 0, 30000, 0), "1 * 0 63");
    lua_lock_acquire(f, "c:1");
    lua_lock_release(f, "a:1", 0); /* nobody hears it: c:1 is parked */
    lua_lock_acquire(f, "a:2");
    assert_like(lua_lock_keep(f, "a:2", 0, 30000, 0), "1 * 0 63");
    lua_lock_touch(f, "c:1", NULL);
    assert_like(lua_lock_keep(f, "a:2", 0, 30000, 0), "1 * 1 63");
}

SCRIPT_TEST(a_hold_that_is_gone_is_lost_and_no_key_is_made)
{
    int64_t fence;

    lua_lock_acquire(f, "a:1");
    fence = lua_lock_fence(f);
    assert_like(lua_lock_keep(f, "a:1", fence + 1, 30000, 0), "2 3");
    script_redis(f, "DEL n");
    assert_like(lua_lock_keep(f, "a:1", fence, 30000, 0), "2 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
    script_redis(f, "HSET n java:7 1");
    assert_like(lua_lock_keep(f, "a:1", fence, 30000, 0), "2 2");
}

SCRIPT_TEST(a_revoked_hold_is_lost)
{
    lua_lock_acquire(f, "a:1");
    script_redis(f, "EVAL %s 1 " LUA_LOCK_RECORD,
                 "local r = redis.call('GET', KEYS[1]) return redis.call("
                 "'SET', KEYS[1], (string.gsub(r, '^(%S+ %S+ %S+ %S+) %-', "
                 "'%1 v')), 'KEEPTTL')");
    assert_like(lua_lock_keep(f, "a:1", 0, 60000, 0), "2 4");
    assert_in_range(script_pttl(f, "n"), 1, 30000);
}

SCRIPT_TEST(fences_are_reserved_as_far_as_the_clock_goes)
{
    lk__record_text record;

    lua_lock_acquire(f, "a:1");
    assert_like(lua_lock_keep(f, "a:1", 0, 30000, 100), "1 * 0 163");
    assert_true(lua_lock_record(f, &record));
    assert_int_equal(record.spare, 163);
    lua_lock_keep(f, "a:1", 0, 30000, 1000000000);
    assert_true(lua_lock_record(f, &record));
    assert_true(record.fence + record.spare <=
                script_now_ms(f) * 1000 + 200000);
}

SCRIPT_TEST(none_are_reserved_where_redisson_counted_on)
{
    lua_lock_acquire(f, "a:1");
    script_redis(f, "SET " LUA_LOCK_TOKEN " 9000000000000000");
    assert_like(lua_lock_keep(f, "a:1", 0, 30000, 100), "1 * 0 63");
}

SCRIPT_TEST(without_a_record_the_hold_is_kept)
{
    int64_t fence;

    lua_lock_acquire(f, "a:1");
    fence = lua_lock_fence(f);
    script_redis(f, "DEL " LUA_LOCK_RECORD);
    assert_like(lua_lock_keep(f, "a:1", fence, 60000, 0), "1 60000 0 0");
    assert_like(script_redis(f, "EXISTS " LUA_LOCK_RECORD), "0");
}

SCRIPT_TEST(a_hold_without_an_end_gets_one)
{
    lua_lock_acquire(f, "a:1");
    script_redis(f, "PERSIST n");
    lua_lock_keep(f, "a:1", 0, 30000, 0);
    assert_in_range(script_pttl(f, "n"), 1, 30000);
}

SCRIPT_TEST(a_full_server_does_not_refuse_it)
{
    lua_lock_acquire(f, "a:1");
    script_fill_memory(f, true);
    assert_like(lua_lock_keep(f, "a:1", 0, 60000, 5), "1 60000 0 68");
    assert_like(lua_lock_keep(f, "a:1", 0, 1000, 5), "1 * 0 73");
    assert_like(lua_lock_renew(f, "a:1", "b:1", 90000), "1 (2 0)");
    script_fill_memory(f, false);
}

/* ---- renew ---- */

SCRIPT_TEST(one_name_does_not_keep_another_from_being_renewed)
{
    script_set_name(f, LUA_LOCK_OTHER);
    lua_lock_acquire(f, "b:1");
    script_set_name(f, "n");
    script_redis(f, "SET n 1");
    assert_like(lua_lock_renew(f, "a:1", "b:1", 60000), "1 (1 2)");
    assert_in_range(script_pttl(f, LUA_LOCK_OTHER), 50000, 60000);
}

SCRIPT_TEST(a_renewal_never_shortens_and_makes_nothing)
{
    lua_lock_acquire(f, "a:1");
    assert_like(lua_lock_renew(f, "a:1", "b:1", 1000), "1 (2 0)");
    assert_in_range(script_pttl(f, "n"), 20000, 30000);
    assert_like(script_redis(f, "EXISTS " LUA_LOCK_OTHER), "0");
}

SCRIPT_TEST(a_renewal_gives_an_end_to_what_has_none)
{
    lua_lock_acquire(f, "a:1");
    script_redis(f, "PERSIST n");
    lua_lock_renew(f, "a:1", "b:1", 30000);
    assert_in_range(script_pttl(f, "n"), 1, 30000);
}

/* Before 7.0 PEXPIRE has no GT. */
SCRIPT_TEST(a_server_without_gt_renews_the_same)
{
    snprintf(f->stamp, sizeof(f->stamp),
             "local R = redis local redis = setmetatable({pcall = function(...)"
             " if select('#', ...) == 4 and select(4, ...) == 'GT' then return "
             "{err = 'ERR syntax error'} end return R.pcall(...) end}, {__index"
             " = R}) ");
    lua_lock_acquire(f, "a:1");
    assert_like(lua_lock_renew(f, "a:1", "b:1", 60000), "1 (2 0)");
    assert_in_range(script_pttl(f, "n"), 50000, 60000);
    lua_lock_renew(f, "a:1", "b:1", 1000);
    assert_in_range(script_pttl(f, "n"), 50000, 60000);
}

CHECK_GROUP(script_start_server, script_stop_server)
