/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_RWLOCKING_H
#define LK_TESTS_SUPPORT_RWLOCKING_H

#include <latchkey/rwlock.h>

#include <stdbool.h>

#include "support/locking.h"

/*
 * For tests of the read-write lock: what locking.h has, and read-write locks
 * and threads beside it. Whatever cannot be had fails the running test. An
 * owner is the thread unless one is named, so a test that plays several either
 * gives owners or has several threads.
 */

enum { RW_LOCKS = 64, RW_OWNERS = 32 };

typedef enum rw_mode { RW_READ, RW_UPGRADEABLE, RW_WRITE } rw_mode;

typedef struct rwlocking {
    locking *base;
    lk_rwlock *locks[RW_LOCKS];
    lk_client *clients[RW_LOCKS]; /* of these locks */
    size_t lock_count;
    lk_owner *owners[RW_OWNERS];
    size_t owner_count;
} rwlocking;

/* For cmocka; the server is locking_start_server()'s. */
int rwlocking_setup(void **state);
int rwlocking_teardown(void **state);

#define RWLOCK_TEST(name)                                                      \
    CHECK_TEST_OF(name, rwlocking *f, rwlocking_setup, rwlocking_teardown)

/* On the name n unless one is given; options may be NULL. */
lk_rwlock *rwlocking_named(rwlocking *f, lk_client *client, const char *name,
                           const lk_rwlock_options *options);
lk_rwlock *rwlocking_lock(rwlocking *f, lk_client *client);
/* The same of a client of its own, which is ready. */
lk_rwlock *rwlocking_new(rwlocking *f);
/* The same of a client whose inbox stands: it may queue at once. */
lk_rwlock *rwlocking_calm(rwlocking *f);

/* Acquires in a mode; options may be NULL. */
lk_status rwlocking_acquire(lk_rwlock *lock, rw_mode mode, int64_t wait_ms,
                            const lk_acquire_options *options,
                            lk_hold **ret_hold);
/* A hold that must be had at once, by an owner of its own; or with a lease
   that is fixed. */
lk_hold *rwlocking_hold(rwlocking *f, lk_rwlock *lock, rw_mode mode);
lk_hold *rwlocking_hold_for(rwlocking *f, lk_rwlock *lock, rw_mode mode,
                            uint64_t lease_ms);
/* The same of this owner. */
lk_hold *rwlocking_hold_of(lk_rwlock *lock, rw_mode mode, lk_owner *owner);
/* What a try of an owner of its own answers; a hold is given back. */
lk_status rwlocking_try(rwlocking *f, lk_rwlock *lock, rw_mode mode);
/* Another owner that may use the lock. */
lk_owner *rwlocking_owner(rwlocking *f, const lk_rwlock *lock);

/* options may be NULL. What it got is released at the end of the test. */
taker *rwlocking_take(rwlocking *f, lk_rwlock *lock, rw_mode mode,
                      int64_t wait_ms, const lk_acquire_options *options);
/* The same, without limit, when so many of the mode wait at the server. */
taker *
rwlocking_queue_up(rwlocking *f, lk_rwlock *lock, rw_mode mode, int count);

/* A command that says how many wait in a band of the queue. */
#define RWLOCKING_WAITING                                                      \
    "EVAL return(redis.call('ZCOUNT','latchkey:{n}:q',string.format('%%.0f',"  \
    "ARGV[1]*2^48),string.format('(%%.0f',(ARGV[1]+1)*2^48))) 0 %s"
#define RWLOCKING_WRITERS "1"
#define RWLOCKING_READERS "3"

/* So many claims of the mode wait at the server. */
void rwlocking_wait_queued(rwlocking *f, rw_mode mode, int count);
/* So many wait to write above a read of their own. */
void rwlocking_wait_upgrades(rwlocking *f, int count);
/* How many remote holds there are: the fields of the hash but its mode. */
long long rwlocking_holders(rwlocking *f);

/* Nobody holds the name n, and nobody waits for it, soon. */
void rwlocking_assert_clean(rwlocking *f);

#endif /* LK_TESTS_SUPPORT_RWLOCKING_H */
