/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_FAIRLOCKING_H
#define LK_TESTS_SUPPORT_FAIRLOCKING_H

#include <latchkey/fairlock.h>

#include <stdbool.h>

#include "support/locking.h"

/*
 * For tests of the fair lock: what locking.h has, and fair locks and threads
 * beside it. Whatever cannot be had fails the running test.
 */

enum { FAIR_LOCKS = 64 };

typedef struct fairlocking {
    locking *base;
    lk_fairlock *locks[FAIR_LOCKS];
    size_t lock_count;
} fairlocking;

/* For cmocka; the server is locking_start_server()'s. */
int fairlocking_setup(void **state);
int fairlocking_teardown(void **state);

#define FAIR_TEST(name)                                                        \
    CHECK_TEST_OF(name, fairlocking *f, fairlocking_setup, fairlocking_teardown)

/* On the name n unless one is given. */
lk_fairlock *
fair_lock_named(fairlocking *f, lk_client *client, const char *name);
lk_fairlock *fair_lock(fairlocking *f, lk_client *client);
/* The same of a client of its own, which is ready. */
lk_fairlock *fair_lock_of_new_client(fairlocking *f);
/* The same of a client whose inbox stands: it may queue at once. */
lk_fairlock *fair_lock_of_calm_client(fairlocking *f);

/* A hold on a lock that must be free; for a lease: with one that is fixed. */
lk_hold *fair_hold(lk_fairlock *lock);
lk_hold *fair_hold_for(lk_fairlock *lock, uint64_t lease_ms);

/* options may be NULL. What it got is released at the end of the test. */
taker *fair_take(fairlocking *f, lk_fairlock *lock, int64_t wait_ms,
                 const lk_acquire_options *options);
/* The same, without limit, and as the count-th in the server's queue. */
taker *fair_queue_up(fairlocking *f, lk_fairlock *lock, long long count);

/* Milliseconds since an earlier wait_now_ms(). */
uint64_t fair_since_ms(uint64_t begin);

/* Nobody holds the name n, and nobody waits for it, soon. */
void fair_assert_clean(fairlocking *f);

#endif /* LK_TESTS_SUPPORT_FAIRLOCKING_H */
