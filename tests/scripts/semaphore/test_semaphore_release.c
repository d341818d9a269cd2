/* SPDX-License-Identifier: MIT */

/* close: giving back, and serving who waits. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/lua_lock.h"
#include "support/permits.h"

enum {
    LOOKS = 64,       /* waiters looked at in one call */
    ALONE_MS = 900000 /* holds are renewed without the record for so long */
};

/* u1:1 has all of 4; u2:1, u3:1 and u4:1 wait for 1, 2 and 3 of them, and can be
   reached. */
static void three_wait(script_fixture *f)
{
    script_listen(f, "latchkey:in::u2");
    script_listen(f, "latchkey:in::u3");
    script_listen(f, "latchkey:in::u4");
    permits_set(f, 4);
    permits_acquire(f, "u1:1", 4);
    permits_acquire(f, "u2:1", 1);
    permits_acquire(f, "u3:1", 2);
    permits_acquire(f, "u4:1", 3);
}

/* ---- nobody waits ---- */

PERMITS_TEST(a_release_gives_all_permits_back)
{
    permits_set(f, 5);
    permits_acquire(f, "u1:1", 3);
    assert_like(permits_release(f, "u1:1", 0), "1 2 0 0");
    assert_books(f, 5, 5);
    assert_like(script_redis(f, "EXISTS %s %s", f->keys[PERMITS_ZSET],
                             f->keys[PERMITS_HOLDERS]),
                "0");
}

/* As Redisson does, so that its waiters wake up. */
PERMITS_TEST(redisson_is_told_how_many_are_free)
{
    permits_set(f, 5);
    permits_acquire(f, "u1:1", 3);
    permits_acquire(f, "u2:1", 2);
    script_listen(f, f->channel);
    permits_release(f, "u1:1", 0);
    permits_release(f, "u2:1", 0);
    assert_string_equal(script_heard(f),
                        "redisson_sc:{n} 3\nredisson_sc:{n} 5\n");
}

/* Its listener cannot bear less than one. */
PERMITS_TEST(redisson_is_not_told_of_less_than_none)
{
    permits_set(f, 5);
    permits_acquire(f, "u1:1", 3);
    permits_acquire(f, "u2:1", 2);
    permits_resize(f, 1);
    script_listen(f, f->channel);
    assert_like(permits_release(f, "u1:1", 0), "1 2 0 0");
    assert_string_equal(script_heard(f), "");
    assert_books(f, 1, -1);
}

PERMITS_TEST(channels_of_a_name_with_a_tag_have_no_second_one)
{
    script_set_name(f, "x{tag}");
    assert_string_equal(f->keys[PERMITS_ZSET], "x{tag}:timeout");
    permits_set(f, 1);
    permits_acquire(f, "u1:1", 1);
    script_listen(f, "redisson_sc:x{tag}");
    permits_release(f, "u1:1", 0);
    assert_string_equal(script_heard(f), "redisson_sc:x{tag} 1\n");
}

/* ---- mismatches ---- */

PERMITS_TEST(a_second_release_gives_nothing_back)
{
    int64_t fence;

    permits_set(f, 2);
    permits_acquire(f, "u1:1", 1);
    fence = permits_fence(f, "u1:1");
    assert_like(permits_release(f, "u1:1", fence), "1 2 0 0");
    script_listen(f, f->channel);
    assert_like(permits_release(f, "u1:1", fence), "2 0");
    assert_books(f, 2, 2);
    assert_string_equal(script_heard(f), "");
}

PERMITS_TEST(a_release_of_what_another_has_changes_nothing)
{
    permits_set(f, 2);
    permits_acquire(f, "u1:1", 1);
    assert_like(permits_release(f, "u2:1", permits_fence(f, "u1:1")), "2 0");
    assert_books(f, 2, 1);
}

/*
 * A claim granted again after its first grant lapsed: the answer to the first
 * must not end the second.
 */
