/* SPDX-License-Identifier: MIT */

/* acquire: taking permits, and queueing for them. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/permits.h"

/* ---- taking ---- */

PERMITS_TEST(free_permits_are_taken)
{
    permits_set(f, 5);
    assert_like(permits_acquire(f, "u1:1", 3), "1 * 30000");
    assert_books(f, 5, 2);
    assert_in_range(permits_left(f, "u1:1", 1), 29000, 30000);
    assert_in_range(permits_left(f, "u1:1", 2), 29000, 30000);
    assert_in_range(permits_left(f, "u1:1", 3), 29000, 30000);
    assert_int_equal(permits_left(f, "u1:1", 4), 0);
}

/* As Redisson shows and expects them. */
PERMITS_TEST(a_permit_is_sixteen_bytes)
{
    permits_set(f, 1);
    permits_acquire(f, "u1:1", 1);
    assert_like(script_redis(f, "EVAL %s 1 %s",
                             "return #redis.call('ZRANGE', KEYS[1], 0, 0)[1]",
                             f->keys[PERMITS_ZSET]),
                "16");
}

PERMITS_TEST(what_is_known_of_a_holder_stands_under_its_first_permit)
{
    char expected[160];

    permits_set(f, 5);
    permits_acquire_with(f, "u1:1", 2,
                         (permits_wish){.reason = "of any bytes \n%s"});
    snprintf(expected, sizeof(expected),
             "u1:1 %lld 2 " PERMITS_NONCE
             " 0 * 0 - p of any bytes \n%%s + 0 u1:1",
             script_item(f, 1));
    assert_like(script_redis(f, "EVAL %s 1 %s",
                             "local all = redis.call('HVALS', KEYS[1])"
                             " table.sort(all, function(a, b) return #a > #b"
                             " end) return all",
                             f->keys[PERMITS_HOLDERS]),
                expected);
}

PERMITS_TEST(the_fence_grows_with_every_grant)
{
    long long first;

    permits_set(f, 5);
    permits_acquire(f, "u1:1", 1);
    first = script_item(f, 1);
    permits_acquire(f, "u2:1", 1);
    assert_true(script_item(f, 1) > first);
    permits_put_fence(f, 8000000000000000);
    assert_like(permits_acquire(f, "u3:1", 1), "1 8000000000000001 *");
}

PERMITS_TEST(more_than_is_free_is_not_taken)
{
    permits_set(f, 3);
    permits_acquire(f, "u1:1", 2);
    assert_like(permits_try(f, "u2:1", 2), "3 *");
    assert_in_range(script_item(f, 1), 29000, 30000);
    assert_books(f, 3, 1);
    assert_like(script_redis(f, "EXISTS %s", f->keys[PERMITS_QUEUE]), "0");
}

PERMITS_TEST(the_zset_ends_with_the_counter)
{
    script_redis(f, "SET n 2 PX 5000");
    permits_acquire(f, "u1:1", 1);
    assert_string_equal(script_redis(f, "KEYS n:timeout"), "");
    assert_in_range(script_key_pttl(f, PERMITS_ZSET), 4000, 5000);
    assert_in_range(script_pttl(f, "n"), 4000, 5000);
}

PERMITS_TEST(what_is_beside_it_ends_by_itself)
{
    permits_set(f, 1);
    permits_acquire_with(f, "u1:1", 1, (permits_wish){.lease = 60000});
    permits_acquire(f, "u2:1", 1);
    assert_in_range(script_key_pttl(f, PERMITS_HOLDERS),
                    PERMITS_LIFE_MS + 50000, 2 * PERMITS_LIFE_MS + 60000);
    assert_in_range(script_key_pttl(f, PERMITS_RECORD), PERMITS_LIFE_MS + 50000,
                    PERMITS_LIFE_MS + 60000);
    assert_in_range(script_key_pttl(f, PERMITS_QUEUE), 600000, 660000);
}

/* A longer lease that is already there keeps its record. */
PERMITS_TEST(a_short_lease_does_not_shorten_the_record_of_a_long_one)
{
    permits_set(f, 2);
    permits_acquire_with(f, "u1:1", 1, (permits_wish){.lease = 90000000});
    permits_acquire_with(f, "u2:1", 1, (permits_wish){.lease = 1000});
    assert_true(script_key_pttl(f, PERMITS_HOLDERS) > 90000000);
}

