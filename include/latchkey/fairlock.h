/* SPDX-License-Identifier: MIT */
#ifndef LK_FAIRLOCK_H
#define LK_FAIRLOCK_H

/**
 * @file
 * In this release the header is declared so that programs can be written
 * against it; no function of it is in the library yet. A reentrant lock that
 * is granted in the order in which the server saw the requests.
 *
 * Promise: at most one owner at a time has a valid hold, and nobody overtakes:
 * every waiting owner has a place of its own, across processes and threads.
 * An owner that is cut off from the server for some seconds loses its place.
 * Redisson's locks of the same name are excluded as well, but their waiters
 * stand in another queue: between the two sides there is no order.
 *
 * Threads: a handle may be used from any thread. The owner is the calling
 * thread unless the options name one; acquiring again what the owner holds
 * succeeds at once, with the same fence.
 *
 * Lifetime: freeing the handle is local; a hold outlives it.
 */

#include <latchkey/hold.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_fairlock lk_fairlock;

/** Zero in any field means its default. */
typedef struct lk_fairlock_options {
    size_t size;       /**< set by LK_FAIRLOCK_OPTIONS_INIT */
    uint64_t lease_ms; /**< for acquires that name none; default: watchdog */
} lk_fairlock_options;

#define LK_FAIRLOCK_OPTIONS_INIT .size = sizeof(lk_fairlock_options)

/**
 * Makes a handle on the fair lock called name. Talks to nobody.
 *
 * @param name  1 to 512 bytes, copied. A brace in it must be part of one
 *              non-empty {tag}, else LK_EINVAL
 */
LK_API LK_NODISCARD lk_status
lk_fairlock_new(lk_fairlock **ret_fairlock, lk_client *client, const char *name,
                const lk_fairlock_options *options);

/** Frees the handle. NULL is allowed. No call may be using it. */
LK_API void lk_fairlock_free(lk_fairlock *fairlock);

/**
 * Acquires the lock after everybody who asked before. A wait that ends without
 * the lock leaves the queue, however it ends.
 *
 * @param wait_ms   0 tries once, and is refused while anybody waits;
 *                  LK_FOREVER waits without limit
 * @param options   NULL: all defaults
 * @param ret_hold  untouched unless LK_OK
 * @return LK_OK; LK_EBUSY (wait_ms was 0); LK_ETIMEDOUT; LK_ECANCELED;
 *         LK_ECLOSED; LK_EOFFLINE; LK_EINDOUBT; or the server's refusal
 */
LK_API LK_NODISCARD lk_status
lk_fairlock_acquire(lk_fairlock *fairlock, int64_t wait_ms,
                    const lk_acquire_options *options, lk_hold **ret_hold);

/**
 * Ends whoever's hold it is and hands the lock to the next waiter. The holder
 * is told, if it is a Latchkey client. For operators, not for programs.
 *
 * @return LK_OK; LK_ENOTHELD: nobody held it
 */
LK_API LK_NODISCARD lk_status lk_fairlock_force_release(lk_fairlock *fairlock);

/** Asks the server whether anybody holds the lock. */
LK_API LK_NODISCARD lk_status lk_fairlock_is_locked(lk_fairlock *fairlock,
                                                    bool *ret_locked);

/** Asks who holds the lock and who waits. Free with lk_info_free(). */
LK_API LK_NODISCARD lk_status lk_fairlock_info(lk_fairlock *fairlock,
                                               lk_info **ret_info);

#ifdef __cplusplus
}
#endif

#endif /* LK_FAIRLOCK_H */
