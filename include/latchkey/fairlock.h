/* SPDX-License-Identifier: MIT */
#ifndef LK_FAIRLOCK_H
#define LK_FAIRLOCK_H

/**
 * @file
 * A reentrant lock that is granted in the order in which the server saw the
 * requests.
 *
 * Promise: at most one owner at a time has a valid hold, and nobody overtakes:
 * every waiting owner has a place of its own, across processes and threads.
 * An owner whose client is cut off from the server is passed by, and has its
 * place again if it is back within ten seconds. A lock (lock.h) of the same
 * name is the same lock, with the same queue; only that a newcomer to it may
 * take what is free. Redisson's locks of the same name are excluded as well,
 * but their waiters stand in another queue: between the two sides there is no
 * order.
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

#define LK_FAIRLOCK_OPTIONS_INIT LK_SIZED(lk_fairlock_options)

/**
 * Makes a handle on the fair lock called name. Talks to nobody.
 *
 * @param name  1 to 512 bytes, copied. A brace in it must be part of one
 *              non-empty {tag}, else LK_EINVAL, nor may it begin with
 *              "latchkey:"
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

/** The same without waiting: the wait is the server's and the client's. */
LK_API LK_NODISCARD lk_status lk_fairlock_acquire_async(
    lk_fairlock *fairlock, int64_t wait_ms, const lk_acquire_options *options,
    lk_acquire_cb cb, void *data);

/** Acquires, calls fn, and releases; see lk_lock_run(). */
LK_API LK_NODISCARD lk_status lk_fairlock_run(lk_fairlock *fairlock,
                                              int64_t wait_ms,
                                              const lk_acquire_options *options,
                                              lk_run_fn fn, void *data);

/** Takes over a hold that was exported elsewhere; see lk_lock_import(). */
LK_API LK_NODISCARD lk_status
lk_fairlock_import(lk_fairlock *fairlock, const char *text,
                   const lk_acquire_options *options, lk_hold **ret_hold);

/**
 * Has one owner's hold end, and lets nobody else in before it has;
 * see lk_lock_revoke().
 */
LK_API LK_NODISCARD lk_status lk_fairlock_revoke(lk_fairlock *fairlock,
                                                 const char *owner,
                                                 int64_t *ret_left_ms);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_fairlock_revoke_async(lk_fairlock *fairlock,
                                                       const char *owner,
                                                       lk_revoke_cb cb,
                                                       void *data);

/**
 * Ends whoever's hold it is and hands the lock to the next waiter. The holder
 * is told, if it is a Latchkey client. For operators, not for programs.
 *
 * @return LK_OK; LK_ENOTHELD: nobody held it
 */
LK_API LK_NODISCARD lk_status lk_fairlock_force_release(lk_fairlock *fairlock);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_fairlock_force_release_async(
    lk_fairlock *fairlock, lk_done_cb cb, void *data);

/** Asks the server whether anybody holds the lock. */
LK_API LK_NODISCARD lk_status lk_fairlock_is_locked(lk_fairlock *fairlock,
                                                    bool *ret_locked);

/** Ends lk_fairlock_is_locked_async(); locked means nothing unless LK_OK. */
typedef void (*lk_fairlock_is_locked_cb)(lk_status status, bool locked,
                                         void *data);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_fairlock_is_locked_async(
    lk_fairlock *fairlock, lk_fairlock_is_locked_cb cb, void *data);

/** Asks who holds the lock and who waits. Free with lk_info_free(). */
LK_API LK_NODISCARD lk_status lk_fairlock_info(lk_fairlock *fairlock,
                                               lk_info **ret_info);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_fairlock_info_async(lk_fairlock *fairlock,
                                                     lk_info_cb cb, void *data);

#ifdef __cplusplus
}
#endif

#endif /* LK_FAIRLOCK_H */
