/* SPDX-License-Identifier: MIT */

/* acquire, close, touch, keep and renew of the read-write lock: who comes in,
   which keys are there, for how long. */

#include <stdio.h>

#include "support/check.h"
#include "support/lua_rwlock.h"

/* ---- keys ---- */

SCRIPT_TEST(a_writer_is_redissons_hash_and_a_record)
{
    assert_like(lua_rwlock_acquire(f, "a:1", 'w'), "1 * 30000");
    assert_like(script_redis(f, "HGETALL n"), "mode write a:1:write 1");
    assert_in_range(script_pttl(f, "n"), 20000, 30000);
    assert_in_range(script_pttl(f, LUA_RWLOCK_RECORD), 3620000, 3630000);
    assert_like(script_redis(f, "DBSIZE"), "2");
}

SCRIPT_TEST(a_reader_is_its_field_its_timeout_and_its_grant)
{
    assert_like(lua_rwlock_acquire(f, "a:1", 'r'), "1 * 30000");
    assert_like(script_redis(f, "HGETALL n"), "mode read a:1 1");
    assert_like(script_redis(f, "GET %s", lua_rwlock_timeout("a:1")), "1");
    assert_in_range(script_pttl(f, lua_rwlock_timeout("a:1")), 20000, 30000);
    assert_like(script_redis(f, "HGET " LUA_RWLOCK_HOLDERS " a:1"),
                "* 0123456789abcdef 0 r * 30000 - p because");
    assert_in_range(script_pttl(f, LUA_RWLOCK_HOLDERS), 3620000, 3630000);
    assert_like(script_redis(f, "DBSIZE"), "4");
}

SCRIPT_TEST(after_all_have_left_one_key_is_left)
{
    int64_t fence;

    lua_rwlock_acquire(f, "a:1", 'r');
    fence = lua_rwlock_fence(f);
    lua_rwlock_acquire(f, "b:1", 'r');
    assert_like(lua_rwlock_release(f, "a:1", fence), "1 2 0 0");
    assert_like(script_redis(f, "HGETALL n"), "mode read b:1 1");
    assert_like(lua_rwlock_release(f, "b:1", fence), "1 2 0 0");
    assert_like(script_redis(f, "KEYS *"), LUA_RWLOCK_RECORD);
}

/* ---- coming in ---- */

SCRIPT_TEST(readers_share_a_fence_and_a_writer_has_a_higher_one)
{
    int64_t read, wrote;

    lua_rwlock_acquire(f, "a:1", 'r');
    read = lua_rwlock_fence(f);
    lua_rwlock_acquire(f, "b:1", 'r');
    assert_int_equal(lua_rwlock_fence(f), read);
    lua_rwlock_release(f, "a:1", read);
    lua_rwlock_release(f, "b:1", read);
    lua_rwlock_acquire(f, "c:1", 'w');
    wrote = lua_rwlock_fence(f);
    assert_true(wrote > read);
    lua_rwlock_release(f, "c:1", wrote);
    lua_rwlock_acquire(f, "d:1", 'r');
    assert_int_equal(lua_rwlock_fence(f), wrote);
}

SCRIPT_TEST(sent_again_an_acquire_changes_nothing)
{
    lua_rwlock_acquire(f, "a:1", 'w');
    script_redis(f, "PEXPIRE n 5000");
    assert_like(lua_rwlock_acquire(f, "a:1", 'w'), "1 * ????");
    assert_like(script_redis(f, "HGETALL n"), "mode write a:1:write 1");
    assert_like(lua_rwlock_acquire(f, "b:1", 'w'), "2 * * 0");
    assert_like(lua_rwlock_acquire(f, "b:1", 'w'), "2 * * 0");
    assert_like(script_redis(f, "ZCARD " LUA_RWLOCK_QUEUE), "1");
}

