/* SPDX-License-Identifier: MIT */
#ifndef LK_MULTILOCK_H
#define LK_MULTILOCK_H

/**
 * @file
 * Several locks, fair locks, read and write locks as one: all are held, or none
 * is.
 *
 * Promise: a hold is valid while each of its members is; when one is lost, the
 * others are released; when one is revoked, all are kept until the hold is
 * released. Members are waited for in the order of their names, the
 * same in every process, so that multilocks never wait for each other in a
 * ring, however many processes want whatever sets of names in whatever order
 * (docs/multilock.md has the proof). A thread that holds something else
 * meanwhile, another multilock too, is outside of that.
 *
 * Threads: every function may be called from any thread. The owner is the
 * calling thread unless the options name one; a member that the owner holds
 * already is re-entered.
 *
 * Lifetime: members are borrowed: each has to live until the multilock is freed
 * and its acquires have ended. Freeing the multilock is local; a hold and a
 * call under way outlive it.
 */

#include <latchkey/fairlock.h>
#include <latchkey/hold.h>
#include <latchkey/lock.h>
#include <latchkey/rwlock.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_multilock lk_multilock;

/** More members than this are LK_EINVAL. */
#define LK_MULTILOCK_MAX 1024

/** Makes a multilock without members. Talks to nobody. */
LK_API LK_NODISCARD lk_status lk_multilock_new(lk_multilock **ret_multilock);

/** Frees the multilock, not its members. NULL is allowed. No call may be using
    it. */
LK_API void lk_multilock_free(lk_multilock *multilock);

/**
 * Adds a member, for acquires that begin later. A name that is there already
 * counts once: the first handle stays, but a write goes before a read, and a
 * fair lock before a lock.
 *
 * @return LK_OK; LK_EMISMATCH: the name is there as a lock and as a read-write
 *         lock; LK_EINVAL: it is there through another client, where it would
 *         wait for itself if both were of one server; LK_EINVAL: too many
 */
LK_API LK_NODISCARD lk_status lk_multilock_add_lock(lk_multilock *multilock,
                                                    lk_lock *lock);
LK_API LK_NODISCARD lk_status lk_multilock_add_fairlock(lk_multilock *multilock,
                                                        lk_fairlock *fairlock);
LK_API LK_NODISCARD lk_status lk_multilock_add_read(lk_multilock *multilock,
                                                    lk_rwlock *rwlock);
LK_API LK_NODISCARD lk_status lk_multilock_add_write(lk_multilock *multilock,
                                                     lk_rwlock *rwlock);

/**
 * Adds the members that another multilock has now, or none of them.
 *
 * @return as lk_multilock_add_lock(); LK_EINVAL as well if other is multilock:
 *         it cannot be a member of itself
 */
LK_API LK_NODISCARD lk_status lk_multilock_add_all(lk_multilock *multilock,
                                                   lk_multilock *other);

/**
 * Acquires all members. All are tried at once; if some are not free, those
 * behind the first of these are given back and it is waited for, and so on.
 * The hold's lease is the shortest of its members'; a fixed one begins again
 * when the last member is granted. What else a hold can do, but:
 *
 * - lk_hold_fence() is 0; see lk_multilock_fence().
 * - lk_hold_extend() that does not answer LK_OK has extended some members or
 *   none: the hold's deadline is the old one or later. The words say how many.
 * - lk_hold_export() is LK_ENOTSUP.
 *
 * Callbacks, this call's and lk_hold_on_lost()'s, are those of the client of
 * the member whose name comes first.
 *
 * @param wait_ms   for all together; 0 tries once; LK_FOREVER waits without
 *                  limit, through outages too: members that were granted are
 *                  renewed and kept from others for as long
 * @param options   NULL: all defaults. An owner or a cancel token only if all
 *                  members are of its client
 * @param ret_hold  untouched unless LK_OK
 * @return LK_OK; LK_EINVAL: no members, or as above; LK_ELOST: members were
 *         lost while others were waited for, again and again; what a member's
 *         acquire answers, with the member's name in the words. Unless LK_OK
 *         nothing is held
 */
LK_API LK_NODISCARD lk_status
lk_multilock_acquire(lk_multilock *multilock, int64_t wait_ms,
                     const lk_acquire_options *options, lk_hold **ret_hold);

/** The same without waiting, and without a thread: the clients' do it. */
LK_API LK_NODISCARD lk_status lk_multilock_acquire_async(
    lk_multilock *multilock, int64_t wait_ms, const lk_acquire_options *options,
    lk_acquire_cb cb, void *data);

/** Acquires, calls fn, and releases; see lk_lock_run(). */
LK_API LK_NODISCARD lk_status
lk_multilock_run(lk_multilock *multilock, int64_t wait_ms,
                 const lk_acquire_options *options, lk_run_fn fn, void *data);

/**
 * Returns the fence of one member of a multilock's hold, as lk_hold_fence()
 * does, also after the hold was lost.
 *
 * @param index  as they were added, from 0; a name that was added twice has two
 * @return 0 if there is none such, or hold is not a multilock's
 */
LK_API uint64_t lk_multilock_fence(const lk_hold *hold, size_t index);

#ifdef __cplusplus
}
#endif

#endif /* LK_MULTILOCK_H */
