/* SPDX-License-Identifier: MIT */

/* touch, and close of those who leave: what waiters do. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/permits.h"

/* u1:1 has 2 of 4, u5:1 the others; u2:1 and u3:1 wait for 3 and 1, and can be
   reached. */
static void two_wait(script_fixture *f)
{
    script_listen(f, "latchkey:in::u2");
    script_listen(f, "latchkey:in::u3");
    permits_set(f, 4);
    permits_acquire(f, "u1:1", 2);
    permits_acquire(f, "u5:1", 2);
    permits_acquire(f, "u2:1", 3);
    permits_acquire(f, "u3:1", 1);
}

/* All permits that are there come back, as if their holders had died. */
static void everybody_dies(script_fixture *f)
{
    permits_expire(f, 1);
}

/* ---- recheck ---- */

PERMITS_TEST(a_waiter_hears_that_it_still_waits)
{
    long long ticket;

    two_wait(f);
    ticket = permits_ticket(f, "u2:1");
    assert_like(permits_look(f, "u2:1"), "2 * 0 0 0 (*) ()");
    assert_in_range(script_item(f, 1), 29000, 30000);
    assert_true(f->answer->element[5]->element[0]->integer == ticket);
}

PERMITS_TEST(a_look_says_that_the_waiter_lives)
{
    two_wait(f);
    permits_age(f, "u2:1", 5000);
    permits_look(f, "u2:1");
    permits_release(f, "u1:1", 0);
    assert_like(permits_waiting(f), "u2:1 u3:1");
}

PERMITS_TEST(a_waiter_finds_what_has_ended)
{
    two_wait(f);
    everybody_dies(f);
    assert_like(permits_look(f, "u2:1"), "2 * 0 0 0 (0) (1 * 30000)");
    assert_true(f->answer->element[6]->element[1]->integer ==
                permits_fence(f, "u2:1"));
    assert_in_range(permits_left(f, "u2:1", 3), 29000, 30000);
}

PERMITS_TEST(who_finds_room_serves_those_behind_it)
{
    two_wait(f);
    everybody_dies(f);
    permits_look(f, "u2:1");
    assert_like(script_heard(f), "latchkey:in::u3 grant 0 semaphore u3:1 * *");
    assert_books(f, 4, 0);
    assert_like(permits_waiting(f), "");
}

PERMITS_TEST(whoever_looks_serves_the_first)
{
    two_wait(f);
    everybody_dies(f);
    assert_like(permits_look(f, "u3:1"), "2 * (0) (1 *");
    assert_like(script_heard(f), "latchkey:in::u2 grant 0 semaphore u2:1 * *");
    assert_books(f, 4, 0);
}

PERMITS_TEST(a_look_finds_a_grant_whose_message_was_lost)
{
    two_wait(f);
    permits_release(f, "u1:1", 0);
    permits_release(f, "u5:1", 0);
    assert_like(permits_look(f, "u2:1"), "2 * 0 0 0 (0) (1 * [1-3]???*)");
    assert_in_range(permits_left(f, "u2:1", 1), 1, 3000);
}

PERMITS_TEST(a_look_leaves_a_lease_as_it_is)
{
    permits_set(f, 1);
    permits_acquire_with(f, "u1:1", 1, (permits_wish){.lease = 90000});
    assert_like(permits_look(f, "u1:1"), "2 * 0 0 0 (0) (1 * *)");
    assert_in_range(f->answer->element[6]->element[2]->integer, 80000, 90000);
    assert_in_range(permits_left(f, "u1:1", 1), 80000, 90000);
}

PERMITS_TEST(who_neither_holds_nor_waits_is_not_known)
{
    two_wait(f);
    assert_like(permits_look(f, "u9:1"), "2 * (0) ()");
    assert_like(permits_waiting(f), "u2:1 u3:1");
}

