/* SPDX-License-Identifier: MIT */

/* lock_recheck: what a waiter learns, and does, when it looks. */

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/script.h"

static long long number(const char *text)
{
    return strtoll(text, NULL, 10);
}

/* u:1 holds, u:2 and u:3 wait; all can be reached. */
static void two_wait(script_fixture *f)
{
    script_listen(f, "in:u:2");
    script_listen(f, "in:u:3");
    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    script_acquire(f, "u:3");
}

/* ---- a claim that holds ---- */

/* A grant whose message was lost is found here. */
static void a_waiter_that_was_granted_learns_it(void **state)
{
    script_fixture *f = *state;
    long long ticket;

    script_listen(f, "in:u:2");
    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    ticket = script_item(f, 2);
    script_release(f, "u:1", NULL);
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
    assert_true(script_item(f, 1) ==
                number(script_redis(f, "HGET %s fence", f->keys[KEY_STATE])));
    assert_true(script_item(f, 3) == ticket);
    assert_in_range(number(script_redis(f, "PTTL n")), 29000, 30000);
}

/* A request that comes late must not cut what was promised since. */
static void a_recheck_never_shortens_a_hold(void **state)
{
    script_fixture *f = *state;

    script_acquire_with(f, "u:1", "90000", "1", "in", "", "0");
    script_recheck(f, "u:1");
    assert_in_range(script_item(f, 2), 80000, 90000);
    assert_in_range(number(script_redis(f, "PTTL n")), 80000, 90000);
}

static void a_holder_whose_record_was_lost_gets_a_new_fence(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_redis(f, "DEL %s", f->keys[KEY_STATE]);
    assert_like(script_recheck(f, "u:1"), "1 * * 0 *");
    assert_true(script_item(f, 1) ==
                number(script_redis(f, "HGET %s fence", f->keys[KEY_STATE])));
}

/* ---- a claim that is not known ---- */

/* A claim queues once; one that was granted and lapsed must not come back. */
static void a_recheck_never_queues(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    assert_like(script_recheck(f, "u:2"), "3");
    script_expire(f);
    assert_like(script_recheck(f, "u:2"), "3");
    assert_like(script_redis(f, "EXISTS n %s %s", f->keys[KEY_QUEUE],
                             f->keys[KEY_TICKETS]),
                "0");
}

static void a_claim_whose_grant_lapsed_is_not_known(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_release(f, "u:1", NULL);
    script_expire(f);
    assert_like(script_recheck(f, "u:2"), "3");
}

/* ---- a claim that waits ---- */

static void a_waiter_is_told_its_ticket_and_the_holders_lease(void **state)
{
    script_fixture *f = *state;
    long long ticket;

    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    ticket = script_item(f, 2);
    assert_like(script_recheck(f, "u:2"), "0 * * 0 0 0");
    assert_in_range(script_item(f, 1), 29000, 30000);
    assert_true(script_item(f, 2) == ticket);
}

static void a_recheck_counts_as_a_sign_of_life(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_age(f, "u:2", 5000);
    script_redis(f, "PEXPIRE %s 1000", f->keys[KEY_QUEUE]);
    script_redis(f, "PEXPIRE %s 1000", f->keys[KEY_TICKETS]);
    script_recheck(f, "u:2");
    assert_in_range(number(script_redis(f, "PTTL %s", f->keys[KEY_QUEUE])),
                    59000, 60000);
    assert_in_range(number(script_redis(f, "PTTL %s", f->keys[KEY_TICKETS])),
                    59000, 60000);
    script_release(f, "u:1", NULL);
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
}

static void a_recheck_keeps_all_that_was_asked_for(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_acquire_with(f, "u:2", "777", "1", "in", " two  words ", "0");
    script_recheck(f, "u:2");
    assert_like(script_redis(f, "HGET %s u:2", f->keys[KEY_TICKETS]),
                "* x 1 777 * * in  two  words ");
}

/* It was skipped while its inbox reconnected: it loses no place. */
static void a_skipped_waiter_gets_its_place_back(void **state)
{
    script_fixture *f = *state;
    long long ticket;

    two_wait(f);
    ticket = number(script_redis(f, "ZSCORE %s u:2", f->keys[KEY_QUEUE]));
    script_deafen(f, "in:u:2");
    script_release(f, "u:1", NULL);
    script_acquire(f, "u:4");
    assert_like(script_recheck(f, "u:2"), "0 * * 0 0 0");
    assert_true(script_item(f, 2) == ticket);
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]),
                "u:2 u:4");
    assert_like(script_redis(f, "EXISTS %s", f->keys[KEY_SKIPPED]), "0");
}

