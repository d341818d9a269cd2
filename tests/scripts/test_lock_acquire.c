/* SPDX-License-Identifier: MIT */

/* lock_acquire: taking a free lock, queueing for a held one, key by key. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/script.h"

static const char week_ms[] = "604800000";

static long long number(const char *text)
{
    return strtoll(text, NULL, 10);
}

static long long recorded_fence(script_fixture *f)
{
    return number(script_redis(f, "HGET %s fence", f->keys[KEY_STATE]));
}

static long long pttl(script_fixture *f, int key)
{
    return number(script_redis(f, "PTTL %s", f->keys[key]));
}

/* ---- a free lock ---- */

static void a_free_lock_is_taken(void **state)
{
    script_fixture *f = *state;

    assert_like(script_acquire(f, "u:1"), "1 * 30000 *");
    assert_true(script_item(f, 1) == recorded_fence(f));
}

/* Redisson's shape: one field, the owner, with 1; the TTL is the lease. */
static void the_lock_is_a_hash_of_its_owner(void **state)
{
    script_fixture *f = *state;

    script_acquire_with(f, "u:1", "12000", "1", "in:u:1", "", "0");
    assert_like(script_redis(f, "HGETALL n"), "u:1 1");
    assert_in_range(pttl(f, KEY_LOCK), 11000, 12000);
}

static void the_state_names_the_holder(void **state)
{
    script_fixture *f = *state;

    script_acquire_with(f, "u:1", "12000", "1", "in:u:1", "why not", "0");
    assert_like(script_redis(f, "HMGET %s v claim ticket lease inbox reason",
                             f->keys[KEY_STATE]),
                "1 u:1 0 12000 in:u:1 why not");
    assert_in_range(script_now_ms(f) - number(script_redis(f, "HGET %s since",
                                                           f->keys[KEY_STATE])),
                    0, 5000);
}

/* Nothing is left for ever: a key without a TTL is a leak. */
static void the_state_lives_for_a_week_beyond_the_lease(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    assert_in_range(pttl(f, KEY_STATE), number(week_ms),
                    number(week_ms) + 30000);
    assert_like(script_redis(f, "DBSIZE"), "2");
}

static void a_long_lease_keeps_the_state_as_long(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_release(f, "u:1", NULL);
    script_acquire_with(f, "u:2", "9000000000", "1", "in", "", "0");
    assert_true(pttl(f, KEY_STATE) > pttl(f, KEY_LOCK));
}

static void an_old_state_is_kept_for_another_week(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_release(f, "u:1", NULL);
    script_redis(f, "PEXPIRE %s 500000000", f->keys[KEY_STATE]);
    script_redis(f, "HSET %s kept %lld", f->keys[KEY_STATE],
                 script_now_ms(f) + 500000000);
    script_acquire(f, "u:2");
    assert_in_range(pttl(f, KEY_STATE), number(week_ms),
                    number(week_ms) + 30000);
}

/* By either road; a record that names no kind is a lock's. */
static void what_the_name_was_before_it_is_not_any_more(void **state)
{
    static const char *const before[] = {"latch", "rw"};
    script_fixture *f = *state;

    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
        script_redis(f, "HSET %s v 1 kind %s", f->keys[KEY_STATE], before[i]);
        assert_like(script_acquire(f, "u:1"), "1 *");
        assert_like(script_redis(f, "HEXISTS %s kind", f->keys[KEY_STATE]),
                    "0");
        script_redis(f, "FLUSHALL");
    }
    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    script_redis(f, "HSET %s kind latch claim -", f->keys[KEY_STATE]);
    assert_like(script_acquire(f, "u:1"), "1 *");
    assert_like(script_redis(f, "HEXISTS %s kind", f->keys[KEY_STATE]), "0");
}

static void nobody_is_told_of_an_acquire(void **state)
{
    script_fixture *f = *state;

    script_listen(f, f->channel);
    script_acquire(f, "u:1");
    assert_string_equal(script_heard(f), "");
}

/* ---- sending it again ---- */

static void a_second_acquire_of_the_holder_changes_nothing(void **state)
{
    script_fixture *f = *state;
    long long fence;

    script_acquire(f, "u:1");
    fence = script_item(f, 1);
    script_redis(f, "PEXPIRE n 10000");
    script_acquire(f, "u:1");
    assert_int_equal(script_item(f, 0), 1);
    assert_true(script_item(f, 1) == fence);
    assert_in_range(script_item(f, 2), 9000, 10000);
    assert_in_range(pttl(f, KEY_LOCK), 9000, 10000);
    assert_like(script_redis(f, "HGETALL n"), "u:1 1");
}

static void a_queued_claim_keeps_its_ticket_when_it_asks_again(void **state)
{
    script_fixture *f = *state;
    long long ticket;

    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    ticket = script_item(f, 2);
    script_acquire(f, "u:3");
    assert_like(script_acquire(f, "u:2"), "0 * * 0");
    assert_true(script_item(f, 2) == ticket);
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]),
                "u:2 u:3");
}

