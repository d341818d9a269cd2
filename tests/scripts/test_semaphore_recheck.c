/* SPDX-License-Identifier: MIT */

/* semaphore_recheck, _touch and _leave: what waiters do. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/permits.h"

static long long number(const char *text)
{
    return strtoll(text, NULL, 10);
}

/* u:1 has 2 of 4, u:5 the others; u:2 and u:3 wait for 3 and 1, and can be
   reached. */
static void two_wait(script_fixture *f)
{
    script_listen(f, "in:u:2");
    script_listen(f, "in:u:3");
    permits_set(f, 4);
    permits_acquire(f, "u:1", 2);
    permits_acquire(f, "u:5", 2);
    permits_acquire(f, "u:2", 3);
    permits_acquire(f, "u:3", 1);
}

static const char *waiting(script_fixture *f)
{
    return script_redis(f, "ZRANGE %s 0 -1", f->keys[PERMITS_QUEUE]);
}

/* All permits that are there come back, as if their holders had died. */
static void everybody_dies(script_fixture *f)
{
    permits_expire(f, 1);
}

/* ---- recheck ---- */

static void a_waiter_hears_that_it_still_waits(void **state)
{
    script_fixture *f = *state;
    long long ticket;

    two_wait(f);
    ticket = number(script_redis(f, "ZSCORE %s u:2", f->keys[PERMITS_QUEUE]));
    assert_like(permits_recheck(f, "u:2"), "0 * * 0 0 0");
    assert_in_range(script_item(f, 1), 29000, 30000);
    assert_true(script_item(f, 2) == ticket);
}

static void a_look_says_that_the_waiter_lives(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_age(f, "u:2", 5000);
    permits_recheck(f, "u:2");
    permits_release(f, "u:1", NULL);
    assert_like(waiting(f), "u:2 u:3");
}

static void a_waiter_finds_what_has_ended(void **state)
{
    script_fixture *f = *state;
    long long ticket;

    two_wait(f);
    ticket = number(script_redis(f, "ZSCORE %s u:2", f->keys[PERMITS_QUEUE]));
    everybody_dies(f);
    assert_like(permits_recheck(f, "u:2"), "1 * 30000 * *");
    assert_true(script_item(f, 3) == ticket);
    assert_true(script_item(f, 1) == script_item(f, 4));
    assert_in_range(permits_left(f, "u:2", 3), 29000, 30000);
}

static void who_finds_room_serves_those_behind_it(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    everybody_dies(f);
    permits_recheck(f, "u:2");
    assert_like(script_heard(f), "in:u:3 grant semaphore u:3 *");
    assert_books(f, 4, 0);
    assert_like(waiting(f), "");
}

static void whoever_looks_serves_the_first(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    everybody_dies(f);
    assert_like(permits_recheck(f, "u:3"), "1 *");
    assert_like(script_heard(f), "in:u:2 grant semaphore u:2 *");
    assert_books(f, 4, 0);
}

static void a_look_finds_a_grant_whose_message_was_lost(void **state)
{
    script_fixture *f = *state;
    long long ticket;

    two_wait(f);
    ticket = number(script_redis(f, "ZSCORE %s u:2", f->keys[PERMITS_QUEUE]));
    permits_release(f, "u:1", NULL);
    permits_release(f, "u:5", NULL);
    assert_like(permits_recheck(f, "u:2"), "1 * 30000 * *");
    assert_true(script_item(f, 3) == ticket);
    assert_in_range(permits_left(f, "u:2", 1), 29000, 30000);
}

static void a_look_only_lengthens_a_lease(void **state)
{
    script_fixture *f = *state;

    permits_set(f, 1);
    permits_acquire_with(f, "u:1", 1, (permits_wish){.lease = "90000"});
    assert_like(permits_recheck(f, "u:1"), "1 * 0 *");
    assert_in_range(script_item(f, 2), 80000, 90000);
    assert_in_range(permits_left(f, "u:1", 1), 80000, 90000);
}

static void who_neither_holds_nor_waits_is_not_known(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    assert_like(permits_recheck(f, "u:9"), "3");
    assert_like(waiting(f), "u:2 u:3");
}

