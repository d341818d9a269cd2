/* SPDX-License-Identifier: MIT */

/* Ending a hold of the read-write lock: release, leave, force, and who is told. */

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/rw_script.h"

static long long number(const char *text)
{
    return strtoll(text, NULL, 10);
}

/* ---- nobody waits ---- */

static void the_last_reader_frees_the_name(void **state)
{
    script_fixture *f = *state;

    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "r:2", "r");
    script_listen(f, f->channel);
    assert_like(rw_release(f, "r:1", NULL), "1 0 0");
    assert_held(f, "r:2 read");
    assert_like(script_redis(f, "EXISTS %s", rw_timeout(f, "r:1")), "0");
    assert_string_equal(script_heard(f), "");
    assert_like(rw_release(f, "r:2", NULL), "1 0 0");
    assert_like(script_redis(f, "EXISTS n %s %s", rw_timeout(f, "r:2"),
                             f->keys[KEY_HOLDERS]),
                "0");
    assert_string_equal(script_heard(f), "redisson_rwlock:{n} 0\n");
}

static void a_writer_frees_the_name_and_wakes_all_of_redisson(void **state)
{
    script_fixture *f = *state;

    rw_acquire(f, "w:1", "w");
    script_listen(f, f->channel);
    assert_like(rw_release(f, "w:1", NULL), "1 0 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_string_equal(script_heard(f), "redisson_rwlock:{n} 1\n");
}

/* ---- mismatches ---- */

static void a_release_of_what_nobody_holds_says_so(void **state)
{
    script_fixture *f = *state;

    script_listen(f, f->channel);
    assert_like(rw_release(f, "r:1", "5"), "0 0");
    assert_string_equal(script_heard(f), "");
}

static void a_release_of_what_another_holds_changes_nothing(void **state)
{
    script_fixture *f = *state;

    rw_acquire(f, "w:1", "w");
    assert_like(rw_release(f, "w:2", "5"), "0 2");
    assert_held(f, "w:1:write write");
    rw_release(f, "w:1", NULL);
    rw_acquire(f, "r:1", "r");
    assert_like(rw_release(f, "r:2", "5"), "0 0");
    assert_held(f, "r:1 read");
}

static void a_release_under_another_fence_changes_nothing(void **state)
{
    script_fixture *f = *state;

    rw_acquire(f, "w:1", "w");
    assert_like(rw_release(f, "w:1", "5"), "0 3");
    assert_held(f, "w:1:write write");
    rw_release(f, "w:1", NULL);
    rw_acquire(f, "r:1", "r");
    assert_like(rw_release(f, "r:1", "5"), "0 3");
    assert_held(f, "r:1 read");
    assert_like(script_redis(f, "EXISTS %s", rw_timeout(f, "r:1")), "1");
}

/* A release may be sent again: the second one finds nothing of it. */
static void a_release_sent_again_ends_no_other_hold(void **state)
{
    script_fixture *f = *state;
    char fence[32];

    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "r:2", "r");
    snprintf(fence, sizeof(fence), "%s", rw_fence(f, "r:1"));
    assert_like(rw_release(f, "r:1", fence), "1 0 0");
    assert_like(rw_release(f, "r:1", fence), "0 0");
    assert_held(f, "r:2 read");
}

/* The hash is the truth: what it does not say is void. */
static void a_record_without_a_field_counts_for_nothing(void **state)
{
    script_fixture *f = *state;

    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "r:2", "r");
    script_redis(f, "HDEL n r:1");
    assert_like(rw_release(f, "r:1", NULL), "0 0");
    assert_held(f, "r:2 read");
    script_expire(f);
    rw_acquire(f, "w:1", "w");
    script_expire(f);
    script_redis(f, "HSET n mode write java:1:write 1");
    assert_like(rw_release(f, "w:1", NULL), "0 2");
    assert_held(f, "java:1:write write");
}

/* ---- handing over ---- */

static void a_hand_over_tells_the_new_holder_alone(void **state)
{
    script_fixture *f = *state;
    char expected[160];
    long long ticket;

    rw_hear(f, "w:2", "w:3", (char *)NULL);
    rw_acquire(f, "w:1", "w");
    rw_acquire(f, "w:2", "w");
    ticket = script_item(f, 2);
    rw_acquire(f, "w:3", "w");
    script_redis(f, "CONFIG RESETSTAT");
    rw_release(f, "w:1", NULL);
    snprintf(expected, sizeof(expected),
             "in:w:2 grant rwlock w:2 %lld %s %s 3000 n\n", ticket,
             rw_fence(f, "w:2"), rw_fence(f, "w:2"));
    assert_string_equal(script_heard(f), expected);
    assert_like(script_redis(f, "INFO commandstats"),
                "*cmdstat_publish:calls=1,*");
}

