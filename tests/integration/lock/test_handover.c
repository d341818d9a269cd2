/* SPDX-License-Identifier: MIT */

/* How a lock goes from one owner to the next. */

#include <stdatomic.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

enum { SOON_MS = 3000, LONG_MS = 20000 };

static lk_lock *lock_of_new_client(locking *f)
{
    return locking_new(f, lk_lock);
}

/* A thread of a client of its own, which is the count-th in the queue. */
static taker *queue_up(locking *f, long long count)
{
    taker *t = locking_take(f, lock_of_new_client(f), LK_FOREVER, NULL);

    locking_wait_queued(f, "n", count);
    return t;
}

/* ---- between clients ---- */

LOCKS_TEST(the_grant_is_a_message_and_not_a_command)
{
    lk_hold *hold = locking_hold(lock_of_new_client(f));
    taker *t = queue_up(f, 1);
    lk_client *client = f->clients[1];
    lk_client_stats before, after;
    uint64_t commands;

    locking_wait_calm(client); /* it has heard that it is in the queue */
    before = locking_stats(client);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(t), LK_OK);
    after = locking_stats(client);
    commands = after.commands - before.commands;
    /* Besides looks while it waited, at most the first renewal. */
    assert_in_range(commands - (after.rechecks - before.rechecks), 0, 1);
    assert_int_equal(after.grants, 1);
    assert_int_equal(after.grants_late, 0);
    assert_int_equal(after.grants_void, 0);
    assert_status(taker_release(t), LK_OK);
}

LOCKS_TEST(a_grant_comes_at_once)
{
    lk_lock *locks[2] = {lock_of_new_client(f), lock_of_new_client(f)};
    uint64_t slowest = 0;

    for (int i = 0; i < 20; i++) {
        lk_hold *hold = locking_hold(locks[0]);
        taker *t = locking_take(f, locks[1], LK_FOREVER, NULL);
        uint64_t released;

        locking_wait_queued(f, "n", 1);
        released = wait_now_ms();
        assert_status(lk_hold_release(hold), LK_OK);
        assert_status(taker_join(t), LK_OK);
        if (wait_now_ms() - released > slowest)
            slowest = wait_now_ms() - released;
        assert_status(taker_release(t), LK_OK);
    }
    assert_in_range(slowest, 0, wait_allowed_ms(wait_scaled_ms(250)));
}

LOCKS_TEST(the_fence_grows_from_hand_to_hand)
{
    lk_hold *hold = locking_hold(lock_of_new_client(f));
    uint64_t fence = lk_hold_fence(hold);
    taker *second = queue_up(f, 1);
    taker *third = queue_up(f, 2);

    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(second), LK_OK);
    assert_true(lk_hold_fence(second->hold) > fence);
    fence = lk_hold_fence(second->hold);
    assert_status(taker_release(second), LK_OK);
    assert_status(taker_join(third), LK_OK);
    assert_true(lk_hold_fence(third->hold) > fence);
    assert_status(taker_release(third), LK_OK);
}

LOCKS_TEST(waiters_are_served_in_the_order_in_which_they_queued)
{
    enum { WAITERS = 8 };
    lk_hold *hold = locking_hold(lock_of_new_client(f));
    taker *takers[WAITERS];

    for (int i = 0; i < WAITERS; i++)
        takers[i] = queue_up(f, i + 1);
    assert_status(lk_hold_release(hold), LK_OK);
    for (int i = 0; i < WAITERS; i++) {
        assert_status(taker_join(takers[i]), LK_OK);
        locking_wait_queued(f, "n", WAITERS - 1 - i);
        for (int later = i + 1; later < WAITERS; later++)
            assert_false(atomic_load(&takers[later]->done));
        assert_status(taker_release(takers[i]), LK_OK);
    }
}

