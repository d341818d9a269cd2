/* SPDX-License-Identifier: MIT */

/*
 * Flights over processes: a thousand callers in eight of them and one
 * computation; a leader that is killed, stopped, or whose connections are cut.
 */

#include <latchkey/flight.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/one_server.h"
#include "support/wait.h"
#include "support/worker.h"

enum { PROCESSES = 8, THREADS = 125, DEADLINE_MS = 30000 };

/* Per worker: computations begun, calls that ended well, calls that did not,
   when its last one ended, when it landed (ms), calls that have begun, callers
   whose value came from elsewhere. */
enum { BEGUN, GOOD, BAD, LAST_MS, LANDED_MS, CALLED, OTHERS };

/* Over all: of worker 0's counters, those that no one else uses. */
enum { GO = 7 };

typedef struct mission {
    server *server;
    unsigned threads;
    uint64_t lease_ms;
} mission;

typedef struct crew {
    worker_shared *shared;
    unsigned index;
    const mission *mission;
    lk_flight *flight;
} crew;

static bool is_go(void *data)
{
    return ((worker_shared *)data)->counters[0][GO] != 0;
}

/* Lasts until the test says go. The value names who made it. */
static lk_status compute(lk_flight_ticket *ticket, void *data)
{
    crew *c = data;
    char text[16];

    c->shared->counters[c->index][BEGUN]++;
    (void)wait_until(is_go, c->shared, DEADLINE_MS);
    (void)snprintf(text, sizeof(text), "%u", c->index);
    c->shared->counters[c->index][LANDED_MS] = wait_now_ms();
    return lk_flight_ticket_set(ticket, text, strlen(text));
}

static void *caller_run(void *data)
{
    crew *c = data;
    _Atomic uint64_t *counters = c->shared->counters[c->index];
    lk_flight_value *value = NULL;
    lk_status status;

    counters[CALLED]++;
    status = lk_flight_do(c->flight, "k", (int64_t)wait_limit_ms(DEADLINE_MS),
                          NULL, compute, c, &value);
    counters[status == LK_OK ? GOOD : BAD]++;
    if (status == LK_OK &&
        strtoul(value->bytes, NULL, 10) != (unsigned long)c->index)
        counters[OTHERS]++;
    counters[LAST_MS] = wait_now_ms();
    lk_flight_value_free(value);
    return NULL;
}

static int worker_run(worker_shared *shared, unsigned index, void *data)
{
    const mission *m = data;
    const lk_flight_options options = {LK_FLIGHT_OPTIONS_INIT, .ttl_ms = 60000,
                                       .lease_ms = m->lease_ms};
    crew c = {.shared = shared, .index = index, .mission = m};
    pthread_t threads[THREADS];
    lk_client *client = NULL;

    if (lk_client_open(&client, server_url(m->server), NULL) != LK_OK ||
        lk_flight_new(&c.flight, client, "f", &options) != LK_OK)
        return 1;
    for (unsigned i = 0; i < m->threads; i++) {
        if (pthread_create(&threads[i], NULL, caller_run, &c) != 0)
            return 2;
    }
    for (unsigned i = 0; i < m->threads; i++)
        (void)pthread_join(threads[i], NULL);
    lk_flight_free(c.flight);
    /* The landing is told before its process is gone. */
    if (lk_client_shutdown(client, (int64_t)wait_limit_ms(DEADLINE_MS)) !=
        LK_OK)
        return 3;
    lk_client_free(client);
    return 0;
}

/* ---- what is waited for ---- */

typedef struct fleet {
    server *server;
    mission mission;
    workers *workers;
    worker_shared *shared;
    unsigned processes;
} fleet;

static void fleet_start(fleet *f, server *s, unsigned processes,
                        unsigned threads, uint64_t lease_ms)
{
    f->server = s;
    f->mission = (mission){s, threads, lease_ms};
    f->processes = processes;
    server_flush(s);
    f->workers = workers_start(processes, worker_run, &f->mission);
    assert_non_null(f->workers);
    f->shared = workers_shared(f->workers);
}

static uint64_t begun(const fleet *f)
{
    return workers_count(f->workers, BEGUN);
}

static bool all_wait(const fleet *f)
{
    return workers_count(f->workers, CALLED) ==
               (uint64_t)f->processes * f->mission.threads &&
           begun(f) == 1 &&
           server_integer(f->server, "EVAL %s 0",
                          "return redis.call('PUBSUB','NUMSUB',"
                          "'latchkey:flight-news:{f:k}')[2]") >=
               (long long)f->processes - 1;
}

static unsigned leader_of(const fleet *f)
{
    for (unsigned i = 0; i < f->processes; i++) {
        if (f->shared->counters[i][BEGUN] != 0)
            return i;
    }
    fail_msg("nobody leads");
    return 0;
}

static bool has_second(void *data)
{
    return begun(data) == 2;
}

static uint64_t last_ms(const fleet *f)
{
    uint64_t last = 0;

    for (unsigned i = 0; i < f->processes; i++) {
        if (f->shared->counters[i][LAST_MS] > last)
            last = f->shared->counters[i][LAST_MS];
    }
    return last;
}

static void let_go(fleet *f)
{
    f->shared->counters[0][GO] = 1;
}

