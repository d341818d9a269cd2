/* SPDX-License-Identifier: MIT */

/* lock_release and lock_pass: giving up, and handing over to the next. */

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/script.h"

enum { LOOKS = 64 }; /* waiters looked at in one call */

static long long number(const char *text)
{
    return strtoll(text, NULL, 10);
}

/* u:1 holds; u:2 and u:3 wait, and can be reached. */
static void two_wait(script_fixture *f)
{
    script_listen(f, "in:u:2");
    script_listen(f, "in:u:3");
    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    script_acquire(f, "u:3");
}

/* ---- nobody waits ---- */

static void a_release_frees_the_lock(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(script_acquire(f, "u:2"), "1 * 30000 *");
}

/* As Redisson does, so that its waiters wake up. */
static void a_release_that_nobody_of_ours_waits_for_tells_redisson(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_listen(f, f->channel);
    script_release(f, "u:1", NULL);
    assert_string_equal(script_heard(f), "redisson_lock__channel:{n} 0\n");
}

static void
the_head_of_redissons_fair_queue_is_told_on_its_own_channel(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_redis(f, "RPUSH %s java:7 java:8", f->keys[KEY_FAIRQ]);
    script_listen(f, "redisson_lock__channel:{n}:java:7");
    script_listen(f, "redisson_lock__channel:{n}:java:8");
    script_release(f, "u:1", NULL);
    assert_string_equal(script_heard(f),
                        "redisson_lock__channel:{n}:java:7 0\n");
}

static void channels_of_a_name_with_a_tag_have_no_second_one(void **state)
{
    script_fixture *f = *state;

    script_set_name(f, "x{tag}");
    script_acquire(f, "u:1");
    script_listen(f, "redisson_lock__channel:x{tag}");
    script_release(f, "u:1", NULL);
    assert_string_equal(script_heard(f), "redisson_lock__channel:x{tag} 0\n");
}

/* ---- mismatches ---- */

static void a_release_of_what_nobody_holds_says_so(void **state)
{
    script_fixture *f = *state;

    script_listen(f, f->channel);
    assert_like(script_release(f, "u:1", "5"), "0 0");
    assert_string_equal(script_heard(f), "");
}

static void a_release_of_what_another_holds_changes_nothing(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_listen(f, f->channel);
    assert_like(script_release(f, "u:2", NULL), "0 2");
    assert_like(script_redis(f, "HGETALL n"), "u:1 1");
    assert_string_equal(script_heard(f), "");
}

/*
 * A claim granted again after its first grant lapsed: the answer to the first
 * must not end the second.
 */
static void a_release_under_another_fence_changes_nothing(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    assert_like(script_release(f, "u:1", "12345"), "0 3");
    assert_like(script_redis(f, "HGETALL n"), "u:1 1");
    assert_like(script_redis(f, "ZCARD %s", f->keys[KEY_QUEUE]), "2");
    assert_string_equal(script_heard(f), "");
}

/* Nor where nobody waits, and few commands would do. */
static void nor_does_it_without_a_waiter(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_listen(f, f->channel);
    assert_like(script_release(f, "u:1", "12345"), "0 3");
    assert_like(script_redis(f, "HGETALL n"), "u:1 1");
    assert_string_equal(script_heard(f), "");
}

/* The hash is the truth: what it does not say is void. */
static void
the_record_of_a_claim_that_is_not_in_the_lock_counts_for_nothing(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_expire(f);
    script_redis(f, "HSET n java:7 1");
    assert_like(script_release(f, "u:1", NULL), "0 2");
    assert_like(script_redis(f, "HGETALL n"), "java:7 1");
}

/* ---- handing over ---- */

static void a_release_makes_the_next_waiter_the_owner(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]), "u:3");
    assert_like(script_redis(f, "HEXISTS %s u:2", f->keys[KEY_TICKETS]), "0");
    assert_like(script_redis(f, "HMGET %s claim lease inbox",
                             f->keys[KEY_STATE]),
                "u:2 30000 in:u:2");
}

