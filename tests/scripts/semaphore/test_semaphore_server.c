/* SPDX-License-Identifier: MIT */

/*
 * The semaphore's scripts where the server is full, or a key is not what it
 * should be. A full server refuses what is new; what is held can still be
 * kept, given back and handed over.
 */

#include <stdio.h>

#include "support/check.h"
#include "support/permits.h"

/* u1:1 has both; u2:1 and u3:1 wait for one each, and can be reached. */
static void two_wait(script_fixture *f)
{
    script_listen(f, "latchkey:in::u2");
    script_listen(f, "latchkey:in::u3");
    permits_set(f, 2);
    permits_acquire(f, "u1:1", 2);
    permits_acquire(f, "u2:1", 1);
    permits_acquire(f, "u3:1", 1);
}

/* ---- a full server ---- */

PERMITS_TEST(a_full_server_refuses_an_acquire)
{
    permits_set(f, 2);
    script_fill_memory(f, true);
    assert_like(permits_acquire(f, "u1:1", 1), "!OOM*");
    assert_like(permits_acquire_of(f, "u1:1", 1, 3, 'r'), "!OOM*");
    assert_books(f, 2, 2);
    assert_like(script_redis(f, "DBSIZE"), "1");
}

PERMITS_TEST(a_full_server_refuses_to_set_a_number)
{
    script_fill_memory(f, true);
    assert_like(permits_acquire_of(f, "u1:1", 1, 3, 's'), "!OOM*");
    assert_like(permits_resize(f, 3), "!OOM*");
    assert_like(script_redis(f, "DBSIZE"), "0");
}

/*
 * Once a script did a write that a full server allows, the rest gets through:
 * so what is refused must come before what has ended is taken back.
 */
PERMITS_TEST(a_full_server_refuses_what_has_ended_makes_room_for)
{
    permits_set(f, 2);
    permits_acquire(f, "u1:1", 2);
    permits_expire(f, 1);
    script_fill_memory(f, true);
    assert_like(permits_acquire(f, "u2:1", 1), "!OOM*");
    assert_like(permits_try(f, "u2:1", 1), "!OOM*");
    assert_books(f, 2, 0);
}

PERMITS_TEST(a_full_server_refuses_to_queue_a_claim)
{
    permits_set(f, 1);
    permits_acquire(f, "u1:1", 1);
    script_fill_memory(f, true);
    assert_like(permits_acquire(f, "u2:1", 1), "!OOM*");
    assert_like(script_redis(f, "EXISTS %s", f->keys[PERMITS_QUEUE]), "0");
}

PERMITS_TEST(a_full_server_lets_a_release_hand_over)
{
    two_wait(f);
    script_fill_memory(f, true);
    assert_like(permits_release(f, "u1:1", 0), "1 2 0 0");
    assert_like(script_heard(f),
                "latchkey:in::u2 grant *latchkey:in::u3 grant *");
    assert_books(f, 2, 0);
    assert_like(permits_release(f, "u2:1", 0), "1 2 0 0");
    assert_books(f, 2, 1);
}

PERMITS_TEST(a_full_server_lets_what_is_free_be_passed_on)
{
    two_wait(f);
    permits_expire(f, 1);
    script_fill_memory(f, true);
    assert_like(permits_pass(f), "2 * 0 0 0 (*) (*)");
    assert_like(script_heard(f),
                "latchkey:in::u2 grant *latchkey:in::u3 grant *");
}

/* Nothing has ended and nothing is given up: there is room all the same. */
PERMITS_TEST(a_full_server_lets_room_be_passed_on)
{
    two_wait(f);
    script_redis(f, "INCR n");
    script_fill_memory(f, true);
    assert_like(permits_pass(f), "2 * 0 0 0 (*) (*)");
    assert_like(script_heard(f), "latchkey:in::u2 grant *");
}

PERMITS_TEST(a_full_server_lets_a_waiter_look)
{
    two_wait(f);
    permits_age(f, "u2:1", 5000);
    script_fill_memory(f, true);
    assert_like(permits_look(f, "u2:1"), "2 * 0 0 0 (*) ()");
    assert_like(permits_touch(f, "u2:1", "u3:1"), "2 * 0 0 0 (*) *");
    script_fill_memory(f, false);
    permits_expire(f, 1);
    script_fill_memory(f, true);
    assert_like(permits_look(f, "u2:1"), "2 * 0 0 0 (0) (1 * 30000)");
}

