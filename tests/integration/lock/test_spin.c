/* SPDX-License-Identifier: MIT */

/* The lock's spin strategy: no queue, no Pub/Sub, the same exclusion. */

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/record.h"
#include "support/wait.h"

enum { THREADS = 8, TURNS = 40 };

static lk_lock *
spin_lock(lk_client *client, uint64_t first_ms, uint64_t most_ms)
{
    const lk_lock_options options = {LK_LOCK_OPTIONS_INIT, .strategy = LK_SPIN,
                                     .spin_first_ms = first_ms,
                                     .spin_most_ms = most_ms};
    lk_lock *lock = NULL;

    assert_status(lk_lock_new(&lock, client, "n", &options), LK_OK);
    return lock;
}

LOCKS_TEST(a_spinner_gets_what_is_released)
{
    lk_hold *hold = locking_hold(locking_new(f, lk_lock));
    lk_client *client = locking_open(f, NULL);
    lk_lock *lock = spin_lock(client, 1, 4);
    taker *t = locking_take(f, lock, LK_FOREVER, NULL);

    locking_wait_integer(f, 1, "EXISTS %s", "latchkey:{n}:s");
    locking_wait_queued(f, "n", 0);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_status(taker_release(t), LK_OK);
    lk_lock_free(lock);
}

LOCKS_TEST(a_spinner_has_one_connection_and_hears_nothing)
{
    lk_client *client = locking_open(f, NULL);
    lk_lock *lock = spin_lock(client, 0, 0);
    redisReply *channels;

    for (int i = 0; i < 3; i++) {
        lk_hold *hold = locking_hold(lock);

        assert_status(lk_hold_release(hold), LK_OK);
    }
    assert_int_equal(locking_stats(client).connects, 1);
    channels = server_command(f->server, "PUBSUB CHANNELS");
    assert_int_equal(channels->elements, 0);
    freeReplyObject(channels);
    lk_lock_free(lock);
}

/* Its time may end while a try is under way. */
static void assert_ended_empty_handed(lk_status status)
{
    if (status != LK_EINDOUBT)
        assert_status(status, LK_ETIMEDOUT);
}

LOCKS_TEST(a_spinner_that_waits_ends_in_time)
{
    lk_hold *hold = locking_hold(locking_new(f, lk_lock));
    lk_lock *lock = spin_lock(locking_open(f, NULL), 1, 128);
    lk_hold *none = NULL;
    uint64_t start = wait_now_ms();

    assert_ended_empty_handed(lk_lock_acquire(lock, 300, NULL, &none));
    assert_in_range(wait_now_ms() - start, 299,
                    wait_allowed_ms(300 + wait_scaled_ms(300)));
    assert_status(lk_lock_acquire(lock, 0, NULL, &none), LK_EBUSY);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_lock_free(lock);
}

/* The pauses double: many tries in a second would be a defect. */
LOCKS_TEST(the_pauses_grow)
{
    lk_hold *hold = locking_hold(locking_new(f, lk_lock));
    lk_client *client = locking_open(f, NULL);
    lk_lock *lock = spin_lock(client, 1, 128);
    lk_hold *none = NULL;
    uint64_t before = locking_stats(client).commands;
    const uint64_t wait_ms = wait_limit_ms(1000);

    assert_ended_empty_handed(
        lk_lock_acquire(lock, (int64_t)wait_ms, NULL, &none));
    assert_in_range(locking_stats(client).commands - before, 8,
                    60 * wait_ms / 1000);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_lock_free(lock);
}

LOCKS_TEST(pauses_that_make_no_sense_are_refused)
{
    lk_client *client = locking_open(f, NULL);
    lk_lock_options options = {LK_LOCK_OPTIONS_INIT, .strategy = LK_SPIN,
                               .spin_first_ms = 9, .spin_most_ms = 8};
    lk_lock *lock = NULL;

    assert_status(lk_lock_new(&lock, client, "n", &options), LK_EINVAL);
    options.spin_most_ms = 60001;
    assert_status(lk_lock_new(&lock, client, "n", &options), LK_EINVAL);
    options.strategy = 2;
    assert_status(lk_lock_new(&lock, client, "n", &options), LK_EINVAL);
    options.strategy = LK_QUEUE;
    options.spin_most_ms = 8;
    assert_status(lk_lock_new(&lock, client, "n", &options), LK_EINVAL);
    assert_null(lock);
}

/* ---- both strategies at once ---- */

struct crowd {
    record record;
    lk_lock *locks[THREADS];
    atomic_uint next;
    atomic_uint grants[THREADS];
};

static void *crowd_run(void *data)
{
    struct crowd *crowd = data;
    unsigned index = atomic_fetch_add(&crowd->next, 1);

    for (int i = 0; i < TURNS; i++) {
        lk_hold *hold = NULL;

        if (lk_lock_acquire(crowd->locks[index], LK_FOREVER, NULL, &hold) !=
            LK_OK)
            break;
        (void)record_enter(&crowd->record, index + 1, lk_hold_fence(hold));
        (void)record_leave(&crowd->record, index + 1);
        if (lk_hold_release(hold) == LK_OK)
            atomic_fetch_add(&crowd->grants[index], 1);
    }
    return NULL;
}

/* Half of them spin, half queue, each with a client of its own. */
LOCKS_TEST(spinners_and_queuers_exclude_each_other)
{
    struct crowd *crowd = calloc(1, sizeof(*crowd));
    pthread_t threads[THREADS];

    assert_non_null(crowd);
    for (unsigned i = 0; i < THREADS; i++) {
        lk_client *client = locking_open(f, NULL);

        crowd->locks[i] = i % 2 == 0 ? spin_lock(client, 1, 16)
                                     : locking_lock(f, client, "n");
    }
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, crowd_run, crowd),
                         0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(record_violations(&crowd->record), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(atomic_load(&crowd->grants[i]), TURNS);
        if (i % 2 == 0)
            lk_lock_free(crowd->locks[i]);
    }
    free(crowd);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
