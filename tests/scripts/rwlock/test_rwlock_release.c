/* SPDX-License-Identifier: MIT */

/* Ending a hold of the read-write lock: release, leave, force, and who is told. */

#include <stdio.h>

#include "support/check.h"
#include "support/rw_script.h"

enum { LEFT_MS = 150 }; /* a free name is left to others */

/* ---- nobody waits ---- */

RW_TEST(the_last_reader_frees_the_name)
{
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "r2:1", "r");
    script_listen(f, f->channel);
    assert_like(rw_release(f, "r1:1", NULL), "1 2 0 0");
    assert_held(f, "r2:1 read");
    assert_like(script_redis(f, "EXISTS %s", lua_rwlock_timeout("r1:1")), "0");
    assert_string_equal(script_heard(f), "");
    assert_like(rw_release(f, "r2:1", NULL), "1 2 0 0");
    assert_like(script_redis(f, "EXISTS n %s %s", lua_rwlock_timeout("r2:1"),
                             LUA_RWLOCK_HOLDERS),
                "0");
    assert_string_equal(script_heard(f), "redisson_rwlock:{n} 0\n");
}

RW_TEST(a_writer_frees_the_name_and_wakes_all_of_redisson)
{
    rw_acquire(f, "w1:1", "w");
    script_listen(f, f->channel);
    assert_like(rw_release(f, "w1:1", NULL), "1 2 0 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_string_equal(script_heard(f), "redisson_rwlock:{n} 1\n");
}

/* ---- mismatches ---- */

RW_TEST(a_release_of_what_nobody_holds_says_so)
{
    script_listen(f, f->channel);
    assert_like(rw_release(f, "r1:1", "5"), "2 0");
    assert_string_equal(script_heard(f), "");
}

RW_TEST(a_release_of_what_another_holds_changes_nothing)
{
    rw_acquire(f, "w1:1", "w");
    assert_like(rw_release(f, "w2:1", "5"), "2 2");
    assert_held(f, "w1:1:write write");
    rw_release(f, "w1:1", NULL);
    rw_acquire(f, "r1:1", "r");
    assert_like(rw_release(f, "r2:1", "5"), "2 0");
    assert_held(f, "r1:1 read");
}

RW_TEST(a_release_under_another_fence_changes_nothing)
{
    rw_acquire(f, "w1:1", "w");
    assert_like(rw_release(f, "w1:1", "5"), "2 3");
    assert_held(f, "w1:1:write write");
    rw_release(f, "w1:1", NULL);
    rw_acquire(f, "r1:1", "r");
    assert_like(rw_release(f, "r1:1", "5"), "2 3");
    assert_held(f, "r1:1 read");
    assert_like(script_redis(f, "EXISTS %s", lua_rwlock_timeout("r1:1")), "1");
}

/* A release may be sent again: the second one finds nothing of it. */
RW_TEST(a_release_sent_again_ends_no_other_hold)
{
    char fence[32];

    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "r2:1", "r");
    snprintf(fence, sizeof(fence), "%s", rw_fence(f, "r1:1"));
    assert_like(rw_release(f, "r1:1", fence), "1 2 0 0");
    assert_like(rw_release(f, "r1:1", fence), "2 0");
    assert_held(f, "r2:1 read");
}

/* The hash is the truth: what it does not say is void. */
RW_TEST(a_record_without_a_field_counts_for_nothing)
{
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "r2:1", "r");
    script_redis(f, "HDEL n r1:1");
    assert_like(rw_release(f, "r1:1", NULL), "2 0");
    assert_held(f, "r2:1 read");
    script_expire(f);
    rw_acquire(f, "w1:1", "w");
    script_expire(f);
    script_redis(f, "HSET n mode write java:1:write 1");
    assert_like(rw_release(f, "w1:1", NULL), "2 2");
    assert_held(f, "java:1:write write");
}

/* ---- handing over ---- */

