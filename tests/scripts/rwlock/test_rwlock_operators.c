/* SPDX-License-Identifier: MIT */

/* see, force, import and forget of the read-write lock. */

#include <string.h>

#include "support/check.h"
#include "support/rw_script.h"

/* ---- see ---- */

SCRIPT_TEST(it_tells_the_writer_and_those_who_wait_by_ticket)
{
    lua_rwlock_acquire(f, "a:1", 'w');
    lua_rwlock_acquire(f, "b:1", 'r');
    lua_rwlock_acquire(f, "c:1", 'w');
    lua_rwlock_acquire(f, "d:1", 'u');
    assert_like(lua_rwlock_see(f), "1 3 (a:1 1 * * * because w) "
                                   "(b:1 1 * * because r c:1 1 * * because w "
                                   "d:1 1 * * because u)");
    rw_age(f, "c:1", 14000);
    assert_like(lua_rwlock_see(f), "1 2 (*) (b:1 1 * * because r d:1 *)");
}

SCRIPT_TEST(it_tells_readers_that_live_and_the_writer_first)
{
    const lua_rwlock_ask beside = {.mode = 'r', .writes = "z:1"};

    lua_rwlock_acquire(f, "a:1", 'u');
    lua_rwlock_acquire(f, "b:1", 'r');
    script_redis(f, "DEL %s", lua_rwlock_timeout("b:1"));
    assert_like(lua_rwlock_see(f), "1 0 (a:1 1 * * * because u) ()");
    lua_rwlock_release(f, "a:1", lua_rwlock_fence(f));
    lua_rwlock_force(f, "");
    lua_rwlock_acquire(f, "z:1", 'w');
    lua_rwlock_acquire_with(f, "a:2", beside);
    assert_like(lua_rwlock_see(f), "1 0 (z:1 1 * * * because w "
                                   "a:2 1 * * * because r) ()");
}

SCRIPT_TEST(an_upgrade_is_seen_as_a_write_and_a_parked_one_too)
{
    lua_rwlock_acquire(f, "a:1", 'u');
    lua_rwlock_acquire(f, "b:1", 'r');
    lua_rwlock_acquire_with(f, "a:2",
                            (lua_rwlock_ask){.mode = 'x', .base = "a:1"});
    assert_like(lua_rwlock_see(f), "1 1 (*) (a:2 1 * * because w)");
    lua_rwlock_release(f, "b:1", 0); /* of another fence: nothing changes */
    lua_rwlock_touch(f, NULL, 'r');  /* nobody listens for it */
    assert_like(script_redis(f, "ZCOUNT " LUA_RWLOCK_QUEUE
                                " 2251799813685248 2533274790395903"),
                "1");
    assert_like(lua_rwlock_see(f), "1 1 (*) (a:2 1 * * because w)");
}

SCRIPT_TEST(a_stranger_has_no_fence_and_no_nonce_is_told)
{
    script_redis(f, "HSET n mode read java:7 2");
    script_redis(f, "PEXPIRE n 30000");
    script_redis(f, "SET {n}:java:7:rwlock_timeout:2 1 PX 20000");
    assert_like(lua_rwlock_see(f), "1 0 (java:7 2 0 0 * \"\" r) ()");
    lua_rwlock_acquire(f, "a:1", 'r');
    lua_rwlock_acquire(f, "b:1", 'w');
    assert_null(strstr(lua_rwlock_see(f), "0123456789abcdef"));
}

SCRIPT_TEST(a_free_name_has_nobody)
{
    assert_like(lua_rwlock_see(f), "1 0 () ()");
    assert_like(script_redis(f, "DBSIZE"), "0");
}

/* ---- force ---- */

