/* SPDX-License-Identifier: MIT */

/* Acquiring permits, waiting for them in order, and giving them up. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/semaphores.h"
#include "support/wait.h"

/* ---- getting them ---- */

LOCKS_TEST(free_permits_are_had_at_once)
{
    lk_hold *hold = sem_hold(sem_new(f, 5), 3);

    assert_status(lk_hold_check(hold), LK_OK);
    assert_true(lk_hold_fence(hold) > 0);
    assert_in_range(lk_hold_remaining_ms(hold), 25000, 30000);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_NONE);
    sem_assert_books(f, 5, 2);
    assert_status(lk_hold_release(hold), LK_OK);
    sem_assert_clean(f, 5);
}

LOCKS_TEST(an_acquire_does_not_need_a_ready_client)
{
    lk_client *client = locking_open_url(f, server_url(f->server), NULL);

    assert_status(lk_hold_release(sem_hold(sem_of(f, client, 1), 1)), LK_OK);
}

LOCKS_TEST(as_many_hold_as_there_are_permits)
{
    lk_semaphore *one = sem_new(f, 3);
    lk_semaphore *other = sem_new(f, 3);
    lk_hold *holds[3];

    holds[0] = sem_hold(one, 1);
    holds[1] = sem_hold(other, 1);
    holds[2] = sem_hold(one, 1);
    sem_assert_busy(other, 1);
    assert_true(lk_hold_fence(holds[0]) != lk_hold_fence(holds[1]));
    for (int i = 0; i < 3; i++)
        assert_status(lk_hold_release(holds[i]), LK_OK);
    sem_assert_clean(f, 3);
}

/* Each acquire takes its own: a thread may well wait for itself. */
LOCKS_TEST(permits_are_not_re_entered)
{
    lk_semaphore *semaphore = sem_new(f, 1);
    lk_hold *hold = sem_hold(semaphore, 1);
    lk_hold *none = NULL;

    sem_assert_busy(semaphore, 1);
    assert_status(lk_semaphore_acquire(semaphore, 1, wait_scaled_ms(300), NULL,
                                       &none),
                  LK_ETIMEDOUT);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(an_owner_gets_no_permits_for_nothing)
{
    lk_semaphore *semaphore = sem_new(f, 2);
    lk_owner *owner = NULL;
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    lk_hold *first = NULL;
    lk_hold *second = NULL;

    assert_status(lk_owner_new(&owner, f->clients[0]), LK_OK);
    options.owner = owner;
    assert_status(lk_semaphore_acquire(semaphore, 1, 0, &options, &first),
                  LK_OK);
    assert_status(lk_semaphore_acquire(semaphore, 1, 0, &options, &second),
                  LK_OK);
    sem_assert_books(f, 2, 0);
    assert_status(lk_hold_release(first), LK_OK);
    assert_status(lk_hold_release(second), LK_OK);
    lk_owner_free(owner);
}

LOCKS_TEST(a_try_is_busy_at_once)
{
    lk_hold *hold = sem_hold(sem_new(f, 2), 1);
    lk_semaphore *tried = sem_new(f, 0);
    uint64_t begin = wait_now_ms();

    sem_assert_busy(tried, 2);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(wait_scaled_ms(300)));
    locking_wait_queued(f, "n", 0);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_hold_release(sem_hold(tried, 2)), LK_OK);
}

LOCKS_TEST(a_wait_lasts_as_long_as_it_was_told)
{
    lk_hold *hold = sem_hold(sem_new(f, 1), 1);
    taker *t = sem_take(f, sem_new(f, 1), 1, 300, NULL);

    assert_status(taker_join(t), LK_ETIMEDOUT);
    assert_in_range(t->took_ms, 300,
                    wait_allowed_ms(300 + wait_scaled_ms(300)));
    locking_wait_queued(f, "n", 0);
    assert_status(lk_hold_release(hold), LK_OK);
    sem_assert_clean(f, 1);
}

/* ---- waiting ---- */