/* The message is the hold: it says all that the new owner must know. */
static void the_grant_is_told_to_the_new_owner_alone(void **state)
{
    script_fixture *f = *state;
    char expected[160];
    long long ticket;
    long long fence;

    script_listen(f, "in:u:2");
    script_listen(f, "in:u:3");
    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    ticket = script_item(f, 2);
    script_acquire(f, "u:3");
    script_release(f, "u:1", NULL);
    fence = number(script_redis(f, "HGET %s fence", f->keys[KEY_STATE]));
    snprintf(expected, sizeof(expected),
             "in:u:2 grant lock u:2 %lld %lld %lld 3000 n\n", ticket, fence,
             number(script_redis(f, "HGET %s top", f->keys[KEY_STATE])));
    assert_string_equal(script_heard(f), expected);
}

/* A subscriber is not yet a living owner: it has three seconds to show up. */
static void a_grant_lasts_three_seconds_until_it_is_confirmed(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_release(f, "u:1", NULL);
    assert_in_range(number(script_redis(f, "PTTL n")), 2000, 3000);
}

static void a_grant_lasts_no_longer_than_what_was_asked_for(void **state)
{
    script_fixture *f = *state;

    script_listen(f, "in");
    script_acquire(f, "u:1");
    script_acquire_with(f, "u:2", "700", "1", "in", "", "0");
    script_release(f, "u:1", NULL);
    assert_like(script_heard(f), "in grant lock u:2 * * * 700 n\n");
    assert_in_range(number(script_redis(f, "PTTL n")), 1, 700);
}

static void the_fence_grows_with_every_hand_over(void **state)
{
    script_fixture *f = *state;
    long long first;

    two_wait(f);
    script_redis(f, "HSET %s fence 8000000000000000", f->keys[KEY_STATE]);
    first = number("8000000000000000");
    script_release(f, "u:1", NULL);
    assert_true(number(script_redis(f, "HGET %s fence", f->keys[KEY_STATE])) ==
                first + 1);
    assert_like(script_heard(f),
                "* 8000000000000001 8000000000000001 3000 n\n");
}

/* Telling them would wake each of them for nothing at every hand-over. */
static void a_hand_over_tells_redisson_nothing(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_redis(f, "CONFIG RESETSTAT");
    script_release(f, "u:1", NULL);
    assert_like(script_heard(f), "in:u:2 grant *");
    assert_like(script_redis(f, "INFO commandstats"),
                "*cmdstat_publish:calls=1,*");
}

static void waiters_are_served_in_the_order_of_their_tickets(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_like(script_release(f, "u:2", NULL), "1 0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:3 1");
    assert_like(script_release(f, "u:3", NULL), "1 0 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

static void names_of_any_bytes_come_whole_in_a_grant(void **state)
{
    script_fixture *f = *state;

    script_set_name(f, "a {b} \xff\n%s");
    script_listen(f, "in:u:2");
    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    script_release(f, "u:1", NULL);
    assert_like(script_heard(f),
                "in:u:2 grant lock u:2 * * * 3000 a {b} \xff\n%s\n");
}

/* ---- waiters that do not answer ---- */

/*
 * Publishing to find out would be a second grant: a message that reaches
 * nobody here can arrive by way of a replica or another node.
 */
static void a_waiter_that_nobody_listens_for_is_skipped_unasked(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_deafen(f, "in:u:2");
    script_redis(f, "CONFIG RESETSTAT");
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:3 1");
    assert_like(script_heard(f), "in:u:3 grant lock u:3 *");
    assert_like(script_redis(f, "INFO commandstats"),
                "*cmdstat_publish:calls=1,*");
}

static void a_pattern_is_not_an_inbox(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    script_listen(f, "elsewhere");
    freeReplyObject(redisCommand(f->inboxes, "PSUBSCRIBE in:*"));
    script_release(f, "u:1", NULL);
    assert_like(script_redis(f, "EXISTS n"), "0");
}

/* A skipped waiter may come back to its place. */
static void a_skipped_waiter_keeps_its_ticket(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_deafen(f, "in:u:2");
    script_release(f, "u:1", NULL);
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_SKIPPED]), "u:2");
    assert_like(script_redis(f, "HEXISTS %s u:2", f->keys[KEY_TICKETS]), "1");
    assert_in_range(number(script_redis(f, "PTTL %s", f->keys[KEY_SKIPPED])),
                    59000, 60000);
}

/* Its host may be frozen or unplugged, and its connection stand for minutes. */
static void a_waiter_not_seen_for_three_seconds_is_skipped(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_age(f, "u:2", 3100);
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:3 1");
    assert_like(script_heard(f), "in:u:3 grant lock u:3 *");
}

