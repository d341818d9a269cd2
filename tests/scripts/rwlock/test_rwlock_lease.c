/* SPDX-License-Identifier: MIT */

/* How long holds of the read-write lock last, and what the dead leave. */

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/rw_script.h"

/* A long lease, and how long records are kept beyond one. */
enum { LONG_MS = 1200000, KEEP_MS = 3600000 };

static long long number(const char *text)
{
    return strtoll(text, NULL, 10);
}

static long long lease_of(script_fixture *f, const char *claim)
{
    return script_number(f, "PTTL %s", lua_rwlock_timeout(claim));
}

/* ---- leases of several ---- */

RW_TEST(a_reader_shortens_no_others_lease)
{
    rw_acquire_for(f, "r1:1", "r", 60000);
    rw_acquire_for(f, "r2:1", "r", 1000);
    assert_in_range(lease_of(f, "r1:1"), 59000, 60000);
    assert_in_range(lease_of(f, "r2:1"), 1, 1000);
    assert_in_range(script_pttl(f, "n"), 59000, 60000);
}

/* As a client renews key by key: another reader that leaves between finds the longer
   one. */
RW_TEST(a_lease_that_is_renewed_before_its_hash_is_not_cut)
{
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "r2:1", "r");
    lua_rwlock_renew(f, lua_rwlock_timeout("r1:1"), "-", 60000);
    rw_release(f, "r2:1", NULL);
    lua_rwlock_renew(f, "n", "r1:1", 60000);
    assert_in_range(script_pttl(f, "n"), 59000, 60000);
}

RW_TEST(a_reader_prolongs_no_others_lease)
{
    rw_acquire_for(f, "r1:1", "r", 1000);
    rw_acquire_for(f, "r2:1", "r", 60000);
    rw_renew(f, "r2:1", 90000);
    assert_in_range(lease_of(f, "r1:1"), 1, 1000);
    assert_in_range(lease_of(f, "r2:1"), 89000, 90000);
}

/* The hash lives as long as the longest lease left, as with Redisson. */
RW_TEST(the_hash_ends_with_the_last_lease_left)
{
    rw_acquire_for(f, "r1:1", "r", 60000);
    rw_acquire_for(f, "r2:1", "r", 10000);
    rw_release(f, "r1:1", NULL);
    assert_in_range(script_pttl(f, "n"), 9000, 10000);
    rw_acquire_for(f, "r3:1", "r", 60000);
    rw_release(f, "r2:1", NULL);
    assert_in_range(script_pttl(f, "n"), 59000, 60000);
}

/* More than so many are not asked: the hash then ends later, never sooner. */
RW_TEST(of_very_many_readers_none_is_cut_short)
{
    char claim[24];

    rw_acquire_for(f, "long:1", "r", 60000);
    for (int i = 0; i < 100; i++) {
        snprintf(claim, sizeof(claim), "r%d:1", i);
        rw_acquire_for(f, claim, "r", 10000);
    }
    rw_release(f, "long:1", NULL);
    assert_in_range(script_pttl(f, "n"), 10001, 60000);
    assert_true(script_number(f, "HLEN n") == 101);
}

/* ---- the dead ---- */

RW_TEST(a_dead_reader_keeps_a_writer_out_only_for_its_lease)
{
    rw_acquire(f, "r1:1", "r");
    assert_like(rw_try(f, "w1:1", "w"), "3 *");
    rw_kill(f, "r1:1");
    assert_like(lua_rwlock_state(f), "1 0");
    assert_like(rw_try(f, "w1:1", "w"), "1 *");
    assert_held(f, "w1:1:write write");
    assert_in_range(script_pttl(f, "n"), 29000, 30000);
}

RW_TEST(a_dead_reader_among_others_is_found_by_the_last)
{
    rw_hear(f, "w1:1", (char *)NULL);
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "r2:1", "r");
    rw_acquire(f, "w1:1", "w");
    rw_kill(f, "r1:1");
    assert_like(rw_release(f, "r2:1", NULL), "1 2 0 0");
    assert_held(f, "w1:1:write write");
    assert_like(script_redis(f, "HLEN %s", LUA_RWLOCK_HOLDERS), "0");
}

