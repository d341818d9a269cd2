/* SPDX-License-Identifier: MIT */

/*
 * Every way in which a wait ends without the lock: it leaves the queue, keeps
 * nobody waiting, and costs nobody the place.
 */

#include <latchkey/latchkey.h>

#include <string.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

enum { AT_ONCE_MS = 250 };

static lk_acquire_options with_token(lk_client *client)
{
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};

    assert_status(lk_cancel_new(&options.cancel, client), LK_OK);
    return options;
}

/* ---- time ---- */

LOCKS_TEST(a_wait_ends_when_its_time_is_over_and_not_before)
{
    lk_hold *hold = locking_hold(locking_new(f, lk_fairlock));
    taker *t = locking_take(f, locking_calm(f, lk_fairlock), 1000, NULL);

    assert_status(taker_join(t), LK_ETIMEDOUT);
    assert_in_range(t->took_ms, 990,
                    wait_allowed_ms(1100 + wait_scaled_ms(150)));
    locking_wait_queued(f, "n", 0);
    assert_status(lk_hold_release(hold), LK_OK);
    locking_wait_clean(f, "n");
}

LOCKS_TEST(a_try_that_is_refused_leaves_nothing_behind)
{
    lk_hold *hold = locking_hold(locking_new(f, lk_fairlock));
    lk_fairlock *lock = locking_calm(f, lk_fairlock);
    lk_hold *none = NULL;

    assert_status(lk_fairlock_acquire(lock, 0, NULL, &none), LK_EBUSY);
    assert_null(none);
    assert_false(locking_exists(f, "latchkey:{n}:q"));
    assert_status(taker_join(locking_take(f, lock, 200, NULL)), LK_ETIMEDOUT);
    assert_status(lk_hold_release(hold), LK_OK);
    locking_wait_queued(f, "n", 0);
    assert_status(lk_hold_release(locking_hold(lock)), LK_OK);
    locking_wait_clean(f, "n");
}

/* A waiter that gives up again and again does not lengthen the line. */
LOCKS_TEST(waits_that_end_by_their_time_leave_no_trace)
{
    enum { ROUNDS = 20, THREADS = 3 };
    lk_fairlock *lock = locking_calm(f, lk_fairlock);
    lk_fairlock *holder = locking_new(f, lk_fairlock);
    lk_hold *hold = locking_hold(holder);

    for (int i = 0; i < ROUNDS; i++) {
        taker *takers[THREADS];

        for (int j = 0; j < THREADS; j++)
            takers[j] = locking_take(f, lock, 20, NULL);
        for (int j = 0; j < THREADS; j++) {
            lk_status status = taker_join(takers[j]);

            /* A slow server may not even have answered by then. */
            assert_true(status == LK_ETIMEDOUT || status == LK_EINDOUBT);
        }
    }
    locking_wait_queued(f, "n", 0);
    assert_status(lk_fairlock_force_release(holder), LK_OK);
    assert_status(lk_hold_release(hold), LK_ELOST);
    locking_wait_clean(f, "n");
    assert_int_equal(server_integer(f->server, SERVER_PARKED("n")), 0);
}

LOCKS_TEST(who_gives_up_costs_nobody_else_the_place)
{
    enum { WAITS = 6 };
    lk_fairlock *locks[2] = {locking_calm(f, lk_fairlock),
                             locking_calm(f, lk_fairlock)};
    lk_hold *hold = locking_hold(locks[0]);
    taker *takers[WAITS];

    for (int i = 0; i < WAITS; i++) {
        takers[i] =
            locking_take(f, locks[i / 2 % 2],
                         i % 2 == 0 ? LK_FOREVER : wait_scaled_ms(1000), NULL);
        locking_wait_queued(f, "n", i + 1);
    }
    for (int i = 1; i < WAITS; i += 2)
        assert_status(taker_join(takers[i]), LK_ETIMEDOUT);
    locking_wait_queued(f, "n", WAITS / 2);
    assert_status(lk_hold_release(hold), LK_OK);
    for (int i = 0; i < WAITS; i += 2) {
        assert_status(taker_join(takers[i]), LK_OK);
        assert_int_equal(takers[i]->turn, i / 2 + 1);
        assert_status(taker_release(takers[i]), LK_OK);
    }
}

/* ---- cancel ---- */

LOCKS_TEST(a_token_ends_its_wait_and_no_other)
{
    enum { WAITS = 5, MIDDLE = 2 };
    lk_hold *hold = locking_hold(locking_new(f, lk_fairlock));
    lk_fairlock *lock = locking_calm(f, lk_fairlock);
    lk_acquire_options options = with_token(f->clients[1]);
    taker *takers[WAITS];
    uint64_t begin;

    for (int i = 0; i < WAITS; i++) {
        takers[i] =
            locking_take(f, lock, LK_FOREVER, i == MIDDLE ? &options : NULL);
        locking_wait_queued(f, "n", i + 1);
    }
    begin = wait_now_ms();
    lk_cancel_fire(options.cancel);
    assert_status(taker_join(takers[MIDDLE]), LK_ECANCELED);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(wait_scaled_ms(AT_ONCE_MS)));
    locking_wait_queued(f, "n", WAITS - 1);
    assert_status(lk_hold_release(hold), LK_OK);
    for (int i = 0; i < WAITS; i++) {
        if (i == MIDDLE)
            continue;
        assert_status(taker_join(takers[i]), LK_OK);
        assert_int_equal(takers[i]->turn, i < MIDDLE ? i + 1 : i);
        assert_status(taker_release(takers[i]), LK_OK);
    }
    lk_cancel_free(options.cancel);
}

