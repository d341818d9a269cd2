/* SPDX-License-Identifier: MIT */

/*
 * Processes and threads that all want one name, as a fair lock and as a lock:
 * some wait, some try, some give up. Two of the processes are killed, and
 * connections are cut all the time. A record in shared memory sees two inside
 * at once or a fence that does not grow. LK_LONG=1 in the environment asks for
 * ten times the grants.
 */

#include <latchkey/latchkey.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/one_server.h"
#include "support/wait.h"
#include "support/worker.h"

enum {
    PROCESSES = 8,
    THREADS = 4,
    GRANTS = 2500,
    KILLED = 2, /* the first ones */
    CUT_EVERY_MS = 10,
    PATIENCE_MS = 100000
};

/* What a worker counts. */
enum { COUNT_GRANTS, COUNT_REFUSALS, COUNT_ODDITIES, COUNT_LOSSES };

static bool is_long(void)
{
    const char *text = getenv("LK_LONG");

    return text != NULL && strcmp(text, "1") == 0;
}

static uint64_t wanted_grants(void)
{
    uint64_t grants = wait_scale() > 1 ? GRANTS / 5 : GRANTS;

    return is_long() ? 10 * grants : grants;
}

/* ---- the workers ---------------------------------------------------------- */

typedef struct crew {
    worker_shared *shared;
    unsigned index, thread;
    lk_fairlock *fair;
    lk_lock *lock; /* the fourth thread's: it takes what is free */
    pthread_t id;
} crew;

/* Waits without limit, for a moment, or not at all, in turn. */
static int64_t wait_of(unsigned round)
{
    static const int64_t waits[] = {LK_FOREVER, 5,          LK_FOREVER,
                                    0,          LK_FOREVER, 50};

    return waits[round % (sizeof(waits) / sizeof(waits[0]))];
}

static lk_status acquire(const crew *c, int64_t wait_ms, lk_hold **ret_hold)
{
    return c->thread == THREADS - 1
               ? lk_lock_acquire(c->lock, wait_ms, NULL, ret_hold)
               : lk_fairlock_acquire(c->fair, wait_ms, NULL, ret_hold);
}

/* A wait that was cut off may not know what became of its request in time. */
static bool is_refusal(lk_status status)
{
    return status == LK_EBUSY || status == LK_ETIMEDOUT ||
           status == LK_EINDOUBT || status == LK_EOFFLINE;
}

static void turn(const crew *c, unsigned round)
{
    _Atomic uint64_t *counters = c->shared->counters[c->index];
    record *r = &c->shared->records[0];
    unsigned owner = c->index * THREADS + c->thread;
    int64_t wait_ms = wait_of(round);
    lk_hold *hold;
    lk_status status = acquire(c, wait_ms, &hold);

    if (status != LK_OK) {
        bool good = is_refusal(status) && wait_ms != LK_FOREVER;

        counters[good ? COUNT_REFUSALS : COUNT_ODDITIES]++;
        return;
    }
    (void)record_enter(r, owner, lk_hold_fence(hold));
    record_stay(counters[COUNT_GRANTS]);
    (void)record_leave(r, owner);
    counters[COUNT_GRANTS]++;
    status = lk_hold_release(hold);
    if (status != LK_OK && status != LK_EINDOUBT && status != LK_EOFFLINE)
        counters[COUNT_LOSSES]++;
}

static void *thread_run(void *data)
{
    const crew *c = data;
    unsigned round = c->index + c->thread;

    while (!atomic_load(&c->shared->is_over))
        turn(c, round++);
    return NULL;
}

