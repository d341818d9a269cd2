/* SPDX-License-Identifier: MIT */

/*
 * Cells under load: processes that count up one cell by updates while their
 * connections are cut, and some of them are killed and stopped. What is counted
 * is what was said to be counted, but for those that were in doubt or killed.
 */

#include <latchkey/cell.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/one_server.h"
#include "support/wait.h"
#include "support/worker.h"

enum {
    PROCESSES = 6,
    KILLED = 0,
    STOPPED = 1,
    ROUNDS = 200, /* of each worker at least */
    DEADLINE_MS = 60000,
    CUTS = 20,
    BETWEEN = 20, /* updates from one cut to the next */
    ENOUGH = 10   /* of a worker that is killed */
};

/* Of each worker's updates: AWAY were never sent, so they do not count. */
enum { DONE, TRIED, DOUBTED, AWAY, FAILED };

static lk_status
add_one(const lk_cell_value *old, lk_cell_draft *draft, void *data)
{
    long long number =
        old == NULL ? 0 : strtoll((const char *)old->bytes, NULL, 10);
    char text[32];

    (void)data;
    (void)snprintf(text, sizeof(text), "%lld", number + 1);
    return lk_cell_draft_set(draft, text, strlen(text));
}

static const lk_cell_update_options stubborn = {LK_CELL_UPDATE_OPTIONS_INIT,
                                                .tries = 100000};

static int worker_run(worker_shared *shared, unsigned index, void *data)
{
    _Atomic uint64_t *counters = shared->counters[index];
    lk_client *client = NULL;
    lk_cell *cell = NULL;

    if (lk_client_open(&client, server_url(data), NULL) != LK_OK ||
        lk_cell_new(&cell, client, "n", NULL) != LK_OK)
        return 1;
    while (counters[DONE] < ROUNDS || !shared->is_over) {
        lk_status status;

        counters[TRIED]++;
        status = lk_cell_update(cell, &stubborn, add_one, NULL, NULL);
        if (status == LK_OK)
            counters[DONE]++;
        else if (status == LK_EPENDING)
            counters[DOUBTED]++;
        else if (status == LK_EOFFLINE)
            counters[AWAY]++;
        else
            counters[FAILED]++;
    }
    lk_cell_free(cell);
    lk_client_free(client);
    return 0;
}

static bool has_done_enough(worker_shared *shared)
{
    return shared->counters[KILLED][DONE] >= ENOUGH &&
           shared->counters[STOPPED][DONE] >= ENOUGH;
}

typedef struct progress {
    workers *workers;
    uint64_t done;
} progress;

/* Between two cuts they get on, so that each cut hits something. */
static void cut(server *s, workers *w)
{
    for (int i = 0; i < CUTS; i++) {
        progress p = {w, workers_count(w, DONE) + BETWEEN};

        (void)server_integer(s, "CLIENT KILL TYPE normal SKIPME yes");
        assert_soon(workers_count(p.workers, DONE) >= p.done, DEADLINE_MS);
    }
}

static uint64_t counted(server *s)
{
    char *text = server_string(s, "HGET latchkey:{n}:c value");
    uint64_t number = strtoull(text, NULL, 10);

    free(text);
    return number;
}

CHECK_TEST_OF(each_update_counts_once, server *s, NULL, NULL)
{
    workers *w = workers_start(PROCESSES, worker_run, s);
    uint64_t done, doubted;

    assert_non_null(w);
    assert_soon(has_done_enough(workers_shared(w)), DEADLINE_MS);
    workers_kill(w, STOPPED, SIGSTOP);
    workers_kill(w, KILLED, SIGKILL);
    cut(s, w);
    workers_kill(w, STOPPED, SIGCONT);
    workers_end(w);
    assert_true(workers_wait(w, DEADLINE_MS));
    assert_int_equal(workers_succeeded(w), PROCESSES - 1);
    assert_int_equal(workers_count(w, FAILED), 0);
    done = workers_count(w, DONE);
    doubted = workers_count(w, DOUBTED);
    /* One may be in doubt for each cut, and the last of the killed one's. */
    assert_in_range(doubted, 0, CUTS * (PROCESSES - 1));
    assert_in_range(workers_count(w, TRIED) - done - doubted -
                        workers_count(w, AWAY),
                    0, 1);
    assert_true(done >= (uint64_t)ROUNDS * (PROCESSES - 1));
    assert_in_range(counted(s), done, done + doubted + 1);
    workers_free(w);
}

CHECK_GROUP(one_server_start, one_server_stop)
