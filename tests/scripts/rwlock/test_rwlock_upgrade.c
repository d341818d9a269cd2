/* SPDX-License-Identifier: MIT */

/* Both modes of one owner: reading beside writing, upgrade and downgrade. */

#include <stdio.h>

#include "support/check.h"
#include "support/rw_script.h"

/* ---- reading beside the own write ---- */

RW_TEST(an_owner_reads_beside_its_own_write)
{
    rw_hear(f, "w2:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "w2:1", "w");
    assert_like(rw_acquire_on(f, "r1:1", "r", "w1:1"), "1 * 30000");
    assert_like(script_redis(f, "HGETALL n"), "mode write w1:1:write 1 r1:1 1");
    assert_like(script_redis(f, "GET %s", lua_rwlock_timeout("r1:1")), "1");
    assert_like(rw_acquire(f, "r2:1", "r"), "2 *");
    assert_like(rw_acquire_on(f, "r3:1", "r", "w9:1"), "2 *");
}

RW_TEST(the_writer_goes_on_when_its_owners_read_ends)
{
    rw_acquire(f, "w1:1", "w");
    rw_acquire_on(f, "r1:1", "r", "w1:1");
    script_listen(f, f->channel);
    assert_like(rw_release(f, "r1:1", NULL), "1 2 0 0");
    assert_held(f, "w1:1:write write");
    assert_string_equal(script_heard(f), "");
}

/* Redisson's own unlock tells nobody here. */
RW_TEST(when_the_write_ends_its_owner_reads_on_and_others_come_in)
{
    rw_hear(f, "r2:1", "w2:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire_on(f, "r1:1", "r", "w1:1");
    rw_acquire(f, "w2:1", "w");
    rw_acquire(f, "r2:1", "r");
    script_listen(f, f->channel);
    assert_like(rw_release(f, "w1:1", NULL), "1 2 0 0");
    assert_held(f, "r1:1 r2:1 read");
    assert_waiting(f, "w: w2:1");
    assert_like(script_heard(f),
                "latchkey:in::r2 grant 0 rwlock r2:1 * 3000 n\n"
                "redisson_rwlock:{n} 1\n");
}

RW_TEST(a_lapsed_read_does_not_stay_when_the_write_ends)
{
    rw_acquire(f, "w1:1", "w");
    rw_acquire_on(f, "r1:1", "r", "w1:1");
    rw_kill(f, "r1:1");
    assert_like(rw_release(f, "w1:1", NULL), "1 2 0 0");
    assert_held(f, "");
}

/* The hash ended with the longest lease in it; now with the longest left. */
RW_TEST(the_hash_lives_as_long_as_who_is_left)
{
    rw_acquire_for(f, "w1:1", "w", 90000);
    rw_acquire_as(f, "r1:1",
                  (lua_rwlock_ask){.mode = 'r',
                                   .lease = 20000,
                                   .writes = "w1:1"});
    assert_in_range(script_pttl(f, "n"), 80000, 90000);
    rw_release(f, "w1:1", NULL);
    assert_in_range(script_pttl(f, "n"), 19000, 20000);
}

/* Else a dead writer would keep all out for as long as it once read. */
RW_TEST(the_hash_of_a_writer_does_not_keep_the_lease_of_a_read)
{
    rw_acquire_for(f, "w1:1", "w", 5000);
    rw_acquire_as(f, "r1:1",
                  (lua_rwlock_ask){.mode = 'r',
                                   .lease = 600000,
                                   .writes = "w1:1"});
    assert_in_range(script_pttl(f, "n"), 590000, 600000);
    rw_release(f, "r1:1", NULL);
    assert_in_range(script_pttl(f, "n"), 4000, 5000);
}

/* What was extended in between counts. */
RW_TEST(the_hash_of_a_writer_keeps_the_lease_it_was_extended_to)
{
    rw_acquire_for(f, "w1:1", "w", 5000);
    rw_acquire_as(f, "r1:1",
                  (lua_rwlock_ask){.mode = 'r',
                                   .lease = 600000,
                                   .writes = "w1:1"});
    assert_like(rw_confirm(f, "w1:1", NULL, 50000), "1 * 0 1");
    rw_release(f, "r1:1", NULL);
    assert_in_range(script_pttl(f, "n"), 49000, 50000);
}

/* ---- upgrade ---- */

RW_TEST(an_upgrade_of_the_only_reader_comes_at_once)
{
    long long fence;

    rw_acquire(f, "u1:1", "u");
    fence = script_item(f, 1);
    assert_like(rw_acquire_on(f, "u2:1", "w", "u1:1"), "1 * 30000");
    assert_true(script_item(f, 1) > fence);
    assert_held(f, "u1:1 u2:1:write write");
    assert_like(rw_acquire(f, "r1:1", "r"), "2 *");
}

/* A hold may have been taken over from another client. */
RW_TEST(the_base_may_have_been_another_clients)
{
    rw_hear(f, "v1:1", (char *)NULL);
    rw_acquire(f, "u1:1", "u");
    rw_acquire(f, "r1:1", "r");
    assert_like(rw_acquire_as(f, "v1:1",
                              (lua_rwlock_ask){.mode = 'x',
                                               .base = "u1:1",
                                               .reason = "a reason"}),
                "2 *");
    assert_like(lua_rwlock_see(f), "1 1 (*) (v1:1 1 * * a reason w)");
    rw_release(f, "r1:1", NULL);
    assert_held(f, "u1:1 v1:1:write write");
    assert_like(script_redis(f, "GET " LUA_RWLOCK_RECORD), "2w *a reason");
}

RW_TEST(an_upgrade_keeps_new_readers_out_until_the_others_left)
{
    rw_hear(f, "u2:1", "r2:1", (char *)NULL);
    rw_acquire(f, "u1:1", "u");
    rw_acquire(f, "r1:1", "r");
    assert_like(rw_acquire_on(f, "u2:1", "w", "u1:1"), "2 * * 0");
    assert_like(rw_acquire(f, "r2:1", "r"), "2 *");
    assert_waiting(f, "x: u2:1 r: r2:1");
    assert_like(rw_release(f, "r1:1", NULL), "1 2 0 0");
    assert_held(f, "u1:1 u2:1:write write");
    assert_like(script_heard(f),
                "latchkey:in::u2 grant 0 rwlock u2:1 * 3000 n\n");
}

/* Whoever waited to write waited for its base, too: it would be for ever. */
RW_TEST(an_upgrade_goes_before_writers_that_wait_longer)
{
    rw_hear(f, "u2:1", "w1:1", (char *)NULL);
    rw_acquire(f, "u1:1", "u");
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w1:1", "w");
    rw_acquire_on(f, "u2:1", "w", "u1:1");
    rw_release(f, "r1:1", NULL);
    assert_held(f, "u1:1 u2:1:write write");
    rw_release(f, "u2:1", NULL);
    assert_held(f, "u1:1 read");
    rw_release(f, "u1:1", NULL);
    assert_held(f, "w1:1:write write");
}

RW_TEST(with_readers_first_an_upgrade_keeps_them_out_all_the_same)
{
    rw_set_order("1");
    rw_hear(f, "u2:1", (char *)NULL);
    rw_acquire(f, "u1:1", "u");
    rw_acquire(f, "r1:1", "r");
    rw_acquire_on(f, "u2:1", "w", "u1:1");
    assert_like(rw_acquire(f, "r2:1", "r"), "2 *");
}

RW_TEST(an_upgrade_only_tried_waits_for_nobody)
{
    rw_acquire(f, "u1:1", "u");
    rw_acquire(f, "r1:1", "r");
    assert_like(rw_acquire_as(f, "u2:1",
                              (lua_rwlock_ask){.mode = 'x',
                                               .how = 't',
                                               .base = "u1:1"}),
                "3 *");
    assert_held(f, "r1:1 u1:1 read");
    assert_waiting(f, "");
}

RW_TEST(an_upgrade_is_found_by_a_look)
{
    rw_acquire(f, "u1:1", "u");
    rw_acquire(f, "r1:1", "r");
    rw_acquire_on(f, "u2:1", "w", "u1:1");
    assert_like(rw_recheck(f, "u2:1"), "2 * 0 0 0 ([1-9]*) ()");
    rw_kill(f, "r1:1");
    assert_like(rw_recheck(f, "u2:1"), "2 * (0) (1 * * 0)");
    assert_held(f, "u1:1 u2:1:write write");
}

RW_TEST(the_end_of_an_upgrade_lets_readers_in_beside_its_base)
{
    rw_hear(f, "r1:1", (char *)NULL);
    rw_acquire(f, "u1:1", "u");
    rw_acquire_on(f, "u2:1", "w", "u1:1");
    rw_acquire(f, "r1:1", "r");
    script_listen(f, f->channel);
    assert_like(rw_release(f, "u2:1", NULL), "1 2 0 0");
    assert_held(f, "r1:1 u1:1 read");
    assert_like(script_heard(f), "*redisson_rwlock:{n} 1\n");
}

/* Its base reads on, so the readers' phase has begun with who waited then. */
RW_TEST(after_an_upgrade_new_readers_wait_behind_a_writer)
{
    rw_hear(f, "r1:1", "r2:1", "w1:1", (char *)NULL);
    rw_acquire(f, "u1:1", "u");
    rw_acquire_on(f, "u2:1", "w", "u1:1");
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "r1:1", "r");
    rw_release(f, "u2:1", NULL);
    assert_held(f, "r1:1 u1:1 read");
    assert_like(rw_acquire(f, "r2:1", "r"), "2 *");
    assert_waiting(f, "w: w1:1 r: r2:1");
}

RW_TEST(a_phase_that_begins_without_a_record_has_one_with_an_end)
{
    rw_acquire(f, "u1:1", "u");
    rw_acquire_on(f, "u2:1", "w", "u1:1");
    script_redis(f, "DEL %s", LUA_RWLOCK_RECORD);
    assert_like(rw_release(f, "u2:1", "1"), "1 2 0 0");
    assert_held(f, "u1:1 read");
    assert_true(script_pttl(f, LUA_RWLOCK_RECORD) > 0);
}

/* A dead process must not keep readers out with an upgrade it waited for. */
RW_TEST(an_upgrade_of_the_dead_keeps_nobody_out)
{
    rw_acquire(f, "u1:1", "u");
    rw_acquire(f, "r1:1", "r");
    rw_acquire_on(f, "u2:1", "w", "u1:1");
    assert_like(rw_acquire(f, "r2:1", "r"), "1 *");
    assert_held(f, "r1:1 r2:1 u1:1 read");
}

/* Somebody may have written since, Redisson for one, and changed what was read
   under the base. */
RW_TEST(an_upgrade_whose_base_is_lost_is_refused)
{
    rw_hear(f, "u2:1", (char *)NULL);
    rw_acquire(f, "u1:1", "u");
    rw_acquire(f, "r1:1", "r");
    rw_acquire_on(f, "u2:1", "w", "u1:1");
    script_redis(f, "DEL n");
    script_redis(f, "HSET n mode write java:1:write 1");
    script_redis(f, "PEXPIRE n 30000");
    script_redis(f, "DEL n");
    assert_like(rw_pass(f), "2 * 0 0 0 () ()");
    assert_held(f, "");
    assert_like(rw_recheck(f, "u2:1"), "2 * (0) ()");
    assert_waiting(f, "");
    assert_like(rw_recheck(f, "u2:1"), "2 * (0) ()");
}

RW_TEST(nor_is_it_let_in_by_the_last_other_reader)
{
    rw_hear(f, "u2:1", "w1:1", (char *)NULL);
    rw_acquire(f, "u1:1", "u");
    rw_acquire(f, "r1:1", "r");
    rw_acquire_on(f, "u2:1", "w", "u1:1");
    rw_acquire(f, "w1:1", "w");
    rw_kill(f, "u1:1");
    rw_release(f, "r1:1", NULL);
    assert_held(f, "w1:1:write write");
    assert_like(rw_recheck(f, "u2:1"), "2 * (0) ()");
}

RW_TEST(an_upgrade_above_what_is_lost_does_not_begin)
{
    rw_acquire(f, "u1:1", "u");
    rw_kill(f, "u1:1");
    assert_like(rw_acquire_on(f, "u2:1", "w", "u1:1"), "4");
    assert_like(rw_acquire_as(f, "u3:1",
                              (lua_rwlock_ask){.mode = 'x',
                                               .how = 's',
                                               .base = "u1:1"}),
                "4");
    assert_waiting(f, "");
}

RW_TEST(the_base_may_end_before_its_upgrade)
{
    rw_acquire(f, "u1:1", "u");
    rw_acquire_on(f, "u2:1", "w", "u1:1");
    assert_like(rw_release(f, "u1:1", NULL), "1 2 0 0");
    assert_held(f, "u2:1:write write");
    rw_release(f, "u2:1", NULL);
    assert_held(f, "");
}

RW_TEST(an_owner_that_writes_may_read_upgradeably)
{
    rw_acquire(f, "u2:1", "w");
    assert_like(rw_acquire_on(f, "u1:1", "u", "u2:1"), "1 *");
    assert_held(f, "u1:1 u2:1:write write");
    rw_release(f, "u2:1", NULL);
    assert_like(rw_acquire_on(f, "u3:1", "w", "u1:1"), "1 *");
    assert_held(f, "u1:1 u3:1:write write");
}

/* ---- downgrade ---- */

RW_TEST(a_downgrade_makes_the_writer_a_reader)
{
    char fence[32];

    rw_acquire(f, "w1:1", "w");
    snprintf(fence, sizeof(fence), "%s", rw_fence(f, "w1:1"));
    assert_like(rw_downgrade(f, "w1:1", fence, 30000), "1 * 0 0");
    assert_like(script_redis(f, "HGETALL n"), "mode read w1:1 1");
    assert_like(script_redis(f, "GET %s", lua_rwlock_timeout("w1:1")), "1");
    assert_string_equal(rw_fence(f, "w1:1"), fence);
    assert_like(rw_acquire(f, "r1:1", "r"), "1 *");
    assert_like(rw_try(f, "w2:1", "w"), "3 *");
    assert_like(rw_release(f, "w1:1", fence), "1 2 0 0");
    assert_held(f, "r1:1 read");
}

/* No writer comes between, and those who waited to read come in. */
RW_TEST(a_downgrade_lets_readers_in_and_no_writer)
{
    rw_hear(f, "w2:1", "r1:1", "r2:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "w2:1", "w");
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "r2:1", "r");
    script_listen(f, f->channel);
    assert_like(rw_downgrade(f, "w1:1", NULL, 30000), "1 * 0 0");
    assert_held(f, "r1:1 r2:1 w1:1 read");
    assert_waiting(f, "w: w2:1");
    assert_like(script_heard(f),
                "latchkey:in::r1 grant 0 rwlock r1:1 * 3000 n\n"
                "latchkey:in::r2 grant 0 rwlock r2:1 * 3000 n\n"
                "redisson_rwlock:{n} 1\n");
}

RW_TEST(a_downgrade_sent_again_changes_nothing)
{
    rw_acquire(f, "w1:1", "w");
    rw_downgrade(f, "w1:1", NULL, 30000);
    script_redis(f, "PEXPIRE %s 7000", lua_rwlock_timeout("w1:1"));
    assert_like(rw_downgrade(f, "w1:1", NULL, 30000), "1 * 0 0");
    assert_in_range(script_item(f, 1), 6000, 7000);
    assert_held(f, "w1:1 read");
}

RW_TEST(a_downgrade_of_what_is_not_held_changes_nothing)
{
    assert_like(rw_downgrade(f, "w1:1", "5", 30000), "2 0");
    assert_held(f, "");
    rw_acquire(f, "w2:1", "w");
    assert_like(rw_downgrade(f, "w1:1", "5", 30000), "2 2");
    assert_like(rw_downgrade(f, "w2:1", "5", 30000), "2 3");
    assert_held(f, "w2:1:write write");
    assert_like(script_redis(f, "EXISTS %s", lua_rwlock_timeout("w2:1")), "0");
}

RW_TEST(a_downgrade_leaves_the_owners_reads_as_they_are)
{
    rw_acquire(f, "u1:1", "u");
    rw_acquire_on(f, "u3:1", "w", "u1:1");
    rw_acquire_on(f, "r1:1", "r", "u3:1");
    assert_like(rw_downgrade(f, "u3:1", NULL, 30000), "1 * 0 0");
    assert_held(f, "r1:1 u1:1 u3:1 read");
    assert_like(rw_try(f, "u2:1", "u"), "3 *");
}

/* Its record is lost, not its hold: the fence is the one that it says. */
RW_TEST(a_downgrade_without_a_record_keeps_the_fence)
{
    char fence[32];

    rw_acquire(f, "w1:1", "w");
    snprintf(fence, sizeof(fence), "%s", rw_fence(f, "w1:1"));
    script_redis(f, "DEL %s", LUA_RWLOCK_RECORD);
    assert_like(rw_downgrade(f, "w1:1", fence, 30000), "1 * 0 0");
    assert_like(rw_release(f, "w1:1", fence), "1 2 0 0");
}

RW_TEST(a_full_server_refuses_no_downgrade)
{
    rw_hear(f, "r1:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "r1:1", "r");
    script_fill_memory(f, true);
    assert_like(rw_downgrade(f, "w1:1", NULL, 30000), "1 * 0 0");
    assert_held(f, "r1:1 w1:1 read");
}

/* Nor is it kept for longer than it had left. */
RW_TEST(the_lease_of_a_writer_is_not_prolonged_when_its_read_ends)
{
    rw_acquire_for(f, "w1:1", "w", 50000);
    rw_acquire_as(f, "r1:1",
                  (lua_rwlock_ask){.mode = 'r',
                                   .lease = 60000,
                                   .writes = "w1:1"});
    script_redis(f, "PEXPIRE n 9000");
    script_redis(f, "PEXPIRE %s 9000", lua_rwlock_timeout("r1:1"));
    rw_release(f, "r1:1", NULL);
    assert_in_range(script_pttl(f, "n"), 1, 9000);
}

RW_TEST(a_lapsed_read_among_others_does_not_stay_either)
{
    rw_acquire(f, "w1:1", "w");
    rw_acquire_on(f, "r1:1", "r", "w1:1");
    rw_acquire_on(f, "r2:1", "r", "w1:1");
    rw_kill(f, "r1:1");
    assert_like(rw_release(f, "w1:1", NULL), "1 2 0 0");
    assert_held(f, "r2:1 read");
    assert_like(script_redis(f, "HKEYS %s", LUA_RWLOCK_HOLDERS), "r2:1");
}

/* It waited only for the upgrade, which is over. */
RW_TEST(with_readers_first_they_come_in_when_an_upgrade_is_given_up)
{
    rw_set_order("1");
    rw_hear(f, "u2:1", "r2:1", "w1:1", (char *)NULL);
    rw_acquire(f, "u1:1", "u");
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w1:1", "w");
    rw_acquire_on(f, "u2:1", "w", "u1:1");
    rw_acquire(f, "r2:1", "r");
    assert_waiting(f, "w: w1:1 x: u2:1 r: r2:1");
    rw_leave(f, "u2:1", false);
    assert_held(f, "r1:1 r2:1 u1:1 read");
    assert_waiting(f, "w: w1:1");
}

/* The other upgradeable reader is this owner's, too, and blocks as any does. */
RW_TEST(beside_its_upgrade_an_owner_reads_upgradeably_once)
{
    rw_acquire(f, "u1:1", "u");
    rw_acquire_on(f, "u2:1", "w", "u1:1");
    assert_like(rw_acquire_on(f, "u3:1", "u", "u2:1"), "2 *");
    assert_held(f, "u1:1 u2:1:write write");
}

RW_TEST(an_upgrade_does_not_pass_another_by)
{
    rw_hear(f, "u2:1", (char *)NULL);
    rw_acquire(f, "u1:1", "u");
    rw_acquire(f, "r1:1", "r");
    rw_acquire_on(f, "u2:1", "w", "u1:1");
    rw_kill(f, "r1:1");
    assert_like(rw_acquire_on(f, "u3:1", "w", "u1:1"), "2 *");
    rw_recheck(f, "u3:1");
    assert_held(f, "u1:1 u2:1:write write");
    assert_waiting(f, "x: u3:1");
}

/* Its base goes on when it ends, with the lease that it has. */
RW_TEST(an_upgrade_shortens_no_lease_of_its_base)
{
    rw_acquire_for(f, "u1:1", "u", 60000);
    rw_acquire_as(f, "u2:1",
                  (lua_rwlock_ask){.mode = 'x', .lease = 5000, .base = "u1:1"});
    assert_in_range(script_pttl(f, "n"), 59000, 60000);
}

RW_TEST(a_downgrade_shortens_no_lease_of_another_read)
{
    rw_acquire_for(f, "w1:1", "w", 5000);
    rw_acquire_as(f, "r1:1",
                  (lua_rwlock_ask){.mode = 'r',
                                   .lease = 60000,
                                   .writes = "w1:1"});
    assert_like(rw_downgrade(f, "w1:1", NULL, 5000), "1 * 0 0");
    assert_in_range(script_pttl(f, "n"), 59000, 60000);
    assert_in_range(script_number(f, "PTTL %s", lua_rwlock_timeout("w1:1")),
                    4000, 5000);
}

CHECK_GROUP(script_start_server, script_stop_server)
