/* SPDX-License-Identifier: MIT */

/*
 * plain_recheck, plain_touch: waiting for permits, and one's turn.
 */

#include <stdio.h>

#include "support/check.h"
#include "support/plain_script.h"

/* ---- recheck ---- */

PLAIN_TEST(a_waiter_takes_in_its_turn)
{
    plain_three_wait(f);
    script_redis(f, "SET n 2");
    assert_like(plain_recheck(f, "b:2"), "1 *");
    assert_free(f, "0");
    assert_like(plain_queue(f), "c:3 d:4");
    assert_int_equal(plain_ticket(f, "b:2"), 0);
}

PLAIN_TEST(a_waiter_that_took_is_told_so_again)
{
    plain_three_wait(f);
    script_redis(f, "SET n 2");
    plain_recheck(f, "b:2");
    assert_like(plain_recheck(f, "b:2"), "1 0");
    assert_like(plain_acquire(f, "b:2", "2"), "1");
    assert_free(f, "0");
}

PLAIN_TEST(a_waiter_that_needs_more_waits_on)
{
    plain_three_wait(f);
    script_redis(f, "SET n 1");
    assert_like(plain_recheck(f, "b:2"), "3 -1 0 0 0 0 (*)");
    assert_free(f, "1");
}

PLAIN_TEST(a_waiter_does_not_pass_those_before_it)
{
    plain_three_wait(f);
    script_redis(f, "SET n 1");
    assert_like(plain_recheck(f, "c:3"), "3 -1 0 0 0 0 (*)");
    script_redis(f, "SET n 2");
    assert_like(plain_recheck(f, "d:4"), "3 -1 0 0 0 0 (*)");
    assert_free(f, "2");
}

/* One release may be enough for several: each that takes tells the next. */
PLAIN_TEST(who_takes_tells_the_next)
{
    plain_three_wait(f);
    plain_release(f, "e:5", "4");
    assert_like(script_heard(f), "latchkey:in::b open 0 plain b:2 * n\n");
    plain_recheck(f, "b:2");
    assert_like(script_heard(f), "latchkey:in::c open 0 plain c:3 * n\n");
    plain_recheck(f, "c:3");
    assert_like(script_heard(f), "latchkey:in::d open 0 plain d:4 * n\n");
    assert_like(plain_recheck(f, "d:4"), "1 *");
    assert_free(f, "0");
    assert_string_equal(script_heard(f), "");
}

/* A message that was lost is made up for by whoever looks. */
PLAIN_TEST(who_looks_in_vain_tells_the_one_whose_turn_it_is)
{
    plain_three_wait(f);
    script_redis(f, "SET n 2");
    plain_recheck(f, "d:4");
    assert_like(script_heard(f), "latchkey:in::b open 0 plain b:2 * n\n");
}

PLAIN_TEST(the_ticket_of_who_takes_is_the_one_it_had)
{
    long long ticket;

    plain_set(f, "a:1", "0");
    plain_acquire(f, "b:2", "1");
    ticket = script_item(f, 2);
    script_redis(f, "SET n 1");
    plain_recheck(f, "b:2");
    assert_true(script_item(f, 1) == ticket);
}

/* It asks, so it lives, whatever its inbox says. */
PLAIN_TEST(a_waiter_that_cannot_be_reached_takes_in_its_turn)
{
    plain_set(f, "a:1", "0");
    plain_acquire(f, "b:2", "1");
    script_redis(f, "SET n 1");
    assert_like(plain_recheck(f, "b:2"), "1 *");
}

PLAIN_TEST(a_waiter_that_was_passed_comes_back_to_its_place)
{
    plain_three_wait(f);
    plain_age(f, "b:2", 3001);
    plain_release(f, "e:5", "1");
    assert_like(plain_queue(f), "c:3 d:4");
    assert_like(plain_recheck(f, "b:2"), "3 -1 0 0 0 0 (*)");
    assert_like(plain_queue(f), "b:2 c:3 d:4");
    assert_like(plain_parked(f), "");
    assert_like(plain_recheck(f, "c:3"), "3 -1 0 0 0 0 (*)");
}

PLAIN_TEST(a_stranger_is_not_queued_by_a_look)
{
    plain_set(f, "a:1", "1");
    assert_like(plain_recheck(f, "b:2"), "3 -1 0 0 0 0 (0)");
    assert_like(plain_queue(f), "");
    assert_free(f, "1");
}

PLAIN_TEST(a_waiter_hears_that_the_counter_is_gone)
{
    plain_three_wait(f);
    script_redis(f, "DEL n");
    assert_like(plain_recheck(f, "c:3"), "2");
    assert_like(plain_queue(f), "b:2 d:4");
    assert_like(plain_recheck(f, "c:3"), "3 -1 0 0 0 0 (0)");
    assert_like(plain_parked(f), "b:2 d:4"); /* who are told */
}