SCRIPT_TEST(a_writer_keeps_others_out_and_one_that_waits_new_readers)
{
    const lua_rwlock_ask tries = {.mode = 'r', .how = 't'};

    lua_rwlock_hear(f, "b", NULL);
    lua_rwlock_acquire(f, "a:1", 'r');
    assert_like(lua_rwlock_acquire(f, "b:1", 'w'), "2 * * 0");
    assert_like(lua_rwlock_acquire_with(f, "c:1", tries), "3 *");
    lua_rwlock_leave(f, "b:1", 'w', false);
    assert_like(lua_rwlock_acquire_with(f, "c:1", tries), "1 * 30000");
}

SCRIPT_TEST(a_writer_that_is_dead_keeps_nobody_out)
{
    lua_rwlock_acquire(f, "a:1", 'r');
    lua_rwlock_acquire(f, "b:1", 'w'); /* nobody listens for it */
    assert_like(lua_rwlock_acquire(f, "c:1", 'r'), "1 * 30000");
}

SCRIPT_TEST(a_dead_reader_keeps_no_writer_out)
{
    lua_rwlock_acquire(f, "a:1", 'r');
    script_redis(f, "DEL %s", lua_rwlock_timeout("a:1"));
    assert_like(lua_rwlock_acquire(f, "b:1", 'w'), "1 * 30000");
    assert_like(script_redis(f, "HGETALL n"), "mode write b:1:write 1");
    assert_like(script_redis(f, "EXISTS " LUA_RWLOCK_HOLDERS), "0");
}

SCRIPT_TEST(a_reader_of_redissons_keeps_a_writer_out)
{
    script_redis(f, "HSET n mode read java:7 2");
    script_redis(f, "PEXPIRE n 30000");
    script_redis(f, "SET {n}:java:7:rwlock_timeout:2 1");
    assert_like(lua_rwlock_acquire(f, "b:1", 'w'), "2 * * 1");
    assert_like(lua_rwlock_acquire(f, "c:1", 'r'), "1 * 30000");
}

SCRIPT_TEST(a_name_that_is_a_lock_is_refused)
{
    script_redis(f, "HSET n java:7 1");
    assert_like(lua_rwlock_acquire(f, "a:1", 'r'), "!LKTYPE *");
}

/* ---- handing on ---- */

SCRIPT_TEST(a_writer_hands_on_to_all_readers)
{
    int64_t fence;

    lua_rwlock_hear(f, "b", "c", NULL);
    lua_rwlock_acquire(f, "a:1", 'w');
    fence = lua_rwlock_fence(f);
    lua_rwlock_acquire(f, "b:1", 'r');
    lua_rwlock_acquire(f, "c:1", 'r');
    assert_like(lua_rwlock_release(f, "a:1", fence), "1 2 0 0");
    assert_like(script_redis(f, "HGET n mode"), "read");
    assert_like(script_redis(f, "HLEN n"), "3");
    assert_in_range(script_pttl(f, lua_rwlock_timeout("b:1")), 1000, 3000);
    assert_in_range(script_pttl(f, lua_rwlock_timeout("c:1")), 1000, 3000);
    assert_in_range(script_pttl(f, "n"), 1000, 3000);
    assert_like(script_redis(f, "EXISTS " LUA_RWLOCK_QUEUE), "0");
    assert_like(script_heard(f),
                "latchkey:in::b grant 0 rwlock b:1 0123456789abcdef * * 0 3000 "
                "n\nlatchkey:in::c grant 0 rwlock c:1 0123456789abcdef * * 0 "
                "3000 n\n");
}

SCRIPT_TEST(the_last_reader_hands_on_to_a_writer)
{
    int64_t fence;

    lua_rwlock_hear(f, "c", NULL);
    lua_rwlock_acquire(f, "a:1", 'r');
    fence = lua_rwlock_fence(f);
    lua_rwlock_acquire(f, "b:1", 'r');
    lua_rwlock_acquire(f, "c:1", 'w');
    lua_rwlock_release(f, "a:1", fence);
    assert_like(script_heard(f), "");
    assert_like(lua_rwlock_release(f, "b:1", fence), "1 2 0 0");
    assert_like(script_redis(f, "HGETALL n"), "mode write c:1:write 1");
    assert_like(script_redis(f, "EXISTS %s", lua_rwlock_timeout("b:1")), "0");
    assert_like(script_redis(f, "EXISTS " LUA_RWLOCK_HOLDERS), "0");
    assert_like(script_heard(f), "*grant 0 rwlock c:1 *");
    lua_rwlock_keep(f, "c:1", 0, 30000);
    assert_like(lua_rwlock_touch(f, "c:1", 'w'), "2 * 0 0 0 (0) (1 * * 0)");
}