RW_TEST(a_dead_reader_is_found_though_nobody_waits)
{
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "r2:1", "r");
    rw_kill(f, "r1:1");
    script_listen(f, f->channel);
    assert_like(rw_release(f, "r2:1", NULL), "1 2 0 0");
    assert_held(f, "");
    assert_string_equal(script_heard(f), "redisson_rwlock:{n} 0\n");
}

RW_TEST(a_waiting_writer_finds_the_dead_by_looking)
{
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w1:1", "w");
    rw_kill(f, "r1:1");
    assert_like(rw_recheck(f, "w1:1"), "2 * (0) (1 * * 0)");
    assert_held(f, "w1:1:write write");
}

/* A reader of them lives: the others' leftovers stay until it is asked for. */
RW_TEST(of_hundreds_of_dead_readers_one_alive_keeps_writers_out)
{
    char claim[24];

    for (int i = 0; i < 600; i++) {
        snprintf(claim, sizeof(claim), "r%d:1", i);
        lua_rwlock_acquire(f, claim, 'r');
        if (i != 555)
            rw_kill(f, claim);
    }
    assert_like(lua_rwlock_state(f), "1 1");
    assert_like(rw_try(f, "w1:1", "w"), "3 *");
    rw_kill(f, "r555:1");
    assert_like(lua_rwlock_state(f), "1 0");
    assert_like(rw_try(f, "w1:1", "w"), "1 *");
    assert_held(f, "w1:1:write write");
}

/* Whose lease ran out holds nothing, though the field is still there. */
RW_TEST(a_reader_without_its_key_does_not_hold)
{
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "r2:1", "r");
    rw_kill(f, "r1:1");
    assert_like(rw_release(f, "r1:1", NULL), "2 0");
    assert_like(rw_confirm(f, "r1:1", NULL, 30000), "2 0");
    assert_like(rw_recheck(f, "r1:1"), "2 * (0) ()");
    assert_like(rw_renew(f, "r1:1", 30000), "1 (2 0)");
    assert_like(rw_acquire(f, "r1:1", "r"), "1 * 30000");
    assert_held(f, "r1:1 r2:1 read");
    assert_in_range(lease_of(f, "r1:1"), 29000, 30000);
}

RW_TEST(the_only_reader_without_its_key_does_not_hold)
{
    rw_acquire(f, "r1:1", "r");
    rw_kill(f, "r1:1");
    assert_like(rw_release(f, "r1:1", NULL), "2 0");
}

/* ---- renewal ---- */

RW_TEST(a_renewal_lengthens_a_read_hold)
{
    rw_acquire_for(f, "r1:1", "r", 5000);
    assert_like(rw_renew(f, "r1:1", 60000), "1 ()");
    assert_in_range(lease_of(f, "r1:1"), 59000, 60000);
    assert_in_range(script_pttl(f, "n"), 59000, 60000);
    assert_like(rw_renew(f, "r1:1", 5000), "1 ()");
    assert_in_range(lease_of(f, "r1:1"), 59000, 60000);
}

RW_TEST(a_renewal_lengthens_a_write_hold)
{
    rw_acquire_for(f, "w1:1", "w", 5000);
    assert_like(rw_renew(f, "w1:1", 60000), "1 ()");
    assert_in_range(script_pttl(f, "n"), 59000, 60000);
    assert_like(rw_renew(f, "w1:1", 5000), "1 ()");
    assert_in_range(script_pttl(f, "n"), 59000, 60000);
}

/*
 * Redisson's watchdog sets the hash's TTL flat to its own. A fixed lease is not
 * renewed, yet it stands for as long as it was promised.
 */