/* A subscriber is not yet a living holder: it has three seconds to show up. */
static void a_grant_lasts_three_seconds_until_it_is_confirmed(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "r:1", "w:2", (char *)NULL);
    rw_acquire(f, "w:1", "w");
    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "w:2", "w");
    rw_release(f, "w:1", NULL);
    assert_in_range(number(script_redis(f, "PTTL n")), 2000, 3000);
    assert_in_range(number(script_redis(f, "PTTL %s", rw_timeout(f, "r:1"))),
                    2000, 3000);
    rw_release(f, "r:1", NULL);
    assert_held(f, "w:2:write write");
    assert_in_range(number(script_redis(f, "PTTL n")), 2000, 3000);
}

/* Redisson's readers may come in beside ours, so they are told of that, too. */
static void redissons_readers_are_told_when_ours_come_in(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "r:1", (char *)NULL);
    script_stamp(f, "until", 400);
    rw_acquire(f, "w:1", "w");
    rw_acquire(f, "r:1", "r");
    script_listen(f, f->channel);
    assert_like(rw_release(f, "w:1", NULL), "1 0 0");
    assert_like(script_heard(f), "in:r:1 grant rwlock r:1 * 3000 n\n"
                                 "redisson_rwlock:{n} 1\n");
}

static void a_writer_that_comes_in_is_no_news_to_redisson(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "w:2", (char *)NULL);
    script_stamp(f, "until", 400);
    rw_acquire(f, "w:1", "w");
    rw_acquire(f, "w:2", "w");
    script_listen(f, f->channel);
    rw_release(f, "w:1", NULL);
    assert_like(script_heard(f), "in:w:2 grant rwlock w:2 * 3000 n\n");
}

static void names_of_any_bytes_come_whole_in_a_grant(void **state)
{
    script_fixture *f = *state;

    script_set_name(f, "a {b} \xff\n%s");
    rw_hear(f, "r:1", (char *)NULL);
    rw_acquire(f, "w:1", "w");
    rw_acquire(f, "r:1", "r");
    rw_release(f, "w:1", NULL);
    assert_like(script_heard(f),
                "in:r:1 grant rwlock r:1 * * * 3000 a {b} \xff\n%s\n");
}

/* ---- turns with others ---- */

static void in_the_turn_of_others_the_name_is_left_open(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "w:2", (char *)NULL);
    rw_acquire(f, "w:1", "w");
    rw_acquire(f, "w:2", "w");
    script_listen(f, f->channel);
    assert_like(rw_release(f, "w:1", NULL), "1 0 0");
    assert_held(f, "");
    assert_like(script_heard(f), "in:w:2 open rwlock w:2 * n\n"
                                 "redisson_rwlock:{n} 1\n");
    assert_true(number(script_redis(f, "HGET %s open", f->keys[KEY_STATE])) >
                0);
    assert_like(rw_recheck(f, "w:2"), "1 *");
    assert_like(script_redis(f, "HGET %s open", f->keys[KEY_STATE]), "0");
}

/* Who reads on beside others gives nothing up. */
static void a_reader_that_leaves_others_behind_opens_no_turn(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "w:1", (char *)NULL);
    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "r:2", "r");
    rw_acquire(f, "w:1", "w");
    script_listen(f, f->channel);
    assert_like(rw_release(f, "r:1", NULL), "1 0 0");
    assert_string_equal(script_heard(f), "");
    assert_like(script_redis(f, "HEXISTS %s open", f->keys[KEY_STATE]), "0");
}

/* ---- leave ---- */

static void a_leave_ends_a_claim_whatever_became_of_it(void **state)
{
    script_fixture *f = *state;

    assert_like(rw_leave(f, "r:1", "0"), "0 0 0");
    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "w:1", "w");
    assert_like(rw_leave(f, "w:1", "0"), "1 0 0");
    assert_waiting(f, "");
    assert_like(rw_leave(f, "r:1", "0"), "2 0 0");
    assert_held(f, "");
    rw_acquire(f, "w:2", "w");
    assert_like(rw_leave(f, "w:2", "0"), "2 0 0");
    assert_held(f, "");
}

static void a_leave_of_a_holder_lets_the_next_in(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "r:1", (char *)NULL);
    rw_acquire(f, "w:1", "w");
    rw_acquire(f, "r:1", "r");
    assert_like(rw_leave(f, "w:1", "0"), "2 0 0");
    assert_held(f, "r:1 read");
}

