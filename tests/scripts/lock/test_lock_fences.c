/* SPDX-License-Identifier: MIT */

/*
 * The fences of the lock's grants, and the last numbers that there are. Each
 * grant has a range of its own, from its fence up, for the owners that its
 * client passes the lock between.
 */

#include <stdio.h>

#include "support/check.h"
#include "support/lua_lock.h"

#define LAST         "9007199254740991"
#define LAST_BUT_ONE "9007199254740990"
#define LAST_MS      9007199254740
/* Beyond what the server's clock will say in this century. */
#define FAR "8000000000000000"

static long long token(script_fixture *f)
{
    return script_number(f, "GET " LUA_LOCK_TOKEN);
}

/* The highest fence of the last grant. */
static long long top(script_fixture *f)
{
    lk__record_text record;

    assert_true(lua_lock_record(f, &record));
    return record.fence + record.spare;
}

/* Takes the last grant's range off those that may still come. */
static void assert_beyond(script_fixture *f, long long *spent)
{
    assert_true(lua_lock_fence(f) > *spent);
    *spent = top(f);
}

static void note_fence(script_fixture *f, const char *fence, const char *spare)
{
    script_redis(f, "SET " LUA_LOCK_RECORD " %s%s%s%s%s", "2l ", fence, " ",
                 spare, " 0 - - - 0 - - - 0 0 - - ");
}

static void reserve(script_fixture *f, const char *claim)
{
    assert_like(lua_lock_keep(f, claim, 0, 30000, 1000000), "1 *");
}

/* ---- the range of a grant ---- */

SCRIPT_TEST(a_fence_is_not_behind_the_clock)
{
    long long before = script_now_ms(f) * 1000;

    lua_lock_acquire(f, "a:1");
    assert_true(script_item(f, 1) >= before);
}

/* What is ahead of the clock already is not driven further: one fence each. */
SCRIPT_TEST(fences_grow_even_when_the_clock_goes_back)
{
    note_fence(f, FAR, "0");
    assert_like(lua_lock_acquire(f, "a:1"), "1 8000000000000001 30000 0");
    lua_lock_release(f, "a:1", 0);
    assert_like(lua_lock_acquire(f, "b:1"), "1 8000000000000002 30000 0");
}

SCRIPT_TEST(a_holder_that_asks_again_is_told_its_range)
{
    long long fence;

    lua_lock_acquire(f, "a:1");
    fence = script_item(f, 1);
    assert_like(lua_lock_keep(f, "a:1", 0, 30000, 100), "1 * 0 163");
    assert_like(lua_lock_acquire(f, "a:1"), "1 * * 163");
    assert_int_equal(script_item(f, 1), fence);
}

/* ---- ranges do not overlap ---- */

SCRIPT_TEST(ranges_do_not_overlap_when_the_lock_is_handed_over)
{
    long long spent = 0;

    lua_lock_hear(f, "b", "c", NULL);
    lua_lock_acquire(f, "a:1");
    assert_beyond(f, &spent);
    lua_lock_acquire(f, "b:1");
    lua_lock_acquire(f, "c:1");
    reserve(f, "a:1");
    spent = top(f);
    lua_lock_release(f, "a:1", 0);
    assert_beyond(f, &spent);
    lua_lock_force(f, "");
    assert_like(script_redis(f, "HKEYS n"), "c:1");
    assert_beyond(f, &spent);
}

SCRIPT_TEST(ranges_do_not_overlap_when_a_lease_runs_out)
{
    long long spent = 0;

    lua_lock_acquire(f, "a:1");
    reserve(f, "a:1");
    spent = top(f);
    script_expire(f);
    lua_lock_acquire(f, "b:1");
    assert_beyond(f, &spent);
    lua_lock_acquire(f, "c:1");
    script_expire(f);
    assert_like(lua_lock_touch(f, "c:1", NULL), "2 30000 *");
    assert_beyond(f, &spent);
}

SCRIPT_TEST(ranges_do_not_overlap_when_a_hold_is_imported)
{
    long long spent = 0;

    lua_lock_acquire(f, "a:1");
    reserve(f, "a:1");
    spent = top(f);
    lua_lock_import(f, "a:1", lua_lock_fence(f), "b:1");
    assert_beyond(f, &spent);
}