/* Those who came while the first ones read come in after the writer. */
SCRIPT_TEST(phases_take_turns)
{
    int64_t fence;

    lua_rwlock_hear(f, "b", "c", "d", NULL);
    lua_rwlock_acquire(f, "a:1", 'w');
    fence = lua_rwlock_fence(f);
    lua_rwlock_acquire(f, "b:1", 'r');
    lua_rwlock_acquire(f, "c:1", 'w');
    lua_rwlock_release(f, "a:1", fence);
    assert_like(script_redis(f, "HGETALL n"), "mode read b:1 1");
    assert_like(lua_rwlock_acquire(f, "d:1", 'r'), "2 * * 0");
    lua_rwlock_release(f, "b:1", fence);
    assert_like(script_redis(f, "HGETALL n"), "mode write c:1:write 1");
}

/* Else every client of a name for which many wait would ask on and on. */
SCRIPT_TEST(many_who_wait_are_no_reason_to_go_on)
{
    char claim[16];

    lua_rwlock_hear(f, "b", NULL);
    lua_rwlock_acquire(f, "a:1", 'r');
    for (int i = 0; i < 20; i++) {
        snprintf(claim, sizeof(claim), "b:%d", i);
        lua_rwlock_acquire(f, claim, 'w');
    }
    assert_like(lua_rwlock_touch(f, "b:0", 'w'), "2 * 0 0 0 (*) ()");
}

SCRIPT_TEST(a_touch_gives_what_is_free)
{
    lua_rwlock_hear(f, "b", NULL);
    lua_rwlock_acquire(f, "a:1", 'w');
    lua_rwlock_acquire(f, "b:1", 'r');
    script_redis(f, "DEL n");
    assert_like(lua_rwlock_touch(f, "b:1", 'r'), "2 * 0 0 0 (0) (1 * * 0)");
    assert_like(script_redis(f, "HGETALL n"), "mode read b:1 1");
}

/* ---- upgrades, reads beside the own write ---- */

SCRIPT_TEST(an_upgrade_waits_for_other_readers_only)
{
    int64_t fence;

    lua_rwlock_hear(f, "a", NULL);
    lua_rwlock_acquire(f, "a:1", 'u');
    fence = lua_rwlock_fence(f);
    lua_rwlock_acquire(f, "b:1", 'r');
    assert_like(lua_rwlock_acquire_with(f, "a:2",
                                        (lua_rwlock_ask){.mode = 'x',
                                                         .base = "a:1"}),
                "2 * * 0");
    assert_like(lua_rwlock_release(f, "b:1", fence), "1 2 0 0");
    assert_like(script_redis(f, "HGET n mode"), "write");
    assert_like(script_redis(f, "HEXISTS n a:1"), "1");
    assert_like(script_redis(f, "HEXISTS n a:2:write"), "1");
    assert_in_range(script_pttl(f, lua_rwlock_timeout("a:2")), 1000, 3000);
}

SCRIPT_TEST(an_upgrade_without_its_base_is_lost)
{
    lua_rwlock_acquire(f, "a:1", 'u');
    script_redis(f, "DEL %s", lua_rwlock_timeout("a:1"));
    assert_like(lua_rwlock_acquire_with(f, "a:2",
                                        (lua_rwlock_ask){.mode = 'x',
                                                         .base = "a:1"}),
                "4");
}