SCRIPT_TEST(all_holds_end_and_their_clients_are_told)
{
    lua_rwlock_acquire(f, "a:1", 'r');
    lua_rwlock_acquire(f, "b:1", 'u');
    lua_rwlock_hear(f, "a", "b", NULL);
    script_listen(f, LUA_RWLOCK_CHANNEL);
    assert_like(lua_rwlock_force(f, ""), "1 2 0 0");
    assert_like(script_redis(f, "KEYS *"), LUA_RWLOCK_RECORD);
    assert_like(script_heard(f), LUA_RWLOCK_CHANNEL
                " 0\n*"
                "latchkey:in::a revoked 0 rwlock a:1 0123456789abcdef * n\n*"
                "latchkey:in::b revoked 0 rwlock b:1 0123456789abcdef * n\n");
    assert_like(lua_rwlock_force(f, ""), "2 0");
}

SCRIPT_TEST(a_writer_ends_with_the_reads_beside_it)
{
    const lua_rwlock_ask beside = {.mode = 'r', .writes = "a:1"};

    lua_rwlock_acquire(f, "a:1", 'w');
    lua_rwlock_acquire_with(f, "a:2", beside);
    script_listen(f, LUA_RWLOCK_CHANNEL);
    assert_like(lua_rwlock_force(f, "b:1"), "2 0");
    assert_like(lua_rwlock_force(f, "a:1"), "1 2 0 0");
    assert_like(script_redis(f, "KEYS *"), LUA_RWLOCK_RECORD);
    assert_like(script_heard(f), LUA_RWLOCK_CHANNEL " 1\n");
}

SCRIPT_TEST(a_read_ends_and_the_write_beside_it_goes_on)
{
    const lua_rwlock_ask beside = {.mode = 'r', .writes = "a:1"};

    lua_rwlock_acquire(f, "a:1", 'w');
    lua_rwlock_acquire_with(f, "a:2", beside);
    assert_like(lua_rwlock_force(f, "a:2"), "1 2 0 0");
    assert_like(script_redis(f, "HGETALL n"), "mode write a:1:write 1");
    assert_like(lua_rwlock_acquire(f, "b:1", 'w'), "2 *");
}

SCRIPT_TEST(of_several_readers_one_ends)
{
    lua_rwlock_acquire(f, "a:1", 'r');
    lua_rwlock_acquire(f, "b:1", 'r');
    script_listen(f, LUA_RWLOCK_CHANNEL);
    assert_like(lua_rwlock_force(f, "a:1"), "1 2 0 0");
    assert_like(script_redis(f, "HGETALL n"), "mode read b:1 1");
    assert_like(script_redis(f, "HKEYS " LUA_RWLOCK_HOLDERS), "b:1");
    assert_like(script_redis(f, "EXISTS %s", lua_rwlock_timeout("a:1")), "0");
    assert_like(script_heard(f), "");
}

/* A dead reader's field goes as well, but nobody held. */
SCRIPT_TEST(a_dead_reader_is_none_to_be_ended)
{
    lua_rwlock_acquire(f, "a:1", 'r');
    script_redis(f, "DEL %s", lua_rwlock_timeout("a:1"));
    assert_like(lua_rwlock_force(f, ""), "2 0");
    assert_like(lua_rwlock_force(f, "a:1"), "2 0");
    lua_rwlock_acquire(f, "b:1", 'r');
    assert_like(lua_rwlock_force(f, "b:1"), "1 2 0 0");
    assert_like(script_redis(f, "EXISTS n " LUA_RWLOCK_HOLDERS), "0");
}

SCRIPT_TEST(those_who_wait_come_in_with_the_touch_behind_it)
{
    lua_rwlock_hear(f, "b", NULL);
    lua_rwlock_acquire(f, "a:1", 'w');
    lua_rwlock_acquire(f, "b:1", 'w');
    assert_like(lua_rwlock_force(f, "a:1"), "1 2 1 0");
    assert_like(lua_rwlock_touch(f, NULL, 'r'), "2 ???? 0 0 0 () ()");
    assert_like(script_redis(f, "HGETALL n"), "mode write b:1:write 1");
    assert_like(script_heard(f), "*grant 0 rwlock b:1 *");
}

SCRIPT_TEST(a_full_server_ends_them_too)
{
    lua_rwlock_acquire(f, "a:1", 'r');
    lua_rwlock_acquire(f, "b:1", 'r');
    script_fill_memory(f, true);
    assert_like(lua_rwlock_force(f, "a:1"), "1 2 0 0");
    assert_like(lua_rwlock_force(f, ""), "1 2 0 0");
    script_fill_memory(f, false);
    assert_like(script_redis(f, "EXISTS n"), "0");
}

