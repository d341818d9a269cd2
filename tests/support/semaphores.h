/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_SEMAPHORES_H
#define LK_TESTS_SUPPORT_SEMAPHORES_H

#include "support/locking.h"

/* For tests of the leased semaphore: what only it has, beside locking.h. */

/* A handle on the name n, of a client or of a new one, which is ready; with as
   many permits; 0: they are set elsewhere. */
lk_semaphore *sem_of(locking *f, lk_client *client, uint64_t permits);
lk_semaphore *sem_new(locking *f, uint64_t permits);
/* The same of a client whose inbox stands: it may queue at once. */
lk_semaphore *sem_calm(locking *f, uint64_t permits);
/* With all options, on any name. */
lk_semaphore *sem_with(locking *f, lk_client *client, const char *name,
                       const lk_semaphore_options *options);

/* Permits that must be free; for a lease: one that is fixed. */
lk_hold *sem_hold(lk_semaphore *semaphore, uint64_t count);
lk_hold *
sem_hold_for(lk_semaphore *semaphore, uint64_t count, uint64_t lease_ms);
/* One try, which must be refused as busy. */
void sem_assert_busy(lk_semaphore *semaphore, uint64_t count);

/* options may be NULL. What it got is released at the end of the test. */
taker *sem_take(locking *f, lk_semaphore *semaphore, uint64_t count,
                int64_t wait_ms, const lk_acquire_options *options);
/* The same, without limit, and as the place-th in the server's queue. */
taker *sem_queue_up(locking *f, lk_semaphore *semaphore, uint64_t count,
                    long long place);

/* N permits, of which so many are free, soon; both at the server. */
void sem_assert_books(locking *f, long long permits, long long free);
/* The same at rest: nobody holds, and nobody waits, soon. */
void sem_assert_clean(locking *f, long long permits);

#endif /* LK_TESTS_SUPPORT_SEMAPHORES_H */