RW_TEST(a_hand_over_tells_the_new_holder_alone)
{
    char expected[160];
    long long ticket;

    rw_hear(f, "w2:1", "w3:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "w2:1", "w");
    ticket = script_item(f, 2);
    rw_acquire(f, "w3:1", "w");
    script_redis(f, "CONFIG RESETSTAT");
    rw_release(f, "w1:1", NULL);
    snprintf(expected, sizeof(expected),
             "latchkey:in::w2 grant 0 rwlock w2:1 0123456789abcdef %lld %s 0 "
             "3000 n\n",
             ticket, rw_fence(f, "w2:1"));
    assert_string_equal(script_heard(f), expected);
    assert_like(script_redis(f, "INFO commandstats"),
                "*cmdstat_publish:calls=1,*");
}

/* A subscriber is not yet a living holder: it has three seconds to show up. */
RW_TEST(a_grant_lasts_three_seconds_until_it_is_confirmed)
{
    rw_hear(f, "r1:1", "w2:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w2:1", "w");
    rw_release(f, "w1:1", NULL);
    assert_in_range(script_pttl(f, "n"), 2000, 3000);
    assert_in_range(script_number(f, "PTTL %s", lua_rwlock_timeout("r1:1")),
                    2000, 3000);
    rw_release(f, "r1:1", NULL);
    assert_held(f, "w2:1:write write");
    assert_in_range(script_pttl(f, "n"), 2000, 3000);
}

/* Redisson's readers may come in beside ours, so they are told of that, too. */
RW_TEST(redissons_readers_are_told_when_ours_come_in)
{
    rw_hear(f, "r1:1", (char *)NULL);
    rw_turn(f, "o", 0, 400);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "r1:1", "r");
    script_listen(f, f->channel);
    assert_like(rw_release(f, "w1:1", NULL), "1 2 0 0");
    assert_like(script_heard(f),
                "latchkey:in::r1 grant 0 rwlock r1:1 * 3000 n\n"
                "redisson_rwlock:{n} 1\n");
}

RW_TEST(a_writer_that_comes_in_is_no_news_to_redisson)
{
    rw_hear(f, "w2:1", (char *)NULL);
    rw_turn(f, "o", 0, 400);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "w2:1", "w");
    script_listen(f, f->channel);
    rw_release(f, "w1:1", NULL);
    assert_like(script_heard(f),
                "latchkey:in::w2 grant 0 rwlock w2:1 * 3000 n\n");
}

