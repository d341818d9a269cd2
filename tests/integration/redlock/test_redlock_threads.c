/* SPDX-License-Identifier: MIT */

/* Threads that share one lock over several servers, and so its clients. */

#include <pthread.h>
#include <stdatomic.h>

#include "support/check.h"
#include "support/redlocking.h"
#include "support/wait.h"

enum { THREADS = 4, TURNS = 6000, NODES = 3 };

/* What the threads have in common. */
typedef struct crowd {
    lk_redlock *lock;
    atomic_int inside;
    atomic_int taken;    /* how many acquires said OK */
    atomic_int overlaps; /* how often a second one was inside */
    atomic_int wrong;    /* answers that no healthy server gives */
} crowd;

static void take_turn(crowd *c)
{
    lk_hold *hold = NULL;
    lk_status status = lk_redlock_acquire(c->lock, 0, NULL, &hold);

    if (status != LK_OK) {
        atomic_fetch_add(&c->wrong, status != LK_EBUSY);
        return;
    }
    atomic_fetch_add(&c->taken, 1);
    atomic_fetch_add(&c->overlaps, atomic_fetch_add(&c->inside, 1) != 0);
    atomic_fetch_sub(&c->inside, 1);
    atomic_fetch_add(&c->wrong, lk_hold_release(hold) != LK_OK);
}

static void *take_turns(void *data)
{
    const int turns = (int)(TURNS / wait_scale());

    for (int turn = 0; turn < turns; turn++)
        take_turn(data);
    return NULL;
}

/* Each attempt asks with a token of its own: were the questions of two threads
   mixed, both would win by the votes for one of them. */
CHECK_TEST_OF(threads_that_share_a_client_exclude_each_other, locking *f,
              redlocking_setup, redlocking_teardown)
{
    lk_redlock_options options = redlocking_options();
    crowd c = {.lock = NULL};
    pthread_t threads[THREADS];

    options.lease_ms = 600000; /* a machine that stalls does not matter */
    options.node_timeout_ms = 60000;
    c.lock = redlocking_make(f, NODES, &options);

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_turns, &c), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&c.overlaps), 0);
    assert_int_equal(atomic_load(&c.wrong), 0);
    assert_true(atomic_load(&c.taken) > 0);
    redlocking_wait_planted(NODES, 0);
}

CHECK_GROUP(redlocking_start_servers, redlocking_stop_servers)