/* A claim that waits and holds would be granted a second time later. */
static void a_queued_claim_that_takes_a_free_lock_waits_no_more(void **state)
{
    script_fixture *f = *state;
    long long ticket;

    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    ticket = script_item(f, 2);
    script_expire(f);
    assert_like(script_acquire(f, "u:2"), "1 * 30000 *");
    assert_like(script_redis(f, "ZCARD %s", f->keys[KEY_QUEUE]), "0");
    assert_like(script_redis(f, "HKEYS %s", f->keys[KEY_TICKETS]), "#");
    assert_true(number(script_redis(f, "HGET %s ticket", f->keys[KEY_STATE])) ==
                ticket);
}

static void a_skipped_claim_that_takes_a_free_lock_waits_no_more(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    script_release(f, "u:1", NULL); /* nobody hears it: u:2 is skipped */
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_SKIPPED]), "u:2");
    assert_like(script_acquire(f, "u:2"), "1 * 30000 *");
    assert_like(script_redis(f, "EXISTS %s", f->keys[KEY_SKIPPED]), "0");
    assert_like(script_redis(f, "HKEYS %s", f->keys[KEY_TICKETS]), "#");
}

/* The hash is the truth; a lost record is written anew. */
static void a_holder_whose_record_was_lost_gets_a_new_one(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_redis(f, "DEL %s", f->keys[KEY_STATE]);
    assert_int_equal(strncmp(script_acquire(f, "u:1"), "1 ", 2), 0);
    assert_true(script_item(f, 1) == recorded_fence(f));
    assert_true(pttl(f, KEY_STATE) > 0);
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
}

/* ---- a held lock ---- */

static void a_held_lock_is_refused_to_who_does_not_queue(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    assert_like(script_try(f, "u:2"), "2 *");
    assert_in_range(script_item(f, 1), 29000, 30000);
    assert_like(script_redis(f, "EXISTS %s %s", f->keys[KEY_QUEUE],
                             f->keys[KEY_TICKETS]),
                "0");
}

static void a_waiter_gets_a_ticket(void **state)
{
    script_fixture *f = *state;
    char expected[128];
    long long ticket;

    script_acquire(f, "u:1");
    assert_like(script_acquire_with(f, "u:2", "12000", "1", "in:u:2", "a b",
                                    "0"),
                "0 * * 0");
    ticket = script_item(f, 2);
    assert_in_range(script_now_ms(f) - ticket / 1000, 0, 5000);
    snprintf(expected, sizeof(expected), "%lld x 1 12000 * * in:u:2 a b",
             ticket);
    assert_like(script_redis(f, "HGET %s u:2", f->keys[KEY_TICKETS]), expected);
    assert_true(number(script_redis(f, "ZSCORE %s u:2", f->keys[KEY_QUEUE])) ==
                ticket);
    assert_true(number(script_redis(f, "HGET %s #", f->keys[KEY_TICKETS])) ==
                ticket);
}

/* When all waiters die their keys must go, too. */
static void the_queue_ends_a_minute_after_the_last_sign_of_life(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    assert_in_range(pttl(f, KEY_QUEUE), 59000, 60000);
    assert_in_range(pttl(f, KEY_TICKETS), 59000, 60000);
}

static void tickets_grow_even_when_the_clock_goes_back(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_redis(f, "HSET %s # 8000000000000000", f->keys[KEY_TICKETS]);
    script_acquire(f, "u:2");
    assert_true(script_item(f, 2) == 8000000000000001);
}

static void
claims_skipped_long_ago_are_dropped_at_the_next_enqueue(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    script_acquire(f, "u:3");
    script_redis(f, "ZREM %s u:2 u:3", f->keys[KEY_QUEUE]);
    script_redis(f, "ZADD %s %lld u:2 %lld u:3", f->keys[KEY_SKIPPED],
                 script_now_ms(f) - 11000, script_now_ms(f) - 5000);
    script_acquire(f, "u:4");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_SKIPPED]), "u:3");
    assert_like(script_redis(f, "HEXISTS %s u:2", f->keys[KEY_TICKETS]), "0");
    assert_like(script_redis(f, "HEXISTS %s u:3", f->keys[KEY_TICKETS]), "1");
    assert_in_range(pttl(f, KEY_SKIPPED), 59000, 60000);
}

/* Only somebody who will never hand over makes the head try for itself. */
static void the_first_waiter_contends_with_a_foreign_holder(void **state)
{
    script_fixture *f = *state;

    script_redis(f, "HSET n java:7 2");
    script_redis(f, "PEXPIRE n 20000");
    assert_like(script_acquire(f, "u:1"), "0 * * 1");
    assert_like(script_acquire(f, "u:2"), "0 * * 0");
}

static void a_newcomer_may_take_a_free_lock_before_those_who_wait(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    script_expire(f);
    assert_like(script_acquire(f, "u:3"), "1 * 30000 *");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]), "u:2");
}

/* ---- turns ---- */