/* ---- import ---- */

SCRIPT_TEST(a_writer_becomes_the_new_claims)
{
    int64_t fence, next;

    lua_rwlock_acquire(f, "a:1", 'w');
    fence = lua_rwlock_fence(f);
    script_redis(f, "PEXPIRE n 5000");
    assert_like(lua_rwlock_import(f, "a:1", fence + 1, "b:1"), "2 3");
    assert_like(lua_rwlock_import(f, "c:1", fence, "b:1"), "2 2");
    assert_like(lua_rwlock_import(f, "a:1", fence, "b:1"), "1 * 30000 w");
    next = lua_rwlock_fence(f);
    assert_true(next > fence);
    assert_like(script_redis(f, "HGETALL n"), "mode write b:1:write 1");
    assert_in_range(script_pttl(f, "n"), 20000, 30000);
    assert_like(lua_rwlock_import(f, "a:1", fence, "b:1"), "1 * ????? w");
    assert_int_equal(lua_rwlock_fence(f), next);
    assert_like(lua_rwlock_import(f, "a:1", fence, "c:1"), "2 2");
    assert_like(lua_rwlock_keep(f, "a:1", fence, 30000), "2 2");
    assert_like(lua_rwlock_keep(f, "b:1", next, 60000), "1 60000 0 0");
    assert_like(lua_rwlock_release(f, "b:1", next), "1 2 0 0");
    assert_like(script_redis(f, "KEYS *"), LUA_RWLOCK_RECORD);
}

SCRIPT_TEST(a_reader_becomes_the_new_claims_and_others_stay)
{
    int64_t fence, next;

    lua_rwlock_acquire(f, "a:1", 'u');
    fence = lua_rwlock_fence(f);
    lua_rwlock_acquire(f, "b:1", 'r');
    assert_like(lua_rwlock_import(f, "a:1", fence, "c:1"), "1 * 30000 u");
    next = lua_rwlock_fence(f);
    assert_true(next > fence);
    assert_like(script_redis(f, "HMGET n mode a:1 b:1 c:1"), "read nil 1 1");
    assert_like(script_redis(f, "EXISTS %s", lua_rwlock_timeout("a:1")), "0");
    assert_in_range(script_pttl(f, lua_rwlock_timeout("c:1")), 20000, 30000);
    assert_like(script_redis(f, "HEXISTS " LUA_RWLOCK_HOLDERS " a:1"), "0");
    /* It may write later, as the old one might. */
    assert_like(script_redis(f, "HGET " LUA_RWLOCK_HOLDERS " c:1"),
                "* 0123456789abcdef 0 u * 30000 - p because");
    lua_rwlock_release(f, "b:1", fence);
    assert_like(lua_rwlock_acquire_with(f, "c:2",
                                        (lua_rwlock_ask){.mode = 'x',
                                                         .base = "c:1"}),
                "1 * 30000");
    assert_true(lua_rwlock_fence(f) > next);
}

/* Whatever the exporter took it for. */
SCRIPT_TEST(an_import_says_what_the_hold_is)
{
    int64_t fence;

    lua_rwlock_acquire(f, "a:1", 'u');
    lua_rwlock_acquire_with(f, "a:2",
                            (lua_rwlock_ask){.mode = 'x', .base = "a:1"});
    assert_like(lua_rwlock_import(f, "a:2", lua_rwlock_fence(f), "b:2"),
                "1 * 30000 w");
    fence = lua_rwlock_fence(f);
    lua_rwlock_downgrade(f, "b:2", fence, 30000);
    assert_like(lua_rwlock_import(f, "b:2", fence, "c:2"), "1 * 30000 r");
    assert_like(lua_rwlock_import(f, "b:2", fence, "c:2"), "1 * ????? r");
    assert_like(lua_rwlock_downgrade(f, "b:2", fence, 30000), "2 0");
    assert_like(script_redis(f, "HMGET n mode a:1 c:2"), "read 1 1");
}

