/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_SEMAPHORES_H
#define LK_TESTS_SUPPORT_SEMAPHORES_H

#include <latchkey/semaphore.h>

#include <stdbool.h>

#include "support/locking.h"

/*
 * For tests of the leased semaphore: what locking.h has, and semaphores and
 * threads beside it. Whatever cannot be had fails the running test.
 */

enum { SEM_HANDLES = 64 };

typedef struct semaphores {
    locking *base;
    lk_semaphore *handles[SEM_HANDLES];
    size_t handle_count;
} semaphores;

/* For cmocka; the server is locking_start_server()'s. */
int semaphores_setup(void **state);
int semaphores_teardown(void **state);

#define SEM_TEST(name)                                                         \
    CHECK_TEST_OF(name, semaphores *f, semaphores_setup, semaphores_teardown)

/* A handle on the name n, of a client or of a new one, which is ready; with as
   many permits; 0: they are set elsewhere. */
lk_semaphore *sem_of(semaphores *f, lk_client *client, uint64_t permits);
lk_semaphore *sem_new(semaphores *f, uint64_t permits);
/* The same of a client whose inbox stands: it may queue at once. */
lk_semaphore *sem_calm(semaphores *f, uint64_t permits);
/* With all options, on any name. */
lk_semaphore *sem_with(semaphores *f, lk_client *client, const char *name,
                       const lk_semaphore_options *options);

/* Permits that must be free; for a lease: one that is fixed. */
lk_hold *sem_hold(lk_semaphore *semaphore, uint64_t count);
lk_hold *
sem_hold_for(lk_semaphore *semaphore, uint64_t count, uint64_t lease_ms);
/* One try, which must be refused as busy. */
void sem_assert_busy(lk_semaphore *semaphore, uint64_t count);

/* options may be NULL. What it got is released at the end of the test. */
taker *sem_take(semaphores *f, lk_semaphore *semaphore, uint64_t count,
                int64_t wait_ms, const lk_acquire_options *options);
/* The same, without limit, and as the place-th in the server's queue. */
taker *sem_queue_up(semaphores *f, lk_semaphore *semaphore, uint64_t count,
                    long long place);

/* N permits, of which so many are free, soon; both at the server. */
void sem_assert_books(semaphores *f, long long permits, long long free);
/* The same at rest: nobody holds, and nobody waits, soon. */
void sem_assert_clean(semaphores *f, long long permits);

#endif /* LK_TESTS_SUPPORT_SEMAPHORES_H */
