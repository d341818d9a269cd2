/* SPDX-License-Identifier: MIT */

/* lock_leave, lock_force, lock_info: ending a claim, one's own or another's. */

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
    script_listen(f, "in:u:1");
    script_listen(f, "in:u:2");
    script_listen(f, "in:u:3");
    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    script_acquire(f, "u:3");
}

/* ---- leaving ---- */

static void a_waiter_that_leaves_is_gone(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    assert_like(script_leave(f, "u:2", "0"), "1 0 0");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]), "u:3");
    assert_like(script_redis(f, "HEXISTS %s u:2", f->keys[KEY_TICKETS]), "0");
    assert_like(script_redis(f, "EXISTS %s", f->keys[KEY_VOID]), "0");
    script_release(f, "u:1", NULL);
    assert_like(script_redis(f, "HGETALL n"), "u:3 1");
}

static void a_skipped_waiter_that_leaves_is_gone(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_deafen(f, "in:u:2");
    script_release(f, "u:1", NULL);
    assert_like(script_leave(f, "u:2", "0"), "1 0 0");
    assert_like(script_redis(f, "EXISTS %s", f->keys[KEY_SKIPPED]), "0");
    assert_like(script_recheck(f, "u:2"), "3");
}

/* The grant crossed the wish to leave: nothing granted is dropped. */
static void a_waiter_that_leaves_when_it_was_granted_hands_over(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_release(f, "u:1", NULL);
    script_heard(f);
    assert_like(script_leave(f, "u:2", "0"), "2 0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:3 1");
    assert_like(script_heard(f), "in:u:3 grant lock u:3 * * * 3000 n\n");
}

static void leaving_twice_is_harmless(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_leave(f, "u:2", "0");
    assert_like(script_leave(f, "u:2", "0"), "0 0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:1 1");
    assert_string_equal(script_heard(f), "");
}

/* The one who leaves was told that the lock is open, and nobody else was. */
static void who_leaves_a_free_lock_hands_it_to_the_next(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_expire(f);
    assert_like(script_leave(f, "u:2", "0"), "1 0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:3 1");
}

static void the_last_who_leaves_leaves_nothing_to_do(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    script_expire(f);
    script_listen(f, f->channel);
    assert_like(script_leave(f, "u:2", "0"), "1 0 0");
    assert_string_equal(script_heard(f), "");
}

/* ---- tombstones ---- */

static void a_tombstone_lasts_as_long_as_asked(void **state)
{
    script_fixture *f = *state;
    long long before = script_now_ms(f);
    long long until;

    assert_like(script_leave(f, "u:1", "60000"), "0 0 0");
    until = number(script_redis(f, "ZSCORE %s u:1", f->keys[KEY_VOID]));
    assert_in_range(until, before + 60000, script_now_ms(f) + 60000);
    assert_in_range(number(script_redis(f, "PTTL %s", f->keys[KEY_VOID])),
                    59000, 60000);
}

static void a_shorter_tombstone_does_not_end_a_longer_one(void **state)
{
    script_fixture *f = *state;

    script_leave(f, "u:1", "60000");
    script_leave(f, "u:2", "1000");
    assert_in_range(number(script_redis(f, "PTTL %s", f->keys[KEY_VOID])),
                    50000, 60000);
    assert_like(script_redis(f, "ZCARD %s", f->keys[KEY_VOID]), "2");
}

static void tombstones_that_are_over_are_cleared_away(void **state)
{
    script_fixture *f = *state;

    script_redis(f, "ZADD %s %lld u:9", f->keys[KEY_VOID],
                 script_now_ms(f) - 1);
    script_leave(f, "u:1", "60000");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_VOID]), "u:1");
}

/*
 * An acquire that was given up runs late, behind what closed its claim: it
 * must neither hold nor wait.
 */
static void a_late_acquire_behind_a_tombstone_does_nothing(void **state)
{
    script_fixture *f = *state;

    script_leave(f, "u:2", "60000");
    script_acquire(f, "u:1");
    assert_like(script_acquire_with(f, "u:2", "30000", "1", "in", "", "1"),
                "!LKVOID*");
    assert_like(script_redis(f, "EXISTS %s", f->keys[KEY_QUEUE]), "0");
}