RW_TEST(a_keep_tends_the_hash_for_a_fixed_lease)
{
    rw_acquire_for(f, "r1:1", "r", 600000);
    script_redis(f, "PEXPIRE n 30000");
    assert_like(rw_confirm(f, "r1:1", NULL, 1), "1 * 0 1");
    assert_in_range(lease_of(f, "r1:1"), 590000, 600000);
    assert_in_range(script_pttl(f, "n"), 590000, 600000);
}

RW_TEST(a_renewal_says_which_are_lost)
{
    rw_acquire(f, "w1:1", "w");
    assert_like(rw_renew(f, "w2:1", 30000), "1 (1 2 2 0)");
    rw_release(f, "w1:1", NULL);
    assert_like(rw_renew(f, "w1:1", 30000), "1 (1 0)");
    rw_acquire(f, "r1:1", "r");
    assert_like(rw_renew(f, "r2:1", 30000), "1 (1 0 2 0)");
    script_redis(f, "DEL n");
    script_redis(f, "SET n x");
    assert_like(rw_renew(f, "r1:1", 30000), "1 (1 2)");
}

RW_TEST(one_lost_hold_keeps_no_other_from_being_renewed)
{
    char first[64], second[64];
    const char *args[] = {"60000", "r1:1", "-", "r2:1", "-", NULL};
    const char *keys[] = {"n", first, "n", second};

    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "r2:1", "r");
    snprintf(first, sizeof(first), "%s", lua_rwlock_timeout("r1:1"));
    snprintf(second, sizeof(second), "%s", lua_rwlock_timeout("r2:1"));
    script_redis(f, "DEL %s", first);
    assert_like(script_run_keys(f, &lk__rwlock_renew_script, keys, 4, args),
                "1 (2 0)");
    assert_in_range(lease_of(f, "r2:1"), 59000, 60000);
}

RW_TEST(a_full_server_refuses_no_renewal)
{
    rw_acquire_for(f, "r1:1", "r", 5000);
    script_fill_memory(f, true);
    assert_like(rw_renew(f, "r1:1", 60000), "1 ()");
    assert_like(rw_confirm(f, "r1:1", NULL, 70000), "1 70000 0 1");
    assert_in_range(lease_of(f, "r1:1"), 69000, 70000);
}

/* The records of those who hold on for days must not end before them. */
RW_TEST(the_records_outlive_the_holds)
{
    rw_acquire_for(f, "r1:1", "r", 1000000000);
    assert_true(script_pttl(f, LUA_RWLOCK_HOLDERS) > 1000000000);
    script_redis(f, "PEXPIRE %s 86400000", LUA_RWLOCK_HOLDERS);
    script_redis(f, "PEXPIRE %s 86400000", LUA_RWLOCK_RECORD);
    rw_confirm(f, "r1:1", NULL, 1000000000);
    assert_true(script_pttl(f, LUA_RWLOCK_HOLDERS) > 1000000000);
    assert_true(script_pttl(f, LUA_RWLOCK_RECORD) > 1000000000);
}

/* r1:1 holds for 20 min, and Redisson has cut the hash to 30 s. */
static void a_long_hold_in_a_hash_cut_short(script_fixture *f)
{
    rw_acquire_for(f, "r1:1", "r", LONG_MS);
    script_redis(f, "PEXPIRE n 30000");
}

static void assert_records_last(script_fixture *f)
{
    assert_true(script_pttl(f, LUA_RWLOCK_HOLDERS) > LONG_MS + KEEP_MS - 60000);
    assert_true(script_pttl(f, LUA_RWLOCK_RECORD) > LONG_MS + KEEP_MS - 60000);
}

RW_TEST(a_reader_shortens_no_others_records)
{
    a_long_hold_in_a_hash_cut_short(f);
    rw_acquire(f, "r2:1", "r");
    assert_records_last(f);
}

/* Not by the road of a reader that is one more. */
RW_TEST(an_upgradeable_reader_shortens_no_others_records)
{
    a_long_hold_in_a_hash_cut_short(f);
    assert_like(rw_acquire(f, "u1:1", "u"), "1 *");
    assert_held(f, "r1:1 u1:1 read");
    assert_records_last(f);
}