/* Else the read would make the write last as long as it does. */
SCRIPT_TEST(a_read_beside_the_own_write_has_a_lease_of_its_own)
{
    const lua_rwlock_ask beside = {.mode = 'r',
                                   .lease = 90000,
                                   .writes = "a:1"};
    int64_t fence;

    lua_rwlock_acquire(f, "a:1", 'w');
    fence = lua_rwlock_fence(f);
    assert_like(lua_rwlock_keep(f, "a:1", fence, 1000), "1 ????? 0 0");
    assert_like(lua_rwlock_acquire_with(f, "a:2", beside), "1 * 90000");
    assert_in_range(script_pttl(f, "n"), 60000, 90000);
    assert_in_range(script_pttl(f, lua_rwlock_timeout("a:1")), 20000, 30000);
    assert_like(lua_rwlock_keep(f, "a:1", fence, 1000), "1 ????? 0 1");
    assert_like(lua_rwlock_release(f, "a:1", fence), "1 2 0 0");
    assert_like(script_redis(f, "HGETALL n"), "mode read a:2 1");
}

/* ---- ending, keeping ---- */

SCRIPT_TEST(on_a_mismatch_nothing_changes)
{
    int64_t fence;

    lua_rwlock_acquire(f, "a:1", 'w');
    fence = lua_rwlock_fence(f);
    assert_like(lua_rwlock_release(f, "a:1", fence + 1), "2 3");
    assert_like(lua_rwlock_release(f, "b:1", fence), "2 2");
    assert_like(script_redis(f, "HGETALL n"), "mode write a:1:write 1");
    lua_rwlock_release(f, "a:1", fence);
    assert_like(lua_rwlock_release(f, "a:1", fence), "2 0");
}