PERMITS_TEST(who_lost_a_permit_holds_nothing)
{
    permits_set(f, 4);
    permits_acquire(f, "u1:1", 2);
    permits_sweep_one(f, "u1:1", 2);
    assert_like(permits_look(f, "u1:1"), "2 * (0) ()");
}

PERMITS_TEST(a_waiter_without_a_semaphore_waits_no_longer)
{
    two_wait(f);
    script_redis(f, "DEL n");
    assert_like(permits_look(f, "u2:1"), "2 * (0) ()");
    assert_like(permits_waiting(f), "u3:1");
}

PERMITS_TEST(a_waiter_that_needs_more_than_there_is_is_told)
{
    two_wait(f);
    script_redis(f, "DECRBY n 2");
    assert_like(permits_look(f, "u2:1"), "1 2");
    assert_like(permits_waiting(f), "u3:1");
    assert_like(permits_look(f, "u3:1"), "2 * (*) ()");
}

PERMITS_TEST(a_waiter_that_was_put_aside_is_told)
{
    two_wait(f);
    script_redis(f, "DECRBY n 2");
    permits_release(f, "u1:1", 0);
    permits_release(f, "u5:1", 0);
    assert_like(script_heard(f), "latchkey:in::u3 grant 0 semaphore u3:1 * *");
    assert_like(permits_look(f, "u2:1"), "1 2");
    assert_like(permits_look(f, "u2:1"), "2 * (0) ()");
}

/* It is put aside and comes back by turns; either way it is to look. */
PERMITS_TEST(a_touch_sends_who_waits_in_vain_to_look)
{
    two_wait(f);
    permits_acquire(f, "u6:1", 1);
    script_redis(f, "DECRBY n 2");
    permits_release(f, "u1:1", 0);
    permits_release(f, "u5:1", 0);
    assert_like(permits_touch(f, "u6:1", "u2:1"), "2 * 0 0 0 (0 0) (1 * 3000)");
    assert_like(permits_look(f, "u2:1"), "1 2");
}

PERMITS_TEST(a_touch_sends_all_to_look_where_no_number_is_set)
{
    two_wait(f);
    script_redis(f, "DEL n");
    assert_like(permits_touch(f, "u2:1", "u3:1"), "2 * 0 0 0 (0 0) ()");
}

PERMITS_TEST(a_skipped_waiter_keeps_its_ticket)
{
    two_wait(f);
    permits_age(f, "u2:1", 3500);
    permits_release(f, "u1:1", 0);
    assert_like(script_heard(f), "latchkey:in::u3 grant 0 semaphore u3:1 * *");
    permits_acquire(f, "u6:1", 1);
    assert_like(permits_acquire(f, "u7:1", 1), "2 *");
    permits_look(f, "u2:1");
    assert_like(permits_waiting(f), "u2:1 u7:1");
}

/* ---- many at once ---- */

PERMITS_TEST(a_client_says_that_all_its_waiters_live)
{
    two_wait(f);
    permits_age(f, "u2:1", 5000);
    permits_age(f, "u3:1", 5000);
    assert_like(permits_touch(f, "u2:1", "u3:1"), "2 * 0 0 0 (* *) *");
    assert_in_range(script_item(f, 1), 29000, 30000);
    assert_true(f->answer->element[5]->element[1]->integer ==
                permits_ticket(f, "u3:1"));
    permits_release(f, "u1:1", 0);
    assert_like(permits_waiting(f), "u2:1 u3:1");
}

PERMITS_TEST(who_does_not_wait_has_no_ticket)
{
    two_wait(f);
    assert_like(permits_touch(f, "u9:1", "u3:1"), "2 * 0 0 0 (0 1*) *");
    assert_like(permits_waiting(f), "u2:1 u3:1");
}

PERMITS_TEST(those_whose_turn_it_is_are_told_that_they_hold)
{
    two_wait(f);
    everybody_dies(f);
    assert_like(permits_touch(f, "u3:1", "u2:1"),
                "2 * 0 0 0 (0 0) (2 * 3000 1 * 3000)");
    assert_string_equal(script_heard(f), "");
    assert_books(f, 4, 0);
}