/* The writer beside keeps its fence, and the next one has a higher one. */
SCRIPT_TEST(a_read_beside_a_write_takes_a_fence_above_it)
{
    const lua_rwlock_ask beside = {.mode = 'r',
                                   .lease = 90000,
                                   .writes = "a:1"};
    int64_t wrote, read, next;

    lua_rwlock_acquire(f, "a:1", 'w');
    wrote = lua_rwlock_fence(f);
    lua_rwlock_acquire_with(f, "a:2", beside);
    read = lua_rwlock_fence(f);
    assert_like(lua_rwlock_import(f, "a:2", read, "b:2"), "1 * ????? r");
    next = lua_rwlock_fence(f);
    assert_true(next > wrote);
    assert_like(lua_rwlock_keep(f, "a:1", wrote, 1000), "1 * 0 1");
    assert_like(lua_rwlock_import(f, "a:1", wrote, "b:1"), "1 * ????? w");
    assert_true(lua_rwlock_fence(f) > next);
    assert_in_range(script_pttl(f, lua_rwlock_timeout("b:1")), 20000, 30000);
    assert_like(script_redis(f, "EXISTS %s", lua_rwlock_timeout("a:1")), "0");
    assert_like(lua_rwlock_release(f, "b:1", lua_rwlock_fence(f)), "1 2 0 0");
    assert_like(script_redis(f, "HGETALL n"), "mode read b:2 1");
}

SCRIPT_TEST(what_was_revoked_or_lost_its_record_is_nobodys)
{
    int64_t fence;

    lua_rwlock_acquire(f, "a:1", 'r');
    fence = lua_rwlock_fence(f);
    lua_rwlock_revoke(f, "a:1");
    assert_like(lua_rwlock_import(f, "a:1", fence, "b:1"), "2 4");
    script_redis(f, "DEL " LUA_RWLOCK_HOLDERS);
    assert_like(lua_rwlock_import(f, "a:1", fence, "b:1"), "2 0");
    assert_like(script_redis(f, "HGETALL n"), "mode read a:1 1");
}

/* A full server lets it through; one that denies a later write takes it back. */
SCRIPT_TEST(denied_it_leaves_the_old_claim)
{
    int64_t fence;

    lua_rwlock_acquire(f, "a:1", 'r');
    fence = lua_rwlock_fence(f);
    script_deny(f, "set");
    assert_like(lua_rwlock_import(f, "a:1", fence, "b:1"), "!DENIED *");
    script_deny(f, NULL);
    assert_like(script_redis(f, "HGETALL n"), "mode read a:1 1");
    assert_like(script_redis(f, "HKEYS " LUA_RWLOCK_HOLDERS), "a:1");
    script_fill_memory(f, true);
    assert_like(lua_rwlock_import(f, "a:1", fence, "b:1"), "1 * 30000 r");
    script_fill_memory(f, false);
}

/* ---- revoke ---- */

SCRIPT_TEST(the_reads_of_a_writer_are_revoked_with_it)
{
    const lua_rwlock_ask beside = {.mode = 'r', .writes = "a:1"};
    int64_t fence;

    lua_rwlock_acquire(f, "a:1", 'w');
    fence = lua_rwlock_fence(f);
    lua_rwlock_acquire_with(f, "a:2", beside);
    lua_rwlock_hear(f, "a", NULL);
    script_fill_memory(f, true);
    assert_like(lua_rwlock_revoke(f, "a:1"), "1 ????? 1");
    script_fill_memory(f, false);
    assert_like(script_heard(f), "latchkey:in::a revoked 0 rwlock a:1 *"
                                 "latchkey:in::a revoked 0 rwlock a:2 *");
    assert_like(lua_rwlock_keep(f, "a:1", fence, 60000), "2 4");
    assert_like(lua_rwlock_keep(f, "a:2", fence, 60000), "2 4");
    assert_like(lua_rwlock_downgrade(f, "a:1", fence, 60000), "2 4");
    assert_in_range(script_pttl(f, "n"), 20000, 30000);
    assert_like(lua_rwlock_release(f, "a:1", fence), "1 2 0 0");
    assert_like(script_redis(f, "HGETALL n"), "mode read a:2 1");
}

