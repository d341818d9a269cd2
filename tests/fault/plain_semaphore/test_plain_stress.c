/* SPDX-License-Identifier: MIT */

/*
 * The bare counter under load: processes and threads that take one to three of
 * four permits, while their connections are cut and some of them are killed.
 * Never are more in use than there are; afterwards each is free, or was taken
 * by one that was killed. LK_LONG=1 in the environment asks for ten times the
 * grants.
 */

#include <latchkey/plain_semaphore.h>

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
    WORKERS = PROCESSES * THREADS,
    PERMITS = 4,
    MOST = 3, /* at once */
    GRANTS = 2000,
    DOOMED = 4,
    DEADLINE_MS = 100000,
    SETTLE_MS = 20000,
    TURN_MS = 20000
};

/* What a worker counts. IN_USE is what its threads have now, by their own
   knowledge: never more than the server has given. DOOMED_NOW is the parent's:
   of its threads one keeps what it gets next, KEPT of them, and the others give
   theirs back and are IDLE, so that what it has is known to the permit. MAY_END is
   the parent's, too: until all that are doomed are dead, the others go on, however
   long the parent is kept from a processor. */
enum { GRANTED, IN_USE, REFUSED, DONE, OVER, DOOMED_NOW, KEPT, IDLE, MAY_END };

static bool is_long(void)
{
    const char *text = getenv("LK_LONG");

    return text != NULL && strcmp(text, "1") == 0;
}

static uint64_t wanted_grants(void)
{
    return is_long() ? UINT64_C(10) * GRANTS : GRANTS;
}

/* ---- workers ------------------------------------------------------------------ */

typedef struct crew {
    worker_shared *shared;
    unsigned index, thread;
    uint64_t rounds;
    lk_plain_semaphore *semaphore;
    pthread_t id;
} crew;

static uint64_t in_use(worker_shared *shared)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < PROCESSES; i++)
        sum += shared->counters[i][IN_USE];
    return sum;
}

/* Nothing was sent where the server was away: so once more. */
static bool give_back(crew *c, uint64_t count)
{
    lk_status status;

    do
        status = lk_plain_semaphore_release(c->semaphore, count);
    while (status == LK_EOFFLINE);
    return status == LK_OK || status == LK_EPENDING;
}

/* Of a doomed process, the first that gets something: it never gives it back. */
static bool is_kept(_Atomic uint64_t *counters, uint64_t count)
{
    uint64_t none = 0;

    return counters[DOOMED_NOW] != 0 &&
           atomic_compare_exchange_strong(&counters[KEPT], &none, count);
}

/* True: it was granted something. */
static bool use_once(crew *c, uint64_t count)
{
    _Atomic uint64_t *counters = c->shared->counters[c->index];
    lk_status status =
        lk_plain_semaphore_acquire(c->semaphore, count,
                                   (int64_t)wait_limit_ms(TURN_MS), NULL);

    if (status != LK_OK) {
        if (status != LK_EINDOUBT && status != LK_EOFFLINE)
            counters[REFUSED]++;
        return false;
    }
    counters[IN_USE] += count;
    if (in_use(c->shared) > PERMITS)
        counters[OVER]++;
    record_stay(counters[GRANTED]);
    counters[GRANTED]++;
    if (is_kept(counters, count))
        return true;
    counters[IN_USE] -= count;
    if (!give_back(c, count))
        counters[REFUSED]++;
    return true;
}

static bool goes_on(const crew *c, uint64_t granted)
{
    const _Atomic uint64_t *counters = c->shared->counters[c->index];

    return (granted < c->rounds || counters[MAY_END] == 0) &&
           counters[KEPT] == 0 && !c->shared->is_over;
}

static void *thread_run(void *data)
{
    crew *c = data;
    uint64_t granted = 0;

    for (uint64_t i = c->thread; goes_on(c, granted); i++)
        granted += use_once(c, 1 + i % MOST);
    c->shared->counters[c->index][IDLE]++;
    return NULL;
}

static bool is_over(void *data)
{
    return ((worker_shared *)data)->is_over;
}