PERMITS_TEST(a_release_under_another_fence_changes_nothing)
{
    three_wait(f);
    assert_like(permits_release(f, "u1:1", 12345), "2 3");
    assert_books(f, 4, 0);
    assert_like(permits_waiting(f), "u2:1 u3:1 u4:1");
    assert_string_equal(script_heard(f), "");
}

/* Redisson took one back: the claim does not hold what it had any more. */
PERMITS_TEST(what_is_left_of_a_lost_claim_is_given_back)
{
    permits_set(f, 5);
    permits_acquire(f, "u1:1", 3);
    permits_sweep_one(f, "u1:1", 2);
    assert_books(f, 5, 3);
    assert_like(permits_release(f, "u1:1", 0), "2 0");
    assert_books(f, 5, 5);
    assert_like(script_redis(f, "HLEN %s", f->keys[PERMITS_HOLDERS]), "0");
}

PERMITS_TEST(permits_of_a_semaphore_that_is_gone_make_no_new_one)
{
    permits_set(f, 5);
    permits_acquire(f, "u1:1", 3);
    script_redis(f, "DEL n");
    assert_like(permits_release(f, "u1:1", 0), "1 2 0 0");
    assert_like(script_redis(f, "EXISTS n %s", f->keys[PERMITS_ZSET]), "0");
}

/* It was there until the end, and nobody else had it. */
PERMITS_TEST(what_has_ended_but_is_there_is_released)
{
    permits_set(f, 2);
    permits_acquire(f, "u1:1", 2);
    permits_expire(f, 5);
    assert_like(permits_release(f, "u1:1", 0), "1 2 0 0");
    assert_books(f, 2, 2);
}

/* ---- serving ---- */

PERMITS_TEST(a_release_serves_as_many_as_fit)
{
    three_wait(f);
    assert_like(permits_release(f, "u1:1", 0), "1 2 0 0");
    assert_books(f, 4, 1);
    assert_like(permits_waiting(f), "u4:1");
    assert_like(script_heard(f),
                "latchkey:in::u2 grant 0 semaphore u2:1 * * 3000 n\n"
                "latchkey:in::u3 grant 0 semaphore u3:1 * * 3000 n\n");
    assert_like(permits_release(f, "u2:1", 0), "1 2 0 0");
    assert_like(permits_waiting(f), "u4:1");
    assert_like(permits_release(f, "u3:1", 0), "1 2 0 0");
    assert_books(f, 4, 1);
    assert_like(permits_waiting(f), "");
}

/* The message is the hold: it says all that the new holder must know. */
PERMITS_TEST(the_grant_is_told_to_the_new_holder_alone)
{
    char expected[160];
    int64_t ticket, fence;

    script_listen(f, "latchkey:in::u2");
    script_listen(f, "latchkey:in::u3");
    permits_set(f, 1);
    permits_acquire(f, "u1:1", 1);
    permits_acquire(f, "u2:1", 1);
    ticket = script_item(f, 2);
    permits_acquire(f, "u3:1", 1);
    permits_release(f, "u1:1", 0);
    fence = permits_fence(f, "u2:1");
    snprintf(expected, sizeof(expected),
             "latchkey:in::u2 grant 0 semaphore u2:1 " PERMITS_NONCE " %" PRId64
             " %" PRId64 " 0 3000 n\n",
             ticket, fence);
    assert_string_equal(script_heard(f), expected);
}

PERMITS_TEST(a_grant_lasts_three_seconds_until_it_is_confirmed)
{
    three_wait(f);
    permits_release(f, "u1:1", 0);
    assert_in_range(permits_left(f, "u3:1", 1), 2000, 3000);
    assert_in_range(permits_left(f, "u3:1", 2), 2000, 3000);
}

PERMITS_TEST(a_grant_lasts_no_longer_than_what_was_asked_for)
{
    script_listen(f, "latchkey:in::u2");
    permits_set(f, 1);
    permits_acquire(f, "u1:1", 1);
    permits_acquire_with(f, "u2:1", 1, (permits_wish){.lease = 700});
    permits_release(f, "u1:1", 0);
    assert_like(script_heard(f),
                "latchkey:in::u2 grant 0 semaphore u2:1 * * 700 n\n");
    assert_in_range(permits_left(f, "u2:1", 1), 1, 700);
}

