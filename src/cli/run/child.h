/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_RUN_CHILD_H
#define LK_CLI_RUN_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/run/env.h"

/*
 * The command that is run, from fork() to exec(). It stands at a gate until
 * the guardian knows it, and does not run if the guardian or the tool has gone
 * by then.
 */

typedef struct run_start {
    char **argv;
    const run_env *env;
    sigset_t mask;        /* of the tool when it began */
    bool ignored_sigpipe; /* so it was when the tool began */
    bool is_group;        /* in a process group of its own */
    int death_signal;     /* for it when the tool dies; 0: none */
    int gate;             /* it reads one byte from here first */
    int guard;            /* the tool's way to the guardian, which does not
                             see the tool's end while somebody else has it;
                             -1: none */
    int out;              /* its standard output; -1: the tool's */
} run_start;

typedef struct run_child {
    pid_t pid;
    int failure; /* readable: why it could not be run; empty: it could */
} run_child;

/* False: no process, errno tells. Closes gate and out in the tool. */
bool run_child_fork(run_child *child, const run_start *start);

/* Opens the gate by its other end, which it closes. System calls only. */
void run_child_let_in(int gate);

/* Why it did not run, when it has ended: an errno; 0: it did run; -1: the
   guardian was gone before. */
int run_child_failure(run_child *child);

#endif /* LK_CLI_RUN_CHILD_H */