static void a_tombstone_keeps_a_claim_out(void **state)
{
    script_fixture *f = *state;

    rw_acquire(f, "r:1", "r");
    assert_like(rw_leave(f, "r:1", "60000"), "2 0 0");
    assert_in_range(number(script_redis(f, "PTTL %s", f->keys[KEY_VOID])),
                    59000, 60000);
}

static void a_leave_of_a_skipped_waiter_is_one_of_a_waiter(void **state)
{
    script_fixture *f = *state;

    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "w:1", "w");
    rw_acquire(f, "r:2", "r");
    assert_like(rw_leave(f, "w:1", "0"), "1 0 0");
    assert_like(script_redis(f, "EXISTS %s", f->keys[KEY_SKIPPED]), "0");
    assert_like(script_redis(f, "HEXISTS %s w:1", f->keys[KEY_TICKETS]), "0");
}

/* ---- force ---- */

static void a_force_ends_all_readers_and_tells_them(void **state)
{
    script_fixture *f = *state;
    char expected[200];

    rw_hear(f, "r:1", "u:1", "w:1", (char *)NULL);
    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "u:1", "u");
    script_redis(f, "HSET n java:1 1");
    script_redis(f, "SET {n}:java:1:rwlock_timeout:1 1 PX 30000");
    rw_acquire(f, "w:1", "w");
    snprintf(expected, sizeof(expected), "*in:r:1 revoked rwlock r:1 %s n\n*",
             rw_fence(f, "r:1"));
    assert_like(rw_force(f), "1 0 0");
    assert_held(f, "w:1:write write");
    assert_like(script_heard(f), expected);
    assert_like(f->heard_text, "*in:u:1 revoked rwlock u:1 *");
    assert_like(f->heard_text, "in:w:1 grant rwlock w:1 *");
    assert_like(script_redis(f,
                             "EXISTS {n}:r:1:rwlock_timeout:1 "
                             "{n}:u:1:rwlock_timeout:1 %s",
                             f->keys[KEY_HOLDERS]),
                "0");
}

static void a_force_ends_the_writer_and_its_owners_reads(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "w:1", "r:1", (char *)NULL);
    rw_acquire(f, "w:1", "w");
    rw_acquire_on(f, "r:1", "r", "w:1");
    assert_held(f, "r:1 w:1:write write");
    assert_like(rw_force(f), "1 0 0");
    assert_held(f, "");
    assert_like(script_heard(f), "*in:w:1 revoked rwlock w:1 *");
    assert_like(f->heard_text, "*in:r:1 revoked rwlock r:1 *");
}

static void a_force_of_what_nobody_holds_says_so(void **state)
{
    script_fixture *f = *state;

    assert_like(rw_force(f), "0");
    rw_acquire(f, "r:1", "r");
    rw_kill(f, "r:1");
    assert_like(rw_force(f), "0");
}

static void a_force_of_one_reader_leaves_the_others(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "r:1", "r:2", (char *)NULL);
    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "r:2", "r");
    assert_like(rw_force_of(f, "r:1"), "1 0 0");
    assert_held(f, "r:2 read");
    assert_like(script_heard(f), "in:r:1 revoked rwlock r:1 *");
    assert_like(script_redis(f, "EXISTS {n}:r:1:rwlock_timeout:1"), "0");
    assert_like(script_redis(f, "EXISTS {n}:r:2:rwlock_timeout:1"), "1");
}

static void a_force_of_the_last_reader_serves_who_waits(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "w:1", (char *)NULL);
    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "w:1", "w");
    assert_like(rw_force_of(f, "r:1"), "1 0 0");
    assert_held(f, "w:1:write write");
    assert_like(script_heard(f), "in:w:1 grant rwlock w:1 *");
}

static void a_force_of_the_writer_ends_its_owners_reads(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "w:1", "r:1", (char *)NULL);
    rw_acquire(f, "w:1", "w");
    rw_acquire_on(f, "r:1", "r", "w:1");
    assert_like(rw_force_of(f, "w:1"), "1 0 0");
    assert_held(f, "");
    assert_like(script_heard(f), "*in:w:1 revoked rwlock w:1 *");
    assert_like(f->heard_text, "*in:r:1 revoked rwlock r:1 *");
}

static void a_force_of_who_does_not_hold_changes_nothing(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "r:1", "w:1", "w:2", (char *)NULL);
    assert_like(rw_force_of(f, "r:1"), "0");
    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "w:1", "w");
    assert_like(rw_force_of(f, "w:1"), "0");
    assert_like(rw_force_of(f, "mode"), "0");
    assert_held(f, "r:1 read");
    assert_waiting(f, "w: w:1");
    assert_string_equal(script_heard(f), "");
    script_redis(f, "FLUSHALL");
    rw_acquire(f, "w:2", "w");
    assert_like(rw_force_of(f, "r:1"), "0");
    assert_like(rw_force_of(f, "w:2:write"), "0");
    assert_held(f, "w:2:write write");
    assert_string_equal(script_heard(f), "");
}