/* Whichever comes first: nothing that was granted is left behind. */
LOCKS_TEST(a_grant_that_meets_a_cancel_goes_to_the_next)
{
    enum { ROUNDS = 30 };
    lk_fairlock *holder = locking_calm(f, lk_fairlock);
    lk_fairlock *lock = locking_calm(f, lk_fairlock);
    lk_fairlock *behind = locking_calm(f, lk_fairlock);

    for (int i = 0; i < ROUNDS; i++) {
        lk_acquire_options options = with_token(f->clients[1]);
        lk_hold *hold = locking_hold(holder);
        taker *t = locking_take(f, lock, LK_FOREVER, &options);
        taker *next;

        locking_wait_queued(f, "n", 1);
        next = locking_queue_up(f, behind, 2);
        if (i % 2 == 0)
            lk_cancel_fire(options.cancel);
        assert_status(lk_hold_release(hold), LK_OK);
        lk_cancel_fire(options.cancel);
        if (taker_join(t) == LK_OK)
            assert_status(taker_release(t), LK_OK);
        else
            assert_status(t->status, LK_ECANCELED);
        assert_status(taker_release(next), LK_OK);
        assert_in_range(next->took_ms, 0,
                        wait_allowed_ms(wait_scaled_ms(2000)));
        locking_wait_clean(f, "n");
        lk_cancel_free(options.cancel);
    }
}

/* The first leaves a name that is free: nobody else would tell the next. */
LOCKS_TEST(who_leaves_a_free_lock_wakes_the_next)
{
    enum { ROUNDS = 5 };
    lk_fairlock *holder = locking_calm(f, lk_fairlock);
    lk_fairlock *lock = locking_calm(f, lk_fairlock);
    lk_fairlock *behind = locking_calm(f, lk_fairlock);

    for (int i = 0; i < ROUNDS; i++) {
        lk_acquire_options options = with_token(f->clients[1]);
        lk_hold *hold = locking_hold(holder);
        taker *first = locking_take(f, lock, LK_FOREVER, &options);
        taker *next;
        uint64_t begin;

        locking_wait_queued(f, "n", 1);
        next = locking_queue_up(f, behind, 2);
        assert_int_equal(server_integer(f->server, "DEL n"), 1);
        begin = wait_now_ms();
        lk_cancel_fire(options.cancel);
        (void)taker_join(first);
        if (first->status == LK_OK)
            assert_status(taker_release(first), LK_OK);
        assert_status(taker_join(next), LK_OK);
        assert_in_range(wait_now_ms() - begin, 0,
                        wait_allowed_ms(wait_scaled_ms(AT_ONCE_MS)));
        assert_status(taker_release(next), LK_OK);
        assert_status(lk_hold_release(hold), LK_ELOST);
        lk_cancel_free(options.cancel);
    }
}

/* ---- the end of a thread ---- */

/* No call is a cancellation point: the wait goes on, and belongs to somebody. */
LOCKS_TEST(a_thread_that_is_canceled_while_it_waits_still_waits)
{
    lk_hold *hold = locking_hold(locking_new(f, lk_fairlock));
    lk_fairlock *lock = locking_calm(f, lk_fairlock);
    taker *t = locking_queue_up(f, lock, 1);
    taker *late = locking_take(f, lock, wait_scaled_ms(500), NULL);

    locking_wait_queued(f, "n", 2);
    assert_int_equal(pthread_cancel(t->thread), 0);
    assert_int_equal(pthread_cancel(late->thread), 0);
    assert_status(taker_join(late), LK_ETIMEDOUT);
    locking_wait_queued(f, "n", 1);
    assert_false(t->done);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    locking_wait_clean(f, "n");
}

/* ---- the end of a client ---- */

LOCKS_TEST(a_shutdown_takes_all_waits_of_a_client_out_of_the_queue)
{
    enum { WAITS = 20 };
    lk_hold *hold = locking_hold(locking_new(f, lk_fairlock));
    lk_fairlock *ending = locking_calm(f, lk_fairlock);
    lk_fairlock *staying = locking_calm(f, lk_fairlock);
    taker *takers[WAITS];

    for (int i = 0; i < WAITS; i++)
        takers[i] = locking_queue_up(f, i % 2 == 0 ? ending : staying, i + 1);
    assert_status(lk_client_shutdown(f->clients[1], 5000), LK_OK);
    locking_wait_queued(f, "n", WAITS / 2);
    assert_status(lk_hold_release(hold), LK_OK);
    for (int i = 0; i < WAITS; i++) {
        if (i % 2 == 0) {
            assert_status(taker_join(takers[i]), LK_ECLOSED);
            continue;
        }
        assert_status(taker_join(takers[i]), LK_OK);
        assert_int_equal(takers[i]->turn, i / 2 + 1);
        assert_status(taker_release(takers[i]), LK_OK);
    }
    locking_wait_clean(f, "n");
}

LOCKS_TEST(a_holder_that_is_shut_down_hands_over)
{
    lk_hold *hold = locking_hold(locking_new(f, lk_fairlock));
    taker *t = locking_queue_up(f, locking_calm(f, lk_fairlock), 1);
    uint64_t begin = wait_now_ms();

    assert_status(lk_client_shutdown(f->clients[0], 5000), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(wait_scaled_ms(AT_ONCE_MS)));
    assert_status(lk_hold_release(hold), LK_ECLOSED);
    assert_status(taker_release(t), LK_OK);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
