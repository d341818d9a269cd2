/* SPDX-License-Identifier: MIT */

/*
 * Clients that take turns while a master of their cluster changes: by a failover
 * that is asked for, by one that asks nobody, by a kill, and by a stop. No two of
 * them believe that they hold. Meanwhile slots go from master to master.
 */

#include <latchkey/latchkey.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/slot.h"
#include "support/check.h"
#include "support/ringed.h"
#include "support/wait.h"

enum { WORKERS = 4, NAMES = 2, SOME = 20, PAUSE_NS = 20 * 1000 * 1000 };

/* Takes locks in turn, and looks at each grant whether another one is believed
   that should not be, and whether its fence is higher. */
typedef struct worker {
    pthread_t thread;
    lk_client *client;
    lk_hold *holds[NAMES]; /* now; guarded */
    unsigned long grants;  /* guarded */
} worker;

static worker workers[WORKERS];
static char names[NAMES][RINGED_NAME];
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool ends;
static uint64_t fences[NAMES];            /* the last; guarded */
static unsigned long overlaps, backwards; /* guarded */

static bool overlap(const worker *a, const worker *b, size_t name)
{
    return a != b && b->holds[name] != NULL &&
           lk_hold_check(b->holds[name]) == LK_OK &&
           lk_hold_check(a->holds[name]) == LK_OK;
}

/* Its fence may be older than another's only if it is lost. */
static void check_fence(const lk_hold *hold, size_t name)
{
    if (lk_hold_check(hold) != LK_OK)
        return;
    backwards += lk_hold_fence(hold) <= fences[name];
    fences[name] = lk_hold_fence(hold);
}

/* NULL: it is released. */
static void show(worker *w, size_t name, lk_hold *hold)
{
    pthread_mutex_lock(&guard);
    w->holds[name] = hold;
    for (size_t i = 0; hold != NULL && i < WORKERS; i++)
        overlaps += overlap(w, &workers[i], name);
    if (hold != NULL)
        check_fence(hold, name);
    w->grants += hold != NULL;
    pthread_mutex_unlock(&guard);
}

/* Waits, works and releases, lost or not. */
static void turn(worker *w, lk_lock *lock, size_t name)
{
    const struct timespec pause = {0, PAUSE_NS};
    lk_hold *hold = NULL;

    if (lk_lock_acquire(lock, RINGED_LONG_MS, NULL, &hold) != LK_OK)
        return;
    show(w, name, hold);
    nanosleep(&pause, NULL);
    show(w, name, NULL);
    (void)lk_hold_release(hold);
}

static void *work(void *data)
{
    worker *w = data;
    lk_lock *locks[NAMES];

    for (size_t i = 0; i < NAMES; i++) {
        if (lk_lock_new(&locks[i], w->client, names[i], NULL) != LK_OK)
            abort();
    }
    for (size_t i = 0; !ends; i = (i + 1) % NAMES)
        turn(w, locks[i], i);
    for (size_t i = 0; i < NAMES; i++)
        lk_lock_free(locks[i]);
    return NULL;
}

static void workers_start(const server *at)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = 10000,
                                       .offline_ms = RINGED_LONG_MS};

    overlaps = backwards = 0;
    ends = false;
    (void)ringed_name(names[0], "one", at);
    (void)ringed_name(names[1], "two", at);
    memset(fences, 0, sizeof(fences));
    for (size_t i = 0; i < WORKERS; i++)
        workers[i] = (worker){.client = ringed_open(&options)};
    /* Each looks at all others. */
    for (size_t i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work,
                                        &workers[i]),
                         0);
}

static void workers_end(void)
{
    ends = true;
    for (size_t i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
    for (size_t i = 0; i < WORKERS; i++)
        made_free_client(workers[i].client);
    assert_int_equal(overlaps, 0);
    assert_int_equal(backwards, 0);
}

static unsigned long grants_of(size_t i)
{
    unsigned long grants;

    pthread_mutex_lock(&guard);
    grants = workers[i].grants;
    pthread_mutex_unlock(&guard);
    return grants;
}

static unsigned long wanted[WORKERS];

static bool has_grants(void *data)
{
    (void)data;
    for (size_t i = 0; i < WORKERS; i++) {
        if (grants_of(i) < wanted[i])
            return false;
    }
    return true;
}

/* Each gets some more. */
static void wait_work(void)
{
    for (size_t i = 0; i < WORKERS; i++)
        wanted[i] = grants_of(i) + SOME;
    assert_true(wait_until(has_grants, NULL, RINGED_LONG_MS));
}

/* ---- the ways: each at another third of the slots than the one before ---- */

static server *master_of_third(unsigned third)
{
    server *master = cluster_master_of(ringed(), third * (LK__SLOTS / 3));

    cluster_rest(ringed(), master);
    return master;
}

/* All take turns again, and the cluster is whole for the next test. */
static void end_whole(void)
{
    wait_work();
    workers_end();
    cluster_wait_whole(ringed());
}

CHECK_TEST(nobody_holds_twice_when_slots_move)
{
    server *from = master_of_third(0), *to = master_of_third(1);

    workers_start(from);
    wait_work();
    for (unsigned i = 0; i < 4; i++) {
        cluster_move(ringed(), ringed_slot(names[i % NAMES]),
                     i < NAMES ? to : from);
        wait_work();
    }
    workers_end();
}

CHECK_TEST(nobody_holds_twice_when_a_failover_is_asked_for)
{
    server *master = master_of_third(0);

    workers_start(master);
    wait_work();
    (void)cluster_failover(ringed(), master);
    end_whole();
}

CHECK_TEST(nobody_holds_twice_when_a_replica_asks_nobody)
{
    server *master = master_of_third(1);

    workers_start(master);
    wait_work();
    (void)cluster_takeover(ringed(), master);
    end_whole();
}

CHECK_TEST(nobody_holds_twice_when_a_master_is_killed)
{
    server *master = master_of_third(2);

    workers_start(master);
    wait_work();
    server_kill(master);
    (void)cluster_wait_other(ringed(), ringed_slot(names[0]), master);
    wait_work();
    assert_true(server_restart(master));
    end_whole();
}

CHECK_TEST(nobody_holds_twice_when_a_master_stands_still)
{
    server *master = master_of_third(0);

    workers_start(master);
    wait_work();
    server_freeze(master);
    (void)cluster_wait_other(ringed(), ringed_slot(names[0]), master);
    server_thaw(master); /* it takes what waits in its sockets */
    end_whole();
}

CHECK_GROUP(ringed_start, ringed_stop)