/* A pushed hold lives for a moment, until its owner is heard of. */
LOCKS_TEST(a_hold_that_was_handed_over_gets_its_full_lease)
{
    lk_hold *hold = locking_hold(lock_of_new_client(f));
    taker *t = queue_up(f, 1);
    uint64_t end;

    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(t), LK_OK);
    end = wait_now_ms() + wait_limit_ms(SOON_MS);
    while (lk_hold_remaining_ms(t->hold) < 20000 && wait_now_ms() < end)
        assert_true(locking_pttl(f, "n") > 0);
    assert_in_range(lk_hold_remaining_ms(t->hold), 20000, 30000);
    assert_in_range(locking_pttl(f, "n"), 20000, 30000);
    assert_status(taker_release(t), LK_OK);
}

LOCKS_TEST(a_lease_of_the_callers_counts_from_the_hand_over)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = 4000};
    lk_hold *hold = locking_hold(lock_of_new_client(f));
    taker *t = locking_take(f, lock_of_new_client(f), LK_FOREVER, &options);
    uint64_t begin;

    locking_wait_queued(f, "n", 1);
    begin = wait_now_ms();
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(t), LK_OK);
    while (lk_hold_check(t->hold) == LK_OK)
        locking_pass_time(1);
    assert_in_range(wait_now_ms() - begin, 3900,
                    wait_allowed_ms(4000 + wait_scaled_ms(200)));
    assert_int_equal(lk_hold_loss(t->hold), LK_LOSS_EXPIRED);
    assert_status(taker_release(t), LK_ELOST);
}

/* ---- within a client ---- */

LOCKS_TEST(a_client_stands_once_in_the_queue)
{
    enum { THREADS = 5 };
    lk_hold *hold = locking_hold(lock_of_new_client(f));
    lk_lock *lock = lock_of_new_client(f);
    taker *takers[THREADS];

    for (int i = 0; i < THREADS; i++) {
        takers[i] = locking_take(f, lock, LK_FOREVER, NULL);
        locking_wait_waiting(f->clients[1], (uint64_t)i + 1);
    }
    locking_wait_queued(f, "n", 1);
    assert_status(lk_hold_release(hold), LK_OK);
    for (int i = 0; i < THREADS; i++) {
        assert_status(taker_join(takers[i]), LK_OK);
        for (int later = i + 1; later < THREADS; later++)
            assert_false(atomic_load(&takers[later]->done));
        assert_status(taker_release(takers[i]), LK_OK);
    }
}

LOCKS_TEST(a_wait_that_ends_leaves_its_place_to_the_next_thread)
{
    lk_hold *hold = locking_hold(lock_of_new_client(f));
    lk_lock *lock = lock_of_new_client(f);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    taker *first, *other, *second;

    /* By its time it might end before the others have come. */
    assert_status(lk_cancel_new(&options.cancel, f->clients[1]), LK_OK);
    first = locking_take(f, lock, LK_FOREVER, &options);
    locking_wait_queued(f, "n", 1);
    second = locking_take(f, lock, LK_FOREVER, NULL);
    locking_wait_waiting(f->clients[1], 2);
    other = queue_up(f, 2);
    lk_cancel_fire(options.cancel);
    assert_status(taker_join(first), LK_ECANCELED);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(second), LK_OK);
    assert_false(atomic_load(&other->done));
    assert_status(taker_release(second), LK_OK);
    assert_status(taker_release(other), LK_OK);
    lk_cancel_free(options.cancel);
}

LOCKS_TEST(a_thread_waits_for_another_one_of_its_client)
{
    lk_lock *lock = lock_of_new_client(f);
    lk_hold *hold = locking_hold(lock);
    uint64_t fence = lk_hold_fence(hold);
    taker *t = locking_take(f, lock, LK_FOREVER, NULL);

    locking_wait_waiting(f->clients[0], 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_true(lk_hold_fence(t->hold) > fence);
    assert_status(taker_release(t), LK_OK);
    assert_false(locking_exists(f, "n"));
}

/* Threads of one client that want the same lock all the time. */
enum { THREADS = 4 };

struct crowd {
    lk_lock *lock;
    atomic_bool over;
    atomic_int inside;
    atomic_int failures;
    _Atomic uint64_t last_fence;
};

static bool crowd_turn(struct crowd *crowd)
{
    lk_hold *hold = NULL;
    bool good;

    if (lk_lock_acquire(crowd->lock, LK_FOREVER, NULL, &hold) != LK_OK)
        return false;
    good = atomic_fetch_add(&crowd->inside, 1) == 0 &&
           lk_hold_fence(hold) > atomic_load(&crowd->last_fence);
    atomic_store(&crowd->last_fence, lk_hold_fence(hold));
    locking_pass_time(1); /* so that the others come to wait */
    (void)atomic_fetch_sub(&crowd->inside, 1);
    return lk_hold_release(hold) == LK_OK && good;
}

static void *crowd_run(void *data)
{
    struct crowd *crowd = data;

    while (!atomic_load(&crowd->over)) {
        if (!crowd_turn(crowd))
            (void)atomic_fetch_add(&crowd->failures, 1);
    }
    return NULL;
}

static void crowd_start(struct crowd *crowd, pthread_t threads[THREADS])
{
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, crowd_run, crowd),
                         0);
}

