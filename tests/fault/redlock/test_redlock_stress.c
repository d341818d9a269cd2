/* SPDX-License-Identifier: MIT */

/*
 * The lock over five servers under load: processes that take turns, while a
 * minority of the servers is killed, stopped and emptied, and some of the
 * processes are killed. Never are two inside at once, though some stay for a
 * while; nobody is refused; afterwards no server has a token. LK_LONG=1 in the
 * environment asks for ten times the turns.
 */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/check.h"
#include "support/redlocking.h"
#include "support/wait.h"
#include "support/worker.h"

enum {
    PROCESSES = 5,
    STAY_EVERY = 4, /* of the turns of one process, one lasts so long */
    STAY_MS = 20,
    TURNS = 60,
    SERVERS = REDLOCKING_SERVERS,
    DEADLINE_MS = 100000,
    SETTLE_MS = 20000
};

/* What a worker counts: turns whose hold was valid to their end; until when it
   is inside; turns with somebody else inside; acquires that failed; turns whose
   hold ended before they did, which prove nothing. */
enum { TAKEN, INSIDE, OVERLAPS, REFUSED, SHORT };

static uint64_t turns_wanted(void)
{
    const char *text = getenv("LK_LONG");

    return text != NULL && strcmp(text, "1") == 0 ? UINT64_C(10) * TURNS
                                                  : TURNS;
}

/* Whether somebody else is inside as well, by its own clock: to the
   millisecond, so the last one does not count. */
static bool is_shared(worker_shared *shared, unsigned index)
{
    for (unsigned i = 0; i < PROCESSES; i++) {
        if (i != index && shared->counters[i][INSIDE] > wait_now_ms() + 1)
            return true;
    }
    return false;
}

/* Says until when it is inside, then looks; false: it is so no more. */
static bool
look(worker_shared *shared, unsigned index, lk_hold *hold, bool *ret_shared)
{
    shared->counters[index][INSIDE] =
        wait_now_ms() + lk_hold_remaining_ms(hold);
    *ret_shared = is_shared(shared, index);
    return lk_hold_check(hold) == LK_OK;
}

/* Most turns are over at once; some last. */
static bool lasts(uint64_t turn, uint64_t since)
{
    return turn % STAY_EVERY == 0 && wait_now_ms() < since + STAY_MS;
}

static void take_turn(worker_shared *shared, unsigned index, lk_hold *hold)
{
    _Atomic uint64_t *counters = shared->counters[index];
    uint64_t since = wait_now_ms(), turn = counters[TAKEN];
    bool shared_now, valid;

    while ((valid = look(shared, index, hold, &shared_now)) && !shared_now &&
           lasts(turn, since)) {
        const struct timespec moment = {.tv_nsec = 500000};

        (void)nanosleep(&moment, NULL);
    }
    counters[INSIDE] = 0;
    if (!valid)
        counters[SHORT]++;
    else if (shared_now)
        counters[OVERLAPS]++;
    else
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
    options.durable = 0; /* what has lost its data has no vote for a lease */
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

/* Comes back without what it had, among it the vote of the one inside. */
static void empty(redlocking *f, size_t node)
{
    pid_t pid = server_pid(f->servers[node]);

    assert_true(server_restart(f->servers[node]));
    assert_true(server_pid(f->servers[node]) != pid);
}

/* Two of the five, never more, are in trouble at once. */
static void trouble(redlocking *f, workers *w, uint64_t turns)
{
    redlocking_freeze(f, 0);
    redlocking_freeze(f, 1);
    wait_turns(w, turns);
    redlocking_thaw(f, 0);
    redlocking_thaw(f, 1);
    wait_turns(w, turns);
    workers_kill(w, 0, SIGKILL);
    wait_turns(w, turns);
    workers_kill(w, 1, SIGSTOP);
    wait_turns(w, turns);
    workers_kill(w, 1, SIGCONT);
    server_kill(f->servers[2]);
    wait_turns(w, turns);
    assert_true(server_restart(f->servers[2]));
    wait_turns(w, turns);
    empty(f, 3);
    wait_turns(w, turns);
    empty(f, 4);
    wait_turns(w, turns);
}

static void nobody_is_inside_with_another(void **state)
{
    redlocking *f = *state;
    workers *w = workers_start(PROCESSES, worker_run, f);

    assert_non_null(w);
    wait_turns(w, 1);
    trouble(f, w, turns_wanted() / 8);
    workers_end(w);
    assert_true(workers_wait(w, DEADLINE_MS));
    assert_int_equal(workers_succeeded(w), PROCESSES - 1);
    assert_int_equal(workers_count(w, OVERLAPS), 0);
    assert_int_equal(workers_count(w, REFUSED), 0);
    assert_in_range(workers_count(w, SHORT), 0, workers_count(w, TAKEN) / 4);
    assert_true(wait_until(is_empty, f, SETTLE_MS));
    workers_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REDLOCKING_TEST(nobody_is_inside_with_another),
    };

    return cmocka_run_group_tests(tests, redlocking_start_servers,
                                  redlocking_stop_servers);
}