SCRIPT_TEST(of_several_readers_one_is_revoked)
{
    int64_t fence;

    lua_rwlock_acquire(f, "a:1", 'r');
    fence = lua_rwlock_fence(f);
    lua_rwlock_acquire(f, "b:1", 'u');
    lua_rwlock_hear(f, "a", "b", NULL);
    assert_like(lua_rwlock_revoke(f, "b:1"), "1 ????? 1");
    assert_like(script_heard(f), "latchkey:in::b revoked 0 rwlock b:1 *");
    assert_like(lua_rwlock_keep(f, "b:1", fence, 60000), "2 4");
    assert_like(lua_rwlock_keep(f, "a:1", fence, 60000), "1 60000 *");
    assert_in_range(script_pttl(f, lua_rwlock_timeout("b:1")), 20000, 30000);
    script_redis(f, "DEL %s", lua_rwlock_timeout("a:1"));
    assert_like(lua_rwlock_revoke(f, "a:1"), "2");
}

/* As where the answer to its acquire was lost. */
SCRIPT_TEST(one_that_does_not_know_of_a_revoked_hold_is_void)
{
    static const char modes[] = "wru";

    for (int i = 0; i < 3; i++) {
        lua_rwlock_acquire(f, "a:1", modes[i]);
        lua_rwlock_revoke(f, "a:1");
        assert_like(lua_rwlock_acquire(f, "a:1", modes[i]), "!LKVOID *");
        assert_like(lua_rwlock_touch(f, "a:1", modes[i]), "!LKVOID *");
        script_redis(f, "FLUSHALL");
    }
}

SCRIPT_TEST(another_librarys_writer_is_left_alone)
{
    script_redis(f, "HSET n mode write java:7:write 1");
    script_redis(f, "PEXPIRE n 20000");
    assert_like(lua_rwlock_revoke(f, "java:7"), "1 ????? 0");
    assert_like(script_redis(f, "KEYS *"), "n");
}

/* ---- forget ---- */

SCRIPT_TEST(only_a_name_that_nobody_uses_is_forgotten)
{
    int64_t fence;

    assert_like(lua_rwlock_forget(f), "1");
    lua_rwlock_acquire(f, "a:1", 'w');
    fence = lua_rwlock_fence(f);
    assert_like(lua_rwlock_forget(f), "3 a:1 *");
    lua_rwlock_acquire(f, "b:1", 'r');
    script_redis(f, "DEL n");
    assert_like(lua_rwlock_forget(f), "4 1");
    lua_rwlock_leave(f, "b:1", 'r', false);
    assert_like(lua_rwlock_forget(f), "2");
    assert_like(lua_rwlock_forget(f), "1");
    assert_like(script_redis(f, "KEYS *"), LUA_RWLOCK_RECORD);
    lua_rwlock_acquire(f, "c:1", 'w');
    assert_true(lua_rwlock_fence(f) > fence);
}

SCRIPT_TEST(a_claim_that_was_given_up_stays_so)
{
    lua_rwlock_acquire(f, "a:1", 'w');
    lua_rwlock_release(f, "a:1", lua_rwlock_fence(f));
    lua_rwlock_leave(f, "b:1", 'w', true);
    assert_like(lua_rwlock_forget(f), "2");
    assert_like(lua_rwlock_acquire(f, "b:1", 'w'), "!LKVOID *");
}

SCRIPT_TEST(what_is_another_kinds_stays)
{
    script_redis(f, "SET " LUA_RWLOCK_RECORD " %s",
                 "2l 5 0 0 - - - 0 - - - 0 0 - - ");
    assert_like(lua_rwlock_forget(f), "!LKTYPE *");
    script_redis(f, "HSET n java:7 1");
    assert_like(lua_rwlock_forget(f), "!LKTYPE *");
}

CHECK_GROUP(script_start_server, script_stop_server)