PERMITS_TEST(a_full_server_lets_a_claim_end)
{
    two_wait(f);
    script_fill_memory(f, true);
    assert_like(permits_leave(f, "u3:1", true), "1 1 0 0");
    assert_like(permits_leave(f, "u1:1", true), "1 2 0 0");
    assert_like(permits_leave(f, "u4:1", true), "1 0 0 0");
    assert_like(script_redis(f, "ZCOUNT %s %lld +inf", f->keys[PERMITS_QUEUE],
                             9LL << 48),
                "3");
    assert_books(f, 2, 1);
}

PERMITS_TEST(a_full_server_lets_a_hold_be_kept)
{
    permits_set(f, 2);
    permits_acquire(f, "u1:1", 2);
    script_fill_memory(f, true);
    assert_like(permits_keep(f, "u1:1", 0, 60000), "1 60000 0");
    assert_like(permits_renew(f, "u1:1", 80000), "1 ()");
    assert_in_range(permits_left(f, "u1:1", 2), 79000, 80000);
}

PERMITS_TEST(a_full_server_lets_force_through)
{
    two_wait(f);
    script_fill_memory(f, true);
    assert_like(permits_force(f, ""), "1 2 0 0");
    assert_like(script_heard(f),
                "latchkey:in::u2 grant *latchkey:in::u3 grant *");
}

/* ---- keys that are not ours ---- */

static void assert_all_refuse(script_fixture *f, const char *error)
{
    assert_like(permits_acquire_of(f, "u1:1", 1, 3, 'r'), error);
    assert_like(permits_try(f, "u1:1", 1), error);
    assert_like(permits_look(f, "u1:1"), error);
    assert_like(permits_touch(f, "u1:1", NULL), error);
    assert_like(permits_release(f, "u1:1", 1), error);
    assert_like(permits_leave(f, "u1:1", true), error);
    assert_like(permits_keep(f, "u1:1", 1, 30000), error);
    assert_like(permits_force(f, ""), error);
    assert_like(permits_pass(f), error);
    assert_like(permits_resize(f, 3), error);
    assert_like(permits_count(f), error);
    assert_like(permits_info(f), error);
}

PERMITS_TEST(a_name_that_is_no_counter_is_refused)
{
    script_redis(f, "HSET n u1:1 1");
    assert_all_refuse(f, "!LKTYPE*");
    script_redis(f, "DEL n");
    script_redis(f, "SET n 1.5");
    assert_all_refuse(f, "!LKTYPE*");
    assert_like(script_redis(f, "DBSIZE"), "1");
}

PERMITS_TEST(permits_that_are_no_zset_are_refused)
{
    permits_set(f, 2);
    script_redis(f, "SET %s x", f->keys[PERMITS_ZSET]);
    assert_all_refuse(f, "!LKTYPE*");
    assert_like(script_redis(f, "DBSIZE"), "2");
}

/* One name is one of the two: its permits would be given twice. */
PERMITS_TEST(a_name_in_use_as_a_plain_semaphore_is_refused)
{
    permits_set(f, 2);
    permits_put_layout(f, "2c");
    assert_all_refuse(f, "!LKTYPE the name is in use as another kind: plain");
    assert_like(script_redis(f, "DBSIZE"), "2");
}

PERMITS_TEST(a_plain_semaphore_that_is_gone_leaves_its_name)
{
    permits_put_layout(f, "2c");
    assert_like(permits_acquire_of(f, "u1:1", 1, 3, 's'), "1 *");
    assert_like(script_redis(f, "GET %s", f->keys[PERMITS_RECORD]), "2p *");
}

PERMITS_TEST(a_latch_that_is_open_keeps_its_name)
{
    permits_put_layout(f, "2t");
    assert_all_refuse(f, "!LKTYPE the name is in use as another kind: latch");
    assert_like(script_redis(f, "DBSIZE"), "1");
}

/* A later release may keep other things in the same keys. */
PERMITS_TEST(another_layout_is_refused)
{
    permits_set(f, 2);
    permits_put_layout(f, "3p");
    assert_all_refuse(f, "!LKLAYOUT*");
    assert_like(script_redis(f, "DBSIZE"), "2");
}

PERMITS_TEST(a_record_that_is_no_string_is_replaced)
{
    script_redis(f, "HSET %s x y", f->keys[PERMITS_RECORD]);
    assert_like(permits_acquire_of(f, "u1:1", 1, 3, 's'), "1 *");
    assert_like(script_redis(f, "GET %s", f->keys[PERMITS_RECORD]), "2p *");
}

