/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_TAKER_H
#define LK_TESTS_SUPPORT_TAKER_H

#include <latchkey/hold.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Threads that want something, each once. Those of a test end with it. Whatever
 * cannot be had fails the running test.
 */

enum { TAKERS = 128 };

typedef struct taker taker;

/* Gets t->object into t->hold, in t->wait_ms and with t->options. */
typedef lk_status taker_acquire(taker *t);

struct taker {
    pthread_t thread;
    taker_acquire *acquire;
    void *object;   /* a lock, a semaphore: what its function takes */
    uint64_t share; /* the mode or the number of permits, of what has these */
    int64_t wait_ms;
    lk_acquire_options options;
    atomic_int *turns; /* of all takers of the test */
    bool joined;
    /* What became of it, once done. */
    atomic_bool done;
    lk_status status;
    lk_hold *hold;
    int turn; /* which of the grants of these its was, from 1 */
    uint64_t took_ms;
    char words[200]; /* of lk_last_error() */
};

typedef struct taker_list {
    taker *all[TAKERS];
    size_t count;
    atomic_int turns; /* how many of them had what they want */
} taker_list;

/* Starts one; options may be NULL. */
taker *taker_start(taker_list *all, taker_acquire *acquire, void *object,
                   uint64_t share, int64_t wait_ms,
                   const lk_acquire_options *options);

/* Waits for its end, 10 s at most (scaled), and returns the status. */
lk_status taker_join(taker *t);
/* Joins it, which must have got what it wants, and releases that. */
lk_status taker_release(taker *t);
/* It has not ended yet. */
bool taker_waits(taker *t);

/* Joins and frees all, whose clients have to be shut down, so that none waits any
   more; what they have is released. */
void takers_end(taker_list *all);

#endif /* LK_TESTS_SUPPORT_TAKER_H */