static int process_run(worker_shared *shared, unsigned index, void *data)
{
    const server *s = data;
    /* What a killed holder leaves ends with its lease. */
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_scaled_ms(3000),
                                       .offline_ms = PATIENCE_MS};
    lk_client *client;
    crew crews[THREADS];
    crew first = {.shared = shared, .index = index};
    int failures = 0;

    if (lk_client_open(&client, server_url(s), &options) != LK_OK ||
        lk_fairlock_new(&first.fair, client, "n", NULL) != LK_OK ||
        lk_lock_new(&first.lock, client, "n", NULL) != LK_OK)
        return 1;
    for (unsigned i = 0; i < THREADS; i++) {
        crews[i] = first;
        crews[i].thread = i;
        failures +=
            pthread_create(&crews[i].id, NULL, thread_run, &crews[i]) != 0;
    }
    for (unsigned i = 0; i < THREADS; i++)
        failures += pthread_join(crews[i].id, NULL) != 0;
    lk_fairlock_free(first.fair);
    lk_lock_free(first.lock);
    failures += lk_client_shutdown(client, wait_scaled_ms(10000)) != LK_OK;
    lk_client_free(client);
    return failures;
}

/* ---- disturbances ---------------------------------------------------------- */

static void worker_kill(workers *w, unsigned worker)
{
    workers_kill(w, worker, SIGKILL);
    for (unsigned i = 0; i < THREADS; i++)
        (void)record_abandon(&workers_shared(w)->records[0],
                             worker * THREADS + i);
}

/* The oldest connection of a kind: one after the other comes to it. */
static void cut_one(server *s, const char *kind)
{
    char *list = server_string(s, "CLIENT LIST TYPE %s", kind);
    char *own = server_string(s, "CLIENT INFO");
    long long mine = strtoll(own + strlen("id="), NULL, 10);
    char *rest = NULL;

    for (char *line = strtok_r(list, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        long long id = strtoll(line + strlen("id="), NULL, 10);

        if (id == mine)
            continue;
        (void)server_integer(s, "CLIENT KILL ID %lld", id);
        break;
    }
    free(list);
    free(own);
}

typedef struct goal {
    workers *workers;
    uint64_t grants;
} goal;

static bool is_reached(void *data)
{
    const goal *g = data;

    return workers_count(g->workers, COUNT_GRANTS) >= g->grants;
}

/* Cuts connections until there are so many grants. */
static void reach(server *s, workers *w, uint64_t grants)
{
    goal g = {w, grants};
    unsigned rounds = 10 * PATIENCE_MS / CUT_EVERY_MS;

    for (unsigned i = 0; i < rounds; i++) {
        if (wait_until(is_reached, &g, CUT_EVERY_MS))
            return;
        cut_one(s, i % 2 == 0 ? "pubsub" : "normal");
    }
    fail_msg("%llu grants instead of %llu",
             (unsigned long long)workers_count(w, COUNT_GRANTS),
             (unsigned long long)grants);
}

/* ---- the test -------------------------------------------------------------- */

static bool is_free(void *data)
{
    /* Those that were killed may be parked there for some minutes. */
    return server_integer(data, "EXISTS n") == 0 &&
           server_integer(data, SERVER_STANDING("n")) == 0;
}

static void one_at_a_time_is_inside_whatever_happens(void **state)
{
    server *s = *state;
    workers *w = workers_start(PROCESSES, process_run, s);
    record *r;

    assert_non_null(w);
    for (unsigned i = 0; i < KILLED; i++) {
        reach(s, w, wanted_grants() / (KILLED + 1) * (i + 1));
        worker_kill(w, i);
    }
    reach(s, w, wanted_grants());
    workers_end(w);
    assert_true(workers_wait(w, PATIENCE_MS));
    for (unsigned i = 0; i < PROCESSES; i++)
        assert_int_equal(workers_exit(w, i), i < KILLED ? -SIGKILL : 0);
    assert_int_equal(workers_count(w, COUNT_ODDITIES), 0);
    assert_int_equal(workers_count(w, COUNT_LOSSES), 0);
    assert_true(workers_count(w, COUNT_REFUSALS) > 0);
    r = &workers_shared(w)->records[0];
    assert_int_equal(r->overlaps, 0);
    assert_int_equal(r->fence_errors, 0);
    assert_int_equal(r->inside, 0);
    workers_free(w);
    assert_true(wait_until(is_free, s, PATIENCE_MS));
    assert_true(server_integer(s, "PTTL latchkey:{n}:r") > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_at_a_time_is_inside_whatever_happens),
    };

    return cmocka_run_group_tests(tests, one_server_start, one_server_stop);
}