RW_TEST(names_of_any_bytes_come_whole_in_a_grant)
{
    int64_t fence;

    script_set_name(f, "a {b} \xff\n%s");
    rw_hear(f, "r1:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    fence = lua_rwlock_fence(f);
    rw_acquire(f, "r1:1", "r");
    lua_rwlock_release(f, "w1:1", fence);
    assert_like(
        script_heard(f),
        "latchkey:in::r1 grant 0 rwlock r1:1 * * 0 3000 a {b} \xff\n%s\n");
}

/* ---- turns with others ---- */

RW_TEST(in_the_turn_of_others_the_name_is_left_open)
{
    rw_hear(f, "w2:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "w2:1", "w");
    script_listen(f, f->channel);
    assert_like(rw_release(f, "w1:1", NULL), "1 2 0 0");
    assert_held(f, "");
    assert_like(script_heard(f), "latchkey:in::w2 open 0 rwlock w2:1 * n\n"
                                 "redisson_rwlock:{n} 1\n");
    assert_int_equal(rw_side(f), 't');
    assert_like(rw_recheck(f, "w2:1"), "2 -2 2 0 0 ([1-9]*) ()");
    rw_turn(f, "t", LEFT_MS, -1);
    assert_like(rw_recheck(f, "w2:1"), "2 * (0) (1 * * 0)");
    assert_int_equal(rw_side(f), 'o');
}

/* A claim that reads on beside others gives nothing up. */
RW_TEST(a_reader_that_leaves_others_behind_opens_no_turn)
{
    rw_hear(f, "w1:1", (char *)NULL);
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "r2:1", "r");
    rw_acquire(f, "w1:1", "w");
    script_listen(f, f->channel);
    assert_like(rw_release(f, "r1:1", NULL), "1 2 0 0");
    assert_string_equal(script_heard(f), "");
    assert_int_equal(rw_side(f), '-');
}

/* ---- leave ---- */

RW_TEST(a_leave_ends_a_claim_whatever_became_of_it)
{
    assert_like(rw_leave(f, "r1:1", false), "1 0 0 0");
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w1:1", "w");
    assert_like(rw_leave(f, "w1:1", false), "1 1 0 0");
    assert_waiting(f, "");
    assert_like(rw_leave(f, "r1:1", false), "1 2 0 0");
    assert_held(f, "");
    rw_acquire(f, "w2:1", "w");
    assert_like(rw_leave(f, "w2:1", false), "1 2 0 0");
    assert_held(f, "");
}

RW_TEST(a_leave_of_a_holder_lets_the_next_in)
{
    rw_hear(f, "r1:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "r1:1", "r");
    assert_like(rw_leave(f, "w1:1", false), "1 2 0 0");
    assert_held(f, "r1:1 read");
}

RW_TEST(a_tombstone_keeps_a_claim_out)
{
    rw_acquire(f, "r1:1", "r");
    assert_like(rw_leave(f, "r1:1", true), "1 2 0 0");
    assert_like(rw_try(f, "r1:1", "r"), "!LKVOID *");
    assert_in_range(script_pttl(f, LUA_RWLOCK_QUEUE), 659000, 660000);
}

RW_TEST(a_leave_of_a_skipped_waiter_is_one_of_a_waiter)
{
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "r2:1", "r");
    assert_like(rw_leave(f, "w1:1", false), "1 1 0 0");
    assert_like(rw_parked(f), "0");
}

/* ---- force ---- */

RW_TEST(a_force_ends_all_readers_and_tells_them)
{
    char expected[200];

    rw_hear(f, "r1:1", "u1:1", "w1:1", (char *)NULL);
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "u1:1", "u");
    script_redis(f, "HSET n java:1 1");
    script_redis(f, "SET {n}:java:1:rwlock_timeout:1 1 PX 30000");
    rw_acquire(f, "w1:1", "w");
    snprintf(expected, sizeof(expected),
             "*latchkey:in::r1 revoked 0 rwlock r1:1 0123456789abcdef %s n\n*",
             rw_fence(f, "r1:1"));
    assert_like(lua_rwlock_force(f, ""), "1 2 1 0");
    assert_held(f, "");
    assert_like(script_heard(f), expected);
    assert_like(f->heard_text, "*latchkey:in::u1 revoked 0 rwlock u1:1 *");
    assert_like(script_redis(f,
                             "EXISTS {n}:r1:1:rwlock_timeout:1 "
                             "{n}:u1:1:rwlock_timeout:1 %s",
                             LUA_RWLOCK_HOLDERS),
                "0");
}

RW_TEST(a_force_ends_the_writer_and_its_owners_reads)
{
    rw_hear(f, "w1:1", "r1:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire_on(f, "r1:1", "r", "w1:1");
    assert_held(f, "r1:1 w1:1:write write");
    assert_like(lua_rwlock_force(f, ""), "1 2 0 0");
    assert_held(f, "");
    assert_like(script_heard(f), "*latchkey:in::w1 revoked 0 rwlock w1:1 *");
    assert_like(f->heard_text, "*latchkey:in::r1 revoked 0 rwlock r1:1 *");
}

RW_TEST(a_force_of_what_nobody_holds_says_so)
{
    assert_like(lua_rwlock_force(f, ""), "2 0");
    rw_acquire(f, "r1:1", "r");
    rw_kill(f, "r1:1");
    assert_like(lua_rwlock_force(f, ""), "2 0");
}

RW_TEST(a_force_of_one_reader_leaves_the_others)
{
    rw_hear(f, "r1:1", "r2:1", (char *)NULL);
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "r2:1", "r");
    assert_like(lua_rwlock_force(f, "r1:1"), "1 2 0 0");
    assert_held(f, "r2:1 read");
    assert_like(script_heard(f), "latchkey:in::r1 revoked 0 rwlock r1:1 *");
    assert_like(script_redis(f, "EXISTS {n}:r1:1:rwlock_timeout:1"), "0");
    assert_like(script_redis(f, "EXISTS {n}:r2:1:rwlock_timeout:1"), "1");
}

