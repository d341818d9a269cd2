/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_PLAIN_H
#define LK_TESTS_SUPPORT_PLAIN_H

#include <latchkey/plain_semaphore.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "support/locking.h"

/*
 * For tests of the bare counter: what locking.h has, and handles and threads
 * beside it. Whatever cannot be had fails the running test.
 */

enum { PLAIN_HANDLES = 32, PLAIN_TAKERS = 80 };

/* A thread that acquires once. */
typedef struct plain_taker {
    pthread_t thread;
    lk_plain_semaphore *semaphore;
    uint64_t count;
    int64_t wait_ms;
    lk_acquire_options options;
    atomic_int *turns; /* counts the grants of all takers of a test */
    bool joined;
    /* What became of it, once done. */
    atomic_bool done;
    lk_status status;
    int turn; /* which of these grants its was, from 1 */
    uint64_t took_ms;
} plain_taker;

typedef struct plain {
    locking *base;
    lk_plain_semaphore *handles[PLAIN_HANDLES];
    size_t handle_count;
    plain_taker *takers[PLAIN_TAKERS];
    size_t taker_count;
    atomic_int turns;
} plain;

/* For cmocka; the server is locking_start_server()'s. */
int plain_start(void **state);
int plain_end(void **state);

#define PLAIN_CASE(f) cmocka_unit_test_setup_teardown(f, plain_start, plain_end)

/* A handle on the name n unless one is given. */
lk_plain_semaphore *plain_named(plain *f, lk_client *client, const char *name);
lk_plain_semaphore *plain_of(plain *f, lk_client *client);
/* The same of a client of its own, which is ready. */
lk_plain_semaphore *plain_of_new_client(plain *f);
/* The same, and n is set to so many permits. */
lk_plain_semaphore *plain_with(plain *f, uint64_t permits);

/* Acquires, and must succeed. */
void plain_take(lk_plain_semaphore *semaphore, uint64_t count, int64_t wait_ms);
/* Releases, and must succeed. */
void plain_give(lk_plain_semaphore *semaphore, uint64_t count);
/* What the server's counter n is. */
long long plain_value(plain *f);
/* Waits until it is so much, 5 s at most (scaled). */
void plain_wait_value(plain *f, long long value);

/* options may be NULL. */
plain_taker *plain_begin(plain *f, lk_plain_semaphore *semaphore,
                         uint64_t count, int64_t wait_ms,
                         const lk_acquire_options *options);
/* The same, without limit, and as the place-th in the server's queue. */
plain_taker *plain_queue_up(plain *f, lk_plain_semaphore *semaphore,
                            uint64_t count, long long place);
/* Waits for its end, 10 s at most (scaled), and returns the status. */
lk_status plain_join(plain_taker *t);
bool plain_is_done(plain_taker *t);

/* Waits until nobody waits for n at the server. */
void plain_wait_clean(plain *f);

#endif /* LK_TESTS_SUPPORT_PLAIN_H */
