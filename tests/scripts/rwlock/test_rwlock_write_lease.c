/* SPDX-License-Identifier: MIT */

/*
 * How long a write hold of the read-write lock lasts where a read of the same
 * owner keeps the hash for longer, and what is left of it after a downgrade.
 */

#include "support/check.h"
#include "support/rw_script.h"

static long long lease_of(script_fixture *f, const char *claim)
{
    return script_number(f, "PTTL %s", lua_rwlock_timeout(claim));
}

/* For a lease in ms, beside a hold of the same owner; queues if need be. */
static const char *acquire_on(script_fixture *f, const char *claim,
                              const char *mode, int64_t lease, const char *base)
{
    bool writes = mode[0] == 'w';

    return rw_acquire_as(f, claim,
                         (lua_rwlock_ask){.mode = writes ? 'x' : mode[0],
                                          .lease = lease,
                                          .base = writes ? base : NULL,
                                          .writes = writes ? NULL : base});
}

/* ---- beside the owner's read ---- */

RW_TEST(a_write_above_a_read_has_its_own_lease)
{
    rw_acquire(f, "u1:1", "u");
    assert_like(acquire_on(f, "u2:1", "w", 500, "u1:1"), "1 * 500");
    assert_in_range(lease_of(f, "u2:1"), 1, 500);
    assert_in_range(script_pttl(f, "n"), 29000, 30000);
    assert_like(acquire_on(f, "u2:1", "w", 500, "u1:1"), "1 *");
    assert_in_range(script_item(f, 2), 0, 500);
}

RW_TEST(a_read_beside_a_write_does_not_prolong_that)
{
    rw_acquire_for(f, "u1:1", "w", 5000);
    acquire_on(f, "u2:1", "r", 60000, "u1:1");
    assert_in_range(lease_of(f, "u1:1"), 4000, 5000);
    assert_in_range(script_pttl(f, "n"), 59000, 60000);
    acquire_on(f, "u3:1", "r", 90000, "u1:1");
    assert_in_range(lease_of(f, "u1:1"), 4000, 5000);
}

RW_TEST(a_writer_alone_has_no_key_of_its_own)
{
    rw_acquire(f, "w1:1", "w");
    assert_like(script_redis(f, "EXISTS %s", lua_rwlock_timeout("w1:1")), "0");
}

RW_TEST(its_key_goes_with_the_write)
{
    rw_acquire(f, "u1:1", "u");
    acquire_on(f, "u2:1", "w", 30000, "u1:1");
    assert_like(rw_release(f, "u2:1", NULL), "1 2 0 0");
    assert_like(script_redis(f, "EXISTS %s", lua_rwlock_timeout("u2:1")), "0");
    acquire_on(f, "u3:1", "w", 30000, "u1:1");
    rw_release(f, "u1:1", NULL);
    assert_like(rw_release(f, "u3:1", NULL), "1 2 0 0");
    assert_like(script_redis(f, "EXISTS %s", lua_rwlock_timeout("u3:1")), "0");
    assert_held(f, "");
}

RW_TEST(a_renewal_lengthens_the_write_above_a_read)
{
    rw_acquire_for(f, "u1:1", "u", 60000);
    acquire_on(f, "u2:1", "w", 5000, "u1:1");
    assert_like(rw_confirm(f, "u2:1", NULL, 20000), "1 * 0 1");
    assert_in_range(lease_of(f, "u2:1"), 19000, 20000);
    assert_like(rw_confirm(f, "u2:1", NULL, 90000), "1 * 0 1");
    assert_in_range(lease_of(f, "u2:1"), 89000, 90000);
    assert_in_range(script_pttl(f, "n"), 89000, 90000);
}

RW_TEST(the_end_of_the_read_leaves_the_write_its_lease)
{
    rw_acquire_for(f, "u1:1", "u", 60000);
    acquire_on(f, "u2:1", "w", 5000, "u1:1");
    rw_release(f, "u1:1", NULL);
    assert_held(f, "u2:1:write write");
    assert_in_range(script_pttl(f, "n"), 4000, 5000);
}

/* ---- its end ---- */

/* u2:1, whose lease has run out, above u1:1. */
static void lapse(script_fixture *f)
{
    rw_acquire(f, "u1:1", "u");
    acquire_on(f, "u2:1", "w", 30000, "u1:1");
    rw_kill(f, "u2:1");
}

RW_TEST(a_write_that_ran_out_above_a_read_lets_readers_in)
{
    lapse(f);
    assert_like(lua_rwlock_state(f), "1 1");
    assert_like(lua_rwlock_see(f), "1 0 (u1:1 1 * u) ()");
    assert_like(rw_try(f, "w1:1", "w"), "3 *");
    assert_like(rw_try(f, "r1:1", "r"), "1 *");
    assert_held(f, "r1:1 u1:1 read");
}