RW_TEST(a_force_of_the_last_reader_serves_who_waits)
{
    rw_hear(f, "w1:1", (char *)NULL);
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w1:1", "w");
    assert_like(lua_rwlock_force(f, "r1:1"), "1 2 1 0");
    rw_pass(f);
    assert_held(f, "w1:1:write write");
    assert_like(script_heard(f), "latchkey:in::w1 grant 0 rwlock w1:1 *");
}

RW_TEST(a_force_of_the_writer_ends_its_owners_reads)
{
    rw_hear(f, "w1:1", "r1:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire_on(f, "r1:1", "r", "w1:1");
    assert_like(lua_rwlock_force(f, "w1:1"), "1 2 0 0");
    assert_held(f, "");
    assert_like(script_heard(f), "*latchkey:in::w1 revoked 0 rwlock w1:1 *");
    assert_like(f->heard_text, "*latchkey:in::r1 revoked 0 rwlock r1:1 *");
}

RW_TEST(a_force_of_who_does_not_hold_changes_nothing)
{
    rw_hear(f, "r1:1", "w1:1", "w2:1", (char *)NULL);
    assert_like(lua_rwlock_force(f, "r1:1"), "2 0");
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w1:1", "w");
    assert_like(lua_rwlock_force(f, "w1:1"), "2 0");
    assert_like(lua_rwlock_force(f, "mode"), "2 0");
    assert_held(f, "r1:1 read");
    assert_waiting(f, "w: w1:1");
    assert_string_equal(script_heard(f), "");
    script_redis(f, "FLUSHALL");
    rw_acquire(f, "w2:1", "w");
    assert_like(lua_rwlock_force(f, "r1:1"), "2 0");
    assert_like(lua_rwlock_force(f, "w2:1:write"), "2 0");
    assert_held(f, "w2:1:write write");
    assert_string_equal(script_heard(f), "");
}

/* ---- pass ---- */

RW_TEST(passing_on_changes_nothing_for_a_writer)
{
    rw_hear(f, "w2:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "w2:1", "w");
    assert_like(rw_pass(f), "2 * 0 0 0 () ()");
    assert_held(f, "w1:1:write write");
    assert_string_equal(script_heard(f), "");
}

RW_TEST(passing_on_a_free_name_lets_the_next_in)
{
    rw_hear(f, "w2:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "w2:1", "w");
    script_expire(f);
    assert_like(rw_pass(f), "2 * 0 0 0 () ()");
    assert_held(f, "w2:1:write write");
}

/* ---- a full server ---- */

RW_TEST(a_full_server_refuses_no_release)
{
    rw_hear(f, "r1:1", "w2:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w2:1", "w");
    script_fill_memory(f, true);
    assert_like(rw_release(f, "w1:1", NULL), "1 2 0 0");
    assert_held(f, "r1:1 read");
    assert_like(rw_leave(f, "r1:1", true), "1 2 0 0");
    assert_held(f, "w2:1:write write");
    assert_like(lua_rwlock_force(f, ""), "1 2 0 0");
    assert_held(f, "");
}

/* Whoever of ours comes first, not only one that waited. */
RW_TEST(a_newcomer_ends_the_turn_of_others)
{
    rw_hear(f, "w2:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "w2:1", "w");
    script_listen(f, f->channel);
    rw_release(f, "w1:1", NULL);
    rw_leave(f, "w2:1", false);
    assert_int_equal(rw_side(f), 't');
    rw_turn(f, "t", LEFT_MS, -1);
    assert_like(rw_acquire(f, "w3:1", "w"), "1 *");
    assert_int_equal(rw_side(f), 'o');
}

CHECK_GROUP(script_start_server, script_stop_server)
