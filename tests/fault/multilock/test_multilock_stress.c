/* SPDX-License-Identifier: MIT */

/*
 * Processes that want random sets out of six names, added in random order, by
 * threads and by callbacks. One is killed amid its work. Nobody waits in a
 * ring, two are never inside one name, and nothing is left. LK_LONG=1 in the
 * environment asks for ten times the grants.
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
    PROCESSES = 4,
    THREADS = 2,
    NAMES = 6,
    GRANTS = 6000,
    PATIENCE_MS = 60000
};

enum { COUNT_GRANTS, COUNT_REFUSALS, COUNT_ODDITIES, COUNT_LOSSES };

static uint64_t wanted_grants(void)
{
    const char *text = getenv("LK_LONG");
    uint64_t grants = wait_scale() > 1 ? GRANTS / 5 : GRANTS;

    return text != NULL && strcmp(text, "1") == 0 ? 10 * grants : grants;
}

/* ---- the workers ---------------------------------------------------------- */

typedef struct crew {
    worker_shared *shared;
    unsigned index, thread;
    lk_client *client;
    lk_lock *locks[NAMES];
    uint64_t random;
    pthread_t id;
} crew;

static unsigned draw(crew *c, unsigned limit)
{
    c->random = c->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (unsigned)(c->random >> 33) % limit;
}

/* Some of the names, each once, in random order; returns how many. */
static unsigned draw_names(crew *c, unsigned names[NAMES])
{
    unsigned count = 1 + draw(c, NAMES);

    for (unsigned i = 0; i < NAMES; i++)
        names[i] = i;
    for (unsigned i = 0; i < count; i++) {
        unsigned other = i + draw(c, NAMES - i);
        unsigned name = names[i];

        names[i] = names[other];
        names[other] = name;
    }
    return count;
}

static void
work_in(crew *c, lk_hold *hold, const unsigned *names, unsigned count)
{
    unsigned owner = c->index * THREADS + c->thread;

    for (unsigned i = 0; i < count; i++)
        (void)record_enter(&c->shared->records[names[i]], owner,
                           lk_multilock_fence(hold, i));
    record_stay(c->shared->counters[c->index][COUNT_GRANTS]);
    for (unsigned i = 0; i < count; i++)
        (void)record_leave(&c->shared->records[names[i]], owner);
}

static lk_status acquire(crew *c, const unsigned *names, unsigned count,
                         int64_t wait_ms, lk_hold **ret_hold)
{
    lk_multilock *set;
    lk_status status = lk_multilock_new(&set);

    for (unsigned i = 0; i < count && status == LK_OK; i++)
        status = lk_multilock_add_lock(set, c->locks[names[i]]);
    if (status == LK_OK)
        status = lk_multilock_acquire(set, wait_ms, NULL, ret_hold);
    lk_multilock_free(set);
    return status;
}

/* Waits without limit, for a moment, or not at all. */
static void turn(crew *c)
{
    static const int64_t waits[] = {LK_FOREVER, LK_FOREVER, LK_FOREVER, 0, 20};
    _Atomic uint64_t *counters = c->shared->counters[c->index];
    int64_t wait_ms = waits[draw(c, 5)];
    unsigned names[NAMES];
    unsigned count = draw_names(c, names);
    lk_hold *hold;
    lk_status status = acquire(c, names, count, wait_ms, &hold);

    if (status == LK_OK) {
        work_in(c, hold, names, count);
        counters[COUNT_GRANTS]++;
        if (lk_hold_release(hold) != LK_OK)
            counters[COUNT_LOSSES]++;
    } else if ((status == LK_EBUSY && wait_ms == 0) ||
               (status == LK_ETIMEDOUT && wait_ms > 0) ||
               (status == LK_EINDOUBT && wait_ms > 0)) {
        counters[COUNT_REFUSALS]++; /* in doubt: its time ended in between */
    } else {
        counters[COUNT_ODDITIES]++;
    }
}

static void *thread_run(void *data)
{
    crew *c = data;

    while (!atomic_load(&c->shared->is_over))
        turn(c);
    return NULL;
}