/* Telling them would wake each of them for nothing. */
PERMITS_TEST(what_goes_to_one_of_ours_is_not_told_to_redisson)
{
    three_wait(f);
    script_redis(f, "CONFIG RESETSTAT");
    permits_release(f, "u1:1", 0);
    script_heard(f);
    assert_like(script_redis(f, "INFO commandstats"),
                "*cmdstat_publish:calls=2,*");
}

PERMITS_TEST(a_large_request_is_not_passed_by)
{
    script_listen(f, "latchkey:in::u3");
    script_listen(f, "latchkey:in::u4");
    permits_set(f, 4);
    permits_acquire(f, "u1:1", 2);
    permits_acquire(f, "u2:1", 2);
    permits_acquire(f, "u3:1", 3);
    permits_acquire(f, "u4:1", 1);
    assert_like(permits_release(f, "u1:1", 0), "1 2 0 0");
    assert_string_equal(script_heard(f), "");
    assert_like(permits_waiting(f), "u3:1 u4:1");
    assert_like(permits_release(f, "u2:1", 0), "1 2 0 0");
    assert_like(script_heard(f),
                "latchkey:in::u3 grant 0 semaphore u3:1 * * n\n"
                "latchkey:in::u4 grant 0 semaphore u4:1 * * n\n");
    assert_books(f, 4, 0);
}

PERMITS_TEST(what_has_ended_is_given_with_it)
{
    script_listen(f, "latchkey:in::u3");
    permits_set(f, 4);
    permits_acquire(f, "u1:1", 3);
    permits_expire(f, 1);
    permits_acquire(f, "u2:1", 1);
    permits_acquire(f, "u3:1", 4);
    permits_release(f, "u2:1", 0);
    assert_like(script_heard(f), "latchkey:in::u3 grant 0 semaphore u3:1 * *");
    assert_books(f, 4, 0);
    assert_like(script_redis(f, "HLEN %s", f->keys[PERMITS_HOLDERS]), "4");
}

PERMITS_TEST(names_of_any_bytes_come_whole_in_a_grant)
{
    script_set_name(f, "a {b} \xff\n%s");
    script_listen(f, "latchkey:in::u2");
    permits_set(f, 1);
    permits_acquire(f, "u1:1", 1);
    permits_acquire(f, "u2:1", 1);
    permits_release(f, "u1:1", 0);
    assert_like(
        script_heard(f),
        "latchkey:in::u2 grant 0 semaphore u2:1 * * * * 3000 a {b} \xff\n%s\n");
}

/* ---- waiters that do not answer ---- */

PERMITS_TEST(a_waiter_that_nobody_listens_for_is_skipped_unasked)
{
    three_wait(f);
    script_deafen(f, "latchkey:in::u2");
    script_redis(f, "CONFIG RESETSTAT");
    assert_like(permits_release(f, "u1:1", 0), "1 2 0 0");
    assert_like(script_heard(f), "latchkey:in::u3 grant 0 semaphore u3:1 * *");
    assert_books(f, 4, 2);
    assert_like(permits_waiting(f), "u4:1");
    assert_like(script_redis(f, "INFO commandstats"),
                "*cmdstat_publish:calls=1,*");
}

/* It would keep everybody behind it waiting for what it will never take. */
PERMITS_TEST(a_dead_waiter_that_does_not_fit_keeps_nobody)
{
    script_listen(f, "latchkey:in::u4");
    permits_set(f, 4);
    permits_acquire(f, "u1:1", 2);
    permits_acquire(f, "u2:1", 2);
    permits_acquire(f, "u3:1", 4);
    permits_acquire(f, "u4:1", 1);
    permits_age(f, "u3:1", 3500);
    permits_release(f, "u1:1", 0);
    assert_like(script_heard(f), "latchkey:in::u4 grant 0 semaphore u4:1 * *");
    assert_like(permits_parked(f), "u3:1");
    assert_books(f, 4, 1);
}

