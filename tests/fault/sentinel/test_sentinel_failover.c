/* SPDX-License-Identifier: MIT */

/*
 * Clients that take turns while the sentinels' master changes: by a failover that
 * is asked for, after which two servers take writes, by a kill, and by a stop. No
 * two of them believe that they hold, though some do not hear of it.
 */

#include <latchkey/latchkey.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/check.h"
#include "support/proxy.h"
#include "support/sentinels.h"
#include "support/wait.h"

#define GROUP_TEST(name) CHECK_TEST_OF(name, NO_STATE, start, stop)

enum { LONG_MS = 60000 };

static sentinels *group;
static proxy *roads[SENTINELS]; /* to the sentinels */

static int start(NO_STATE)
{
    group = sentinels_start();
    for (size_t i = 0; group != NULL && i < SENTINELS; i++) {
        roads[i] = proxy_start_tcp(server_socket(group->sentinels[i]));
        if (roads[i] == NULL)
            return -1;
    }
    return group != NULL ? 0 : -1;
}

static int stop(NO_STATE)
{
    for (size_t i = 0; i < SENTINELS; i++) {
        proxy_stop(roads[i]);
        roads[i] = NULL;
    }
    sentinels_stop(group);
    group = NULL;
    return 0;
}

/* by_roads: it reaches the sentinels, and only those, by roads that can be cut. */
static lk_client *open_client(bool by_roads)
{
    static const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                              .watchdog_ms = 10000};
    lk_client *client = NULL;
    char url[256];

    (void)snprintf(url, sizeof(url),
                   "redis+sentinel://127.0.0.1:%u,127.0.0.1:%u,127.0.0.1:%u/m",
                   proxy_port(roads[0]), proxy_port(roads[1]),
                   proxy_port(roads[2]));
    assert_status(lk_client_open(&client, by_roads ? url : group->url,
                                 &options),
                  LK_OK);
    return client;
}

/* Those behind the roads hear nothing of the sentinels any more. */
static void deafen(void)
{
    for (size_t i = 0; i < SENTINELS; i++) {
        proxy_hold(roads[i], PROXY_ALL, PROXY_REPLIES);
        proxy_refuse(roads[i], true);
    }
}

static void heal(void)
{
    for (size_t i = 0; i < SENTINELS; i++)
        proxy_heal(roads[i]);
}

/* ---- no two hold at a time ---------------------------------------------------------- */

/* Takes a lock of two again and again, and looks at each grant whether another
   one is believed that should not be. */
typedef struct worker {
    pthread_t thread;
    lk_client *client;
    const char *names[2]; /* until it may stay, and then */
    bool is_deaf;         /* it can be made to hear no sentinel */
    bool has_stayed;      /* guarded */
    const char *name;     /* of what it holds; guarded */
    lk_hold *hold;        /* now; guarded */
    unsigned long grants;
} worker;

enum { WORKERS = 4, SOME = 20, PAUSE_NS = 20 * 1000 * 1000 };

static worker workers[WORKERS];
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool ends;
/* The deaf stay at what they get from now on; what the next master has been told
   to be held is not wanted. */
static atomic_bool stay;
static unsigned long overlaps; /* guarded */

static bool overlap(const worker *a, const worker *b)
{
    return a != b && b->hold != NULL && strcmp(a->name, b->name) == 0 &&
           lk_hold_check(b->hold) == LK_OK && lk_hold_check(a->hold) == LK_OK;
}

/* NULL: it is released. */
static void show(worker *w, const char *name, lk_hold *hold)
{
    pthread_mutex_lock(&guard);
    w->name = name;
    w->hold = hold;
    for (size_t i = 0; hold != NULL && i < WORKERS; i++)
        overlaps += overlap(w, &workers[i]);
    w->grants += hold != NULL;
    pthread_mutex_unlock(&guard);
}