LOCKS_TEST(a_release_hands_over_at_once)
{
    lk_hold *hold = sem_hold(sem_calm(f, 1), 1);
    taker *t = sem_queue_up(f, sem_calm(f, 1), 1, 1);
    uint64_t begin = wait_now_ms();

    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(wait_scaled_ms(300)));
    sem_assert_books(f, 1, 0);
    assert_status(taker_release(t), LK_OK);
    sem_assert_clean(f, 1);
}

LOCKS_TEST(several_are_served_by_one_release)
{
    lk_hold *hold = sem_hold(sem_calm(f, 6), 6);
    lk_semaphore *one = sem_calm(f, 6);
    lk_semaphore *other = sem_calm(f, 6);
    taker *takers[3];

    takers[0] = sem_queue_up(f, one, 1, 1);
    takers[1] = sem_queue_up(f, other, 2, 2);
    takers[2] = sem_queue_up(f, one, 3, 3);
    assert_status(lk_hold_release(hold), LK_OK);
    for (int i = 0; i < 3; i++)
        assert_status(taker_join(takers[i]), LK_OK);
    sem_assert_books(f, 6, 0);
    for (int i = 0; i < 3; i++)
        assert_status(taker_release(takers[i]), LK_OK);
    sem_assert_clean(f, 6);
}

/* Also between the threads of one client and those of another. */
LOCKS_TEST(waiters_are_served_in_the_order_in_which_they_came)
{
    lk_semaphore *first = sem_calm(f, 1);
    lk_semaphore *second = sem_calm(f, 1);
    lk_hold *hold = sem_hold(first, 1);
    taker *takers[6];

    for (int i = 0; i < 6; i++)
        takers[i] = sem_queue_up(f, i % 2 == 0 ? first : second, 1, i + 1);
    assert_status(lk_hold_release(hold), LK_OK);
    for (int i = 0; i < 6; i++) {
        assert_status(taker_join(takers[i]), LK_OK);
        assert_int_equal(takers[i]->turn, i + 1);
        assert_status(taker_release(takers[i]), LK_OK);
    }
    sem_assert_clean(f, 1);
}

/* Small ones that would fit do not pass it by. */
LOCKS_TEST(a_large_request_is_not_starved_by_small_ones)
{
    lk_semaphore *small = sem_calm(f, 4);
    lk_hold *first = sem_hold(small, 1);
    lk_hold *second = sem_hold(small, 1);
    taker *large = sem_queue_up(f, sem_calm(f, 4), 4, 1);
    taker *later = sem_queue_up(f, small, 1, 2);

    sem_assert_busy(small, 1);
    assert_status(lk_hold_release(first), LK_OK);
    sem_assert_books(f, 4, 3);
    assert_true(taker_waits(large));
    assert_true(taker_waits(later));
    assert_status(lk_hold_release(second), LK_OK);
    assert_status(taker_release(large), LK_OK);
    assert_status(taker_release(later), LK_OK);
    assert_int_equal(large->turn, 1);
    sem_assert_clean(f, 4);
}