/* With its counter nothing is lost at all. */
SCRIPT_TEST(ranges_do_not_overlap_when_redissons_token_is_left)
{
    long long spent = 0;

    f->interop = "1";
    lua_lock_acquire(f, "a:1");
    reserve(f, "a:1");
    spent = top(f);
    script_redis(f, "DEL n " LUA_LOCK_RECORD);
    lua_lock_acquire(f, "b:1");
    assert_beyond(f, &spent);
}

SCRIPT_TEST(ranges_do_not_overlap_with_redissons_fences)
{
    long long theirs;

    f->interop = "1";
    lua_lock_acquire(f, "a:1");
    reserve(f, "a:1");
    assert_int_equal(token(f), top(f));
    lua_lock_release(f, "a:1", 0);
    theirs = script_number(f, "INCR " LUA_LOCK_TOKEN);
    lua_lock_acquire(f, "b:1");
    assert_true(script_item(f, 1) > theirs);
}

/* ---- Redisson's token ---- */

/* One immortal key for every name ever locked would be a leak. */
SCRIPT_TEST(no_token_is_made_where_there_is_none)
{
    lua_lock_acquire(f, "a:1");
    reserve(f, "a:1");
    assert_like(script_redis(f, "EXISTS " LUA_LOCK_TOKEN), "0");
}

SCRIPT_TEST(a_token_that_exists_is_set_to_the_top)
{
    script_redis(f, "SET " LUA_LOCK_TOKEN " 5 PX 90000");
    lua_lock_acquire(f, "a:1");
    assert_int_equal(token(f), top(f));
    reserve(f, "a:1");
    assert_int_equal(token(f), top(f));
    assert_true(script_pttl(f, LUA_LOCK_TOKEN) > 0);
}

SCRIPT_TEST(a_token_is_made_for_redisson)
{
    f->interop = "1";
    lua_lock_acquire(f, "a:1");
    assert_int_equal(token(f), top(f));
    script_redis(f, "DEL " LUA_LOCK_TOKEN);
    reserve(f, "a:1");
    assert_int_equal(token(f), top(f));
}

/* ---- reserving more ---- */

SCRIPT_TEST(to_reserve_none_changes_nothing)
{
    char before[400];

    f->interop = "1";
    lua_lock_acquire(f, "a:1");
    snprintf(before, sizeof(before), "%s",
             script_redis(f, "GET " LUA_LOCK_RECORD));
    script_redis(f, "SET " LUA_LOCK_TOKEN " 5");
    assert_like(lua_lock_keep(f, "a:1", 0, 30000, 0), "1 * 1 63");
    assert_string_equal(script_redis(f, "GET " LUA_LOCK_RECORD), before);
    assert_int_equal(token(f), 5);
}

SCRIPT_TEST(fences_are_reserved_to_the_holder_alone)
{
    long long before;

    lua_lock_acquire(f, "a:1");
    before = top(f);
    assert_like(lua_lock_keep(f, "a:1", 5, 30000, 50), "2 3");
    assert_like(lua_lock_keep(f, "b:1", 0, 30000, 50), "2 2");
    script_expire(f);
    assert_like(lua_lock_keep(f, "a:1", 0, 30000, 50), "2 0");
    assert_int_equal(top(f), before);
}

/* Another's range may be on record: only its own fence is sure. */
SCRIPT_TEST(nothing_is_reserved_to_a_hold_of_another_record)
{
    long long before;

    lua_lock_acquire(f, "b:1");
    before = top(f);
    script_redis(f, "DEL n");
    script_redis(f, "HSET n a:1 1");
    script_redis(f, "PEXPIRE n 60000");
    assert_like(lua_lock_keep(f, "a:1", 77, 30000, 50), "1 * 0 0");
    assert_int_equal(top(f), before);
}

/* The clock went back: what was promised is not taken back. */
SCRIPT_TEST(a_range_is_never_made_smaller)
{
    long long before;

    lua_lock_shift(f, 3600000);
    lua_lock_acquire(f, "a:1");
    before = top(f);
    lua_lock_shift(f, 0);
    assert_like(lua_lock_keep(f, "a:1", 0, 30000, 50), "1 * 0 63");
    assert_int_equal(top(f), before);
}

