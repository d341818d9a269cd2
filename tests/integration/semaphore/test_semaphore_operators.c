/* SPDX-License-Identifier: MIT */

/* Who holds permits, who waits, and ending somebody else's hold. */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/semaphores.h"
#include "support/wait.h"

enum { SOON_MS = 3000 };

static lk_info *info_of(lk_semaphore *semaphore)
{
    lk_info *info = NULL;

    assert_status(lk_semaphore_info(semaphore, &info), LK_OK);
    assert_non_null(info);
    return info;
}

static lk_hold *
hold_because(lk_semaphore *semaphore, uint64_t count, const char *reason)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .reason = reason};
    lk_hold *hold = NULL;

    assert_status(lk_semaphore_acquire(semaphore, count, 0, &options, &hold),
                  LK_OK);
    return hold;
}

/* A permit of Redisson's, for 30 s: 16 times the letter b. */
static void java_takes_one(locking *f)
{
    assert_int_equal(server_integer(f->server, "EVAL %s 2 n {n}:timeout %s",
                                    "local now = redis.call('TIME')"
                                    " redis.call('ZADD', KEYS[2],"
                                    " now[1] * 1000 + 30000, ARGV[1])"
                                    " redis.call('DECR', KEYS[1]) return 1",
                                    "bbbbbbbbbbbbbbbb"),
                     1);
}

static const char java_permit[] = "62626262626262626262626262626262";

/* ---- info ---- */

LOCKS_TEST(an_unset_semaphore_has_nobody)
{
    lk_info *info = info_of(sem_new(f, 0));

    assert_int_equal(info->holder_count, 0);
    assert_int_equal(info->waiter_count, 0);
    lk_info_free(info);
}

LOCKS_TEST(holders_are_told_with_all_that_is_known_of_them)
{
    lk_semaphore *semaphore = sem_calm(f, 5);
    lk_hold *hold = hold_because(semaphore, 3, "nightly job");
    lk_info *info = info_of(semaphore);
    const lk_party *holder;

    assert_int_equal(info->holder_count, 1);
    holder = info->holders[0];
    assert_non_null(strchr(holder->owner, ':'));
    assert_int_equal(holder->count, 3);
    assert_int_equal(holder->fence, lk_hold_fence(hold));
    assert_string_equal(holder->reason, "nightly job");
    assert_string_equal(holder->mode, "");
    assert_int_equal(holder->pid, getpid());
    assert_in_range(holder->lease_ms, 20000, 30000);
    assert_in_range(holder->since_ms, 0, wait_limit_ms(2000));
    lk_info_free(info);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(waiters_are_told_in_order_with_what_they_need)
{
    lk_semaphore *semaphore = sem_calm(f, 5);
    lk_hold *hold = sem_hold(semaphore, 5);
    taker *large = sem_queue_up(f, semaphore, 4, 1);
    taker *small = sem_queue_up(f, semaphore, 1, 2);
    lk_info *info = info_of(semaphore);

    assert_int_equal(info->waiter_count, 2);
    assert_int_equal(info->listed_count, 2);
    assert_int_equal(info->waiters[0]->count, 4);
    assert_int_equal(info->waiters[1]->count, 1);
    assert_int_equal(info->waiters[0]->fence, 0);
    assert_int_equal(info->waiters[0]->pid, getpid());
    lk_info_free(info);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(large), LK_OK);
    assert_status(taker_release(small), LK_OK);
}

LOCKS_TEST(permits_of_another_library_are_told_one_by_one)
{
    lk_semaphore *semaphore = sem_new(f, 5);
    lk_hold *hold = sem_hold_for(semaphore, 2, 90000);
    lk_info *info;

    java_takes_one(f);
    info = info_of(semaphore);
    assert_int_equal(info->holder_count, 2);
    assert_string_equal(info->holders[0]->owner, java_permit);
    assert_int_equal(info->holders[0]->count, 1);
    assert_int_equal(info->holders[0]->fence, 0);
    assert_in_range(info->holders[0]->lease_ms, 20000, 30000);
    assert_int_equal(info->holders[1]->count, 2);
    lk_info_free(info);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* ---- force ---- */

LOCKS_TEST(nobody_is_ended_who_holds_nothing)
{
    lk_semaphore *semaphore = sem_new(f, 2);
    lk_hold *hold;

    assert_status(lk_semaphore_force_release(semaphore, NULL), LK_ENOTHELD);
    hold = sem_hold(semaphore, 1);
    assert_status(lk_semaphore_force_release(semaphore, "nobody:1"),
                  LK_ENOTHELD);
    assert_status(lk_semaphore_force_release(semaphore, java_permit),
                  LK_ENOTHELD);
    assert_status(lk_semaphore_force_release(semaphore, ""), LK_EINVAL);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(one_holder_is_ended_and_told)
{
    lk_semaphore *semaphore = sem_calm(f, 3);
    lk_hold *ended = sem_hold_for(semaphore, 2, 60000);
    lk_hold *other = sem_hold_for(sem_calm(f, 3), 1, 90000);
    taker *t = sem_queue_up(f, semaphore, 2, 1);
    lk_info *info = info_of(semaphore);
    uint64_t begin = wait_now_ms();

    assert_int_equal(info->holders[0]->fence, lk_hold_fence(ended));
    assert_status(lk_semaphore_force_release(sem_new(f, 0),
                                             info->holders[0]->owner),
                  LK_OK);
    lk_info_free(info);
    assert_status(taker_join(t), LK_OK);
    assert_true(wait_until(hold_is_lost, ended, SOON_MS));
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(wait_scaled_ms(500)));
    assert_int_equal(lk_hold_loss(ended), LK_LOSS_REVOKED);
    assert_status(lk_hold_check(other), LK_OK);
    assert_status(lk_hold_release(ended), LK_ELOST);
    sem_assert_books(f, 3, 0);
    assert_status(lk_hold_release(other), LK_OK);
    assert_status(taker_release(t), LK_OK);
    sem_assert_clean(f, 3);
}

LOCKS_TEST(a_permit_of_another_library_is_ended)
{
    lk_semaphore *semaphore = sem_new(f, 1);

    assert_status(lk_hold_release(sem_hold(semaphore, 1)), LK_OK);
    java_takes_one(f);
    sem_assert_busy(semaphore, 1);
    assert_status(lk_semaphore_force_release(semaphore, java_permit), LK_OK);
    sem_assert_clean(f, 1);
}

LOCKS_TEST(everybody_is_ended)
{
    lk_semaphore *semaphore = sem_calm(f, 4);
    lk_hold *first = sem_hold(semaphore, 2);
    lk_hold *second = sem_hold(sem_calm(f, 4), 1);

    java_takes_one(f);
    assert_status(lk_semaphore_force_release(semaphore, NULL), LK_OK);
    assert_true(wait_until(hold_is_lost, first, SOON_MS));
    assert_true(wait_until(hold_is_lost, second, SOON_MS));
    assert_int_equal(lk_hold_loss(first), LK_LOSS_REVOKED);
    assert_int_equal(lk_hold_loss(second), LK_LOSS_REVOKED);
    assert_status(lk_hold_release(first), LK_ELOST);
    assert_status(lk_hold_release(second), LK_ELOST);
    sem_assert_clean(f, 4);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
