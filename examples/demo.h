/* SPDX-License-Identifier: MIT */
#ifndef DEMO_H
#define DEMO_H

/*
 * The pieces of the demo: demo.c starts and ends everything, demo_worker.c is
 * the only one to use the library, demo_screen.c shows what happens.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    WORKERS = 6,
    LEASE_MS = 2000,
    KILL_AFTER_MS = 4000,
    RUN_MS = 12000,
    FRAME_MS = 100,
    PATIENCE_MS = 5000 /* for a server to start, a worker to end */
};

typedef enum state { STARTING, WAITING, HOLDING, DEAD, FAILED } state;

typedef struct worker {
    pid_t pid; /* 0: reaped */
    atomic_int state;
    atomic_uint_least64_t grants, fence;
    atomic_uint_least64_t valid_until; /* of its present or last hold */
} worker;

/* What the workers tell the screen, and each other, outside of Redis. */
typedef struct board {
    char url[128];
    atomic_bool stop;
    atomic_bool stay;     /* the next holder stays inside, to be killed there */
    atomic_int staying;   /* who does; counted from 1 */
    atomic_int inside;    /* who is in the guarded section; counted from 1 */
    atomic_int last;      /* who was before */
    atomic_int passed_to; /* the first one after the kill */
    atomic_uint_least64_t killed_at, passed_at, last_fence;
    atomic_uint_least64_t grants, handovers, overlaps, old_fences;
    worker workers[WORKERS];
} board;

/* Milliseconds on the clock that goes on while the machine sleeps. */
uint64_t now_ms(void);
void sleep_ms(long ms);

/* The life of one worker; returns the exit code of its process. */
int worker_run(board *shared, int number);

/* A screen that redraws itself in place, or lines where that is not wanted. */
typedef struct screen {
    bool live;
    bool drawn;
    bool told_kill, told_passed;
    uint64_t started_at, rated_at, told_at, rated_grants, rate;
} screen;

void screen_start(screen *view);
void screen_show(screen *view, const board *shared);
void screen_end(screen *view, const board *shared);

#endif /* DEMO_H */