static void who_lost_a_permit_holds_nothing(void **state)
{
    script_fixture *f = *state;

    permits_set(f, 4);
    permits_acquire(f, "u:1", 2);
    permits_sweep_one(f, "u:1", 2);
    assert_like(permits_recheck(f, "u:1"), "3");
}

static void a_waiter_without_a_semaphore_waits_no_longer(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_redis(f, "DEL n");
    assert_like(permits_recheck(f, "u:2"), "3");
    assert_like(waiting(f), "u:3");
}

static void a_waiter_that_needs_more_than_there_is_is_told(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_redis(f, "DECRBY n 2");
    assert_like(permits_recheck(f, "u:2"), "4");
    assert_like(waiting(f), "u:3");
    assert_like(permits_recheck(f, "u:3"), "0 *");
}

static void a_waiter_that_was_put_aside_is_told(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_redis(f, "DECRBY n 2");
    permits_release(f, "u:1", NULL);
    permits_release(f, "u:5", NULL);
    assert_like(script_heard(f), "in:u:3 grant semaphore u:3 *");
    assert_like(permits_recheck(f, "u:2"), "4");
    assert_like(permits_recheck(f, "u:2"), "3");
}

/* It is put aside and comes back by turns; either way it is to look. */
static void a_touch_sends_who_waits_in_vain_to_look(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    permits_acquire(f, "u:6", 1);
    script_redis(f, "DECRBY n 2");
    permits_release(f, "u:1", NULL);
    permits_release(f, "u:5", NULL);
    assert_like(permits_touch(f, "u:6", "u:2"), "* 1 0 0 1* 0");
    assert_like(permits_recheck(f, "u:2"), "4");
}

static void a_touch_sends_all_to_look_where_no_number_is_set(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_redis(f, "DEL n");
    assert_like(permits_touch(f, "u:2", "u:3"), "* 0 0 0 0 0");
}

static void a_skipped_waiter_keeps_its_ticket(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_age(f, "u:2", 3500);
    permits_release(f, "u:1", NULL);
    assert_like(script_heard(f), "in:u:3 grant semaphore u:3 *");
    permits_acquire(f, "u:6", 1);
    assert_like(permits_acquire(f, "u:7", 1), "0 *");
    permits_recheck(f, "u:2");
    assert_like(waiting(f), "u:2 u:7");
}

/* ---- many at once ---- */

static void a_client_says_that_all_its_waiters_live(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_age(f, "u:2", 5000);
    script_age(f, "u:3", 5000);
    assert_like(permits_touch(f, "u:2", "u:3"), "* 0 0 0 * *");
    assert_in_range(script_item(f, 0), 29000, 30000);
    assert_true(
        script_item(f, 5) ==
        number(script_redis(f, "ZSCORE %s u:3", f->keys[PERMITS_QUEUE])));
    permits_release(f, "u:1", NULL);
    assert_like(waiting(f), "u:2 u:3");
}

static void who_does_not_wait_has_no_ticket(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    assert_like(permits_touch(f, "u:9", "u:3"), "* 0 0 0 0 1*");
    assert_like(waiting(f), "u:2 u:3");
}

static void the_one_whose_turn_it_is_is_named(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    everybody_dies(f);
    assert_like(permits_touch(f, "u:3", "u:2"), "* 2 0 0 *");
    assert_string_equal(script_heard(f), "");
    assert_like(permits_recheck(f, "u:2"), "1 *");
}

static void others_are_served_by_a_touch(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    everybody_dies(f);
    assert_like(permits_touch(f, "u:3", NULL), "* 0 0 0 *");
    assert_like(script_heard(f), "in:u:2 grant semaphore u:2 *\n"
                                 "in:u:3 grant semaphore u:3 *\n");
    assert_books(f, 4, 0);
}

static void a_touch_passes_by_the_dead(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_age(f, "u:2", 3500);
    permits_release(f, "u:1", NULL);
    script_heard(f);
    permits_acquire(f, "u:6", 2);
    script_redis(f, "ZADD %s 1 u:2", f->keys[PERMITS_QUEUE]);
    script_age(f, "u:2", 3500);
    script_listen(f, "in:u:6");
    permits_expire(f, -5000);
    assert_like(permits_touch(f, "u:6", NULL), "* 0 0 0 *");
    assert_like(waiting(f), "u:6");
}

