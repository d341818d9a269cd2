/* SPDX-License-Identifier: MIT */

/* N: who sets it, who may change it, and what it says to those who ask for more. */

#include "support/check.h"
#include "support/semaphores.h"
#include "support/wait.h"

static lk_status try_once(lk_semaphore *semaphore, uint64_t count)
{
    lk_hold *hold = NULL;
    lk_status status = lk_semaphore_acquire(semaphore, count, 0, NULL, &hold);

    if (status == LK_OK)
        assert_status(lk_hold_release(hold), LK_OK);
    else
        assert_null(hold);
    return status;
}

static void
assert_counts(lk_semaphore *semaphore, uint64_t permits, int64_t free)
{
    uint64_t is_permits = 0;
    int64_t is_free = 0;

    assert_status(lk_semaphore_count(semaphore, &is_permits, &is_free), LK_OK);
    assert_int_equal(is_permits, permits);
    assert_int_equal(is_free, free);
}

static lk_semaphore *resizing(locking *f, lk_client *client, uint64_t permits)
{
    const lk_semaphore_options options = {LK_SEMAPHORE_OPTIONS_INIT,
                                          .permits = permits, .resize = 1};

    return sem_with(f, client, "n", &options);
}

/* ---- setting ---- */

LOCKS_TEST(without_a_number_nothing_can_be_acquired)
{
    lk_semaphore *semaphore = sem_new(f, 0);
    lk_hold *none = NULL;
    uint64_t permits;
    int64_t free;

    assert_status(try_once(semaphore, 1), LK_EUNSET);
    assert_status(lk_semaphore_acquire(semaphore, 1, LK_FOREVER, NULL, &none),
                  LK_EUNSET);
    assert_status(lk_semaphore_count(semaphore, &permits, &free), LK_EUNSET);
    assert_int_equal(server_integer(f->server, "EXISTS n"), 0);
}

LOCKS_TEST(the_first_acquire_sets_the_number)
{
    lk_semaphore *semaphore = sem_new(f, 4);

    assert_int_equal(server_integer(f->server, "EXISTS n"), 0);
    assert_status(try_once(semaphore, 1), LK_OK);
    assert_counts(semaphore, 4, 4);
    assert_status(try_once(sem_new(f, 0), 4), LK_OK);
}

LOCKS_TEST(another_number_is_a_mismatch)
{
    lk_semaphore *other = sem_new(f, 5);
    lk_hold *none = NULL;

    assert_status(try_once(sem_new(f, 4), 1), LK_OK);
    assert_status(try_once(other, 1), LK_EMISMATCH);
    assert_status(lk_semaphore_acquire(other, 1, LK_FOREVER, NULL, &none),
                  LK_EMISMATCH);
    assert_counts(other, 4, 4);
    assert_status(try_once(sem_new(f, 4), 1), LK_OK);
}

