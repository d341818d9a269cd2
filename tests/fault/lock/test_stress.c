/* SPDX-License-Identifier: MIT */

/*
 * The lock under load: processes and threads that all want the same name, and
 * a record in shared memory that sees two inside at once or a fence that does
 * not grow. LK_LONG=1 in the environment asks for ten times the grants.
 */

#include <latchkey/latchkey.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/one_server.h"
#include "support/worker.h"

enum {
    PROCESSES = 8,
    THREADS = 4,
    WORKERS = PROCESSES * THREADS,
    GRANTS = 5000,
    DEADLINE_MS = 100000
};

/* What a worker counts. */
enum { COUNT_GRANTS, COUNT_REFUSALS, COUNT_LOSSES };

static bool is_long(void)
{
    const char *text = getenv("LK_LONG");

    return text != NULL && strcmp(text, "1") == 0;
}

static unsigned long wanted_grants(void)
{
    return is_long() ? 10UL * GRANTS : GRANTS;
}

typedef struct crew {
    worker_shared *shared;
    unsigned index;
    unsigned thread;
    unsigned long grants; /* of each thread */
    lk_lock *lock;
    pthread_t id;
} crew;

static void hold_once(crew *c, unsigned owner)
{
    _Atomic uint64_t *counters = c->shared->counters[c->index];
    record *r = &c->shared->records[0];
    lk_hold *hold;

    if (lk_lock_acquire(c->lock, LK_FOREVER, NULL, &hold) != LK_OK) {
        counters[COUNT_REFUSALS]++;
        return;
    }
    record_enter(r, owner, lk_hold_fence(hold));
    record_stay(counters[COUNT_GRANTS]);
    record_leave(r, owner);
    counters[COUNT_GRANTS]++;
    if (lk_hold_release(hold) != LK_OK)
        counters[COUNT_LOSSES]++;
}

static void *thread_run(void *data)
{
    crew *c = data;
    unsigned owner = c->index * THREADS + c->thread;

    for (unsigned long i = 0; i < c->grants; i++)
        hold_once(c, owner);
    return NULL;
}

static int threads_run(worker_shared *shared, unsigned index, lk_lock *lock)
{
    crew crews[THREADS];
    int failures = 0;

    for (unsigned i = 0; i < THREADS; i++) {
        crews[i] = (crew){shared, index, i, wanted_grants() / WORKERS, lock, 0};
        failures +=
            pthread_create(&crews[i].id, NULL, thread_run, &crews[i]) != 0;
    }
    for (unsigned i = 0; i < THREADS && failures == 0; i++)
        failures += pthread_join(crews[i].id, NULL) != 0;
    return failures;
}

static int process_run(worker_shared *shared, unsigned index, void *data)
{
    /* However long the server is not reached, nobody is refused for that. */
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .offline_ms = DEADLINE_MS};
    const server *s = data;
    lk_client *client;
    lk_lock *lock;
    int failures;

    if (lk_client_open(&client, server_url(s), &options) != LK_OK ||
        lk_lock_new(&lock, client, "stress", NULL) != LK_OK)
        return 1;
    failures = threads_run(shared, index, lock);
    lk_lock_free(lock);
    failures += lk_client_shutdown(client, 5000) != LK_OK;
    lk_client_free(client);
    return failures;
}

/*
 * Exclusion and the fence as a whole, by whatever way the lock is handed over.
 */
static void threads_of_many_processes_are_never_inside_together(void **state)
{
    server *s = *state;
    workers *w = workers_start(PROCESSES, process_run, s);
    record *r;

    assert_non_null(w);
    assert_true(workers_wait(w, is_long() ? 10 * DEADLINE_MS : DEADLINE_MS));
    assert_int_equal(workers_succeeded(w), PROCESSES);
    assert_int_equal(workers_count(w, COUNT_REFUSALS), 0);
    assert_int_equal(workers_count(w, COUNT_LOSSES), 0);
    r = &workers_shared(w)->records[0];
    assert_int_equal(r->overlaps, 0);
    assert_int_equal(r->fence_errors, 0);
    assert_int_equal(r->inside, 0);
    assert_int_equal(r->grants, workers_count(w, COUNT_GRANTS));
    assert_true(r->grants >= wanted_grants() - WORKERS);
    workers_free(w);

    assert_int_equal(server_integer(s, "EXISTS stress"), 0);
    assert_int_equal(server_integer(s, SERVER_WAITERS("stress")), 0);
    assert_int_equal(server_integer(s, SERVER_PARKED("stress")), 0);
    /* What is left is the number of the last ticket. */
    assert_int_equal(server_integer(s, SERVER_WAITERS("stress")), 0);
    assert_true(server_integer(s, "PTTL latchkey:{stress}:r") > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_of_many_processes_are_never_inside_together),
    };

    return cmocka_run_group_tests(tests, one_server_start, one_server_stop);
}
