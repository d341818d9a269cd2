/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_PLAIN_H
#define LK_TESTS_SUPPORT_PLAIN_H

#include "support/locking.h"

/* For tests of the bare counter: what only it has, beside locking.h. */

/* A handle on n of a client of its own, which is ready: n is set to so many permits. */
lk_plain_semaphore *plain_with(locking *f, uint64_t permits);

/* Acquires, and must succeed. */
void plain_take(lk_plain_semaphore *semaphore, uint64_t count, int64_t wait_ms);
/* Releases, and must succeed. */
void plain_give(lk_plain_semaphore *semaphore, uint64_t count);
/* What the server's counter n is. */
long long plain_value(locking *f);
/* Waits until it is so much, 5 s at most (scaled). */
void plain_wait_value(locking *f, long long value);

/* A thread that acquires so many; options may be NULL. */
taker *plain_begin(locking *f, lk_plain_semaphore *semaphore, uint64_t count,
                   int64_t wait_ms, const lk_acquire_options *options);
/* The same, without limit, and as the place-th in the server's queue. */
taker *plain_queue_up(locking *f, lk_plain_semaphore *semaphore, uint64_t count,
                      long long place);

#endif /* LK_TESTS_SUPPORT_PLAIN_H */
