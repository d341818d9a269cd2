/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_WORKER_H
#define LK_TESTS_SUPPORT_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "support/record.h"

/*
 * Processes that do the same work at once, over memory that they share.
 *
 * Start them before the program has any thread (a client, a proxy), since a
 * child of fork() has only the thread that forked. A worker opens its own
 * clients; what the parent has open is not for it, but server_command() and
 * its like are. Workers die with the thread that started them.
 *
 * A worker leaves by worker_leave() with what its function returns, 0 for
 * success. A failed cmocka assertion in it aborts it, so it counts as killed by
 * SIGABRT.
 */

enum { WORKER_MAX = 64, WORKER_RECORDS = 8, WORKER_COUNTERS = 9 };

/* All zero at the start. */
typedef struct worker_shared {
    _Atomic bool is_over; /* workers should come to an end */
    record records[WORKER_RECORDS];
    _Atomic uint64_t counters[WORKER_MAX][WORKER_COUNTERS]; /* per worker */
} worker_shared;

typedef struct workers workers;

enum { WORKER_LEAKED = 97 };

/* Ends a child that a test forked, with this status or WORKER_LEAKED. */
_Noreturn void worker_leave(int status);

/* Returns the exit status, 0 to 127. data is the child's own copy. */
typedef int (*worker_function)(worker_shared *shared, unsigned index,
                               void *data);

/* Forks n of them; they begin together. NULL on failure, errno tells why. */
workers *workers_start(unsigned n, worker_function function, void *data);
/* Kills those that still run. NULL is allowed. */
void workers_free(workers *w);

worker_shared *workers_shared(workers *w);
pid_t workers_pid(const workers *w, unsigned index);

/* The sum of one counter over all workers. */
uint64_t workers_count(workers *w, unsigned counter);

/* Sets is_over. */
void workers_end(workers *w);
/*
 * Sends a signal. For SIGKILL it returns when the worker is gone, for SIGSTOP
 * when it is stopped, or gone.
 */
void workers_kill(workers *w, unsigned index, int signal);

/* Waits for all; false: some still run after deadline_ms, scaled. */
bool workers_wait(workers *w, unsigned deadline_ms);

enum { WORKER_RUNS = -1000 };

/* The exit status, the negative signal number that ended it, or WORKER_RUNS. */
int workers_exit(workers *w, unsigned index);
/* How many exited with 0. */
unsigned workers_succeeded(workers *w);

#endif /* LK_TESTS_SUPPORT_WORKER_H */