static int process_run(worker_shared *shared, unsigned index, void *data)
{
    /* What the killed one leaves ends with its lease. */
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms =
                                           UINT64_C(3) * wait_lease_ms(),
                                       .command_timeout_ms = PATIENCE_MS};
    crew crews[THREADS] = {0};
    lk_client *client;
    lk_status status;
    int failures = 0;

    if (lk_client_open(&client, server_url(data), &options) != LK_OK)
        return 1;
    for (unsigned i = 0; i < THREADS; i++) {
        crews[i].shared = shared;
        crews[i].index = index;
        crews[i].thread = i;
        crews[i].random = index * THREADS + i + 1;
        for (unsigned name = 0; name < NAMES; name++) {
            const char text[] = {(char)('a' + name), '\0'};

            failures +=
                lk_lock_new(&crews[i].locks[name], client, text, NULL) != LK_OK;
        }
        failures +=
            pthread_create(&crews[i].id, NULL, thread_run, &crews[i]) != 0;
    }
    for (unsigned i = 0; i < THREADS; i++) {
        failures += pthread_join(crews[i].id, NULL) != 0;
        for (unsigned name = 0; name < NAMES; name++)
            lk_lock_free(crews[i].locks[name]);
    }
    status = lk_client_shutdown(client, PATIENCE_MS);
    if (status != LK_OK)
        print_error("%d failures, and a shutdown that ends with %s: %s\n",
                    failures, lk_status_name(status), lk_last_error());
    failures += status != LK_OK;
    lk_client_free(client);
    return failures;
}

/* ---- the test -------------------------------------------------------------- */

typedef struct goal {
    workers *workers;
    uint64_t grants;
} goal;

static bool is_reached(void *data)
{
    const goal *g = data;

    return workers_count(g->workers, COUNT_GRANTS) >= g->grants;
}

static void reach(workers *w, uint64_t grants)
{
    goal g = {w, grants};

    if (!wait_until(is_reached, &g, PATIENCE_MS))
        fail_msg("%llu grants instead of %llu",
                 (unsigned long long)workers_count(w, COUNT_GRANTS),
                 (unsigned long long)grants);
}

/* What is left of the killed in a queue, or of claims that were given up while
   an acquire was under way, goes with the queue: in 11 min at most. */
static bool is_free(void *data)
{
    if (server_integer(data, "EXISTS a b c d e f") != 0)
        return false;
    for (unsigned i = 0; i < NAMES; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        long long left = server_integer(data, "PTTL latchkey:{%s}:q", name);

        if (left != -2 && (left < 0 || left > 660000))
            return false;
    }
    return true;
}

CHECK_TEST_OF(random_sets_never_deadlock_nor_overlap, server *s, NULL, NULL)
{
    workers *w = workers_start(PROCESSES, process_run, s);

    assert_non_null(w);
    reach(w, wanted_grants() / 2);
    workers_kill(w, 0, SIGKILL);
    for (unsigned i = 0; i < NAMES * THREADS; i++)
        (void)record_abandon(&workers_shared(w)->records[i / THREADS],
                             i % THREADS);
    reach(w, wanted_grants());
    workers_end(w);
    assert_true(workers_wait(w, PATIENCE_MS));
    for (unsigned i = 0; i < PROCESSES; i++)
        assert_int_equal(workers_exit(w, i), i == 0 ? -SIGKILL : 0);
    assert_int_equal(workers_count(w, COUNT_ODDITIES), 0);
    assert_int_equal(workers_count(w, COUNT_LOSSES), 0);
    assert_true(workers_count(w, COUNT_REFUSALS) > 0);
    for (unsigned i = 0; i < NAMES; i++) {
        record *r = &workers_shared(w)->records[i];

        assert_true(r->grants > 0);
        assert_int_equal(r->overlaps, 0);
        assert_int_equal(r->fence_errors, 0);
        assert_int_equal(r->inside, 0);
    }
    workers_free(w);
    assert_true(wait_until(is_free, s, PATIENCE_MS));
}

CHECK_GROUP(one_server_start, one_server_stop)
