/* SPDX-License-Identifier: MIT */

/* semaphore_confirm and _renew: how long permits are kept. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/permits.h"

extern const lk__script lk__script_semaphore_renew;

static long long number(const char *text)
{
    return strtoll(text, NULL, 10);
}

/* ---- confirm ---- */

static void a_confirm_gives_all_permits_their_lease(void **state)
{
    script_fixture *f = *state;

    permits_set(f, 4);
    permits_acquire_with(f, "u:1", 2, (permits_wish){.lease = "3000"});
    assert_like(permits_confirm(f, "u:1", NULL, "30000"), "1 30000 0 *");
    assert_like(permits_fence(f, "u:1"), "*");
    assert_true(script_item(f, 3) == number(permits_fence(f, "u:1")));
    assert_in_range(permits_left(f, "u:1", 1), 29000, 30000);
    assert_in_range(permits_left(f, "u:1", 2), 29000, 30000);
}

static void a_confirm_only_lengthens(void **state)
{
    script_fixture *f = *state;

    permits_set(f, 4);
    permits_acquire(f, "u:1", 2);
    assert_like(permits_confirm(f, "u:1", NULL, "1000"), "1 * 0 *");
    assert_in_range(script_item(f, 1), 29000, 30000);
    assert_in_range(permits_left(f, "u:1", 2), 29000, 30000);
}

/* Redisson's updateLeaseTime() on one of ours. */
static void a_permit_that_lasts_longer_is_left_alone(void **state)
{
    script_fixture *f = *state;

    permits_set(f, 1);
    permits_acquire(f, "u:1", 1);
    script_redis(f, "EVAL %s 1 %s",
                 "redis.call('ZADD', KEYS[1], '922337203685477',"
                 " redis.call('ZRANGE', KEYS[1], 0, 0)[1])",
                 f->keys[PERMITS_ZSET]);
    permits_confirm(f, "u:1", NULL, "30000");
    assert_like(permits_renew(f, "u:1", NULL, "30000"), "");
    assert_like(script_redis(f, "ZCOUNT %s 922337203685477 922337203685477",
                             f->keys[PERMITS_ZSET]),
                "1");
}

static void a_confirm_tells_whether_anybody_waits(void **state)
{
    script_fixture *f = *state;

    permits_set(f, 1);
    permits_acquire(f, "u:1", 1);
    assert_like(permits_confirm(f, "u:1", NULL, "30000"), "1 * 0 *");
    script_listen(f, f->channel);
    assert_like(permits_confirm(f, "u:1", NULL, "30000"), "1 * 1 *");
    script_deafen(f, f->channel);
    permits_acquire(f, "u:2", 1);
    assert_like(permits_confirm(f, "u:1", NULL, "30000"), "1 * 1 *");
}

static void a_confirm_of_what_is_not_held_changes_nothing(void **state)
{
    script_fixture *f = *state;

    permits_set(f, 1);
    permits_acquire_with(f, "u:1", 1, (permits_wish){.lease = "3000"});
    assert_like(permits_confirm(f, "u:2", "5", "30000"), "0 0");
    assert_like(permits_confirm(f, "u:1", "5", "30000"), "0 3");
    assert_in_range(permits_left(f, "u:1", 1), 2000, 3000);
    permits_sweep_one(f, "u:1", 1);
    assert_like(permits_confirm(f, "u:1", NULL, "30000"), "0 0");
    assert_int_equal(permits_left(f, "u:1", 1), 0);
}

static void a_confirm_does_not_shorten_the_record_of_a_long_lease(void **state)
{
    script_fixture *f = *state;

    permits_set(f, 2);
    permits_acquire_with(f, "u:1", 1, (permits_wish){.lease = "90000000"});
    permits_acquire(f, "u:2", 1);
    permits_confirm(f, "u:2", NULL, "40000");
    assert_true(number(script_redis(f, "PTTL %s", f->keys[PERMITS_HOLDERS])) >
                90000000);
}

/* ---- renew ---- */

static void a_renewal_lengthens_and_names_nobody(void **state)
{
    script_fixture *f = *state;

    permits_set(f, 4);
    permits_acquire_with(f, "u:1", 3, (permits_wish){.lease = "3000"});
    assert_like(permits_renew(f, "u:1", NULL, "60000"), "");
    assert_in_range(permits_left(f, "u:1", 1), 59000, 60000);
    assert_in_range(permits_left(f, "u:1", 3), 59000, 60000);
    assert_like(permits_renew(f, "u:1", NULL, "1000"), "");
    assert_in_range(permits_left(f, "u:1", 3), 59000, 60000);
    assert_books(f, 4, 1);
}