/* Its clients live until the end: what is in doubt they settle. */
static int process_run(worker_shared *shared, unsigned index, void *data)
{
    crew crews[THREADS];
    lk_client *client;
    lk_plain_semaphore *semaphore;
    int failures = 0;

    if (lk_client_open(&client, server_url(data), NULL) != LK_OK ||
        lk_plain_semaphore_new(&semaphore, client, "n") != LK_OK)
        return 1;
    for (unsigned i = 0; i < THREADS; i++) {
        crews[i] =
            (crew){shared, index, i, wanted_grants() / WORKERS, semaphore, 0};
        failures +=
            pthread_create(&crews[i].id, NULL, thread_run, &crews[i]) != 0;
    }
    for (unsigned i = 0; i < THREADS && failures == 0; i++)
        failures += pthread_join(crews[i].id, NULL) != 0;
    shared->counters[index][DONE] = 1;
    if (!wait_until(is_over, shared, 10 * DEADLINE_MS))
        return 2;
    lk_plain_semaphore_free(semaphore);
    failures += lk_client_shutdown(client, 5000) != LK_OK;
    lk_client_free(client);
    return failures;
}

/* ---- the parent ----------------------------------------------------------------- */

typedef struct watch {
    server *server;
    workers *workers;
    uint64_t count;
    long long value;
} watch;

static long long value_of(server *s)
{
    return server_integer(s, "INCRBY n 0");
}

static int set_up(void **state)
{
    server_flush(*state);
    freeReplyObject(server_command(*state, "SET n %d", PERMITS));
    return 0;
}

/* With less than all that one may want, the others might wait. */
static void make_up(server *s)
{
    freeReplyObject(server_command(s, "INCRBY n %d", MOST));
    freeReplyObject(server_command(s, "PUBLISH redisson_sc:{n} 1"));
}

/* Kills it when it has something and asks for nothing; what it has. */
static uint64_t kill_settled(server *s, workers *w, unsigned index)
{
    _Atomic uint64_t *counters = workers_shared(w)->counters[index];

    counters[DOOMED_NOW] = 1;
    assert_soon(counters[KEPT] != 0, DEADLINE_MS);
    make_up(s);
    assert_soon(counters[IDLE] == THREADS, DEADLINE_MS);
    assert_int_equal(counters[IN_USE], counters[KEPT]);
    workers_kill(w, index, SIGKILL);
    return counters[KEPT];
}

/* Kills it whatever it does; what it surely has. */
static uint64_t kill_at_once(server *s, workers *w, unsigned index)
{
    workers_kill(w, index, SIGKILL);
    make_up(s);
    return workers_shared(w)->counters[index][IN_USE];
}

/* Kills some, one after the other; how much they have together. */
static uint64_t
kill_some(watch *w, uint64_t (*kill_one)(server *s, workers *w, unsigned index))
{
    uint64_t missing = 0;

    for (unsigned i = 0; i < DOOMED; i++) {
        w->count = workers_count(w->workers, GRANTED) + wanted_grants() / 20;
        assert_soon(workers_count(w->workers, GRANTED) >= w->count,
                    DEADLINE_MS);
        missing += kill_one(w->server, w->workers, i);
    }
    for (unsigned i = DOOMED; i < PROCESSES; i++)
        workers_shared(w->workers)->counters[i][MAY_END] = 1;
    w->count = PROCESSES - DOOMED;
    assert_soon(workers_count(w->workers, DONE) >= w->count, 10 * DEADLINE_MS);
    workers_end(w->workers);
    for (unsigned i = DOOMED; i < PROCESSES; i++)
        while (workers_exit(w->workers, i) == WORKER_RUNS)
            assert_true(workers_wait(w->workers, SETTLE_MS));
    assert_int_equal(workers_succeeded(w->workers), PROCESSES - DOOMED);
    assert_int_equal(workers_count(w->workers, REFUSED), 0);
    return missing;
}

/* What they had is missing, and no more; the others go on with the rest, and
   with all once somebody has made up for it. */
CHECK_TEST_OF(killed_members_keep_what_they_had, server *s, set_up, NULL)
{
    watch w = {s, workers_start(PROCESSES, process_run, s), 0, 0};

    assert_non_null(w.workers);
    w.value = PERMITS + DOOMED * MOST;
    w.value -= (long long)kill_some(&w, kill_settled);
    assert_int_equal(value_of(s), w.value);
    workers_free(w.workers);
    assert_int_equal(server_integer(s, SERVER_STANDING("n")), 0);
}

/* What was on its way to them may be missing besides, or to the server. */
CHECK_TEST_OF(members_killed_at_any_moment_give_nothing_back, server *s, set_up,
              NULL)
{
    watch w = {s, workers_start(PROCESSES, process_run, s), 0, 0};

    assert_non_null(w.workers);
    w.value = PERMITS + DOOMED * MOST;
    w.value -= (long long)kill_some(&w, kill_at_once);
    assert_in_range(value_of(s), 0, w.value);
    workers_free(w.workers);
    assert_in_range(server_integer(s, SERVER_STANDING("n")), 0,
                    DOOMED * THREADS);
}

CHECK_GROUP(one_server_start, one_server_stop)
