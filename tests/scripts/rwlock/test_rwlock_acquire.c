/* SPDX-License-Identifier: MIT */

/* rwlock_acquire: who comes in at once, and who queues. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/rw_script.h"

/* ---- what a hold looks like ---- */

RW_TEST(a_reader_is_a_field_and_a_key_of_its_own)
{
    assert_like(rw_acquire(f, "u1:1", "r"), "1 * 30000");
    assert_like(script_redis(f, "HGETALL n"), "mode read u1:1 1");
    assert_like(script_redis(f, "GET {n}:u1:1:rwlock_timeout:1"), "1");
    assert_in_range(script_pttl(f, "n"), 29000, 30000);
    assert_in_range(script_number(f, "PTTL {n}:u1:1:rwlock_timeout:1"), 29000,
                    30000);
}

RW_TEST(a_writer_is_a_field_with_a_mark)
{
    assert_like(rw_acquire(f, "u1:1", "w"), "1 * 30000");
    assert_like(script_redis(f, "HGETALL n"), "mode write u1:1:write 1");
    assert_in_range(script_pttl(f, "n"), 29000, 30000);
    assert_like(script_redis(f, "EXISTS {n}:u1:1:rwlock_timeout:1"), "0");
}

RW_TEST(the_key_of_a_name_with_a_tag_has_no_second_one)
{
    script_set_name(f, "a{tag}:b");
    rw_acquire(f, "u1:1", "r");
    assert_like(script_redis(f, "GET a{tag}:b:u1:1:rwlock_timeout:1"), "1");
    assert_like(script_redis(f, "HGETALL a{tag}:b"), "mode read u1:1 1");
    assert_like(lua_rwlock_release(f, "u1:1", lua_rwlock_fence(f)), "1 2 0 0");
    assert_like(script_redis(f, "EXISTS a{tag}:b"), "0");
}

RW_TEST(every_key_has_an_end)
{
    static const char *const own[] = {"n", LUA_RWLOCK_RECORD, LUA_RWLOCK_QUEUE,
                                      LUA_RWLOCK_HOLDERS};

    rw_hear(f, "u3:1", "u4:1", "u5:1", "u6:1", (char *)NULL);
    rw_acquire(f, "u1:1", "u");
    rw_acquire(f, "u2:1", "r");
    rw_acquire(f, "u3:1", "w");
    rw_acquire_on(f, "u4:1", "w", "u1:1");
    rw_acquire(f, "u5:1", "r");
    rw_acquire(f, "u6:1", "u");
    assert_waiting(f, "w: u3:1 x: u4:1 r: u5:1 u: u6:1");
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        assert_true(script_pttl(f, own[i]) > 0);
}

RW_TEST(the_record_of_a_writer_says_all_that_is_needed)
{
    rw_acquire_as(f, "u1:1",
                  (lua_rwlock_ask){.mode = 'w',
                                   .lease = 5000,
                                   .reason = "why not"});
    assert_like(script_redis(f, "GET " LUA_RWLOCK_RECORD),
                "2w * 0 0 - - -1,0,-,- * u1:1 0123456789abcdef w 1 5000 - p "
                "why not");
}

RW_TEST(the_record_of_a_reader_says_all_that_is_needed)
{
    rw_acquire_as(f, "u1:1",
                  (lua_rwlock_ask){.mode = 'u',
                                   .lease = 5000,
                                   .reason = "why not"});
    assert_like(script_redis(f, "HGET %s u1:1", LUA_RWLOCK_HOLDERS),
                "* 0123456789abcdef 0 u * 5000 - p why not");
    assert_like(rw_mark(f, "upgrader"), "u1:1");
}

/* ---- fences ---- */

RW_TEST(the_fence_of_each_writer_is_larger_than_all_before)
{
    long long first, second;

    rw_acquire(f, "u1:1", "w");
    first = script_item(f, 1);
    rw_release(f, "u1:1", NULL);
    rw_acquire(f, "u2:1", "w");
    second = script_item(f, 1);
    assert_true(second > first);
    rw_set_fence(f, "8000000000000000");
    rw_release(f, "u2:1", "8000000000000000");
    rw_acquire(f, "u3:1", "w");
    assert_true(script_item(f, 1) == 8000000000000001);
}