/* Types are looked at before the first write: nothing is done by halves. */
PERMITS_TEST(a_queue_of_another_type_stops_a_release_before_it_begins)
{
    permits_set(f, 2);
    permits_acquire(f, "u1:1", 2);
    script_redis(f, "SET %s x", f->keys[PERMITS_QUEUE]);
    assert_like(permits_release(f, "u1:1", 0), "!WRONGTYPE*");
    assert_like(permits_leave(f, "u1:1", true), "!WRONGTYPE*");
    assert_like(permits_force(f, ""), "!WRONGTYPE*");
    assert_like(permits_acquire(f, "u2:1", 1), "!WRONGTYPE*");
    assert_like(permits_resize(f, 3), "!WRONGTYPE*");
    assert_books(f, 2, 0);
}

PERMITS_TEST(holders_of_another_type_stop_a_script_before_it_begins)
{
    permits_set(f, 2);
    permits_acquire(f, "u1:1", 1);
    script_redis(f, "SET %s x", f->keys[PERMITS_HOLDERS]);
    assert_like(permits_release(f, "u1:1", 1), "!WRONGTYPE*");
    assert_like(permits_leave(f, "u1:1", true), "!WRONGTYPE*");
    assert_like(permits_force(f, ""), "!WRONGTYPE*");
    assert_like(permits_acquire(f, "u2:1", 1), "!WRONGTYPE*");
    assert_books(f, 2, 1);
}

/* ---- cost ---- */

PERMITS_TEST(a_permit_that_nobody_else_wants_costs_few_commands)
{
    int64_t fence;

    permits_set(f, 4);
    permits_acquire(f, "u1:1", 1);
    permits_release(f, "u1:1", 0);
    permits_acquire(f, "u0:1", 1);
    script_redis(f, "CONFIG RESETSTAT");
    permits_acquire(f, "u2:1", 1);
    assert_in_range(script_commands_called(f), 1, 13);
    fence = script_item(f, 1);
    script_redis(f, "CONFIG RESETSTAT");
    permits_release(f, "u2:1", fence);
    assert_in_range(script_commands_called(f), 1, 7);
}

PERMITS_TEST(the_short_way_leaves_what_the_long_one_leaves)
{
    permits_set(f, 4);
    permits_acquire(f, "u1:1", 1);
    permits_acquire(f, "u2:1", 1);
    script_listen(f, f->channel);
    assert_like(permits_release(f, "u2:1", 0), "1 2 0 0");
    assert_string_equal(script_heard(f), "redisson_sc:{n} 3\n");
    script_redis(f, "ZADD %s -1 gone", f->keys[PERMITS_QUEUE]);
    assert_like(permits_release(f, "u1:1", 0), "1 2 0 0");
    assert_string_equal(script_heard(f), "redisson_sc:{n} 4\n");
    assert_books(f, 4, 4);
    assert_like(script_redis(f, "EXISTS %s %s", f->keys[PERMITS_ZSET],
                             f->keys[PERMITS_HOLDERS]),
                "0");
}

/* A release costs the same however many wait. */
PERMITS_TEST(a_hand_over_costs_the_same_with_many_waiters)
{
    char claim[16];
    int64_t fence;
    long long cost;

    script_listen(f, "latchkey:in::u2");
    script_listen(f, "latchkey:in::u3");
    permits_set(f, 1);
    permits_acquire(f, "u1:1", 1);
    permits_acquire(f, "u2:1", 1);
    permits_acquire(f, "u3:1", 1);
    fence = permits_fence(f, "u1:1");
    script_redis(f, "CONFIG RESETSTAT");
    permits_release(f, "u1:1", fence);
    cost = script_commands_called(f);
    assert_in_range(cost, 1, 25);
    for (int i = 0; i < 200; i++) {
        snprintf(claim, sizeof(claim), "w%d:1", i);
        permits_acquire(f, claim, 1);
    }
    fence = permits_fence(f, "u2:1");
    script_redis(f, "CONFIG RESETSTAT");
    permits_release(f, "u2:1", fence);
    assert_in_range(script_commands_called(f), 1, cost + 1);
    assert_like(script_heard(f),
                "latchkey:in::u2 grant *latchkey:in::u3 grant *");
}

CHECK_GROUP(script_start_server, script_stop_server)