/* ---- once more ---- */

PERMITS_TEST(an_acquire_sent_again_gives_no_second_hold)
{
    char first[160];

    permits_set(f, 5);
    snprintf(first, sizeof(first), "%s", permits_acquire(f, "u1:1", 2));
    permits_put_fence(f, 8000000000000000);
    assert_like(permits_acquire(f, "u1:1", 2), "1 * *");
    assert_memory_equal(f->answer_text, first, 16);
    assert_books(f, 5, 3);
}

PERMITS_TEST(an_acquire_sent_again_does_not_change_a_lease)
{
    permits_set(f, 1);
    permits_acquire_with(f, "u1:1", 1, (permits_wish){.lease = 5000});
    permits_acquire(f, "u1:1", 1);
    assert_in_range(script_item(f, 2), 4000, 5000);
    assert_in_range(permits_left(f, "u1:1", 1), 4000, 5000);
}

/* Its record is gone, its permits are there: they are not paid for twice. */
PERMITS_TEST(permits_that_are_there_are_not_taken_once_more)
{
    permits_set(f, 5);
    permits_acquire(f, "u1:1", 2);
    script_redis(f, "DEL %s", f->keys[PERMITS_HOLDERS]);
    assert_like(permits_acquire(f, "u1:1", 2), "1 * 30000");
    assert_books(f, 5, 3);
}

PERMITS_TEST(an_acquire_sent_again_after_its_lease_takes_anew)
{
    long long first;

    permits_set(f, 2);
    permits_acquire(f, "u1:1", 2);
    first = script_item(f, 1);
    permits_expire(f, 1);
    assert_like(permits_acquire(f, "u1:1", 2), "1 * 30000");
    assert_true(script_item(f, 1) > first);
    assert_books(f, 2, 0);
}

PERMITS_TEST(an_acquire_sent_again_gives_no_second_ticket)
{
    long long ticket;

    permits_set(f, 1);
    permits_acquire(f, "u1:1", 1);
    assert_like(permits_acquire(f, "u2:1", 1), "2 * * 0");
    ticket = script_item(f, 2);
    permits_acquire(f, "u2:1", 1);
    assert_true(script_item(f, 2) == ticket);
    assert_like(script_redis(f, "ZCARD %s", f->keys[PERMITS_QUEUE]), "1");
}

PERMITS_TEST(a_claim_that_was_given_up_is_refused)
{
    permits_set(f, 3);
    permits_acquire(f, "u2:1", 1);
    permits_leave(f, "u1:1", true);
    assert_like(permits_acquire(f, "u1:1", 1), "!LKVOID*");
    assert_like(permits_try(f, "u1:1", 1), "!LKVOID*");
    assert_books(f, 3, 2);
}

/* It was passed by, and asks again: it does not go on waiting. */
PERMITS_TEST(a_claim_that_holds_does_not_wait)
{
    permits_set(f, 2);
    permits_acquire(f, "u1:1", 2);
    permits_acquire(f, "u2:1", 1);
    permits_release(f, "u1:1", 0);
    assert_like(permits_parked(f), "u2:1");
    assert_like(permits_acquire(f, "u2:1", 1), "1 *");
    assert_string_equal(permits_waiting(f), "");
    assert_string_equal(permits_parked(f), "");
}

/* ---- N ---- */

PERMITS_TEST(a_semaphore_without_a_number_is_unset)
{
    assert_like(permits_acquire(f, "u1:1", 1), "5");
    assert_like(script_redis(f, "DBSIZE"), "0");
}

PERMITS_TEST(the_first_sets_the_number)
{
    assert_like(permits_acquire_of(f, "u1:1", 1, 4, 'c'), "1 *");
    assert_books(f, 4, 3);
    assert_like(permits_acquire_of(f, "u2:1", 1, 7, 's'), "1 *");
    assert_books(f, 4, 2);
}

/* Redisson's waiters wait for a message only. */
PERMITS_TEST(who_sets_the_number_tells_redisson_what_is_free)
{
    script_listen(f, f->channel);
    permits_acquire_of(f, "u1:1", 1, 4, 's');
    assert_string_equal(script_heard(f), "redisson_sc:{n} 3\n");
    permits_acquire_of(f, "u2:1", 1, 4, 's');
    assert_string_equal(script_heard(f), "");
}