SCRIPT_TEST(what_the_server_denies_is_not_reserved)
{
    long long before;

    f->interop = "1";
    lua_lock_acquire(f, "a:1");
    before = top(f);
    script_deny(f, "set");
    assert_like(lua_lock_keep(f, "a:1", 0, 30000, 50), "1 * 1 63");
    script_deny(f, NULL);
    assert_int_equal(top(f), before);
    assert_int_equal(token(f), before);
}

/* What Redisson does not know of it would count again. */
SCRIPT_TEST(nor_is_what_redissons_count_may_not_follow)
{
    long long before;

    f->interop = "1";
    lua_lock_acquire(f, "a:1");
    before = top(f);
    snprintf(f->stamp, sizeof(f->stamp),
             "local R = redis local redis = setmetatable({pcall = function(c, "
             "key, ...) if c == 'SET' and key == '" LUA_LOCK_TOKEN
             "' then return "
             "{err = 'ERR no'} end return R.pcall(c, key, ...) end}, {__index "
             "= R}) ");
    assert_like(lua_lock_keep(f, "a:1", 0, 30000, 50), "1 * 1 63");
    assert_int_equal(top(f), before);
}

/* ---- the last numbers ---- */

SCRIPT_TEST(there_is_no_fence_beyond_redissons_last)
{
    script_redis(f, "SET " LUA_LOCK_TOKEN " 9007199254740992");
    for (int i = 0; i < 3; i++)
        assert_like(lua_lock_acquire(f, "a:1"), "!LKRANGE*");
    script_redis(f, "SET " LUA_LOCK_TOKEN " 9223372036854775807");
    assert_like(lua_lock_acquire(f, "a:1"), "!LKRANGE*");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

SCRIPT_TEST(the_last_fence_is_given_once)
{
    note_fence(f, LAST_BUT_ONE, "0");
    assert_like(lua_lock_acquire(f, "a:1"), "1 " LAST " 30000 0");
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    assert_like(lua_lock_acquire(f, "a:1"), "!LKRANGE*");
    note_fence(f, LAST_BUT_ONE, "1");
    assert_like(lua_lock_acquire(f, "a:1"), "!LKRANGE*");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

/* The hold ends; a waiter is told so when it looks. */
SCRIPT_TEST(a_hand_over_ends_there_as_well)
{
    lua_lock_hear(f, "b", NULL);
    note_fence(f, LAST_BUT_ONE, "0");
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 1");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(script_heard(f), "latchkey:in::b open 0 lock b:1 *");
    assert_like(lua_lock_touch(f, "b:1", NULL), "!LKRANGE*");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

/* A few of them are left, and the clock, which stands still, is 0.04 s before the
   last. */
static void come_near(script_fixture *f, const char *last)
{
    lua_lock_at(f, LAST_MS - 40 - script_now_ms(f));
    note_fence(f, last, "0");
}

SCRIPT_TEST(nothing_is_reserved_beyond_the_last)
{
    come_near(f, "9007199254740980");
    assert_like(lua_lock_acquire(f, "a:1"), "1 9007199254740981 30000 10");
    assert_like(lua_lock_keep(f, "a:1", 0, 30000, 50), "1 * 0 10");
    lua_lock_release(f, "a:1", 0);
    assert_like(lua_lock_acquire(f, "b:1"), "!LKRANGE*");
}

SCRIPT_TEST(nor_for_who_asks_for_more)
{
    come_near(f, "9007199254740000");
    assert_like(lua_lock_acquire(f, "a:1"), "1 9007199254740001 30000 63");
    assert_like(lua_lock_keep(f, "a:1", 0, 30000, 50000), "1 * 0 990");
}

SCRIPT_TEST(a_ticket_is_not_given_twice)
{
    lua_lock_acquire(f, "a:1");
    script_redis(f, "ZADD " LUA_LOCK_QUEUE " 562949953421311 %s",
                 lua_lock_member("b:1", 'l'));
    assert_like(lua_lock_acquire(f, "c:1"), "!LKRANGE*");
    assert_like(lua_lock_acquire(f, "d:1"), "!LKRANGE*");
    assert_like(script_redis(f, "ZCARD " LUA_LOCK_QUEUE), "1");
}

CHECK_GROUP(script_start_server, script_stop_server)