PERMITS_TEST(a_waiter_not_seen_for_three_seconds_is_skipped)
{
    three_wait(f);
    permits_age(f, "u2:1", 3500);
    permits_release(f, "u1:1", 0);
    assert_like(script_heard(f), "latchkey:in::u3 grant 0 semaphore u3:1 * *");
}

PERMITS_TEST(what_is_no_member_keeps_nobody)
{
    three_wait(f);
    script_redis(f, "ZADD %s 281474976710657 x", f->keys[PERMITS_QUEUE]);
    script_deafen(f, "latchkey:in::u2");
    permits_release(f, "u1:1", 0);
    assert_like(script_heard(f), "latchkey:in::u3 grant 0 semaphore u3:1 * *");
    assert_string_equal(permits_parked(f), "x u2:1");
}

PERMITS_TEST(permits_that_no_waiter_answers_for_stay_free)
{
    permits_set(f, 2);
    permits_acquire(f, "u1:1", 2);
    permits_acquire(f, "u2:1", 1);
    script_listen(f, f->channel);
    assert_like(permits_release(f, "u1:1", 0), "1 2 0 0");
    assert_books(f, 2, 2);
    assert_string_equal(script_heard(f), "redisson_sc:{n} 2\n");
}

/* It finds out when it looks; meanwhile it keeps nobody. */
PERMITS_TEST(a_waiter_that_needs_more_than_there_is_is_put_aside)
{
    three_wait(f);
    permits_age(f, "u4:1", 1000);
    script_redis(f, "DECRBY n 2");
    permits_release(f, "u1:1", 0);
    assert_like(script_heard(f), "latchkey:in::u2 grant 0 semaphore u2:1 * *");
    assert_like(permits_waiting(f), "u3:1");
    assert_like(permits_parked(f), "u4:1");
    assert_books(f, 2, 1);
}

/* ---- many waiters ---- */

static void many_wait(script_fixture *f, int count)
{
    char claim[16];

    permits_set(f, 1);
    permits_acquire(f, "u1:1", 1);
    for (int i = 0; i < count; i++) {
        snprintf(claim, sizeof(claim), "u%d:1", 100 + i);
        permits_acquire(f, claim, 1);
    }
}

PERMITS_TEST(a_release_looks_at_so_many_waiters_and_says_there_are_more)
{
    many_wait(f, LOOKS + 2);
    script_listen(f, "latchkey:in::u165");
    assert_like(permits_release(f, "u1:1", 0), "1 2 1 0");
    assert_books(f, 1, 1);
    assert_like(permits_waiting(f), "u164:1 u165:1");
    assert_like(permits_pass(f), "2 * 0 0 0 (*) (*)");
    assert_like(script_heard(f),
                "latchkey:in::u165 grant 0 semaphore u165:1 * *");
    assert_books(f, 1, 0);
}

PERMITS_TEST(one_call_serves_so_many_and_says_there_are_more)
{
    char claim[16];

    permits_set(f, LOOKS + 2);
    permits_acquire(f, "u1:1", LOOKS + 2);
    script_listen(f, "latchkey:in::u2");
    for (int i = 0; i < LOOKS + 2; i++) {
        snprintf(claim, sizeof(claim), "u2:%d", i);
        permits_acquire(f, claim, 1);
    }
    assert_like(permits_release(f, "u1:1", 0), "1 2 1 0");
    assert_books(f, LOOKS + 2, 2);
    assert_like(permits_pass(f), "2 * 0 0 0 () ()");
    assert_books(f, LOOKS + 2, 0);
}