PLAIN_TEST(a_waiter_learns_when_the_counter_ends)
{
    plain_set_for(f, "a:1", "0", "60000");
    plain_acquire(f, "b:2", "1");
    plain_recheck(f, "b:2");
    assert_in_range(script_item(f, 1), 50000, 60000);
}

PLAIN_TEST(a_look_behind_many_dead_asks_to_be_repeated)
{
    plain_set(f, "a:1", "0");
    for (int i = 0; i < 70; i++)
        plain_put_dead(f, i);
    plain_acquire(f, "b:2", "1");
    script_redis(f, "SET n 1");
    assert_like(plain_recheck(f, "b:2"), "3 -1 0 0 1 0 (*)");
    assert_like(plain_recheck(f, "b:2"), "1 *");
}

/* The waiter had its place before the server was full. */
PLAIN_TEST(a_full_server_lets_a_waiter_take)
{
    plain_set(f, "a:1", "0");
    plain_acquire(f, "b:2", "1");
    script_redis(f, "SET n 1");
    script_fill_memory(f, true);
    assert_like(plain_recheck(f, "b:2"), "1 *");
    assert_free(f, "0");
}

/* ---- touch ---- */

PLAIN_TEST(a_touch_says_whose_turn_it_is)
{
    char expected[96];

    plain_three_wait(f);
    snprintf(expected, sizeof(expected), "3 -1 0 0 0 0 (%lld %lld)",
             plain_ticket(f, "c:3"), plain_ticket(f, "b:2"));
    assert_like(plain_touch(f, "c:3", "b:2"), expected);
    assert_true(plain_ticket(f, "c:3") > plain_ticket(f, "b:2"));
    script_redis(f, "SET n 2");
    assert_like(plain_touch(f, "c:3", "b:2"), "3 -1 0 2 0 0 (* *)");
    assert_free(f, "2");
    assert_string_equal(script_heard(f), "");
}

PLAIN_TEST(a_touch_tells_another_clients_waiter)
{
    plain_three_wait(f);
    script_redis(f, "SET n 2");
    assert_like(plain_touch(f, "c:3", "d:4"), "3 -1 0 0 0 0 (* *)");
    assert_like(script_heard(f), "latchkey:in::b open 0 plain b:2 * n\n");
}

PLAIN_TEST(a_touch_says_that_nobodys_turn_has_come)
{
    plain_three_wait(f);
    script_redis(f, "SET n 1");
    assert_like(plain_touch(f, "b:2", "c:3"), "3 -1 0 0 0 0 (* *)");
    assert_string_equal(script_heard(f), "");
}

PLAIN_TEST(a_touch_passes_the_dead)
{
    plain_three_wait(f);
    plain_age(f, "b:2", 3001);
    script_redis(f, "SET n 1");
    assert_like(plain_touch(f, "d:4", NULL), "3 -1 0 0 0 0 (*)");
    assert_like(script_heard(f), "latchkey:in::c open 0 plain c:3 * n\n");
    assert_like(plain_queue(f), "c:3 d:4");
}

PLAIN_TEST(a_touch_keeps_waiters_alive)
{
    plain_three_wait(f);
    plain_age(f, "b:2", 3001);
    plain_touch(f, "b:2", NULL);
    script_redis(f, "SET n 2");
    plain_touch(f, "d:4", NULL);
    assert_like(plain_queue(f), "b:2 c:3 d:4");
}

PLAIN_TEST(a_touch_does_not_queue)
{
    plain_set(f, "a:1", "1");
    assert_like(plain_touch(f, "b:2", NULL), "3 -1 0 0 0 0 (0)");
    assert_like(plain_queue(f), "");
}

/* Ticket 0 has each of them look, and hear it. */
PLAIN_TEST(a_touch_shows_that_the_counter_is_gone)
{
    plain_three_wait(f);
    script_redis(f, "DEL n");
    assert_like(plain_touch(f, "b:2", "c:3"), "3 -1 0 0 0 0 (0 0)");
    assert_like(plain_recheck(f, "b:2"), "2");
    assert_like(plain_recheck(f, "c:3"), "2");
}

/* ---- beside Redisson's clients ---- */

