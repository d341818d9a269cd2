/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_TAKER_H
#define LK_TESTS_SUPPORT_TAKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "support/kind.h"

/*
 * Threads that want something, each once. Those of a test end with it. Whatever
 * cannot be had fails the running test.
 */

enum { TAKERS = 256 };

typedef struct taker {
    pthread_t thread;
    const kind *kind;
    void *handle;   /* of that kind */
    uint64_t count; /* of permits; 1 of what has none */
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
} taker;

typedef struct taker_list {
    taker *all[TAKERS];
    size_t count;
    atomic_int turns; /* how many of them had what they want */
} taker_list;

/* Starts one; options may be NULL. */
taker *taker_start(taker_list *all, const kind *k, void *handle, uint64_t count,
                   int64_t wait_ms, const lk_acquire_options *options);

/* Waits for its end, 60 s at most (scaled), and returns the status. */
lk_status taker_join(taker *t);
/* Joins it, which must have got what it wants: the caller's hold. */
lk_hold *taker_hold(taker *t);
/* The same, and releases it. */
lk_status taker_release(taker *t);
/* Whether it ends within so many milliseconds, scaled. */
bool taker_ends(taker *t, unsigned deadline_ms);
/* It has not ended yet. */
bool taker_waits(taker *t);

/* Joins and frees all, whose clients have to be shut down, so that none waits any
   more; what they have is released. */
void takers_end(taker_list *all);

#endif /* LK_TESTS_SUPPORT_TAKER_H */