static void a_holder_that_leaves_for_good_frees_the_lock(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    assert_like(script_leave(f, "u:1", "60000"), "2 0 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(script_redis(f, "ZCARD %s", f->keys[KEY_VOID]), "1");
}

/* ---- force ---- */

static void force_ends_a_hold_and_tells_the_holder(void **state)
{
    script_fixture *f = *state;
    char expected[96];

    script_listen(f, "in:u:1");
    script_acquire(f, "u:1");
    snprintf(expected, sizeof(expected), "in:u:1 revoked lock u:1 %lld n\n",
             script_item(f, 1));
    assert_like(script_force(f), "1 0 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_string_equal(script_heard(f), expected);
}

static void force_hands_over_to_the_next(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    assert_like(script_force(f), "1 0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
    assert_like(script_heard(f), "in:u:2 grant lock u:2 *\n"
                                 "in:u:1 revoked lock u:1 * n\n");
}

static void force_on_a_free_lock_does_nothing(void **state)
{
    script_fixture *f = *state;

    script_listen(f, f->channel);
    assert_like(script_force(f), "0");
    assert_string_equal(script_heard(f), "");
}

/* The record is of a claim that is not in the lock any more. */
static void force_on_a_foreign_hold_tells_none_of_ours(void **state)
{
    script_fixture *f = *state;

    script_listen(f, "in:u:1");
    script_acquire(f, "u:1");
    script_expire(f);
    script_redis(f, "HSET n java:7 3");
    assert_like(script_force(f), "1 0 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_string_equal(script_heard(f), "");
}

static void force_of_an_owner_ends_its_hold_and_hands_over(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    assert_like(script_force_of(f, "u:1"), "1 0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
    assert_like(script_heard(f), "in:u:2 grant lock u:2 *\n"
                                 "in:u:1 revoked lock u:1 * n\n");
    script_expire(f);
    script_redis(f, "HSET n java:7 3");
    assert_like(script_force_of(f, "java:7"), "1 0 0");
    assert_like(script_redis(f, "HEXISTS n java:7"), "0");
}

/* Neither who waits, nor who held before, nor nobody. */
static void force_of_who_does_not_hold_changes_nothing(void **state)
{
    script_fixture *f = *state;

    assert_like(script_force_of(f, "u:1"), "0");
    two_wait(f);
    assert_like(script_force_of(f, "u:2"), "0");
    assert_like(script_force_of(f, "u:9"), "0");
    assert_like(script_redis(f, "HGETALL n"), "u:1 1");
    assert_like(script_redis(f, "ZCARD %s", f->keys[KEY_QUEUE]), "2");
    assert_string_equal(script_heard(f), "");
}

/* ---- info ---- */

static void info_on_a_free_lock_is_empty(void **state)
{
    script_fixture *f = *state;

    assert_like(script_info(f), "() 0 ()");
    assert_like(script_redis(f, "DBSIZE"), "0");
}

static void info_tells_who_holds_and_who_waits(void **state)
{
    script_fixture *f = *state;

    script_acquire_with(f, "u:1", "40000", "1", "in", "a job", "0");
    script_acquire_with(f, "u:2", "30000", "1", "in", "b", "0");
    script_acquire_with(f, "u:3", "30000", "1", "in", "", "0");
    assert_like(script_info(f), "(u:1 1 * * * a job x) 2 "
                                "(u:2 1 * * b x u:3 1 * * \"\" x)");
    assert_in_range(f->answer->element[0]->element[4]->integer, 35000, 40000);
}

static void info_tells_the_count_of_a_foreign_holder(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_expire(f);
    script_redis(f, "HSET n java:7 3");
    assert_like(script_info(f), "(java:7 3 0 0 -1 \"\" x) 0 ()");
}

static void info_tells_who_waits_for_redissons_fair_lock(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    script_redis(f, "RPUSH %s java:7 java:8", f->keys[KEY_FAIRQ]);
    assert_like(script_info(f), "* 3 (u:2 1 * java:7 0 0 0 * java:8 0 0 0 *");
    script_deny(f, "lrange");
    assert_like(script_info(f), "* 1 (u:2 1 *");
}

static void info_lists_64_waiters_and_counts_all(void **state)
{
    script_fixture *f = *state;
    char claim[16];

    script_acquire(f, "u:1");
    for (int i = 0; i < 66; i++) {
        snprintf(claim, sizeof(claim), "w:%d", i);
        script_acquire(f, claim);
    }
    script_info(f);
    assert_int_equal(script_item(f, 1), 66);
    assert_int_equal(f->answer->element[2]->elements, 64 * 6);
    assert_string_equal(f->answer->element[2]->element[378]->str, "w:63");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(a_waiter_that_leaves_is_gone),
        SCRIPT_TEST(a_skipped_waiter_that_leaves_is_gone),
        SCRIPT_TEST(a_waiter_that_leaves_when_it_was_granted_hands_over),
        SCRIPT_TEST(leaving_twice_is_harmless),
        SCRIPT_TEST(who_leaves_a_free_lock_hands_it_to_the_next),
        SCRIPT_TEST(the_last_who_leaves_leaves_nothing_to_do),
        SCRIPT_TEST(a_tombstone_lasts_as_long_as_asked),
        SCRIPT_TEST(a_shorter_tombstone_does_not_end_a_longer_one),
        SCRIPT_TEST(tombstones_that_are_over_are_cleared_away),
        SCRIPT_TEST(a_late_acquire_behind_a_tombstone_does_nothing),
        SCRIPT_TEST(a_holder_that_leaves_for_good_frees_the_lock),
        SCRIPT_TEST(force_ends_a_hold_and_tells_the_holder),
        SCRIPT_TEST(force_hands_over_to_the_next),
        SCRIPT_TEST(force_on_a_free_lock_does_nothing),
        SCRIPT_TEST(force_on_a_foreign_hold_tells_none_of_ours),
        SCRIPT_TEST(force_of_an_owner_ends_its_hold_and_hands_over),
        SCRIPT_TEST(force_of_who_does_not_hold_changes_nothing),
        SCRIPT_TEST(info_on_a_free_lock_is_empty),
        SCRIPT_TEST(info_tells_who_holds_and_who_waits),
        SCRIPT_TEST(info_tells_the_count_of_a_foreign_holder),
        SCRIPT_TEST(info_tells_who_waits_for_redissons_fair_lock),
        SCRIPT_TEST(info_lists_64_waiters_and_counts_all),
    };

    return cmocka_run_group_tests_name("lock_leave", tests, script_start_server,
                                       script_stop_server);
}
