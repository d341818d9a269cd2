/* SPDX-License-Identifier: MIT */

/* Acquiring a lock, again and by others, and giving it up. */

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

static lk_hold *again(lk_lock *lock)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(lock, 0, NULL, &hold), LK_OK);
    return hold;
}

/* ---- getting it ---- */

LOCKS_TEST(a_free_lock_is_had_at_once)
{
    lk_hold *hold = locking_hold(locking_new(f, lk_lock));

    assert_status(lk_hold_check(hold), LK_OK);
    assert_true(lk_hold_fence(hold) > 0);
    assert_in_range(lk_hold_remaining_ms(hold), 25000, 30000);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_NONE);
    assert_int_equal(lk_hold_lost_for_ms(hold), 0);
    assert_in_range(locking_pttl(f, "n"), 25000, 30000);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_false(locking_exists(f, "n"));
}

LOCKS_TEST(an_acquire_does_not_need_a_ready_client)
{
    lk_client *client = locking_open_url(f, server_url(f->server), NULL);

    assert_status(lk_hold_release(locking_hold(locking_lock(f, client, "n"))),
                  LK_OK);
}

LOCKS_TEST(a_try_for_a_held_lock_is_busy_at_once)
{
    lk_lock *held = locking_new(f, lk_lock);
    lk_lock *tried = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold(held);
    lk_hold *none = NULL;
    uint64_t begin = wait_now_ms();

    assert_status(lk_lock_acquire(tried, 0, NULL, &none), LK_EBUSY);
    assert_null(none);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(wait_scaled_ms(300)));
    locking_wait_queued(f, "n", 0);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_hold_release(locking_hold(tried)), LK_OK);
}

LOCKS_TEST(a_wait_lasts_as_long_as_it_was_told)
{
    lk_lock *held = locking_new(f, lk_lock);
    lk_lock *wanted = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold(held);
    lk_hold *none = NULL;
    unsigned wait_ms = wait_scaled_ms(300);
    uint64_t begin = wait_now_ms();

    assert_status(lk_lock_acquire(wanted, wait_ms, NULL, &none), LK_ETIMEDOUT);
    assert_in_range(wait_now_ms() - begin, wait_ms,
                    wait_allowed_ms(2 * (uint64_t)wait_ms));
    assert_null(none);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(a_wait_that_times_out_leaves_the_queue)
{
    lk_lock *held = locking_new(f, lk_lock);
    lk_lock *wanted = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold(held);
    taker *t = locking_take(f, wanted, wait_scaled_ms(500), NULL);

    locking_wait_queued(f, "n", 1);
    assert_status(taker_join(t), LK_ETIMEDOUT);
    locking_wait_queued(f, "n", 0);
    locking_wait_integer(f, 0, SERVER_WAITERS("n"), NULL);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_false(locking_exists(f, "n"));
}

/* max_pending bounds the requests under way, each of which takes memory. */
LOCKS_TEST(a_client_with_too_much_under_way_is_full)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = 60000,
                                       .max_pending = 16};
    lk_client *client = locking_open_calm(f, &options);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_hold *none = NULL;

    server_freeze(f->server);
    for (int i = 0; i < 16; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "n%d", i);
        locking_take(f, locking_lock(f, client, name), LK_FOREVER, NULL);
    }
    assert_soon(locking_stats(client).pending == 16, 5000);
    assert_status(lk_lock_acquire(lock, 60000, NULL, &none), LK_EFULL);
    assert_status(lk_lock_acquire(lock, 0, NULL, &none), LK_EFULL);
    server_thaw(f->server);
    for (int i = 0; i < 16; i++)
        assert_status(taker_release(f->takers.all[i]), LK_OK);
    assert_status(lk_hold_release(locking_hold(lock)), LK_OK);
}