/* These tell nobody of ours what they give back. */
PLAIN_TEST(the_next_tries_for_itself_while_redisson_is_there)
{
    plain_set(f, "a:1", "0");
    script_listen(f, f->channel);
    assert_like(plain_acquire(f, "b:2", "1"), "2 -1 * 1");
    assert_like(plain_acquire(f, "c:3", "1"), "2 -1 * 0");
    assert_like(plain_recheck(f, "b:2"), "3 -1 1 1 0 0 (*)");
    assert_like(plain_recheck(f, "c:3"), "3 -1 0 0 0 0 (*)");
    assert_like(plain_touch(f, "c:3", "b:2"), "3 -1 1 2 0 0 (* *)");
    assert_like(plain_touch(f, "c:3", NULL), "3 -1 0 0 0 0 (*)");
    script_deafen(f, f->channel);
    assert_like(plain_recheck(f, "b:2"), "3 -1 0 0 0 0 (*)");
}

PLAIN_TEST(the_next_tries_for_itself_where_redisson_is_said_to_be)
{
    f->interop = "1";
    plain_set(f, "a:1", "0");
    assert_like(plain_acquire(f, "b:2", "1"), "2 -1 * 1");
    assert_like(plain_recheck(f, "b:2"), "3 -1 1 1 0 0 (*)");
}

/* ---- waiters that were there when the counter was deleted ---- */

PLAIN_TEST(who_waited_for_a_deleted_counter_hears_it)
{
    plain_three_wait(f);
    assert_like(plain_delete(f, "e:5"), "1 0 0 0");
    assert_like(script_heard(f), "latchkey:in::b open 0 plain b:2 * n\n"
                                 "latchkey:in::c open 0 plain c:3 * n\n"
                                 "latchkey:in::d open 0 plain d:4 * n\n");
    assert_like(plain_recheck(f, "c:3"), "2");
    assert_like(plain_recheck(f, "b:2"), "2");
    assert_like(plain_acquire(f, "d:4", "1"), "5");
}

PLAIN_TEST(a_counter_that_is_set_anew_has_no_old_waiters)
{
    plain_three_wait(f);
    plain_delete(f, "e:5");
    plain_set(f, "f:6", "9");
    assert_like(plain_touch(f, "b:2", "c:3"), "3 -1 0 0 0 0 (0 0)");
    assert_like(plain_acquire(f, "g:7", "9"), "1");
    assert_like(plain_recheck(f, "b:2"), "2");
    assert_like(plain_acquire(f, "d:4", "1"), "5");
    assert_like(plain_recheck(f, "c:3"), "2");
    assert_free(f, "0");
}

PLAIN_TEST(a_counter_that_is_set_anew_has_new_waiters)
{
    plain_three_wait(f);
    plain_delete(f, "e:5");
    plain_set(f, "f:6", "0");
    plain_hear(f, "g:7", (char *)NULL);
    plain_acquire(f, "g:7", "1");
    assert_true(script_item(f, 2) > 0);
    script_heard(f);
    plain_release(f, "h:8", "1");
    assert_like(script_heard(f), "latchkey:in::g open 0 plain g:7 * n\n");
    assert_like(plain_recheck(f, "g:7"), "1 *");
}

/* The mark of the gone may be ahead of the server's clock. */
PLAIN_TEST(a_new_ticket_is_above_those_that_are_gone)
{
    plain_set(f, "a:1", "0");
    plain_put_gone(f, 250000000000000);
    assert_like(plain_acquire(f, "b:2", "1"), "2 -1 250000000000001 0");
    assert_like(plain_recheck(f, "b:2"), "3 -1 0 0 0 0 (250000000000001)");
}

/* ---- beside Redisson's that wait ---- */

enum { OURS_MS = 5, THEIRS_MS = 25 }; /* in a slice of 20 ms */

/* What it answers in both. */
PLAIN_TEST(while_redissons_listen_every_other_slice_is_theirs)
{
    plain_hear(f, "b:2", (char *)NULL);
    script_listen(f, f->channel);
    plain_set(f, "a:1", "0");
    plain_acquire(f, "b:2", "1");
    script_redis(f, "SET n 1");
    script_at(f, THEIRS_MS);
    assert_like(plain_recheck(f, "b:2"), "3 15 2 0 0 0 (*)");
    script_at(f, THEIRS_MS + 14);
    assert_like(plain_recheck(f, "b:2"), "3 1 2 0 0 0 (*)");
    assert_free(f, "1");
    script_at(f, OURS_MS);
    assert_like(plain_recheck(f, "b:2"), "1 *");
}

PLAIN_TEST(who_comes_then_queues_and_who_tries_takes)
{
    script_listen(f, f->channel);
    plain_set(f, "a:1", "1");
    script_at(f, THEIRS_MS);
    assert_like(plain_acquire(f, "b:2", "1"), "2 15 * 2");
    plain_leave(f, "b:2", "0");
    assert_like(plain_try(f, "c:3", "1"), "1");
    script_redis(f, "SET n 1");
    script_at(f, OURS_MS);
    assert_like(plain_acquire(f, "d:4", "1"), "1");
}

CHECK_GROUP(script_start_server, script_stop_server)