PERMITS_TEST(another_number_is_a_mismatch)
{
    permits_acquire_of(f, "u1:1", 1, 4, 'c');
    assert_like(permits_acquire_of(f, "u2:1", 1, 5, 'c'), "6 4");
    assert_like(permits_acquire_of(f, "u2:1", 1, 4, 'c'), "1 *");
    assert_books(f, 4, 2);
}

PERMITS_TEST(resize_replaces_the_number)
{
    permits_acquire_of(f, "u1:1", 3, 4, 'c');
    assert_like(permits_acquire_of(f, "u2:1", 1, 6, 'r'), "1 *");
    assert_books(f, 6, 2);
    assert_like(permits_acquire_of(f, "u3:1", 1, 2, 'r'), "2 *");
    assert_books(f, 2, -2);
}

PERMITS_TEST(who_makes_room_by_resize_lets_others_go_first)
{
    permits_set(f, 1);
    script_listen(f, "latchkey:in::u2");
    permits_acquire(f, "u1:1", 1);
    permits_acquire(f, "u2:1", 1);
    assert_like(permits_acquire_of(f, "u3:1", 1, 2, 'r'), "2 0 *");
    assert_books(f, 2, 1);
    assert_like(permits_look(f, "u3:1"), "2 * 0 0 0 (1*) ()");
    assert_like(script_heard(f), "latchkey:in::u2 grant 0 semaphore u2:1 *");
    permits_leave(f, "u3:1", false);
    assert_like(permits_acquire_of(f, "u4:1", 1, 3, 'r'), "1 *");
    assert_books(f, 3, 0);
}

PERMITS_TEST(more_than_the_number_is_out_of_range)
{
    permits_set(f, 3);
    assert_like(permits_acquire(f, "u1:1", 4), "4 3");
    assert_like(permits_acquire_of(f, "u1:1", 3, 2, 'r'), "4 2");
    assert_books(f, 3, 3);
    permits_acquire(f, "u2:1", 2);
    assert_like(permits_acquire(f, "u1:1", 4), "4 3");
    assert_like(permits_acquire(f, "u1:1", 3), "2 *");
}