PERMITS_TEST(passing_on_does_nothing_where_nobody_fits)
{
    three_wait(f);
    script_listen(f, f->channel);
    assert_like(permits_pass(f), "2 * 0 0 0 (*) (*)");
    assert_like(permits_waiting(f), "u2:1 u3:1 u4:1");
    assert_string_equal(script_heard(f), "");
}

/* ---- the zset is deleted or evicted ---- */

static void two_of_three_are_lost(script_fixture *f)
{
    permits_set(f, 3);
    permits_acquire(f, "u1:1", 1);
    permits_acquire(f, "u2:1", 1);
    script_redis(f, "DEL %s", f->keys[PERMITS_ZSET]);
}

PERMITS_TEST(a_zset_that_is_lost_comes_back)
{
    two_of_three_are_lost(f);
    permits_pass(f);
    assert_books(f, 3, 1);
    assert_like(permits_renew(f, "u1:1", 30000), "1 ()");
    assert_like(permits_release(f, "u1:1", 0), "1 2 0 0");
    assert_books(f, 3, 2);
}

PERMITS_TEST(one_that_is_lost_can_be_given_back)
{
    two_of_three_are_lost(f);
    assert_like(permits_release(f, "u1:1", 0), "1 2 0 0");
    assert_like(permits_release(f, "u2:1", 0), "1 2 0 0");
    assert_books(f, 3, 3);
}

PERMITS_TEST(one_that_nobody_gives_back_ends_with_the_record)
{
    two_of_three_are_lost(f);
    script_redis(f, "PEXPIRE %s 1000", f->keys[PERMITS_HOLDERS]);
    permits_pass(f);
    assert_books(f, 3, 1);
    permits_expire(f, 1);
    assert_like(permits_acquire(f, "u3:1", 3), "1 *");
    assert_books(f, 3, 0);
}

/* u1:1 had one of 3, and its lease has ended since longer than it may have been
   renewed by its key alone. */
static void one_has_ended(script_fixture *f, int64_t kept_ms)
{
    permits_set(f, 3);
    permits_acquire_with(f, "u1:1", 1, (permits_wish){.lease = 1});
    if (kept_ms > 0)
        assert_like(permits_keep(f, "u1:1", 0, kept_ms), "1 *");
    lua_lock_shift(f, ALONE_MS + 1000);
}

/* Redisson took the permit of a dead claim back, and lets there be one fewer:
   just as many are missing as if the zset were lost. */
PERMITS_TEST(one_that_had_ended_does_not_come_back)
{
    one_has_ended(f, 0);
    permits_sweep_one(f, "u1:1", 1);
    script_redis(f, "DECRBY n 1");
    permits_pass(f);
    assert_books(f, 2, 2);
}

PERMITS_TEST(one_that_was_lengthened_comes_back)
{
    one_has_ended(f, 30000);
    script_redis(f, "DEL %s", f->keys[PERMITS_ZSET]);
    permits_pass(f);
    assert_books(f, 3, 2);
}

/* One by the few commands of the quick way, two by the others. */
PERMITS_TEST(so_do_those_granted_after_others_had_ended)
{
    for (int need = 1; need <= 2; need++) {
        one_has_ended(f, 0);
        assert_like(permits_acquire(f, "u2:1", need), "1 *");
        script_redis(f, "DEL %s", f->keys[PERMITS_ZSET]);
        permits_pass(f);
        assert_books(f, 3, 2 - need);
        f->stamp[0] = '\0';
        script_redis(f, "FLUSHALL");
    }
}

/* Redisson's setPermits() changes the counter alone. */
PERMITS_TEST(permits_that_redisson_took_away_do_not_come_back)
{
    permits_set(f, 5);
    permits_acquire(f, "u1:1", 1);
    permits_acquire(f, "u2:1", 1);
    script_redis(f, "DECRBY n 2");
    permits_pass(f);
    assert_books(f, 3, 1);
    permits_release(f, "u1:1", 0);
    permits_release(f, "u2:1", 0);
    permits_pass(f);
    assert_books(f, 3, 3);
}

CHECK_GROUP(script_start_server, script_stop_server)