/* It looks, so it is alive, but there is no room for it. */
static void a_waiter_whose_inbox_is_away_is_not_called_for_nothing(void **state)
{
    script_fixture *f = *state;

    permits_set(f, 4);
    permits_acquire(f, "u:1", 2);
    permits_acquire(f, "u:2", 3);
    assert_like(permits_touch(f, "u:2", NULL), "* 0 0 0 *");
    assert_like(waiting(f), "u:2");
}

/* ---- leaving ---- */

static void a_waiter_leaves_without_a_trace(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    assert_like(permits_leave(f, "u:3", "0"), "1 0 0");
    assert_like(waiting(f), "u:2");
    assert_like(script_redis(f, "HEXISTS %s u:3", f->keys[PERMITS_TICKETS]),
                "0");
}

static void a_large_request_that_leaves_makes_way(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    permits_release(f, "u:1", NULL);
    assert_like(permits_leave(f, "u:2", "0"), "1 0 0");
    assert_like(script_heard(f), "in:u:3 grant semaphore u:3 *");
    assert_books(f, 4, 1);
}

static void a_holder_that_leaves_gives_back(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    permits_release(f, "u:1", NULL);
    assert_like(permits_leave(f, "u:5", "0"), "2 0 0");
    assert_like(script_heard(f), "in:u:2 grant semaphore u:2 *\n"
                                 "in:u:3 grant semaphore u:3 *\n");
    assert_books(f, 4, 0);
}

static void who_neither_holds_nor_waits_leaves_nothing(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    assert_like(permits_leave(f, "u:9", "0"), "0 0 0");
    assert_books(f, 4, 0);
}

static void a_claim_that_is_given_up_is_remembered_for_a_while(void **state)
{
    script_fixture *f = *state;

    permits_set(f, 1);
    assert_like(permits_leave(f, "u:1", "600000"), "0 0 0");
    assert_in_range(number(script_redis(f, "PTTL %s", f->keys[PERMITS_VOID])),
                    590000, 600000);
    assert_like(permits_acquire_with(f, "u:1", 1,
                                     (permits_wish){.check_void = "1"}),
                "!LKVOID*");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PERMITS_TEST(a_waiter_hears_that_it_still_waits),
        PERMITS_TEST(a_look_says_that_the_waiter_lives),
        PERMITS_TEST(a_waiter_finds_what_has_ended),
        PERMITS_TEST(who_finds_room_serves_those_behind_it),
        PERMITS_TEST(whoever_looks_serves_the_first),
        PERMITS_TEST(a_look_finds_a_grant_whose_message_was_lost),
        PERMITS_TEST(a_look_only_lengthens_a_lease),
        PERMITS_TEST(who_neither_holds_nor_waits_is_not_known),
        PERMITS_TEST(who_lost_a_permit_holds_nothing),
        PERMITS_TEST(a_waiter_without_a_semaphore_waits_no_longer),
        PERMITS_TEST(a_waiter_that_needs_more_than_there_is_is_told),
        PERMITS_TEST(a_waiter_that_was_put_aside_is_told),
        PERMITS_TEST(a_touch_sends_who_waits_in_vain_to_look),
        PERMITS_TEST(a_touch_sends_all_to_look_where_no_number_is_set),
        PERMITS_TEST(a_skipped_waiter_keeps_its_ticket),
        PERMITS_TEST(a_client_says_that_all_its_waiters_live),
        PERMITS_TEST(who_does_not_wait_has_no_ticket),
        PERMITS_TEST(the_one_whose_turn_it_is_is_named),
        PERMITS_TEST(others_are_served_by_a_touch),
        PERMITS_TEST(a_touch_passes_by_the_dead),
        PERMITS_TEST(a_waiter_leaves_without_a_trace),
        PERMITS_TEST(a_large_request_that_leaves_makes_way),
        PERMITS_TEST(a_holder_that_leaves_gives_back),
        PERMITS_TEST(who_neither_holds_nor_waits_leaves_nothing),
        PERMITS_TEST(a_claim_that_is_given_up_is_remembered_for_a_while),
        PERMITS_TEST(a_waiter_whose_inbox_is_away_is_not_called_for_nothing),
    };

    return cmocka_run_group_tests_name("semaphore_recheck", tests,
                                       script_start_server, script_stop_server);
}