PERMITS_TEST(others_are_served_by_a_touch)
{
    two_wait(f);
    permits_acquire(f, "u6:1", 1);
    script_redis(f, "INCR n");
    everybody_dies(f);
    assert_like(permits_touch(f, "u6:1", NULL), "2 * 0 0 0 (0) (1 * 30000)");
    assert_like(script_heard(f), "latchkey:in::u2 grant 0 semaphore u2:1 *\n"
                                 "latchkey:in::u3 grant 0 semaphore u3:1 *\n");
    assert_books(f, 5, 0);
}

PERMITS_TEST(who_looks_last_has_its_own_lease)
{
    two_wait(f);
    permits_acquire_with(f, "u6:1", 1, (permits_wish){.lease = 20000});
    script_redis(f, "INCR n");
    everybody_dies(f);
    assert_like(permits_touch(f, "u6:1", NULL), "2 * 0 0 0 (0) (1 * 20000)");
    assert_in_range(permits_left(f, "u6:1", 1), 1, 20000);
}

PERMITS_TEST(a_touch_passes_by_the_dead)
{
    two_wait(f);
    permits_age(f, "u2:1", 3500);
    permits_acquire(f, "u6:1", 2);
    script_redis(f, "INCR n");
    assert_like(permits_touch(f, "u6:1", NULL), "2 * 0 0 0 (1*) ()");
    assert_like(script_heard(f), "latchkey:in::u3 grant 0 semaphore u3:1 *");
    assert_like(permits_waiting(f), "u6:1");
    assert_like(permits_parked(f), "u2:1");
}

/* It looks, so it is alive, but there is no room for it. */
PERMITS_TEST(a_waiter_whose_inbox_is_away_is_not_called_for_nothing)
{
    permits_set(f, 4);
    permits_acquire(f, "u1:1", 2);
    permits_acquire(f, "u2:1", 3);
    assert_like(permits_touch(f, "u2:1", NULL), "2 * 0 0 0 (*) *");
    assert_like(permits_waiting(f), "u2:1");
}

/* ---- leaving ---- */

PERMITS_TEST(a_waiter_leaves_without_a_trace)
{
    two_wait(f);
    assert_like(permits_leave(f, "u3:1", false), "1 1 0 0");
    assert_like(permits_waiting(f), "u2:1");
}

PERMITS_TEST(a_large_request_that_leaves_makes_way)
{
    two_wait(f);
    permits_release(f, "u1:1", 0);
    assert_like(permits_leave(f, "u2:1", false), "1 1 0 0");
    assert_like(script_heard(f), "latchkey:in::u3 grant 0 semaphore u3:1 * *");
    assert_books(f, 4, 1);
}

PERMITS_TEST(a_holder_that_leaves_gives_back)
{
    two_wait(f);
    permits_release(f, "u1:1", 0);
    assert_like(permits_leave(f, "u5:1", false), "1 2 0 0");
    assert_like(script_heard(f),
                "latchkey:in::u2 grant 0 semaphore u2:1 * *\n"
                "latchkey:in::u3 grant 0 semaphore u3:1 * *\n");
    assert_books(f, 4, 0);
}

PERMITS_TEST(who_neither_holds_nor_waits_leaves_nothing)
{
    two_wait(f);
    assert_like(permits_leave(f, "u9:1", false), "1 0 0 0");
    assert_books(f, 4, 0);
}

PERMITS_TEST(a_claim_that_is_given_up_is_remembered_for_a_while)
{
    permits_set(f, 1);
    assert_like(permits_leave(f, "u1:1", true), "1 0 0 0");
    assert_in_range(script_key_pttl(f, PERMITS_QUEUE), 650000, 660000);
    assert_like(permits_acquire_with(f, "u1:1", 1, (permits_wish){.lease = 0}),
                "!LKVOID*");
}

CHECK_GROUP(script_start_server, script_stop_server)