/* It works, and looks now and then. */
static void use(worker *w, lk_hold *hold, bool stays)
{
    const struct timespec pause = {0, PAUSE_NS};

    pthread_mutex_lock(&guard);
    w->has_stayed = stays;
    pthread_mutex_unlock(&guard);
    do
        nanosleep(&pause, NULL);
    while (stays && stay && !ends && lk_hold_check(hold) == LK_OK);
}

/* Waits, works and releases. */
static void turn(worker *w, lk_lock *lock, const char *name, bool stays)
{
    lk_hold *hold = NULL;

    if (lk_lock_acquire(lock, LONG_MS, NULL, &hold) != LK_OK)
        return;
    show(w, name, hold);
    use(w, hold, stays); /* lost or not */
    show(w, NULL, NULL);
    (void)lk_hold_release(hold);
}

static void *work(void *data)
{
    worker *w = data;
    lk_lock *locks[2] = {NULL, NULL};

    for (size_t i = 0; i < 2; i++) {
        if (lk_lock_new(&locks[i], w->client, w->names[i], NULL) != LK_OK)
            abort();
    }
    while (!ends) {
        bool late = stay;

        turn(w, locks[late], w->names[late], late && w->is_deaf);
    }
    lk_lock_free(locks[0]);
    lk_lock_free(locks[1]);
    return NULL;
}

static void workers_start(void)
{
    overlaps = 0;
    ends = false;
    stay = false;
    for (size_t i = 0; i < WORKERS; i++)
        workers[i] = (worker){.client = open_client(i < WORKERS / 2),
                              .names = {i % 2 == 0 ? "even" : "odd",
                                        i % 2 == 0 ? "even late" : "odd late"},
                              .is_deaf = i < WORKERS / 2};
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
        lk_client_free(workers[i].client);
    assert_int_equal(overlaps, 0);
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

/* Each from this one on gets some more. */
static void wait_work_of(size_t first)
{
    for (size_t i = 0; i < WORKERS; i++)
        wanted[i] = i < first ? 0 : grants_of(i) + SOME;
    assert_true(wait_until(has_grants, NULL, LONG_MS));
}

static void wait_work(void)
{
    wait_work_of(0);
}

static bool do_deaf_stay(void *data)
{
    bool all = true;

    (void)data;
    pthread_mutex_lock(&guard);
    for (size_t i = 0; i < WORKERS / 2; i++)
        all = all && workers[i].has_stayed;
    pthread_mutex_unlock(&guard);
    return all;
}

/* Half of them hear nothing of it, and have the old master answer them for ten
   seconds more. They hold what the next master knows nothing of, and the others
   want it there. */
GROUP_TEST(nobody_holds_twice_when_some_do_not_hear_of_it)
{
    workers_start();
    wait_work();
    (void)sentinels_failover(group);
    stay = true;
    assert_true(wait_until(do_deaf_stay, NULL, LONG_MS));
    deafen();
    wait_work_of(WORKERS / 2);
    heal();
    stay = false;
    wait_work();
    workers_end();
}

GROUP_TEST(nobody_holds_twice_when_a_failover_is_asked_for)
{
    server *next;

    workers_start();
    wait_work();
    next = sentinels_failover(group);
    assert_ptr_equal(sentinels_wait_other(group, group->servers[0]), next);
    wait_work();
    workers_end();
}

GROUP_TEST(nobody_holds_twice_when_the_master_is_killed)
{
    workers_start();
    wait_work();
    server_kill(group->servers[0]);
    sentinels_wait_other(group, group->servers[0]);
    wait_work();
    assert_true(server_restart(group->servers[0])); /* writable, and empty */
    wait_work();
    workers_end();
}

GROUP_TEST(nobody_holds_twice_when_the_master_stands_still)
{
    workers_start();
    wait_work();
    server_freeze(group->servers[0]);
    sentinels_wait_other(group, group->servers[0]);
    server_thaw(group->servers[0]); /* it does not know of the other yet */
    wait_work();
    workers_end();
}

int test_sentinel_failover(void)
{
    if (getenv("LK_TEST_TLS") != NULL)
        return SERVER_LACKS;
    return check_all(NULL, NULL);
}