static void a_place_in_the_queue_without_a_ticket_is_dropped(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_redis(f, "HDEL %s u:2", f->keys[KEY_TICKETS]);
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:3 1");
    assert_like(script_redis(f, "EXISTS %s", f->keys[KEY_SKIPPED]), "0");
}

static void a_lock_that_no_waiter_answers_for_is_left_free(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_deafen(f, "in:u:2");
    script_age(f, "u:3", 5000);
    script_listen(f, f->channel);
    script_redis(f, "HSET %s until %lld", f->keys[KEY_STATE],
                 script_now_ms(f) + 60000);
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_string_equal(script_heard(f), "redisson_lock__channel:{n} 0\n");
}

static void dead_wait(script_fixture *f, int count)
{
    char claim[16];

    for (int i = 0; i < count; i++) {
        snprintf(claim, sizeof(claim), "dead:%d", i);
        script_acquire(f, claim);
    }
}

/* However many are dead, one call has an end; the caller then goes on. */
static void
a_release_looks_at_so_many_waiters_and_says_there_are_more(void **state)
{
    script_fixture *f = *state;

    script_listen(f, "in:u:2");
    script_acquire(f, "u:1");
    dead_wait(f, LOOKS);
    script_acquire(f, "u:2");
    assert_like(script_release(f, "u:1", NULL), "1 1 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(script_pass(f), "0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
    assert_like(script_heard(f), "in:u:2 grant lock u:2 *");
}

static void the_last_waiter_looked_at_may_be_the_one(void **state)
{
    script_fixture *f = *state;

    script_listen(f, "in:u:2");
    script_acquire(f, "u:1");
    dead_wait(f, LOOKS - 1);
    script_acquire(f, "u:2");
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
}

static void passing_on_does_nothing_to_a_held_lock(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_redis(f, "HSET %s until 0", f->keys[KEY_STATE]);
    assert_like(script_pass(f), "0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:1 1");
    assert_like(script_redis(f, "ZCARD %s", f->keys[KEY_QUEUE]), "2");
    assert_string_equal(script_heard(f), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(a_release_frees_the_lock),
        SCRIPT_TEST(a_release_that_nobody_of_ours_waits_for_tells_redisson),
        SCRIPT_TEST(
            the_head_of_redissons_fair_queue_is_told_on_its_own_channel),
        SCRIPT_TEST(channels_of_a_name_with_a_tag_have_no_second_one),
        SCRIPT_TEST(a_release_of_what_nobody_holds_says_so),
        SCRIPT_TEST(a_release_of_what_another_holds_changes_nothing),
        SCRIPT_TEST(a_release_under_another_fence_changes_nothing),
        SCRIPT_TEST(nor_does_it_without_a_waiter),
        SCRIPT_TEST(
            the_record_of_a_claim_that_is_not_in_the_lock_counts_for_nothing),
        SCRIPT_TEST(a_release_makes_the_next_waiter_the_owner),
        SCRIPT_TEST(the_grant_is_told_to_the_new_owner_alone),
        SCRIPT_TEST(a_grant_lasts_three_seconds_until_it_is_confirmed),
        SCRIPT_TEST(a_grant_lasts_no_longer_than_what_was_asked_for),
        SCRIPT_TEST(the_fence_grows_with_every_hand_over),
        SCRIPT_TEST(a_hand_over_tells_redisson_nothing),
        SCRIPT_TEST(waiters_are_served_in_the_order_of_their_tickets),
        SCRIPT_TEST(names_of_any_bytes_come_whole_in_a_grant),
        SCRIPT_TEST(a_waiter_that_nobody_listens_for_is_skipped_unasked),
        SCRIPT_TEST(a_pattern_is_not_an_inbox),
        SCRIPT_TEST(a_skipped_waiter_keeps_its_ticket),
        SCRIPT_TEST(a_waiter_not_seen_for_three_seconds_is_skipped),
        SCRIPT_TEST(a_place_in_the_queue_without_a_ticket_is_dropped),
        SCRIPT_TEST(a_lock_that_no_waiter_answers_for_is_left_free),
        SCRIPT_TEST(a_release_looks_at_so_many_waiters_and_says_there_are_more),
        SCRIPT_TEST(the_last_waiter_looked_at_may_be_the_one),
        SCRIPT_TEST(passing_on_does_nothing_to_a_held_lock),
    };

    return cmocka_run_group_tests_name("lock_release", tests,
                                       script_start_server, script_stop_server);
}