/* Busy is an answer, too: the number was the right one. */
LOCKS_TEST(a_running_program_bears_a_later_change)
{
    lk_semaphore *running = sem_new(f, 4);
    lk_semaphore *busy = sem_new(f, 4);
    lk_hold *hold = sem_hold(running, 4);

    sem_assert_busy(busy, 1);
    assert_status(lk_semaphore_resize(running, 6), LK_OK);
    assert_status(try_once(running, 2), LK_OK);
    assert_status(try_once(busy, 2), LK_OK);
    assert_status(try_once(sem_new(f, 4), 1), LK_EMISMATCH);
    assert_counts(running, 6, 2);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(a_refusal_is_repeated)
{
    lk_semaphore *wrong = sem_new(f, 5);

    assert_status(try_once(sem_new(f, 4), 1), LK_OK);
    assert_status(try_once(wrong, 1), LK_EMISMATCH);
    assert_status(try_once(wrong, 1), LK_EMISMATCH);
    assert_status(lk_semaphore_resize(wrong, 5), LK_OK);
    assert_status(try_once(wrong, 1), LK_OK);
}

/* The semaphore was deleted behind everybody's back. */
LOCKS_TEST(a_number_that_is_gone_is_set_again)
{
    lk_semaphore *semaphore = sem_new(f, 4);

    assert_status(try_once(semaphore, 1), LK_OK);
    assert_int_equal(server_integer(f->server, "DEL n"), 1);
    assert_status(try_once(semaphore, 1), LK_OK);
    assert_counts(semaphore, 4, 4);
}

LOCKS_TEST(a_waiter_sets_a_number_that_is_gone)
{
    lk_semaphore *semaphore = sem_calm(f, 1);
    lk_hold *hold = sem_hold(semaphore, 1);
    taker *t = sem_queue_up(f, semaphore, 1, 1);

    assert_int_equal(server_integer(f->server, "DEL n {n}:timeout"), 2);
    assert_status(taker_release(t), LK_OK);
    (void)lk_hold_release(hold);
    sem_assert_books(f, 1, 1);
}

/* ---- changing ---- */

LOCKS_TEST(more_permits_wake_a_waiter_at_once)
{
    lk_semaphore *semaphore = sem_calm(f, 1);
    lk_hold *hold = sem_hold(semaphore, 1);
    taker *first = sem_queue_up(f, semaphore, 1, 1);
    taker *second = sem_queue_up(f, semaphore, 1, 2);
    uint64_t begin = wait_now_ms();

    assert_status(lk_semaphore_resize(semaphore, 3), LK_OK);
    assert_status(taker_join(first), LK_OK);
    assert_status(taker_join(second), LK_OK);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(wait_scaled_ms(300)));
    sem_assert_books(f, 3, 0);
    assert_status(taker_release(first), LK_OK);
    assert_status(taker_release(second), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    sem_assert_clean(f, 3);
}

LOCKS_TEST(fewer_permits_take_nothing_away)
{
    lk_semaphore *semaphore = sem_calm(f, 3);
    lk_hold *first = sem_hold(semaphore, 1);
    lk_hold *second = sem_hold(semaphore, 1);
    lk_hold *third = sem_hold(semaphore, 1);
    taker *t;

    assert_status(lk_semaphore_resize(semaphore, 1), LK_OK);
    assert_counts(semaphore, 1, -2);
    assert_status(lk_hold_extend(first, 60000), LK_OK);
    assert_status(lk_hold_check(second), LK_OK);
    t = sem_queue_up(f, semaphore, 1, 1);
    assert_status(lk_hold_release(first), LK_OK);
    assert_status(lk_hold_release(second), LK_OK);
    assert_true(taker_waits(t));
    assert_status(lk_hold_release(third), LK_OK);
    assert_status(taker_release(t), LK_OK);
    sem_assert_clean(f, 1);
}

LOCKS_TEST(who_asks_for_more_than_there_is_is_told)
{
    lk_semaphore *semaphore = sem_new(f, 3);
    lk_hold *none = NULL;

    assert_status(try_once(semaphore, 4), LK_ERANGE);
    assert_int_equal(server_integer(f->server, "EXISTS n"), 0);
    assert_status(try_once(semaphore, 3), LK_OK);
    assert_status(lk_semaphore_acquire(semaphore, 4, LK_FOREVER, NULL, &none),
                  LK_ERANGE);
}

/* Soon, whether it is first in line or not. */
LOCKS_TEST(who_waits_for_more_than_there_will_be_is_told)
{
    lk_semaphore *semaphore = sem_calm(f, 4);
    lk_hold *hold = sem_hold(semaphore, 4);
    taker *small = sem_queue_up(f, semaphore, 1, 1);
    taker *large = sem_queue_up(f, sem_calm(f, 4), 3, 2);
    taker *last = sem_queue_up(f, semaphore, 1, 3);

    assert_status(lk_semaphore_resize(semaphore, 2), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(large), LK_ERANGE);
    assert_status(taker_release(small), LK_OK);
    assert_status(taker_release(last), LK_OK);
    sem_assert_clean(f, 2);
}

LOCKS_TEST(a_number_may_be_none)
{
    lk_semaphore *semaphore = sem_calm(f, 2);
    lk_hold *hold = sem_hold(semaphore, 1);
    taker *t = sem_queue_up(f, semaphore, 2, 1);

    assert_status(lk_semaphore_resize(semaphore, 0), LK_OK);
    assert_counts(semaphore, 0, -1);
    assert_status(taker_join(t), LK_ERANGE);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_counts(semaphore, 0, 0);
    assert_status(try_once(semaphore, 1), LK_ERANGE);
}

LOCKS_TEST(resize_sets_a_number_where_none_is)
{
    lk_semaphore *semaphore = sem_new(f, 0);

    assert_status(lk_semaphore_resize(semaphore, 7), LK_OK);
    assert_counts(semaphore, 7, 7);
    assert_status(try_once(semaphore, 7), LK_OK);
}

LOCKS_TEST(the_option_replaces_another_number_once)
{
    lk_client *client = locking_open(f, NULL);
    lk_semaphore *semaphore = resizing(f, client, 6);

    assert_status(try_once(sem_of(f, client, 4), 1), LK_OK);
    assert_status(try_once(semaphore, 6), LK_OK);
    assert_counts(semaphore, 6, 6);
    assert_status(lk_semaphore_resize(semaphore, 2), LK_OK);
    assert_status(try_once(semaphore, 1), LK_OK);
    assert_counts(semaphore, 2, 2);
}

LOCKS_TEST(the_option_wakes_who_waits)
{
    lk_semaphore *semaphore = sem_calm(f, 1);
    lk_hold *hold = sem_hold(semaphore, 1);
    taker *t = sem_queue_up(f, semaphore, 1, 1);

    assert_status(try_once(resizing(f, locking_open(f, NULL), 3), 1), LK_OK);
    assert_status(taker_release(t), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    sem_assert_clean(f, 3);
}

/* ---- counting ---- */

LOCKS_TEST(a_lease_that_has_ended_counts_as_free)
{
    lk_semaphore *semaphore = sem_new(f, 3);
    lk_hold *hold = sem_hold_for(semaphore, 2, 1000);
    int64_t free = 0;
    uint64_t permits = 0;
    uint64_t begin = wait_now_ms();

    while (free != 3 && wait_now_ms() - begin < wait_limit_ms(5000))
        assert_status(lk_semaphore_count(semaphore, &permits, &free), LK_OK);
    assert_int_equal(free, 3);
    assert_int_equal(permits, 3);
    assert_status(lk_hold_release(hold), LK_ELOST);
    sem_assert_clean(f, 3);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