static void the_first_waiter_contends_with_a_foreign_holder(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_expire(f);
    script_redis(f, "HSET n java:7 1");
    script_redis(f, "PEXPIRE n 20000");
    assert_like(script_recheck(f, "u:2"), "0 * * 1 0 0");
    assert_like(script_recheck(f, "u:3"), "0 * * 0 0 0");
}

/* ---- a free lock ---- */

static void the_first_waiter_takes_a_free_lock_with_its_full_lease(void **state)
{
    script_fixture *f = *state;
    long long ticket;

    two_wait(f);
    ticket = number(script_redis(f, "ZSCORE %s u:2", f->keys[KEY_QUEUE]));
    script_expire(f);
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
    assert_true(script_item(f, 3) == ticket);
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
    assert_in_range(number(script_redis(f, "PTTL n")), 29000, 30000);
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]), "u:3");
    assert_like(script_redis(f, "HEXISTS %s u:2", f->keys[KEY_TICKETS]), "0");
    assert_string_equal(script_heard(f), "");
}

/* It asks, so it is alive, although its inbox is not there just now. */
static void a_waiter_that_looks_needs_no_inbox(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    script_expire(f);
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
}

static void
a_waiter_that_is_not_first_hands_a_free_lock_to_the_first(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_expire(f);
    assert_like(script_recheck(f, "u:3"), "0 * * 0 0 0");
    assert_in_range(script_item(f, 1), 2000, 3000);
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
    assert_like(script_heard(f), "in:u:2 grant lock u:2 * * * 3000 n\n");
}

static void a_waiter_behind_dead_ones_takes_a_free_lock(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_deafen(f, "in:u:2");
    script_expire(f);
    assert_like(script_recheck(f, "u:3"), "1 * 30000 * *");
    assert_like(script_redis(f, "HGETALL n"), "u:3 1");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_SKIPPED]), "u:2");
}

static void a_waiter_behind_too_many_dead_ones_is_told_of_more(void **state)
{
    script_fixture *f = *state;
    char claim[16];

    script_acquire(f, "u:1");
    for (int i = 0; i < 64; i++) {
        snprintf(claim, sizeof(claim), "dead:%d", i);
        script_acquire(f, claim);
    }
    script_acquire(f, "u:2");
    script_expire(f);
    assert_like(script_recheck(f, "u:2"), "0 -2 * 0 1 0");
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
}

/* No message is lost for good: whoever looks next mends it. */
static void a_grant_that_nobody_confirms_goes_to_the_next(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_release(f, "u:1", NULL);
    script_expire(f);
    assert_like(script_recheck(f, "u:3"), "1 * 30000 * *");
    assert_like(script_redis(f, "HGETALL n"), "u:3 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(a_waiter_that_was_granted_learns_it),
        SCRIPT_TEST(a_recheck_never_shortens_a_hold),
        SCRIPT_TEST(a_holder_whose_record_was_lost_gets_a_new_fence),
        SCRIPT_TEST(a_recheck_never_queues),
        SCRIPT_TEST(a_claim_whose_grant_lapsed_is_not_known),
        SCRIPT_TEST(a_waiter_is_told_its_ticket_and_the_holders_lease),
        SCRIPT_TEST(a_recheck_counts_as_a_sign_of_life),
        SCRIPT_TEST(a_recheck_keeps_all_that_was_asked_for),
        SCRIPT_TEST(a_skipped_waiter_gets_its_place_back),
        SCRIPT_TEST(the_first_waiter_contends_with_a_foreign_holder),
        SCRIPT_TEST(the_first_waiter_takes_a_free_lock_with_its_full_lease),
        SCRIPT_TEST(a_waiter_that_looks_needs_no_inbox),
        SCRIPT_TEST(a_waiter_that_is_not_first_hands_a_free_lock_to_the_first),
        SCRIPT_TEST(a_waiter_behind_dead_ones_takes_a_free_lock),
        SCRIPT_TEST(a_waiter_behind_too_many_dead_ones_is_told_of_more),
        SCRIPT_TEST(a_grant_that_nobody_confirms_goes_to_the_next),
    };

    return cmocka_run_group_tests_name("lock_recheck", tests,
                                       script_start_server, script_stop_server);
}