/* What is known of the holder must not end before it. */
static void a_renewal_keeps_what_is_known_of_the_holder(void **state)
{
    script_fixture *f = *state;

    permits_set(f, 1);
    permits_acquire(f, "u:1", 1);
    permits_renew(f, "u:1", NULL, "9000000");
    assert_true(number(script_redis(f, "PTTL %s", f->keys[PERMITS_HOLDERS])) >
                9000000);
}

static void the_lost_are_named(void **state)
{
    script_fixture *f = *state;

    permits_set(f, 4);
    permits_acquire(f, "u:1", 2);
    assert_like(permits_renew(f, "u:1", "5", "30000"), "1 3");
    assert_like(permits_renew(f, "u:2", "5", "30000"), "1 0");
    permits_sweep_one(f, "u:1", 2);
    assert_like(permits_renew(f, "u:1", NULL, "30000"), "1 0");
    assert_books(f, 4, 3);
}

static void many_names_are_renewed_at_once(void **state)
{
    script_fixture *f = *state;
    const char *const keys[] =
        {"n:timeout",   "latchkey:holders:n",   "latchkey:void:n",
         "{m}:timeout", "latchkey:holders:{m}", "latchkey:void:{m}",
         "{n}:timeout", "latchkey:holders:{n}", "latchkey:void:{n}"};
    char fence[2][24];
    const char *args[] = {"u:9",   "1",   "30000",  "u:2",   fence[1],
                          "30000", "u:1", fence[0], "30000", NULL};

    permits_set(f, 1);
    permits_acquire_with(f, "u:1", 1, (permits_wish){.lease = "3000"});
    snprintf(fence[0], sizeof(fence[0]), "%s", permits_fence(f, "u:1"));
    script_set_name(f, "m");
    permits_set(f, 1);
    permits_acquire_with(f, "u:2", 1, (permits_wish){.lease = "3000"});
    snprintf(fence[1], sizeof(fence[1]), "%s", permits_fence(f, "u:2"));
    assert_like(script_run_keys(f, &lk__script_semaphore_renew, keys, 9, args),
                "1 0");
    assert_in_range(permits_left(f, "u:2", 1), 29000, 30000);
    script_set_name(f, "n");
    assert_in_range(permits_left(f, "u:1", 1), 29000, 30000);
}

static void
one_name_of_another_type_keeps_no_other_from_being_renewed(void **state)
{
    script_fixture *f = *state;
    const char *const keys[] = {"text",        "latchkey:holders:{n}",
                                "void",        "{n}:timeout",
                                "text",        "void",
                                "{n}:timeout", "latchkey:holders:{n}",
                                "text"};
    char fence[24];
    const char *args[] = {"u:1",   fence, "30000", "u:1",   fence,
                          "30000", "u:1", fence,   "30000", NULL};

    permits_set(f, 1);
    script_redis(f, "SET text x");
    permits_acquire_with(f, "u:1", 1, (permits_wish){.lease = "3000"});
    snprintf(fence, sizeof(fence), "%s", permits_fence(f, "u:1"));
    assert_like(script_run_keys(f, &lk__script_semaphore_renew, keys, 9, args),
                "1 0 2 0");
    assert_in_range(permits_left(f, "u:1", 1), 29000, 30000);
}

static void a_hold_that_ended_and_was_not_taken_back_is_renewed(void **state)
{
    script_fixture *f = *state;

    permits_set(f, 2);
    permits_acquire(f, "u:1", 2);
    permits_expire(f, 5);
    assert_like(permits_renew(f, "u:1", NULL, "30000"), "");
    assert_in_range(permits_left(f, "u:1", 2), 29000, 30000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PERMITS_TEST(a_confirm_gives_all_permits_their_lease),
        PERMITS_TEST(a_confirm_only_lengthens),
        PERMITS_TEST(a_permit_that_lasts_longer_is_left_alone),
        PERMITS_TEST(a_confirm_tells_whether_anybody_waits),
        PERMITS_TEST(a_confirm_of_what_is_not_held_changes_nothing),
        PERMITS_TEST(a_renewal_lengthens_and_names_nobody),
        PERMITS_TEST(a_renewal_keeps_what_is_known_of_the_holder),
        PERMITS_TEST(the_lost_are_named),
        PERMITS_TEST(many_names_are_renewed_at_once),
        PERMITS_TEST(
            one_name_of_another_type_keeps_no_other_from_being_renewed),
        PERMITS_TEST(a_hold_that_ended_and_was_not_taken_back_is_renewed),
        PERMITS_TEST(a_confirm_does_not_shorten_the_record_of_a_long_lease),
    };

    return cmocka_run_group_tests_name("semaphore_renew", tests,
                                       script_start_server, script_stop_server);
}