/* Neither on this thread nor on the one that ended the wait before. */
LOCKS_TEST(a_failure_does_not_repeat_the_words_of_another)
{
    lk_lock *held = locking_new(f, lk_lock);
    lk_lock *tried = locking_new(f, lk_lock);
    lk_lock *wrong = locking_lock(f, f->clients[1], "wrong");
    lk_hold *hold = locking_hold(held);
    lk_hold *none = NULL;

    free(server_string(f->server, "SET wrong x"));
    assert_status(lk_lock_acquire(wrong, 0, NULL, &none), LK_ETYPE);
    assert_non_null(strstr(lk_last_error(), "not a lock"));
    assert_status(lk_lock_acquire(tried, 0, NULL, &none), LK_EBUSY);
    assert_null(strstr(lk_last_error(), "not a lock"));
    assert_status(lk_lock_acquire(tried, -2, NULL, &none), LK_EINVAL);
    assert_non_null(strstr(lk_last_error(), "wait_ms"));
    assert_status(lk_lock_acquire(tried, wait_scaled_ms(300), NULL, &none),
                  LK_ETIMEDOUT);
    assert_null(strstr(lk_last_error(), "wait_ms"));
    assert_status(lk_hold_release(hold), LK_OK);
}

/* ---- re-entry ---- */

LOCKS_TEST(a_thread_gets_again_what_it_holds)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_hold *first = locking_hold(lock);
    uint64_t commands = locking_stats(client).commands;
    lk_hold *second = again(lock);

    assert_ptr_not_equal(first, second);
    assert_int_equal(lk_hold_fence(second), lk_hold_fence(first));
    assert_int_equal(locking_stats(client).commands, commands);
    assert_status(lk_hold_release(second), LK_OK);
    assert_int_equal(locking_stats(client).commands, commands);
    assert_status(lk_hold_check(first), LK_OK);
    assert_true(locking_exists(f, "n"));
    assert_status(lk_hold_release(first), LK_OK);
    assert_false(locking_exists(f, "n"));
}

LOCKS_TEST(a_thread_re_enters_by_another_handle_on_the_name)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *first = locking_hold(locking_lock(f, client, "n"));
    lk_hold *second = again(locking_lock(f, client, "n"));

    assert_int_equal(lk_hold_fence(second), lk_hold_fence(first));
    assert_status(lk_hold_release(first), LK_OK);
    assert_status(lk_hold_release(second), LK_OK);
}

LOCKS_TEST(holds_may_be_released_in_any_order)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *first = locking_hold(lock);
    lk_hold *second = again(lock);
    lk_hold *third = again(lock);

    assert_status(lk_hold_release(first), LK_OK);
    assert_true(locking_exists(f, "n"));
    assert_status(lk_hold_release(third), LK_OK);
    assert_true(locking_exists(f, "n"));
    assert_status(lk_hold_check(second), LK_OK);
    assert_status(lk_hold_release(second), LK_OK);
    assert_false(locking_exists(f, "n"));
}

LOCKS_TEST(another_thread_is_another_owner)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold(lock);

    assert_status(taker_join(locking_take(f, lock, 0, NULL)), LK_EBUSY);
    assert_status(taker_join(locking_take(f, lock, wait_scaled_ms(300), NULL)),
                  LK_ETIMEDOUT);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(an_owner_gets_again_what_it_holds_from_any_thread)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    uint64_t commands;
    lk_hold *hold = NULL;
    taker *t;

    assert_status(lk_owner_new(&options.owner, client), LK_OK);
    assert_status(lk_lock_acquire(lock, 0, &options, &hold), LK_OK);
    commands = locking_stats(client).commands;
    t = locking_take(f, lock, 0, &options);
    assert_status(taker_join(t), LK_OK);
    assert_int_equal(lk_hold_fence(t->hold), lk_hold_fence(hold));
    assert_int_equal(locking_stats(client).commands, commands);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    lk_owner_free(options.owner);
}

LOCKS_TEST(a_thread_does_not_own_what_its_owner_holds)
{
    lk_client *client = locking_open(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_acquire_options one = {LK_ACQUIRE_OPTIONS_INIT};
    lk_acquire_options other = {LK_ACQUIRE_OPTIONS_INIT};
    lk_hold *hold = NULL;
    lk_hold *none = NULL;

    assert_status(lk_owner_new(&one.owner, client), LK_OK);
    assert_status(lk_owner_new(&other.owner, client), LK_OK);
    assert_status(lk_lock_acquire(lock, 0, &one, &hold), LK_OK);
    assert_status(lk_lock_acquire(lock, 0, NULL, &none), LK_EBUSY);
    assert_status(lk_lock_acquire(lock, 0, &other, &none), LK_EBUSY);
    lk_owner_free(one.owner);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_owner_free(other.owner);
}

static void *release_it(void *hold)
{
    return (void *)(intptr_t)lk_hold_release(hold);
}

LOCKS_TEST(a_hold_may_be_released_by_another_thread)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold(lock);
    pthread_t thread;
    void *status = NULL;

    assert_int_equal(pthread_create(&thread, NULL, release_it, hold), 0);
    assert_int_equal(pthread_join(thread, &status), 0);
    assert_status((lk_status)(intptr_t)status, LK_OK);
    assert_false(locking_exists(f, "n"));
}

