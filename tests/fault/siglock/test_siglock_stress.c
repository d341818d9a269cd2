/* SPDX-License-Identifier: MIT */

/*
 * The siglock under load, with the other library beside it: processes and
 * threads that want one name, while connections are cut and some processes are
 * killed. Never are two inside. LK_LONG=1 in the environment asks for ten times
 * the grants.
 */

#include <latchkey/siglock.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/one_server.h"
#include "support/pylock.h"
#include "support/wait.h"
#include "support/worker.h"

enum {
    PROCESSES = 6,
    THREADS = 3,
    OTHERS = 2, /* the last processes are the other library's */
    KILLED = 2,
    GRANTS = 1500,
    CUT_EVERY_MS = 100,
    PATIENCE_MS = 60000
};

enum { COUNT_GRANTS, COUNT_ODDITIES, COUNT_LOSSES };

static uint64_t wanted_grants(void)
{
    const char *text = getenv("LK_LONG");

    return text != NULL && strcmp(text, "1") == 0 ? UINT64_C(10) * GRANTS
                                                  : GRANTS;
}

/* ---- workers ---------------------------------------------------------------- */

typedef struct crew {
    worker_shared *shared;
    unsigned index, thread;
    lk_siglock *lock;
    pthread_t id;
} crew;

static void inside(worker_shared *shared, unsigned index, unsigned owner)
{
    record *r = &shared->records[0];

    (void)record_enter(r, owner, 0);
    record_stay(shared->counters[index][COUNT_GRANTS]);
    (void)record_leave(r, owner);
    shared->counters[index][COUNT_GRANTS]++;
}

/* Cut off, it may not know in time what became of its request. */
static bool is_refusal(lk_status status)
{
    return status == LK_ETIMEDOUT || status == LK_EINDOUBT ||
           status == LK_EOFFLINE || status == LK_EBUSY;
}

static void turn(const crew *c, unsigned round)
{
    static const int64_t waits[] = {LK_FOREVER, 5, LK_FOREVER, 0};
    _Atomic uint64_t *counters = c->shared->counters[c->index];
    int64_t wait_ms = waits[round % 4];
    lk_hold *hold;
    lk_status status = lk_siglock_acquire(c->lock, wait_ms, NULL, &hold);

    if (status != LK_OK) {
        counters[COUNT_ODDITIES] +=
            !is_refusal(status) || wait_ms == LK_FOREVER;
        return;
    }
    inside(c->shared, c->index, c->index * THREADS + c->thread);
    status = lk_hold_release(hold);
    counters[COUNT_LOSSES] += status != LK_OK && !is_refusal(status);
}

static void *thread_run(void *data)
{
    const crew *c = data;
    unsigned round = c->index + c->thread;

    while (!atomic_load(&c->shared->is_over))
        turn(c, round++);
    return NULL;
}

static int ours_run(worker_shared *shared, unsigned index, const server *s)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_scaled_ms(2000)};
    lk_client *client;
    crew crews[THREADS] = {{.shared = shared, .index = index}};
    int failures = 0;

    if (lk_client_open(&client, server_url(s), &options) != LK_OK ||
        lk_siglock_new(&crews[0].lock, client, "n", NULL) != LK_OK)
        return 1;
    for (unsigned i = 0; i < THREADS; i++) {
        crews[i] = crews[0];
        crews[i].thread = i;
        failures +=
            pthread_create(&crews[i].id, NULL, thread_run, &crews[i]) != 0;
    }
    for (unsigned i = 0; i < THREADS; i++)
        failures += pthread_join(crews[i].id, NULL) != 0;
    lk_siglock_free(crews[0].lock);
    failures += lk_client_shutdown(client, wait_scaled_ms(10000)) != LK_OK;
    lk_client_free(client);
    return failures;
}

/* Tries, waits for the signal, tries again. The signal may be popped by one
   that is killed then; so it does not wait without limit. */
static int theirs_run(worker_shared *shared, unsigned index, const server *s)
{
    char id[16];
    pylock *p;
    bool listens = false;

    (void)snprintf(id, sizeof(id), "theirs%u", index);
    p = pylock_new(s, "n", id, (int)wait_scaled_ms(3));
    while (!atomic_load(&shared->is_over)) {
        if (!pylock_try(p)) {
            if (!listens)
                pylock_listen(p);
            listens = !pylock_heard(p, 200);
            continue;
        }
        inside(shared, index, index * THREADS);
        shared->counters[index][COUNT_LOSSES] += !pylock_release(p);
    }
    pylock_free(p);
    return 0;
}

static int process_run(worker_shared *shared, unsigned index, void *data)
{
    return index < PROCESSES - OTHERS ? ours_run(shared, index, data)
                                      : theirs_run(shared, index, data);
}

/* ---- disturbances ---------------------------------------------------------- */

static void worker_kill(workers *w, unsigned worker)
{
    workers_kill(w, worker, SIGKILL);
    for (unsigned i = 0; i < THREADS; i++)
        (void)record_abandon(&workers_shared(w)->records[0],
                             worker * THREADS + i);
}

/* Some connection of one of our clients: they bear a name. */
static void cut_one(server *s, unsigned which)
{
    char *list = server_string(s, "CLIENT LIST");
    char *rest = NULL;
    unsigned seen = 0;

    for (char *line = strtok_r(list, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (strstr(line, " name= ") != NULL || seen++ != which % 7)
            continue;
        (void)server_integer(s, "CLIENT KILL ID %lld",
                             strtoll(line + strlen("id="), NULL, 10));
        break;
    }
    free(list);
}

typedef struct goal {
    workers *workers;
    uint64_t grants;
} goal;

/* Nobody is promised a share; but each side has one. */
static bool has_some(workers *w, unsigned from, unsigned to)
{
    uint64_t sum = 0;

    for (unsigned i = from; i < to; i++)
        sum += workers_shared(w)->counters[i][COUNT_GRANTS];
    return sum > 0;
}

static bool is_reached(void *data)
{
    const goal *g = data;

    return workers_count(g->workers, COUNT_GRANTS) >= g->grants &&
           has_some(g->workers, KILLED, PROCESSES - OTHERS) &&
           has_some(g->workers, PROCESSES - OTHERS, PROCESSES);
}

/* Cuts connections until there are so many grants. */
static void reach(server *s, workers *w, uint64_t grants)
{
    goal g = {w, grants};

    for (unsigned i = 0; i < 10 * PATIENCE_MS / CUT_EVERY_MS; i++) {
        if (wait_until(is_reached, &g, CUT_EVERY_MS))
            return;
        cut_one(s, i);
    }
    fail_msg("%llu grants instead of %llu",
             (unsigned long long)workers_count(w, COUNT_GRANTS),
             (unsigned long long)grants);
}

/* ---- the test -------------------------------------------------------------- */

static bool is_free(void *data)
{
    return server_integer(data, "EXISTS lock:n") == 0;
}

static void one_at_a_time_is_inside_whatever_happens(void **state)
{
    server *s = *state;
    workers *w = workers_start(PROCESSES, process_run, s);

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
    assert_int_equal(workers_shared(w)->records[0].overlaps, 0);
    assert_int_equal(workers_shared(w)->records[0].inside, 0);
    workers_free(w);
    assert_true(wait_until(is_free, s, PATIENCE_MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_at_a_time_is_inside_whatever_happens),
    };

    return cmocka_run_group_tests(tests, one_server_start, one_server_stop);
}
