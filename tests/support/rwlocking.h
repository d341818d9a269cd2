/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_RWLOCKING_H
#define LK_TESTS_SUPPORT_RWLOCKING_H

#include "support/locking.h"

/*
 * For tests of the read-write lock: what only it has, beside locking.h. A mode is
 * its row of kind.h. An owner is the thread unless one is named, so a test that
 * plays several either gives owners or has several threads.
 */

/* With options, which may be NULL. */
lk_rwlock *rwlocking_named(locking *f, lk_client *client, const char *name,
                           const lk_rwlock_options *options);

/* Acquires in a mode; options may be NULL. */
lk_status rwlocking_acquire(lk_rwlock *lock, kind_id mode, int64_t wait_ms,
                            const lk_acquire_options *options,
                            lk_hold **ret_hold);
/* A hold that must be had at once, by an owner of its own; or with a lease
   that is fixed. */
lk_hold *rwlocking_hold(locking *f, lk_rwlock *lock, kind_id mode);
lk_hold *rwlocking_hold_for(locking *f, lk_rwlock *lock, kind_id mode,
                            uint64_t lease_ms);
/* The same of this owner. */
lk_hold *rwlocking_hold_of(lk_rwlock *lock, kind_id mode, lk_owner *owner);
/* What a try of an owner of its own answers; a hold is given back. */
lk_status rwlocking_try(locking *f, lk_rwlock *lock, kind_id mode);

/* options may be NULL. What it got is released at the end of the test. */
taker *rwlocking_take(locking *f, lk_rwlock *lock, kind_id mode,
                      int64_t wait_ms, const lk_acquire_options *options);
/* The same, without limit, when so many of the mode wait at the server. */
taker *rwlocking_queue_up(locking *f, lk_rwlock *lock, kind_id mode, int count);

/* A command that says how many wait in a band of the queue. */
#define RWLOCKING_WAITING                                                      \
    "EVAL return(redis.call('ZCOUNT','latchkey:{n}:q',string.format('%%.0f',"  \
    "ARGV[1]*2^48),string.format('(%%.0f',(ARGV[1]+1)*2^48))) 0 %s"
#define RWLOCKING_WRITERS "1"
#define RWLOCKING_READERS "3"

/* So many claims of the mode wait at the server. */
void rwlocking_wait_queued(locking *f, kind_id mode, int count);
/* So many wait to write above a read of their own. */
void rwlocking_wait_upgrades(locking *f, int count);
/* How many remote holds there are: the fields of the hash but its mode. */
long long rwlocking_holders(locking *f);

#endif /* LK_TESTS_SUPPORT_RWLOCKING_H */