/* Has an acquire end a turn of the others. Returns our turn's end. */
static long long turn_after(script_fixture *f, long long open)
{
    script_redis(f, "HSET %s v 1 open %lld", f->keys[KEY_STATE], open);
    assert_like(script_acquire(f, "u:1"), "1 * 30000 *");
    assert_like(script_redis(f, "HGET %s open", f->keys[KEY_STATE]), "0");
    return number(script_redis(f, "HGET %s until", f->keys[KEY_STATE]));
}

/* The sides take turns: ours lasts half as long as theirs did. */
static void an_acquire_after_an_open_release_begins_our_turn(void **state)
{
    script_fixture *f = *state;
    long long before = script_now_ms(f);
    long long until = turn_after(f, before - 400);
    long long after = script_now_ms(f);

    assert_in_range(until, before + 200, after + (after - before + 400) / 2);
}

static void our_turn_is_never_longer_than_half_a_second(void **state)
{
    script_fixture *f = *state;
    long long before = script_now_ms(f);
    long long until = turn_after(f, before - 60000);

    assert_in_range(until, before + 500, script_now_ms(f) + 500);
}

/* ---- claims that were given up ---- */

/* An acquire that runs after it was given up would hold for nobody. */
static void a_claim_with_a_tombstone_is_refused(void **state)
{
    script_fixture *f = *state;

    assert_like(script_leave(f, "u:1", "60000"), "0 0 0");
    assert_like(script_acquire_with(f, "u:1", "30000", "1", "in", "", "1"),
                "!LKVOID*");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(script_acquire_with(f, "u:2", "30000", "1", "in", "", "1"),
                "1 * 30000 *");
}

static void a_tombstone_that_is_over_is_ignored(void **state)
{
    script_fixture *f = *state;

    script_redis(f, "ZADD %s %lld u:1", f->keys[KEY_VOID],
                 script_now_ms(f) - 1);
    assert_like(script_acquire_with(f, "u:1", "30000", "1", "in", "", "1"),
                "1 * 30000 *");
}

/* ---- odd names ---- */

static void odd_names_work(void **state)
{
    static const char *const names[] = {"a b c", "{tag}rest", "x{tag}",
                                        "\xff\x01\n'\"\\$%s", "a]b:*?"};
    script_fixture *f = *state;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        script_set_name(f, names[i]);
        assert_like(script_acquire(f, "u:1"), "1 * 30000 *");
        assert_like(script_acquire(f, "u:2"), "0 * * 0");
        assert_like(script_redis(f, "HGETALL %s", names[i]), "u:1 1");
        assert_like(script_redis(f, "EXISTS %s", f->keys[KEY_STATE]), "1");
        assert_like(script_redis(f, "EXISTS %s", f->keys[KEY_QUEUE]), "1");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(a_free_lock_is_taken),
        SCRIPT_TEST(the_lock_is_a_hash_of_its_owner),
        SCRIPT_TEST(the_state_names_the_holder),
        SCRIPT_TEST(the_state_lives_for_a_week_beyond_the_lease),
        SCRIPT_TEST(a_long_lease_keeps_the_state_as_long),
        SCRIPT_TEST(an_old_state_is_kept_for_another_week),
        SCRIPT_TEST(what_the_name_was_before_it_is_not_any_more),
        SCRIPT_TEST(nobody_is_told_of_an_acquire),
        SCRIPT_TEST(a_second_acquire_of_the_holder_changes_nothing),
        SCRIPT_TEST(a_queued_claim_keeps_its_ticket_when_it_asks_again),
        SCRIPT_TEST(a_queued_claim_that_takes_a_free_lock_waits_no_more),
        SCRIPT_TEST(a_skipped_claim_that_takes_a_free_lock_waits_no_more),
        SCRIPT_TEST(a_holder_whose_record_was_lost_gets_a_new_one),
        SCRIPT_TEST(a_held_lock_is_refused_to_who_does_not_queue),
        SCRIPT_TEST(a_waiter_gets_a_ticket),
        SCRIPT_TEST(the_queue_ends_a_minute_after_the_last_sign_of_life),
        SCRIPT_TEST(tickets_grow_even_when_the_clock_goes_back),
        SCRIPT_TEST(claims_skipped_long_ago_are_dropped_at_the_next_enqueue),
        SCRIPT_TEST(the_first_waiter_contends_with_a_foreign_holder),
        SCRIPT_TEST(a_newcomer_may_take_a_free_lock_before_those_who_wait),
        SCRIPT_TEST(an_acquire_after_an_open_release_begins_our_turn),
        SCRIPT_TEST(our_turn_is_never_longer_than_half_a_second),
        SCRIPT_TEST(a_claim_with_a_tombstone_is_refused),
        SCRIPT_TEST(a_tombstone_that_is_over_is_ignored),
        SCRIPT_TEST(odd_names_work),
    };

    return cmocka_run_group_tests_name("lock_acquire", tests,
                                       script_start_server, script_stop_server);
}