LOCKS_TEST(a_hold_outlives_its_handle)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold(lock);

    locking_free(f, lock);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_false(locking_exists(f, "n"));
}

/* ---- fences ---- */

LOCKS_TEST(a_fence_is_larger_than_those_before)
{
    lk_lock *locks[2] = {locking_new(f, lk_lock), locking_new(f, lk_lock)};
    uint64_t last = 0;

    for (int i = 0; i < 20; i++) {
        lk_hold *hold = locking_hold(locks[i % 2]);

        assert_true(lk_hold_fence(hold) > last);
        last = lk_hold_fence(hold);
        assert_status(lk_hold_release(hold), LK_OK);
    }
}

LOCKS_TEST(a_fence_grows_on_when_the_server_has_forgotten_all)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold(lock);
    uint64_t fence = lk_hold_fence(hold);

    assert_status(lk_hold_release(hold), LK_OK);
    server_flush(f->server);
    hold = locking_hold(lock);
    assert_true(lk_hold_fence(hold) > fence);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* ---- many ---- */

enum { THREADS = 20, ROUNDS = 25, PAIRS = 2000 };

struct crowd {
    lk_lock *lock;
    atomic_int inside;
    atomic_int failures;
    uint64_t last_fence; /* guarded by the lock */
    int rounds;          /* the same */
};

static void *crowd_run(void *data)
{
    struct crowd *crowd = data;

    for (int i = 0; i < ROUNDS; i++) {
        lk_hold *hold = NULL;
        bool bad =
            lk_lock_acquire(crowd->lock, LK_FOREVER, NULL, &hold) != LK_OK;

        if (!bad) {
            bad = atomic_fetch_add(&crowd->inside, 1) != 0 ||
                  lk_hold_fence(hold) <= crowd->last_fence;
            crowd->last_fence = lk_hold_fence(hold);
            crowd->rounds++;
            (void)atomic_fetch_sub(&crowd->inside, 1);
            bad = lk_hold_release(hold) != LK_OK || bad;
        }
        if (bad)
            (void)atomic_fetch_add(&crowd->failures, 1);
    }
    return NULL;
}

LOCKS_TEST(twenty_threads_take_turns)
{
    lk_client *client = locking_open(f, NULL);
    struct crowd crowd = {.lock = locking_lock(f, client, "n")};
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, crowd_run, &crowd),
                         0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(crowd.failures, 0);
    assert_int_equal(crowd.rounds, THREADS * ROUNDS);
    assert_int_equal(locking_stats(client).waiting, 0);
    assert_int_equal(locking_stats(client).holding, 0);
    locking_wait_integer(f, 0, "EXISTS %s", "n");
}

LOCKS_TEST(a_pair_of_acquire_and_release_costs_two_commands)
{
    uint64_t begin = wait_now_ms();
    lk_client *client = locking_open_calm(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_client_stats before, after;
    uint64_t least = UINT64_C(2) * PAIRS;
    uint64_t pings; /* of the inbox, which is idle */

    assert_status(lk_hold_release(locking_hold(lock)), LK_OK);
    before = locking_stats(client);
    for (int i = 0; i < PAIRS; i++) {
        lk_hold *hold = NULL;

        if (lk_lock_acquire(lock, LK_FOREVER, NULL, &hold) != LK_OK ||
            lk_hold_release(hold) != LK_OK)
            fail_msg("pair %d", i);
    }
    after = locking_stats(client);
    pings = (wait_now_ms() - begin) / 3000;
    assert_in_range(after.commands - before.commands, least, least + pings);
    assert_in_range(after.replies - before.replies, least, least + pings);
    assert_in_range(after.writes - before.writes, 1, least + pings);
    assert_int_equal(after.acquires - before.acquires, PAIRS);
    assert_int_equal(after.releases - before.releases, PAIRS);
    assert_int_equal(after.renewals - before.renewals, 0);
    assert_int_equal(after.rechecks - before.rechecks, 0);
    assert_in_range(after.pending, 0, pings);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
