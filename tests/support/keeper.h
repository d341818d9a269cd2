/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_KEEPER_H
#define LK_TESTS_SUPPORT_KEEPER_H

#include <sys/types.h>

/*
 * Processes that hold names and wait for names, for tests of what others see.
 * The test program itself must have no client open when one is started.
 */

typedef struct keeper_how {
    const char *url;
    const char *holds;  /* a lock; NULL: none */
    const char *reads;  /* a read-write lock, to read; NULL: none */
    const char *takes;  /* a semaphore of 3 permits, 2 of them; NULL: none */
    const char *waits;  /* a lock that it waits for then; NULL: none */
    const char *writes; /* a read-write lock that it waits for to write, too */
    const char *reason; /* of holds and of the wait */
    int is_apart;       /* another owner waits than holds */
} keeper_how;

/*
 * Starts one; returns when it holds what it is to hold. What it waits for it
 * begins to wait for when somebody holds that. It ends with exit code 0 when a hold is ended by
 * an operator, which it then releases, and dies with the test program.
 */
pid_t keeper_start(const keeper_how *how);

/* Waits for its end, 10 s at most (scaled), and returns the exit code, or 128
   plus the signal. */
int keeper_join(pid_t keeper);

/* Kills it, if it is there yet. */
void keeper_kill(pid_t keeper);

#endif /* LK_TESTS_SUPPORT_KEEPER_H */