/* Also where more than a few commands are needed to come in. */
RW_TEST(the_fence_of_a_writer_that_waited_is_larger_too)
{
    rw_hear(f, "w2:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "w2:1", "w");
    rw_set_fence(f, "8000000000000000");
    rw_release(f, "w1:1", "8000000000000000");
    assert_held(f, "w2:1:write write");
    assert_string_equal(rw_fence(f, "w2:1"), "8000000000000001");
    rw_release(f, "w2:1", NULL);
    f->interop = "1";
    rw_acquire(f, "w3:1", "w");
    assert_true(script_item(f, 1) == 8000000000000002);
}

RW_TEST(readers_share_the_fence_of_the_last_writer)
{
    long long fence;

    rw_acquire(f, "u1:1", "w");
    fence = script_item(f, 1);
    rw_release(f, "u1:1", NULL);
    rw_acquire(f, "u2:1", "r");
    assert_true(script_item(f, 1) == fence);
    rw_acquire(f, "u3:1", "u");
    assert_true(script_item(f, 1) == fence);
}

/* The first reader of a name sets the fence that all later writers exceed. */
RW_TEST(readers_of_a_new_name_have_a_fence)
{
    long long fence;

    rw_acquire(f, "u1:1", "r");
    fence = script_item(f, 1);
    assert_true(fence > 0);
    rw_acquire(f, "u2:1", "r");
    assert_true(script_item(f, 1) == fence);
    rw_release(f, "u1:1", NULL);
    rw_release(f, "u2:1", NULL);
    rw_acquire(f, "u3:1", "w");
    assert_true(script_item(f, 1) > fence);
}

/* A plain lock may have had the name before. */
RW_TEST(the_fences_of_a_lock_of_the_same_name_are_exceeded)
{
    script_redis(f, "SET %s %s", LUA_RWLOCK_RECORD,
                 "2l 8000000000000000 63 0 - - - 0 - - - 0 0 - - ");
    rw_acquire(f, "u1:1", "w");
    assert_true(script_item(f, 1) == 8000000000000064);
}

/* ---- together and alone ---- */

RW_TEST(readers_come_in_together)
{
    assert_like(rw_acquire(f, "u1:1", "r"), "1 * 30000");
    assert_like(rw_acquire(f, "u2:1", "r"), "1 * 30000");
    assert_like(rw_acquire(f, "u3:1", "u"), "1 * 30000");
    assert_held(f, "u1:1 u2:1 u3:1 read");
}

RW_TEST(a_writer_waits_for_a_reader)
{
    rw_acquire(f, "u1:1", "r");
    assert_like(rw_acquire(f, "u2:1", "w"), "2 * * 0");
    assert_held(f, "u1:1 read");
    assert_waiting(f, "w: u2:1");
}

RW_TEST(everybody_waits_for_a_writer)
{
    rw_acquire(f, "u1:1", "w");
    assert_like(rw_acquire(f, "u2:1", "w"), "2 * * 0");
    assert_like(rw_acquire(f, "u3:1", "r"), "2 * * 0");
    assert_like(rw_acquire(f, "u4:1", "u"), "2 * * 0");
    assert_held(f, "u1:1:write write");
    assert_waiting(f, "w: u2:1 r: u3:1 u: u4:1");
}

RW_TEST(who_only_tries_does_not_queue)
{
    rw_acquire(f, "u1:1", "w");
    assert_like(rw_try(f, "u2:1", "w"), "3 *");
    assert_like(rw_try(f, "u3:1", "r"), "3 *");
    assert_like(rw_try(f, "u4:1", "u"), "3 *");
    assert_waiting(f, "");
    rw_release(f, "u1:1", NULL);
    assert_like(rw_try(f, "u5:1", "r"), "1 *");
    assert_like(rw_try(f, "u6:1", "w"), "3 *");
    assert_waiting(f, "");
    assert_like(script_redis(f, "EXISTS " LUA_RWLOCK_QUEUE), "0");
}

RW_TEST(a_new_reader_waits_behind_a_writer_that_waits)
{
    rw_hear(f, "u2:1", (char *)NULL);
    rw_acquire(f, "u1:1", "r");
    rw_acquire(f, "u2:1", "w");
    assert_like(rw_acquire(f, "u3:1", "r"), "2 *");
    assert_like(rw_try(f, "u4:1", "r"), "3 *");
    assert_held(f, "u1:1 read");
    assert_waiting(f, "w: u2:1 r: u3:1");
}

/* Its process may be dead and its ticket still there. */
RW_TEST(nobody_waits_behind_a_writer_that_is_dead)
{
    rw_acquire(f, "u1:1", "r");
    rw_acquire(f, "u2:1", "w");
    assert_like(rw_acquire(f, "u3:1", "r"), "1 *");
    assert_held(f, "u1:1 u3:1 read");
    assert_waiting(f, "w: u2:1"); /* a touch passes it over, not this */
}

RW_TEST(nobody_waits_behind_a_writer_that_was_not_seen)
{
    rw_hear(f, "u2:1", (char *)NULL);
    rw_acquire(f, "u1:1", "r");
    rw_acquire(f, "u2:1", "w");
    rw_age(f, "u2:1", 3100);
    assert_like(rw_try(f, "u3:1", "r"), "1 *");
}

/* Whoever finds a free name for which others wait lets them go first. */
RW_TEST(a_newcomer_does_not_pass_by_those_who_wait)
{
    rw_hear(f, "u2:1", (char *)NULL);
    rw_acquire(f, "u1:1", "w");
    rw_acquire(f, "u2:1", "w");
    script_expire(f);
    assert_like(rw_acquire(f, "u3:1", "w"), "2 0 * 0"); /* it looks at once */
    assert_like(rw_recheck(f, "u3:1"), "2 * 0 0 0 ([1-9]*) ()");
    assert_held(f, "u2:1:write write");
    assert_waiting(f, "w: u3:1");
    assert_like(script_heard(f),
                "latchkey:in::u2 grant 0 rwlock u2:1 * 3000 n\n");
}

RW_TEST(a_newcomer_passes_by_the_dead)
{
    rw_acquire(f, "u1:1", "w");
    rw_acquire(f, "u2:1", "w");
    rw_acquire(f, "u3:1", "r");
    script_expire(f);
    assert_like(rw_try(f, "u4:1", "w"), "1 *");
    assert_held(f, "u4:1:write write");
}

RW_TEST(there_is_one_upgradeable_reader)
{
    rw_acquire(f, "u1:1", "u");
    assert_like(rw_acquire(f, "u2:1", "u"), "2 * * 0");
    assert_like(rw_try(f, "u3:1", "u"), "3 *");
    assert_like(rw_acquire(f, "u4:1", "r"), "1 *");
    assert_held(f, "u1:1 u4:1 read");
    rw_kill(f, "u1:1");
    assert_like(rw_try(f, "u3:1", "u"), "1 *");
}

/* ---- sent again ---- */

RW_TEST(an_acquire_sent_again_gives_the_same_read_hold)
{
    long long fence;

    rw_acquire(f, "u1:1", "r");
    fence = script_item(f, 1);
    script_redis(f, "PEXPIRE {n}:u1:1:rwlock_timeout:1 7000");
    assert_like(rw_acquire(f, "u1:1", "r"), "1 *");
    assert_true(script_item(f, 1) == fence);
    assert_in_range(script_item(f, 2), 6000, 7000);
    assert_like(script_redis(f, "HGETALL n"), "mode read u1:1 1");
}

RW_TEST(an_acquire_sent_again_gives_the_same_write_hold)
{
    long long fence;

    rw_acquire(f, "u1:1", "w");
    fence = script_item(f, 1);
    script_redis(f, "PEXPIRE n 7000");
    assert_like(rw_acquire(f, "u1:1", "w"), "1 *");
    assert_true(script_item(f, 1) == fence);
    assert_in_range(script_item(f, 2), 6000, 7000);
    assert_like(script_redis(f, "HGETALL n"), "mode write u1:1:write 1");
}

RW_TEST(an_acquire_sent_again_gives_the_same_ticket)
{
    static const char *const modes[] = {"r", "w", "u"};

    rw_acquire(f, "u1:1", "w");
    for (size_t i = 0; i < 3; i++) {
        char claim[8];
        long long ticket;

        snprintf(claim, sizeof(claim), "v%zu:1", i);
        rw_acquire(f, claim, modes[i]);
        ticket = script_item(f, 2);
        rw_acquire(f, claim, modes[i]);
        assert_true(script_item(f, 2) == ticket);
    }
    assert_waiting(f, "w: v1:1 r: v0:1 u: v2:1");
}

RW_TEST(a_queued_claim_that_comes_in_waits_no_more)
{
    rw_acquire(f, "u1:1", "w");
    rw_acquire(f, "u2:1", "r");
    script_expire(f);
    assert_like(rw_acquire(f, "u2:1", "r"), "1 *");
    assert_waiting(f, "");
}

RW_TEST(a_claim_that_was_given_up_is_refused)
{
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "u1:1", "r");
    rw_leave(f, "u1:1", true);
    assert_like(rw_acquire(f, "u1:1", "r"), "!LKVOID *");
    script_expire(f);
    assert_like(rw_acquire(f, "u1:1", "r"), "!LKVOID *");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

/* The hash is the truth: what it says is a hold though the record is gone. */
RW_TEST(a_hold_whose_record_is_lost_gets_a_new_one)
{
    rw_acquire(f, "u1:1", "w");
    script_redis(f, "DEL %s", LUA_RWLOCK_RECORD);
    assert_like(rw_acquire(f, "u1:1", "w"), "1 *");
    assert_like(script_redis(f, "GET " LUA_RWLOCK_RECORD),
                "2w * u1:1 * because");
    assert_like(rw_release(f, "u1:1", NULL), "1 2 0 0");

    rw_acquire(f, "u2:1", "r");
    script_redis(f, "DEL %s %s", LUA_RWLOCK_RECORD, LUA_RWLOCK_HOLDERS);
    assert_like(rw_acquire(f, "u2:1", "r"), "1 *");
    assert_like(script_redis(f, "HGET %s u2:1", LUA_RWLOCK_HOLDERS), "* r *");
}

/* ---- what is not ours to touch ---- */

RW_TEST(a_key_of_another_type_is_refused)
{
    script_redis(f, "SET n 1");
    assert_like(rw_acquire(f, "u1:1", "r"), "!LKTYPE *");
    script_redis(f, "DEL n");
    script_redis(f, "HSET n java:1 1");
    assert_like(rw_acquire(f, "u1:1", "r"), "!LKTYPE *");
    assert_like(rw_acquire(f, "u1:1", "w"), "!LKTYPE *");
    assert_like(script_redis(f, "HGETALL n"), "java:1 1");
}

RW_TEST(side_keys_of_another_type_are_refused)
{
    static const char *const own[] = {LUA_RWLOCK_RECORD, LUA_RWLOCK_QUEUE,
                                      LUA_RWLOCK_HOLDERS};

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        server_flush(f->server);
        script_redis(f, "SET %s x", own[i]);
        if (rw_acquire(f, "u1:1", "w")[0] == '!')
            assert_like(script_redis(f, "EXISTS n"), "0");
        else
            assert_held(f, "u1:1:write write");
        script_redis(f, "DEL n");
        if (rw_acquire(f, "u2:1", "r")[0] == '!')
            assert_like(script_redis(f, "EXISTS n %s",
                                     lua_rwlock_timeout("u2:1")),
                        "0");
        else
            assert_held(f, "u2:1 read");
    }
}