RW_TEST(an_import_shortens_no_others_records)
{
    a_long_hold_in_a_hash_cut_short(f);
    rw_acquire(f, "r2:1", "r");
    assert_like(lua_rwlock_import(f, "r2:1", number(rw_fence(f, "r2:1")),
                                  "r3:1"),
                "1 *");
    assert_records_last(f);
}

RW_TEST(a_waiter_shortens_no_others_records)
{
    a_long_hold_in_a_hash_cut_short(f);
    rw_set_order("1");
    rw_acquire(f, "w1:1", "w");
    assert_records_last(f);
}

RW_TEST(a_waiter_that_looks_shortens_no_others_records)
{
    a_long_hold_in_a_hash_cut_short(f);
    script_redis(f, "HSET n java:1 1");
    script_redis(f, "SET %s 1 PX 30000", lua_rwlock_timeout("java:1"));
    rw_acquire(f, "w1:1", "w");
    rw_turn(f, "t", 10, -1);
    script_redis(f, "PEXPIRE %s %d", LUA_RWLOCK_RECORD, LONG_MS + KEEP_MS);
    assert_like(rw_recheck(f, "w1:1"), "2 * 1 0 0 (*) ()");
    assert_int_not_equal(rw_turn_length(f), -1);
    assert_records_last(f);
}

RW_TEST(a_writer_that_goes_shortens_no_others_records)
{
    rw_acquire(f, "w1:1", "w");
    rw_acquire_as(f, "r1:1",
                  (lua_rwlock_ask){.mode = 'r',
                                   .how = 't',
                                   .lease = LONG_MS,
                                   .writes = "w1:1"});
    script_redis(f, "PEXPIRE n 30000");
    assert_like(rw_release(f, "w1:1", NULL), "1 2 0 0");
    assert_held(f, "r1:1 read");
    assert_records_last(f);
}

/* ---- confirm ---- */

/* Somebody deleted the grants: nobody can tell whose the reads are. */
RW_TEST(a_reader_without_its_grant_is_lost)
{
    rw_acquire(f, "r1:1", "r");
    script_redis(f, "DEL %s", LUA_RWLOCK_HOLDERS);
    assert_like(lua_rwlock_keep(f, "r1:1", 1, 60000), "2 0");
    assert_like(lua_rwlock_downgrade(f, "r1:1", 1, 60000), "2 0");
    assert_in_range(lease_of(f, "r1:1"), 29000, 30000);
    assert_in_range(script_pttl(f, "n"), 29000, 30000);
}

/* The hash is the truth. */
RW_TEST(a_writer_without_its_record_goes_on)
{
    rw_acquire(f, "w1:1", "w");
    script_redis(f, "DEL %s", LUA_RWLOCK_RECORD);
    assert_like(lua_rwlock_keep(f, "w1:1", 1, 60000), "1 60000 0 0");
}