/* ---- tests ---- */

static void a_thousand_callers_cost_one_computation(void **state)
{
    fleet f;
    unsigned leader;

    fleet_start(&f, *state, PROCESSES, THREADS, 0);
    assert_soon(all_wait(&f), DEADLINE_MS);
    leader = leader_of(&f);
    let_go(&f);
    assert_true(workers_wait(f.workers, DEADLINE_MS));
    assert_int_equal(workers_succeeded(f.workers), PROCESSES);
    assert_int_equal(begun(&f), 1);
    assert_int_equal(workers_count(f.workers, GOOD), PROCESSES * THREADS);
    assert_int_equal(workers_count(f.workers, OTHERS),
                     (PROCESSES - 1) * THREADS);
    print_message("the last of %d callers returned %d ms after the landing\n",
                  PROCESSES * THREADS,
                  (int)(last_ms(&f) - f.shared->counters[leader][LANDED_MS]));
    workers_free(f.workers);
}

/* The claim lease is 3 s unless told otherwise, and here less. */
static void a_leader_that_is_killed_is_taken_over_from(void **state)
{
    fleet f;
    uint64_t killed_at;

    fleet_start(&f, *state, 4, 5, wait_lease_ms());
    assert_soon(all_wait(&f), DEADLINE_MS);
    workers_kill(f.workers, leader_of(&f), SIGKILL);
    killed_at = wait_now_ms();
    assert_true(wait_until(has_second, &f, DEADLINE_MS));
    print_message("taken over %d ms after the kill, with a lease of %d ms\n",
                  (int)(wait_now_ms() - killed_at), (int)wait_lease_ms());
    let_go(&f);
    assert_true(workers_wait(f.workers, DEADLINE_MS));
    assert_int_equal(workers_succeeded(f.workers), 3);
    assert_int_equal(begun(&f), 2);
    assert_int_equal(workers_count(f.workers, GOOD), 15);
    workers_free(f.workers);
}

/* What it computes then is for its own callers. */
static void a_leader_that_is_stopped_is_taken_over_from(void **state)
{
    fleet f;
    unsigned first;

    fleet_start(&f, *state, 4, 5, wait_lease_ms());
    assert_soon(all_wait(&f), DEADLINE_MS);
    first = leader_of(&f);
    workers_kill(f.workers, first, SIGSTOP);
    assert_true(wait_until(has_second, &f, DEADLINE_MS));
    let_go(&f);
    /* All but those of the process that is stopped. */
    assert_soon(workers_count(f.workers, GOOD) ==
                    (uint64_t)(f.processes - 1) * f.mission.threads,
                DEADLINE_MS);
    workers_kill(f.workers, first, SIGCONT);
    assert_true(workers_wait(f.workers, DEADLINE_MS));
    assert_int_equal(workers_succeeded(f.workers), 4);
    assert_int_equal(begun(&f), 2);
    assert_int_equal(workers_count(f.workers, GOOD), 20);
    assert_int_equal(f.shared->counters[first][OTHERS], 0);
    assert_int_equal(workers_count(f.workers, OTHERS), 10);
    workers_free(f.workers);
}

static void connections_that_are_cut_change_nothing(void **state)
{
    fleet f;

    fleet_start(&f, *state, 4, 5, 0);
    assert_soon(all_wait(&f), DEADLINE_MS);
    for (int i = 0; i < 3; i++) {
        (void)server_integer(f.server, "CLIENT KILL TYPE normal SKIPME yes");
        (void)server_integer(f.server, "CLIENT KILL TYPE pubsub SKIPME yes");
        assert_soon(all_wait(&f), DEADLINE_MS);
    }
    let_go(&f);
    assert_true(workers_wait(f.workers, DEADLINE_MS));
    assert_int_equal(workers_succeeded(f.workers), 4);
    assert_int_equal(begun(&f), 1);
    assert_int_equal(workers_count(f.workers, GOOD), 20);
    workers_free(f.workers);
}

/* Messages that were under way are lost: whoever waits looks. */
static void a_landing_among_cuts_reaches_everybody(void **state)
{
    fleet f;

    fleet_start(&f, *state, 4, 5, 0);
    assert_soon(all_wait(&f), DEADLINE_MS);
    (void)server_integer(f.server, "CLIENT KILL TYPE pubsub SKIPME yes");
    let_go(&f);
    (void)server_integer(f.server, "CLIENT KILL TYPE pubsub SKIPME yes");
    assert_true(workers_wait(f.workers, DEADLINE_MS));
    assert_int_equal(workers_succeeded(f.workers), 4);
    assert_int_equal(begun(&f), 1);
    assert_int_equal(workers_count(f.workers, GOOD), 20);
    workers_free(f.workers);
}

int test_flight_fleet(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_callers_cost_one_computation),
        cmocka_unit_test(a_leader_that_is_killed_is_taken_over_from),
        cmocka_unit_test(a_leader_that_is_stopped_is_taken_over_from),
        cmocka_unit_test(connections_that_are_cut_change_nothing),
        cmocka_unit_test(a_landing_among_cuts_reaches_everybody),
    };

    return cmocka_run_group_tests_name("flight_fleet", tests, one_server_start,
                                       one_server_stop);
}