/* ---- pass ---- */

static void passing_on_changes_nothing_for_a_writer(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "w:2", (char *)NULL);
    rw_acquire(f, "w:1", "w");
    rw_acquire(f, "w:2", "w");
    assert_like(rw_pass(f), "0 0");
    assert_held(f, "w:1:write write");
    assert_string_equal(script_heard(f), "");
}

static void passing_on_a_free_name_lets_the_next_in(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "w:2", (char *)NULL);
    rw_acquire(f, "w:1", "w");
    rw_acquire(f, "w:2", "w");
    script_expire(f);
    assert_like(rw_pass(f), "0 0");
    assert_held(f, "w:2:write write");
}

/* ---- a full server ---- */

static void a_full_server_refuses_no_release(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "r:1", "w:2", (char *)NULL);
    rw_acquire(f, "w:1", "w");
    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "w:2", "w");
    script_fill_memory(f, true);
    assert_like(rw_release(f, "w:1", NULL), "1 0 0");
    assert_held(f, "r:1 read");
    assert_like(rw_leave(f, "r:1", "60000"), "2 0 0");
    assert_held(f, "w:2:write write");
    assert_like(rw_force(f), "1 0 0");
    assert_held(f, "");
}

/* Whoever of ours comes first, not only one that waited. */
static void a_newcomer_ends_the_turn_of_others(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "w:2", (char *)NULL);
    rw_acquire(f, "w:1", "w");
    rw_acquire(f, "w:2", "w");
    script_listen(f, f->channel);
    rw_release(f, "w:1", NULL);
    rw_leave(f, "w:2", "0");
    assert_true(number(script_redis(f, "HGET %s open", f->keys[KEY_STATE])) >
                0);
    assert_like(rw_acquire(f, "w:3", "w"), "1 *");
    assert_like(script_redis(f, "HGET %s open", f->keys[KEY_STATE]), "0");
    assert_true(number(script_redis(f, "HGET %s until", f->keys[KEY_STATE])) >
                0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RW_TEST(the_last_reader_frees_the_name),
        RW_TEST(a_writer_frees_the_name_and_wakes_all_of_redisson),
        RW_TEST(a_release_of_what_nobody_holds_says_so),
        RW_TEST(a_release_of_what_another_holds_changes_nothing),
        RW_TEST(a_release_under_another_fence_changes_nothing),
        RW_TEST(a_release_sent_again_ends_no_other_hold),
        RW_TEST(a_record_without_a_field_counts_for_nothing),
        RW_TEST(a_hand_over_tells_the_new_holder_alone),
        RW_TEST(a_grant_lasts_three_seconds_until_it_is_confirmed),
        RW_TEST(redissons_readers_are_told_when_ours_come_in),
        RW_TEST(a_writer_that_comes_in_is_no_news_to_redisson),
        RW_TEST(names_of_any_bytes_come_whole_in_a_grant),
        RW_TEST(in_the_turn_of_others_the_name_is_left_open),
        RW_TEST(a_newcomer_ends_the_turn_of_others),
        RW_TEST(a_reader_that_leaves_others_behind_opens_no_turn),
        RW_TEST(a_leave_ends_a_claim_whatever_became_of_it),
        RW_TEST(a_leave_of_a_holder_lets_the_next_in),
        RW_TEST(a_tombstone_keeps_a_claim_out),
        RW_TEST(a_leave_of_a_skipped_waiter_is_one_of_a_waiter),
        RW_TEST(a_force_ends_all_readers_and_tells_them),
        RW_TEST(a_force_ends_the_writer_and_its_owners_reads),
        RW_TEST(a_force_of_what_nobody_holds_says_so),
        RW_TEST(a_force_of_one_reader_leaves_the_others),
        RW_TEST(a_force_of_the_last_reader_serves_who_waits),
        RW_TEST(a_force_of_the_writer_ends_its_owners_reads),
        RW_TEST(a_force_of_who_does_not_hold_changes_nothing),
        RW_TEST(passing_on_changes_nothing_for_a_writer),
        RW_TEST(passing_on_a_free_name_lets_the_next_in),
        RW_TEST(a_full_server_refuses_no_release),
    };

    return cmocka_run_group_tests_name("rwlock_release", tests,
                                       script_start_server, script_stop_server);
}