RW_TEST(a_confirm_gives_the_full_lease)
{
    rw_hear(f, "r1:1", "w2:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "r1:1", "r");
    rw_release(f, "w1:1", NULL);
    assert_like(rw_confirm(f, "r1:1", NULL, 30000), "1 30000 0 1");
    assert_in_range(lease_of(f, "r1:1"), 29000, 30000);
    assert_in_range(script_pttl(f, "n"), 29000, 30000);
    rw_acquire(f, "w2:1", "w");
    rw_release(f, "r1:1", NULL);
    assert_like(rw_confirm(f, "w2:1", NULL, 30000), "1 30000 0 0");
    assert_in_range(script_pttl(f, "n"), 29000, 30000);
    assert_like(rw_confirm(f, "w2:1", "5", 30000), "2 3");
    assert_like(rw_confirm(f, "w3:1", "5", 30000), "2 2");
    assert_like(rw_confirm(f, "r1:1", "5", 30000), "2 2");
}

RW_TEST(a_confirm_tells_a_reader_whether_it_keeps_somebody_out)
{
    rw_hear(f, "u2:1", "w1:1", (char *)NULL);
    rw_acquire(f, "u1:1", "u");
    rw_acquire(f, "u2:1", "u");
    assert_like(rw_confirm(f, "u1:1", NULL, 30000), "1 * 0 1");
    rw_acquire(f, "w1:1", "w");
    assert_like(rw_confirm(f, "u1:1", NULL, 30000), "1 * 1 1");
    rw_leave(f, "w1:1", false);
    script_listen(f, f->channel);
    assert_like(rw_confirm(f, "u1:1", NULL, 30000), "1 * 1 1");
}

RW_TEST(with_readers_first_no_writer_is_a_reason_to_leave)
{
    rw_set_order("1");
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w1:1", "w");
    assert_like(rw_confirm(f, "r1:1", NULL, 30000), "1 * 0 1");
}

/* ---- who asks ---- */

RW_TEST(the_state_is_told)
{
    assert_like(lua_rwlock_state(f), "1 0");
    rw_acquire(f, "r1:1", "r");
    assert_like(lua_rwlock_state(f), "1 1");
    rw_release(f, "r1:1", NULL);
    rw_acquire(f, "w1:1", "w");
    assert_like(lua_rwlock_state(f), "1 2");
    script_redis(f, "DEL n");
    script_redis(f, "SET n x");
    assert_like(lua_rwlock_state(f), "!LKTYPE *");
}

RW_TEST(holders_and_waiters_are_told)
{
    assert_like(lua_rwlock_see(f), "1 0 () ()");
    rw_acquire_as(f, "u1:1",
                  (lua_rwlock_ask){.mode = 'u', .reason = "to read"});
    script_redis(f, "HSET n java:1 2");
    script_redis(f, "SET {n}:java:1:rwlock_timeout:2 1 PX 5000");
    rw_acquire_as(f, "w1:1",
                  (lua_rwlock_ask){.mode = 'w', .reason = "to write"});
    rw_hear(f, "w1:1", (char *)NULL);
    script_at(f, 500); /* readers stand back */
    rw_acquire_as(f, "r1:1", (lua_rwlock_ask){.mode = 'r', .reason = "too"});
    rw_acquire_as(f, "u2:1",
                  (lua_rwlock_ask){.mode = 'x',
                                   .base = "u1:1",
                                   .reason = "now"});
    assert_like(lua_rwlock_see(f),
                "1 3 (u1:1 1 * * * to read u java:1 2 0 0 * \"\" r) "
                "(*w1:1 1 * * to write w*)");
    assert_like(f->answer_text, "*r1:1 1 * * too r*");
    assert_like(f->answer_text, "*u2:1 1 * * now w*");
    script_redis(f, "DEL {n}:java:1:rwlock_timeout:2");
    assert_like(lua_rwlock_see(f), "1 3 (u1:1 1 * * * to read u) (*)");
}

RW_TEST(a_writer_is_told_before_its_owners_reads)
{
    rw_acquire_as(f, "w1:1", (lua_rwlock_ask){.mode = 'w', .reason = "alone"});
    rw_acquire_on(f, "w2:1", "r", "w1:1");
    assert_like(lua_rwlock_see(f),
                "1 0 (w1:1 1 * * * alone w w2:1 1 * * * because r) ()");
    script_expire(f);
    script_redis(f, "HSET n mode write java:1:write 3");
    script_redis(f, "PEXPIRE n 5000");
    assert_like(lua_rwlock_see(f), "1 0 (java:1 3 0 0 * \"\" w) ()");
}

RW_TEST(records_of_the_dead_and_of_the_gone_are_taken_out)
{
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "r2:1", "r");
    rw_acquire(f, "r3:1", "r");
    rw_kill(f, "r1:1");
    rw_release(f, "r2:1", NULL);
    assert_held(f, "r3:1 read");
    assert_like(script_redis(f, "HKEYS %s", LUA_RWLOCK_HOLDERS), "r3:1");
}

CHECK_GROUP(script_start_server, script_stop_server)