/* Its field goes with the read that ends first, and so does the mode. */
RW_TEST(a_write_that_ran_out_above_two_reads_lets_readers_in)
{
    const lua_rwlock_ask beside = {.mode = 'r', .writes = "u2:1"};

    rw_acquire(f, "u1:1", "u");
    acquire_on(f, "u2:1", "w", 30000, "u1:1");
    assert_like(lua_rwlock_acquire_with(f, "u1:2", beside), "1 *");
    rw_kill(f, "u2:1");
    rw_release(f, "u1:1", NULL);
    assert_held(f, "u1:2 read");
    assert_like(rw_try(f, "r1:1", "r"), "1 *");
}

/* Where the record was lost its lease is that of the hash. */
RW_TEST(a_writer_that_asks_again_has_no_key_of_its_own)
{
    rw_acquire(f, "w1:1", "w");
    script_redis(f, "DEL " LUA_RWLOCK_RECORD);
    assert_like(rw_acquire(f, "w1:1", "w"), "1 *");
    assert_like(script_redis(f, "EXISTS %s", lua_rwlock_timeout("w1:1")), "0");
}

RW_TEST(a_write_that_ran_out_above_a_read_is_lost)
{
    lapse(f);
    assert_like(rw_confirm(f, "u2:1", NULL, 30000), "2 *");
    assert_like(rw_downgrade(f, "u2:1", NULL, 30000), "2 *");
    assert_like(rw_recheck(f, "u2:1"), "2 * (0) ()");
    assert_like(rw_release(f, "u2:1", NULL), "2 *");
    assert_like(script_redis(f, "EXISTS %s", lua_rwlock_timeout("u2:1")), "0");
}

RW_TEST(who_waits_comes_in_when_it_looks_after_that)
{
    rw_acquire(f, "u1:1", "u");
    acquire_on(f, "u2:1", "w", 30000, "u1:1");
    rw_hear(f, "r1:1", "r2:1", (char *)NULL);
    assert_like(rw_acquire(f, "r1:1", "r"), "2 *");
    assert_like(rw_acquire(f, "r2:1", "r"), "2 *");
    rw_kill(f, "u2:1");
    assert_like(rw_recheck(f, "r2:1"), "2 * 0 0 0 (0) (1 * * 0)");
    assert_held(f, "r1:1 r2:1 u1:1 read");
}

RW_TEST(it_may_write_again_after_that)
{
    lapse(f);
    assert_like(acquire_on(f, "u3:1", "w", 30000, "u1:1"), "1 *");
    assert_held(f, "u1:1 u3:1:write write");
    assert_like(rw_confirm(f, "u2:1", NULL, 30000), "2 2");
    assert_like(rw_release(f, "u3:1", NULL), "1 2 0 0");
    assert_held(f, "u1:1 read");
}

RW_TEST(the_base_may_end_after_that)
{
    lapse(f);
    assert_like(rw_release(f, "u1:1", NULL), "1 2 0 0");
    assert_held(f, "");
    assert_like(rw_acquire(f, "w1:1", "w"), "1 *");
}

/* Nor is it let in because of what is tidied up first. */
RW_TEST(a_full_server_lets_nobody_in_after_that)
{
    lapse(f);
    script_fill_memory(f, true);
    assert_like(rw_try(f, "r1:1", "r"), "!OOM *");
    assert_like(rw_renew(f, "u1:1", 60000), "1 ()");
    script_fill_memory(f, false);
    assert_like(rw_try(f, "r1:1", "r"), "1 *");
}

/* ---- extension and downgrade ---- */

RW_TEST(a_downgrade_shortens_no_lease_that_was_extended)
{
    rw_acquire_for(f, "w1:1", "w", 5000);
    assert_like(rw_confirm(f, "w1:1", NULL, 20000), "1 20000 *");
    assert_like(rw_downgrade(f, "w1:1", NULL, 5000), "1 * 0 0");
    assert_in_range(script_item(f, 1), 19000, 20000);
    assert_in_range(lease_of(f, "w1:1"), 19000, 20000);
}

RW_TEST(a_downgrade_above_a_read_has_what_the_write_had)
{
    rw_acquire_for(f, "u1:1", "u", 60000);
    acquire_on(f, "u2:1", "w", 5000, "u1:1");
    rw_confirm(f, "u2:1", NULL, 20000);
    assert_like(rw_downgrade(f, "u2:1", NULL, 5000), "1 * 0 0");
    assert_in_range(lease_of(f, "u2:1"), 19000, 20000);
    assert_in_range(script_pttl(f, "n"), 59000, 60000);
}

/* The answer says so long: what a full server keeps of it must not be less. */
RW_TEST(an_extension_on_a_full_server_outlives_the_own_read)
{
    rw_acquire_for(f, "u1:1", "w", 5000);
    acquire_on(f, "u2:1", "r", 60000, "u1:1");
    script_fill_memory(f, true);
    assert_like(rw_confirm(f, "u1:1", NULL, 40000), "1 40000 *");
    assert_like(rw_release(f, "u2:1", NULL), "1 2 0 0");
    assert_held(f, "u1:1:write write");
    assert_in_range(script_pttl(f, "n"), 39000, 40000);
}

CHECK_GROUP(script_start_server, script_stop_server)