SCRIPT_TEST(alone_it_ends_the_hold_and_tells_redisson)
{
    lua_rwlock_acquire(f, "a:1", 'w');
    script_listen(f, LUA_RWLOCK_CHANNEL);
    assert_like(lua_rwlock_release_alone(f, "a:1"), "1 2 0 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(script_heard(f), LUA_RWLOCK_CHANNEL " 1\n");
    assert_like(lua_rwlock_release_alone(f, "a:1"), "2 0");
}

SCRIPT_TEST(a_claim_that_was_given_up_is_refused)
{
    assert_like(lua_rwlock_leave(f, "a:1", 'r', true), "1 0 0 0");
    assert_like(lua_rwlock_acquire(f, "a:1", 'r'), "!LKVOID *");
}

SCRIPT_TEST(a_keep_lengthens_hash_and_timeout)
{
    int64_t fence;

    lua_rwlock_acquire(f, "a:1", 'r');
    fence = lua_rwlock_fence(f);
    assert_like(lua_rwlock_keep(f, "a:1", fence, 60000), "1 60000 0 1");
    assert_in_range(script_pttl(f, "n"), 50000, 60000);
    assert_in_range(script_pttl(f, lua_rwlock_timeout("a:1")), 50000, 60000);
    assert_like(lua_rwlock_keep(f, "a:1", fence, 1000), "1 ????? 0 1");
    lua_rwlock_acquire(f, "b:1", 'w');
    assert_like(lua_rwlock_keep(f, "a:1", fence, 1000), "1 ????? 1 1");
    assert_like(lua_rwlock_keep(f, "a:1", fence + 1, 1000), "2 3");
    script_redis(f, "DEL %s", lua_rwlock_timeout("a:1"));
    assert_like(lua_rwlock_keep(f, "a:1", fence, 1000), "2 0");
}

SCRIPT_TEST(a_renewal_has_one_key)
{
    lua_rwlock_acquire(f, "a:1", 'r');
    assert_like(lua_rwlock_renew(f, "n", "a:1", 60000), "1 ()");
    assert_in_range(script_pttl(f, "n"), 50000, 60000);
    assert_in_range(script_pttl(f, lua_rwlock_timeout("a:1")), 20000, 30000);
    assert_like(lua_rwlock_renew(f, lua_rwlock_timeout("a:1"), "-", 60000),
                "1 ()");
    assert_in_range(script_pttl(f, lua_rwlock_timeout("a:1")), 50000, 60000);
    assert_like(lua_rwlock_renew(f, lua_rwlock_timeout("b:1"), "-", 60000),
                "1 (1 0)");
    assert_like(lua_rwlock_renew(f, "n", "b:1", 60000), "1 (1 0)");
}

SCRIPT_TEST(a_full_server_takes_nothing_in_and_lets_go)
{
    int64_t fence;

    lua_rwlock_acquire(f, "a:1", 'w');
    fence = lua_rwlock_fence(f);
    script_fill_memory(f, true);
    assert_like(lua_rwlock_acquire(f, "b:1", 'r'), "!OOM*");
    assert_like(lua_rwlock_keep(f, "a:1", fence, 60000), "1 60000 0 0");
    assert_like(lua_rwlock_release(f, "a:1", fence), "1 2 0 0");
    assert_like(lua_rwlock_acquire(f, "b:1", 'r'), "!OOM*");
    assert_like(script_redis(f, "KEYS *"), LUA_RWLOCK_RECORD);
    script_fill_memory(f, false);
}

/* ---- changing ---- */

SCRIPT_TEST(a_downgrade_lets_readers_in_and_no_writer_between)
{
    int64_t fence;

    lua_rwlock_hear(f, "b", "c", NULL);
    lua_rwlock_acquire(f, "a:1", 'w');
    fence = lua_rwlock_fence(f);
    lua_rwlock_acquire(f, "b:1", 'w');
    lua_rwlock_acquire(f, "c:1", 'r');
    assert_like(lua_rwlock_downgrade(f, "a:1", fence + 1, 1000), "2 3");
    assert_like(lua_rwlock_downgrade(f, "a:1", fence, 1000), "1 ????? 0 0");
    assert_like(lua_rwlock_downgrade(f, "a:1", fence, 1000), "1 ????? 0 0");
    assert_like(script_redis(f, "HGET n mode"), "read");
    assert_like(script_redis(f, "HMGET n a:1 a:1:write c:1"), "1 nil 1");
    assert_in_range(script_pttl(f, lua_rwlock_timeout("a:1")), 20000, 30000);
    assert_in_range(script_pttl(f, lua_rwlock_timeout("c:1")), 1000, 3000);
    assert_like(script_heard(f), "*grant 0 rwlock c:1 *");
    assert_like(lua_rwlock_keep(f, "a:1", fence, 60000), "1 60000 1 1");
}

SCRIPT_TEST(the_state_counts_no_dead_reader)
{
    int64_t fence;

    assert_like(lua_rwlock_state(f), "1 0");
    lua_rwlock_acquire(f, "a:1", 'w');
    fence = lua_rwlock_fence(f);
    assert_like(lua_rwlock_state(f), "1 2");
    lua_rwlock_release(f, "a:1", fence);
    lua_rwlock_acquire(f, "b:1", 'r');
    assert_like(lua_rwlock_state(f), "1 1");
    script_redis(f, "DEL %s", lua_rwlock_timeout("b:1"));
    assert_like(lua_rwlock_state(f), "1 0");
}

SCRIPT_TEST(what_is_revoked_is_told_and_not_kept)
{
    int64_t fence;

    lua_rwlock_hear(f, "a", NULL);
    assert_like(lua_rwlock_revoke(f, "a:1"), "2");
    lua_rwlock_acquire(f, "a:1", 'r');
    fence = lua_rwlock_fence(f);
    assert_like(lua_rwlock_revoke(f, "a:1"), "1 ????? 1");
    assert_like(script_heard(f), "latchkey:in::a revoked 0 rwlock a:1 "
                                 "0123456789abcdef * n\n");
    assert_like(lua_rwlock_keep(f, "a:1", fence, 60000), "2 4");
    lua_rwlock_release(f, "a:1", fence);
    lua_rwlock_acquire(f, "a:2", 'w');
    fence = lua_rwlock_fence(f);
    assert_like(lua_rwlock_revoke(f, "a:2"), "1 ????? 1");
    assert_like(lua_rwlock_keep(f, "a:2", fence, 60000), "2 4");
    assert_like(script_redis(f, "HGETALL n"), "mode write a:2:write 1");
}

CHECK_GROUP(script_start_server, script_stop_server)