static void crowd_end(struct crowd *crowd, pthread_t threads[THREADS])
{
    atomic_store(&crowd->over, true);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    assert_int_equal(crowd->failures, 0);
}

LOCKS_TEST(threads_hand_over_without_the_server)
{
    lk_client *client = locking_open_calm(f, NULL);
    struct crowd crowd = {.lock = locking_lock(f, client, "n")};
    lk_client_stats before = locking_stats(client);
    lk_client_stats after;
    pthread_t threads[THREADS];

    crowd_start(&crowd, threads);
    locking_pass_time(500);
    /* So many turns say something of the next. */
    assert_soon(locking_stats(client).acquires >= 20, LONG_MS);
    crowd_end(&crowd, threads);
    after = locking_stats(client);
    assert_true(after.passes - before.passes >
                (after.acquires - before.acquires) / 2);
    assert_true(after.commands - before.commands <
                after.acquires - before.acquires);
    assert_int_equal(after.acquires, after.releases);
    locking_wait_integer(f, 0, "EXISTS %s", "n");
}

/* One turn of somebody else; nothing may fail while threads still run. */
static bool turn_of_another(lk_lock *lock, struct crowd *crowd)
{
    lk_hold *hold = NULL;
    bool good;

    if (lk_lock_acquire(lock, wait_scaled_ms(2000), NULL, &hold) != LK_OK)
        return false;
    good = lk_hold_fence(hold) > atomic_load(&crowd->last_fence) &&
           atomic_load(&crowd->inside) == 0;
    return lk_hold_release(hold) == LK_OK && good;
}

/* However eager they are, others come to their turn. */
LOCKS_TEST(threads_that_hand_over_let_other_clients_in)
{
    struct crowd crowd = {.lock = locking_calm(f, lk_lock)};
    lk_lock *other = locking_calm(f, lk_lock);
    pthread_t threads[THREADS];
    int turns = 0;

    crowd_start(&crowd, threads);
    while (turns < 10 && turn_of_another(other, &crowd))
        turns++;
    crowd_end(&crowd, threads);
    assert_int_equal(turns, 10);
}

/* ---- newcomers ---- */

LOCKS_TEST(a_newcomer_does_not_come_before_a_waiter)
{
    lk_hold *hold = locking_hold(lock_of_new_client(f));
    lk_lock *newcomer = lock_of_new_client(f);
    taker *t = queue_up(f, 1);
    lk_hold *none = NULL;

    assert_status(lk_lock_acquire(newcomer, 0, NULL, &none), LK_EBUSY);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_lock_acquire(newcomer, 0, NULL, &none), LK_EBUSY);
    assert_status(taker_release(t), LK_OK);
    assert_status(lk_lock_acquire(newcomer, 0, NULL, &hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* Nobody released it, so nobody was told: the name is free for a moment. */
LOCKS_TEST(a_newcomer_may_take_a_lock_that_is_free)
{
    lk_hold *deleted = locking_hold(lock_of_new_client(f));
    lk_lock *newcomer = lock_of_new_client(f);
    taker *t = queue_up(f, 1);
    lk_hold *hold;

    assert_int_equal(server_integer(f->server, "DEL n"), 1);
    hold = locking_hold(newcomer);
    assert_false(atomic_load(&t->done));
    locking_wait_queued(f, "n", 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    assert_status(lk_hold_release(deleted), LK_ELOST);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