PERMITS_TEST(a_number_that_is_too_small_is_not_set)
{
    assert_like(permits_acquire_of(f, "u1:1", 3, 2, 's'), "4 2");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

/* The counter was deleted, its holders still work. */
PERMITS_TEST(a_number_that_is_set_anew_counts_who_holds)
{
    permits_set(f, 4);
    permits_acquire(f, "u1:1", 3);
    script_redis(f, "DEL n");
    assert_like(permits_acquire_of(f, "u2:1", 2, 4, 's'), "2 *");
    assert_books(f, 4, 1);
}

/* ---- in line ---- */

/* However little he needs: a large request is not starved by small ones. */
PERMITS_TEST(nobody_passes_by_who_waits)
{
    permits_set(f, 4);
    script_listen(f, "latchkey:in::u2");
    permits_acquire(f, "u1:1", 2);
    permits_acquire(f, "u2:1", 3);
    assert_like(permits_try(f, "u3:1", 1), "3 *");
    assert_like(permits_acquire(f, "u3:1", 1), "2 *");
    assert_books(f, 4, 2);
    assert_like(permits_waiting(f), "u2:1 u3:1");
    assert_string_equal(script_heard(f), "");
}

PERMITS_TEST(who_tries_and_may_not_pass_leaves_no_ticket)
{
    permits_set(f, 4);
    script_listen(f, "latchkey:in::u2");
    permits_acquire(f, "u1:1", 2);
    permits_acquire(f, "u2:1", 3);
    assert_like(permits_try(f, "u3:1", 1), "3 *");
    assert_like(permits_waiting(f), "u2:1");
}

PERMITS_TEST(a_resize_serves_others_though_it_waits_itself)
{
    permits_set(f, 1);
    script_listen(f, "latchkey:in::u2");
    permits_acquire(f, "u1:1", 1);
    permits_acquire(f, "u2:1", 1);
    assert_like(permits_acquire_of(f, "u3:1", 2, 2, 'r'), "2 0 *");
    permits_look(f, "u3:1");
    assert_like(script_heard(f), "latchkey:in::u2 grant 0 semaphore u2:1 *");
}

PERMITS_TEST(a_dead_waiter_is_passed_by)
{
    permits_set(f, 4);
    permits_acquire(f, "u1:1", 2);
    permits_acquire(f, "u2:1", 3);
    assert_like(permits_acquire(f, "u3:1", 1), "1 * 30000");
    assert_string_equal(permits_waiting(f),
                        "u2:1"); /* the next touch parks it */
    assert_books(f, 4, 1);
}

PERMITS_TEST(who_tries_passes_a_dead_waiter_by_and_leaves_no_ticket)
{
    permits_set(f, 4);
    permits_acquire(f, "u1:1", 2);
    permits_acquire(f, "u2:1", 3);
    assert_like(permits_try(f, "u3:1", 3), "3 *");
    assert_like(permits_try(f, "u3:1", 1), "1 * 30000");
    assert_string_equal(permits_waiting(f), "u2:1");
}

/* A living one that fits is served by whoever comes. */
PERMITS_TEST(who_comes_gives_what_is_free_to_who_waits)
{
    permits_set(f, 4);
    script_listen(f, "latchkey:in::u2");
    permits_acquire(f, "u1:1", 4);
    permits_acquire(f, "u2:1", 2);
    permits_expire(f, 1);
    assert_like(permits_acquire(f, "u3:1", 3), "2 0 * 0"); /* so it touches */
    assert_string_equal(script_heard(f), "");
    assert_like(permits_look(f, "u3:1"), "2 * 0 0 0 (1*) ()");
    assert_like(script_heard(f), "latchkey:in::u2 grant 0 semaphore u2:1 *");
    assert_books(f, 4, 2);
}

/* They have what they need first, and hear of it. */
PERMITS_TEST(what_those_who_wait_leave_is_taken)
{
    permits_set(f, 4);
    script_listen(f, "latchkey:in::u2");
    permits_acquire(f, "u1:1", 4);
    permits_acquire(f, "u2:1", 2);
    permits_expire(f, 1);
    assert_like(permits_try(f, "u3:1", 3), "3 *");
    assert_like(script_heard(f), "latchkey:in::u2 open 0 semaphore u2:1 *");
    assert_like(permits_try(f, "u3:1", 2), "1 * 30000");
    assert_like(script_heard(f), "latchkey:in::u2 open 0 semaphore u2:1 *");
    assert_like(permits_look(f, "u2:1"), "2 * (0) (1 * 30000)");
    assert_books(f, 4, 0);
}

PERMITS_TEST(the_member_in_line_says_what_is_needed)
{
    permits_set(f, 4);
    permits_acquire(f, "u1:1", 4);
    permits_acquire_with(f, "u2:1", 3, (permits_wish){.reason = "why"});
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[PERMITS_QUEUE]),
                "u2:1 " PERMITS_NONCE " p 3 30000 - p why");
}

PERMITS_TEST(tickets_grow_and_are_given_once)
{
    long long first;

    permits_set(f, 1);
    permits_acquire(f, "u1:1", 1);
    permits_acquire(f, "u2:1", 1);
    first = script_item(f, 2);
    permits_acquire(f, "u3:1", 1);
    assert_true(script_item(f, 2) > first);
}

/* ---- what has ended ---- */

PERMITS_TEST(what_has_ended_makes_room)
{
    permits_set(f, 4);
    permits_acquire(f, "u1:1", 2);
    permits_acquire(f, "u2:1", 2);
    permits_expire(f, 1);
    assert_like(permits_acquire(f, "u3:1", 3), "1 *");
    assert_books(f, 4, 1);
    assert_like(script_redis(f, "HLEN %s", f->keys[PERMITS_HOLDERS]), "3");
}

PERMITS_TEST(what_is_left_is_the_time_to_the_next_end)
{
    permits_set(f, 2);
    permits_acquire(f, "u1:1", 1);
    permits_acquire_with(f, "u2:1", 1, (permits_wish){.lease = 5000});
    assert_like(permits_try(f, "u3:1", 1), "3 *");
    assert_in_range(script_item(f, 1), 4000, 5000);
}

PERMITS_TEST(what_never_ends_leaves_no_time)
{
    permits_set(f, 1);
    script_redis(f, "ZADD %s 922337203685477 0123456789abcdef",
                 f->keys[PERMITS_ZSET]);
    script_redis(f, "DECR n");
    assert_like(permits_try(f, "u3:1", 1), "3 -1");
}

CHECK_GROUP(script_start_server, script_stop_server)
