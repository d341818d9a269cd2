/* SPDX-License-Identifier: MIT */

/*
 * The lock over five servers under load: processes that take turns, while a
 * minority of the servers is killed, stopped and emptied, and some of the
 * processes are killed. Never are two inside at once; afterwards no server has
 * a token. LK_LONG=1 in the environment asks for ten times the turns.
 */

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/redlocking.h"
#include "support/wait.h"
#include "support/worker.h"

enum {
    PROCESSES = 5,
    TURNS = 60,
    SERVERS = REDLOCKING_SERVERS,
    DEADLINE_MS = 100000,
    SETTLE_MS = 20000
};

/* What a worker counts. */
enum { TAKEN, INSIDE, OVERLAPS, REFUSED, SHORT };

static uint64_t turns_wanted(void)
{
    const char *text = getenv("LK_LONG");

    return text != NULL && strcmp(text, "1") == 0 ? UINT64_C(10) * TURNS
                                                  : TURNS;
}

/* Whether somebody else is inside as well. */
static bool is_shared(worker_shared *shared, unsigned index)
{
    for (unsigned i = 0; i < PROCESSES; i++) {
        if (i != index && shared->counters[i][INSIDE] != 0)
            return true;
    }
    return false;
}

/* Inside is only whose hold was valid before and afterwards, by its clock. */
static void take_turn(worker_shared *shared, unsigned index, lk_hold *hold)
{
    _Atomic uint64_t *counters = shared->counters[index];
    bool shared_now;

    counters[INSIDE] = 1;
    shared_now = is_shared(shared, index);
    if (lk_hold_check(hold) != LK_OK)
        counters[SHORT]++;
    else if (shared_now)
        counters[OVERLAPS]++;
    counters[INSIDE] = 0;
    counters[TAKEN]++;
}

static int worker_run(worker_shared *shared, unsigned index, void *data)
{
    redlocking *f = data;
    lk_redlock_options options = redlocking_options();
    lk_client *clients[SERVERS];
    lk_redlock *lock;

    options.lease_ms = wait_lease_ms();
    options.node_timeout_ms = options.lease_ms / 2;
    for (size_t i = 0; i < SERVERS; i++) {
        if (lk_client_open(&clients[i], server_url(f->servers[i]), NULL) !=
            LK_OK)
            return 1;
    }
    if (lk_redlock_new(&lock, clients, SERVERS, "n", &options) != LK_OK)
        return 2;
    while (!shared->is_over) {
        lk_hold *hold = NULL;
        lk_status status = lk_redlock_acquire(lock, 20000, NULL, &hold);

        if (status != LK_OK) {
            shared->counters[index][REFUSED]++;
            continue;
        }
        take_turn(shared, index, hold);
        lk_hold_release(hold);
    }
    lk_redlock_free(lock);
    for (size_t i = 0; i < SERVERS; i++) {
        (void)lk_client_shutdown(clients[i], 5000);
        lk_client_free(clients[i]);
    }
    return 0;
}

/* ---- the parent -------------------------------------------------------------------- */

typedef struct goal {
    workers *workers;
    uint64_t taken;
} goal;

static bool is_reached(void *data)
{
    const goal *g = data;

    return workers_count(g->workers, TAKEN) >= g->taken;
}

/* One fault at a time, and one more of these turns. */
static void wait_turns(workers *w, uint64_t more)
{
    goal g = {w, workers_count(w, TAKEN) + more};

    assert_true(wait_until(is_reached, &g, DEADLINE_MS));
}

static bool is_empty(void *data)
{
    return redlocking_planted(data, SERVERS) == 0;
}

/* Two of the five, never more, are in trouble at once. A server that loses its
   data loses it while nobody may rely on it alone: with its process, here. */
static void trouble(redlocking *f, workers *w, uint64_t turns)
{
    redlocking_freeze(f, 0);
    redlocking_freeze(f, 1);
    wait_turns(w, turns);
    redlocking_thaw(f, 0);
    redlocking_thaw(f, 1);
    wait_turns(w, turns);
    workers_kill(w, 0, SIGKILL);
    workers_shared(w)->counters[0][INSIDE] = 0;
    wait_turns(w, turns);
    workers_kill(w, 1, SIGSTOP); /* who is late does not count as inside */
    workers_shared(w)->counters[1][INSIDE] = 0;
    wait_turns(w, turns);
    workers_kill(w, 1, SIGCONT);
    server_kill(f->servers[2]);
    wait_turns(w, turns);
}

static void nobody_is_inside_with_another(void **state)
{
    redlocking *f = *state;
    workers *w = workers_start(PROCESSES, worker_run, f);

    assert_non_null(w);
    wait_turns(w, 1);
    trouble(f, w, turns_wanted() / 6);
    workers_end(w);
    assert_true(workers_wait(w, DEADLINE_MS));
    assert_int_equal(workers_succeeded(w), PROCESSES - 1);
    assert_int_equal(workers_count(w, OVERLAPS), 0);
    assert_true(wait_until(is_empty, f, SETTLE_MS));
    workers_free(w);
}

#define TEST(f)                                                                \
    cmocka_unit_test_setup_teardown(f, redlocking_setup, redlocking_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nobody_is_inside_with_another),
    };

    return cmocka_run_group_tests(tests, redlocking_start_servers,
                                  redlocking_stop_servers);
}
