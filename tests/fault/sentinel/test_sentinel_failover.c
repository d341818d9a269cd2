/* SPDX-License-Identifier: MIT */

/*
 * Clients that take turns while the sentinels' master changes: by a failover that
 * is asked for, after which two servers take writes, by a kill, and by a stop. No
 * two of them believe that they hold.
 */

#include <latchkey/latchkey.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/check.h"
#include "support/sentinels.h"
#include "support/wait.h"

enum { LONG_MS = 60000 };

static sentinels *group;

static int start(void **state)
{
    (void)state;
    group = sentinels_start();
    return group != NULL ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    sentinels_stop(group);
    group = NULL;
    return 0;
}

/* A release that the next master has not heard of is over with the lease. */
static lk_client *open_client(void)
{
    static const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                              .watchdog_ms = 10000};
    lk_client *client = NULL;

    assert_status(lk_client_open(&client, group->url, &options), LK_OK);
    return client;
}

/* ---- no two hold at a time ---------------------------------------------------------- */

/* Takes a lock of two again and again, and looks at each grant whether another
   one is believed that should not be. */
typedef struct worker {
    pthread_t thread;
    lk_client *client;
    const char *name;
    lk_hold *hold; /* now; guarded */
    unsigned long grants;
} worker;

enum { WORKERS = 4, SOME = 20, PAUSE_NS = 20 * 1000 * 1000 };

static worker workers[WORKERS];
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool ends;
static unsigned long overlaps; /* guarded */

static bool overlap(const worker *a, const worker *b)
{
    return a != b && b->hold != NULL && strcmp(a->name, b->name) == 0 &&
           lk_hold_check(b->hold) == LK_OK && lk_hold_check(a->hold) == LK_OK;
}

/* NULL: it is released. */
static void show(worker *w, lk_hold *hold)
{
    pthread_mutex_lock(&guard);
    w->hold = hold;
    for (size_t i = 0; hold != NULL && i < WORKERS; i++)
        overlaps += overlap(w, &workers[i]);
    w->grants += hold != NULL;
    pthread_mutex_unlock(&guard);
}

static void *work(void *data)
{
    worker *w = data;
    lk_lock *lock = NULL;
    struct timespec pause = {0, PAUSE_NS};

    if (lk_lock_new(&lock, w->client, w->name, NULL) != LK_OK)
        abort();
    while (!ends) {
        lk_hold *hold = NULL;

        if (lk_lock_acquire(lock, LONG_MS, NULL, &hold) != LK_OK)
            continue;
        show(w, hold);
        nanosleep(&pause, NULL); /* it works, lost or not */
        show(w, NULL);
        (void)lk_hold_release(hold);
    }
    lk_lock_free(lock);
    return NULL;
}

static void workers_start(void)
{
    overlaps = 0;
    ends = false;
    for (size_t i = 0; i < WORKERS; i++)
        workers[i] = (worker){.client = open_client(),
                              .name = i % 2 == 0 ? "even" : "odd"};
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

/* Each gets some more. */
static void wait_work(void)
{
    for (size_t i = 0; i < WORKERS; i++)
        wanted[i] = grants_of(i) + SOME;
    assert_true(wait_until(has_grants, NULL, LONG_MS));
}

static void nobody_holds_twice_when_a_failover_is_asked_for(void **state)
{
    server *next;

    (void)state;
    workers_start();
    wait_work();
    next = sentinels_failover(group);
    assert_ptr_equal(sentinels_wait_other(group, group->servers[0]), next);
    wait_work();
    workers_end();
}

static void nobody_holds_twice_when_the_master_is_killed(void **state)
{
    (void)state;
    workers_start();
    wait_work();
    server_kill(group->servers[0]);
    sentinels_wait_other(group, group->servers[0]);
    wait_work();
    assert_true(server_restart(group->servers[0])); /* writable, and empty */
    wait_work();
    workers_end();
}

static void nobody_holds_twice_when_the_master_stands_still(void **state)
{
    (void)state;
    workers_start();
    wait_work();
    server_freeze(group->servers[0]);
    sentinels_wait_other(group, group->servers[0]);
    server_thaw(group->servers[0]); /* it does not know of the other yet */
    wait_work();
    workers_end();
}

#define GROUP_TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GROUP_TEST(nobody_holds_twice_when_a_failover_is_asked_for),
        GROUP_TEST(nobody_holds_twice_when_the_master_is_killed),
        GROUP_TEST(nobody_holds_twice_when_the_master_stands_still),
    };

    if (getenv("LK_TEST_TLS") != NULL)
        return SERVER_LACKS;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