LOCKS_TEST(a_large_request_that_gives_up_makes_way)
{
    lk_semaphore *small = sem_calm(f, 4);
    lk_hold *hold = sem_hold(small, 2);
    taker *large = sem_take(f, sem_calm(f, 4), 4, wait_scaled_ms(700), NULL);
    taker *later;

    locking_wait_queued(f, "n", 1);
    later = sem_take(f, small, 1, LK_FOREVER, NULL);
    assert_status(taker_join(large), LK_ETIMEDOUT);
    assert_status(taker_join(later), LK_OK);
    assert_status(taker_release(later), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    sem_assert_clean(f, 4);
}

/* In whichever order they get them. */
static void release_all(locking *f, int count)
{
    for (int served = 0; served < count;) {
        for (int i = 0; i < count; i++) {
            taker *t = f->takers.all[i];

            if (t->joined || taker_waits(t))
                continue;
            assert_status(taker_release(t), LK_OK);
            served++;
        }
    }
}

LOCKS_TEST(many_threads_of_one_client_share_the_permits)
{
    lk_semaphore *semaphore = sem_calm(f, 8);
    lk_hold *hold = sem_hold(semaphore, 8);

    for (int i = 0; i < 40; i++)
        sem_take(f, semaphore, (uint64_t)(1 + i % 3), LK_FOREVER, NULL);
    locking_wait_queued(f, "n", 40);
    assert_status(lk_hold_release(hold), LK_OK);
    release_all(f, 40);
    sem_assert_clean(f, 8);
}

/* Waiting costs a client one touch a second, however many threads wait. */
LOCKS_TEST(who_waits_says_so_for_all_threads_at_once)
{
    lk_semaphore *semaphore = sem_calm(f, 1);
    lk_hold *hold = sem_hold(semaphore, 1);
    uint64_t before;

    for (int i = 0; i < 30; i++)
        sem_take(f, semaphore, 1, LK_FOREVER, NULL);
    locking_wait_queued(f, "n", 30);
    before = locking_stats(f->clients[0]).commands;
    locking_pass_time(3000);
    assert_in_range(locking_stats(f->clients[0]).commands - before, 1, 10);
    assert_status(lk_hold_release(hold), LK_OK);
    release_all(f, 30);
}

/* ---- giving them up ---- */

LOCKS_TEST(a_hold_may_be_released_by_another_thread)
{
    taker *t = sem_take(f, sem_new(f, 1), 1, 0, NULL);

    assert_status(taker_release(t), LK_OK);
    sem_assert_clean(f, 1);
}

LOCKS_TEST(a_hold_outlives_its_handle)
{
    lk_semaphore *semaphore = NULL;
    const lk_semaphore_options options = {LK_SEMAPHORE_OPTIONS_INIT,
                                          .permits = 2};
    lk_hold *hold;

    assert_status(lk_semaphore_new(&semaphore, locking_open(f, NULL), "n",
                                   &options),
                  LK_OK);
    hold = sem_hold(semaphore, 2);
    lk_semaphore_free(semaphore);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    sem_assert_clean(f, 2);
}

static lk_status fails(lk_hold *hold, void *data)
{
    bool *was_held = data;

    *was_held = lk_hold_check(hold) == LK_OK;
    return LK_EALREADY;
}

LOCKS_TEST(a_function_runs_under_permits)
{
    bool was_held = false;

    assert_status(lk_semaphore_run(sem_new(f, 3), 2, 0, NULL, fails, &was_held),
                  LK_EALREADY);
    assert_true(was_held);
    sem_assert_clean(f, 3);
}

LOCKS_TEST(a_function_that_gets_no_permits_does_not_run)
{
    lk_semaphore *semaphore = sem_new(f, 1);
    lk_hold *hold = sem_hold(semaphore, 1);
    bool was_held = false;

    assert_status(lk_semaphore_run(semaphore, 1, 0, NULL, fails, &was_held),
                  LK_EBUSY);
    assert_false(was_held);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(a_thousand_permits_are_one_hold)
{
    lk_semaphore *semaphore = sem_new(f, 1500);
    lk_hold *hold = sem_hold(semaphore, LK_SEMAPHORE_MAX_COUNT);
    lk_hold *none = NULL;

    sem_assert_books(f, 1500, 500);
    assert_status(lk_hold_extend(hold, 60000), LK_OK);
    assert_in_range(lk_hold_remaining_ms(hold), 50000, 60000);
    assert_status(lk_semaphore_acquire(semaphore, LK_SEMAPHORE_MAX_COUNT + 1, 0,
                                       NULL, &none),
                  LK_ERANGE);
    assert_status(lk_hold_release(hold), LK_OK);
    sem_assert_clean(f, 1500);
}

LOCKS_TEST(names_of_any_bytes_have_semaphores_of_their_own)
{
    const lk_semaphore_options options = {LK_SEMAPHORE_OPTIONS_INIT,
                                          .permits = 1};
    lk_client *client = locking_open_calm(f, NULL);
    lk_semaphore *odd = sem_with(f, client, "a {b} \xff\n%s", &options);
    lk_semaphore *other = sem_with(f, client, "a", &options);
    lk_hold *hold = sem_hold(odd, 1);
    lk_hold *second = sem_hold(other, 1);
    taker *t = sem_take(f, odd, 1, LK_FOREVER, NULL);

    locking_wait_integer(f, 1, "ZCOUNT latchkey::%s:q 0 +inf",
                         "a {b} \xff\n%s");
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    assert_status(lk_hold_release(second), LK_OK);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
