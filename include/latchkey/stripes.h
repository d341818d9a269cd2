/* SPDX-License-Identifier: MIT */
#ifndef LK_STRIPES_H
#define LK_STRIPES_H

/**
 * @file
 * A fixed number of locks, the stripes, for any number of keys: each key is
 * folded onto one of them, the same in every process.
 *
 * Promise: at most one owner at a time has a valid hold of a key. Keys of one
 * stripe exclude each other as well. Many keys are acquired at once without
 * deadlock (multilock.h). All processes have to agree on the number of stripes:
 * it is kept at the server, and a process with another one is refused.
 *
 * Threads: a handle may be used from any thread. The owner is the calling
 * thread unless the options name one; it enters again what it holds, another
 * key of the same stripe included.
 *
 * Lifetime: freeing the handle is local; a hold and a call under way outlive
 * it.
 */

#include <latchkey/hold.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_stripes lk_stripes;

/** More stripes than this are LK_EINVAL. */
#define LK_STRIPES_MAX 65536

/** Zero in any field means its default. */
typedef struct lk_stripes_options {
    size_t size;       /**< set by LK_STRIPES_OPTIONS_INIT */
    uint64_t count;    /**< how many stripes; 64; the same in all processes */
    uint64_t lease_ms; /**< for acquires that name none; default: watchdog */
} lk_stripes_options;

#define LK_STRIPES_OPTIONS_INIT LK_SIZED(lk_stripes_options)

/**
 * Makes a handle on the stripes of one name space. Talks to nobody. Stripe i is
 * the lock (lock.h) called `<name>:stripe:<i>`.
 *
 * @param name  1 to 480 bytes, copied; braces as in lk_lock_new()
 */
LK_API LK_NODISCARD lk_status lk_stripes_new(lk_stripes **ret_stripes,
                                             lk_client *client,
                                             const char *name,
                                             const lk_stripes_options *options);

/** Frees the handle. NULL is allowed. No call may be using it. */
LK_API void lk_stripes_free(lk_stripes *stripes);

/**
 * Tells which stripe a key is folded onto, from 0. Asks nobody;
 * docs/stripes.md says how to compute it elsewhere.
 *
 * @param key  any string, the empty one included
 */
LK_API LK_NODISCARD lk_status lk_stripes_index(const lk_stripes *stripes,
                                               const char *key,
                                               uint64_t *ret_index);

/**
 * Acquires the stripe of a key. The hold is that of a lock, with its fence,
 * which grows for all keys of the stripe.
 *
 * The number of stripes is compared with the server's at the first acquire, and
 * at one that comes a minute or more after the last comparison: that is one
 * round trip more.
 *
 * @return as lk_lock_acquire(); LK_EMISMATCH: the name space is used with
 *         another number of stripes; LK_ETYPE: something else is where that
 *         number is kept
 */
LK_API LK_NODISCARD lk_status
lk_stripes_acquire(lk_stripes *stripes, const char *key, int64_t wait_ms,
                   const lk_acquire_options *options, lk_hold **ret_hold);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_stripes_acquire_async(
    lk_stripes *stripes, const char *key, int64_t wait_ms,
    const lk_acquire_options *options, lk_acquire_cb cb, void *data);

/**
 * Acquires the stripes of many keys, each once, or none of them. The hold is a
 * multilock's: its members are the stripes, and lk_multilock_fence(hold, i) is
 * the fence of keys[i].
 *
 * @param count  1 to LK_MULTILOCK_MAX
 * @return as lk_multilock_acquire() and lk_stripes_acquire()
 */
LK_API LK_NODISCARD lk_status lk_stripes_acquire_many(
    lk_stripes *stripes, const char *const *keys, size_t count, int64_t wait_ms,
    const lk_acquire_options *options, lk_hold **ret_hold);

/** The same without waiting. The keys may go as soon as this has returned. */
LK_API LK_NODISCARD lk_status lk_stripes_acquire_many_async(
    lk_stripes *stripes, const char *const *keys, size_t count, int64_t wait_ms,
    const lk_acquire_options *options, lk_acquire_cb cb, void *data);

#ifdef __cplusplus
}
#endif

#endif /* LK_STRIPES_H */