RW_TEST(another_layout_is_refused)
{
    script_redis(f, "SET " LUA_RWLOCK_RECORD " 3w");
    assert_like(rw_acquire(f, "u1:1", "r"), "!LKLAYOUT *");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

/* ---- a full server ---- */

RW_TEST(a_full_server_lets_nobody_in)
{
    char before[16];

    rw_acquire(f, "u1:1", "r");
    snprintf(before, sizeof(before), "%s", script_redis(f, "DBSIZE"));
    script_fill_memory(f, true);
    assert_like(rw_acquire(f, "u2:1", "r"), "!OOM *");
    assert_like(rw_acquire(f, "u3:1", "w"), "!OOM *");
    assert_like(rw_acquire(f, "u4:1", "u"), "!OOM *");
    script_redis(f, "DEL n %s", lua_rwlock_timeout("u1:1"));
    assert_like(rw_acquire(f, "u5:1", "w"), "!OOM *");
    assert_like(rw_acquire(f, "u6:1", "r"), "!OOM *");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_waiting(f, "");
}

RW_TEST(an_upgradeable_reader_comes_in_without_a_ticket)
{
    rw_acquire(f, "r1:1", "r");
    assert_like(rw_acquire(f, "u1:1", "u"), "1 * 30000");
    assert_like(script_redis(f, "HGET %s u1:1", LUA_RWLOCK_HOLDERS), "* 0 u *");
    assert_like(script_redis(f, "EXISTS " LUA_RWLOCK_QUEUE), "0");
}

/* The hash ended with them, so nobody took their records out. */
RW_TEST(records_of_those_who_are_gone_do_not_pile_up)
{
    rw_acquire(f, "r1:1", "r");
    script_expire(f);
    rw_acquire(f, "r2:1", "r");
    assert_like(script_redis(f, "HKEYS %s", LUA_RWLOCK_HOLDERS), "r2:1");
    script_expire(f);
    rw_acquire(f, "w1:1", "w");
    assert_like(script_redis(f, "EXISTS %s", LUA_RWLOCK_HOLDERS), "0");
}

RW_TEST(a_skipped_claim_that_comes_in_waits_no_more)
{
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "r2:1", "r");
    rw_release(f, "r1:1", NULL);
    rw_release(f, "r2:1", NULL);
    assert_held(f, "");
    assert_like(rw_parked(f), "1");
    assert_like(rw_acquire(f, "w1:1", "w"), "1 *");
    assert_like(rw_parked(f), "0");
}

RW_TEST(a_newcomer_does_not_pass_by_an_upgradeable_reader)
{
    rw_hear(f, "u1:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "u1:1", "u");
    script_expire(f);
    assert_like(rw_acquire(f, "w2:1", "w"), "2 0 *");
    rw_recheck(f, "w2:1");
    assert_held(f, "u1:1 read");
}

CHECK_GROUP(script_start_server, script_stop_server)
