/* SPDX-License-Identifier: MIT */
#ifndef LK_SIGLOCK_H
#define LK_SIGLOCK_H

/**
 * @file
 * A mutual-exclusion lock on the keys of python-redis-lock, so that C and
 * Python exclude each other under one name.
 *
 * Promise: at most one owner at a time has a valid hold. A release wakes one of
 * those who wait, in whichever language. Nobody is promised a turn. A holder
 * that dies is waited for until its lease ends; one of the other library that
 * has no lease, for ever. The layout has no fence: lk_hold_fence() is 0, so
 * nothing guards a resource from a holder that comes late. Where all are
 * Latchkey's, use the lock (lock.h).
 *
 * Threads: a handle may be used from any thread. The owner is the calling
 * thread unless the options name one; acquiring again what the owner holds
 * succeeds at once.
 *
 * Lifetime: freeing the handle is local; a hold outlives it.
 */

#include <latchkey/hold.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_siglock lk_siglock;

/** Zero in any field means its default. */
typedef struct lk_siglock_options {
    size_t size;       /**< set by LK_SIGLOCK_OPTIONS_INIT */
    uint64_t lease_ms; /**< for acquires that name none; default: watchdog */
} lk_siglock_options;

#define LK_SIGLOCK_OPTIONS_INIT LK_SIZED(lk_siglock_options)

/**
 * Makes a handle on the lock that python-redis-lock calls name; its keys are
 * `lock:name` and `lock-signal:name`. Talks to nobody.
 *
 * @param name  1 to 512 bytes, copied. A brace in it must be part of one
 *              non-empty {tag}, and in a Redis Cluster there must be one, else
 *              LK_EINVAL. It may not begin with "latchkey:"
 */
LK_API LK_NODISCARD lk_status lk_siglock_new(lk_siglock **ret_siglock,
                                             lk_client *client,
                                             const char *name,
                                             const lk_siglock_options *options);

/** Frees the handle. NULL is allowed. No call may be using it. */
LK_API void lk_siglock_free(lk_siglock *siglock);

/**
 * Acquires the lock. An owner that holds it gets another hold of the same
 * claim; the lease of the first acquire stays.
 *
 * @param wait_ms   0 tries once; LK_FOREVER waits without limit
 * @param options   NULL: all defaults
 * @param ret_hold  untouched unless LK_OK
 * @return LK_OK; LK_EBUSY (wait_ms was 0); LK_ETIMEDOUT; LK_ECANCELED;
 *         LK_ECLOSED; LK_EOFFLINE; LK_EINDOUBT; LK_ETYPE: one of the keys
 *         holds something else; or the server's refusal
 */
LK_API LK_NODISCARD lk_status
lk_siglock_acquire(lk_siglock *siglock, int64_t wait_ms,
                   const lk_acquire_options *options, lk_hold **ret_hold);

/** The same without waiting: the wait is the server's and the client's. */
LK_API LK_NODISCARD lk_status lk_siglock_acquire_async(
    lk_siglock *siglock, int64_t wait_ms, const lk_acquire_options *options,
    lk_acquire_cb cb, void *data);

/** Acquires, calls fn, and releases; see lk_lock_run(). */
LK_API LK_NODISCARD lk_status lk_siglock_run(lk_siglock *siglock,
                                             int64_t wait_ms,
                                             const lk_acquire_options *options,
                                             lk_run_fn fn, void *data);

/** Takes over a hold that was exported elsewhere; see lk_lock_import(). One that
    ended in doubt cannot be tried again. */
LK_API LK_NODISCARD lk_status
lk_siglock_import(lk_siglock *siglock, const char *text,
                  const lk_acquire_options *options, lk_hold **ret_hold);

/**
 * Has one owner's hold end, and lets nobody else in before it has; see
 * lk_lock_revoke(). Its client finds out when it renews the hold; one that does
 * not renew it never does, and its lease ends it.
 */
LK_API LK_NODISCARD lk_status lk_siglock_revoke(lk_siglock *siglock,
                                                const char *owner,
                                                int64_t *ret_left_ms);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_siglock_revoke_async(lk_siglock *siglock,
                                                      const char *owner,
                                                      lk_revoke_cb cb,
                                                      void *data);

/**
 * Ends whoever's hold it is and wakes one of those who wait. The holder is not
 * told: one that is renewed finds out within a third of its lease, any other
 * when it releases. For operators, not for programs.
 *
 * @return LK_OK; LK_ENOTHELD: nobody held it
 */
LK_API LK_NODISCARD lk_status lk_siglock_force_release(lk_siglock *siglock);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status
lk_siglock_force_release_async(lk_siglock *siglock, lk_done_cb cb, void *data);

/** Asks the server whether anybody holds the lock. */
LK_API LK_NODISCARD lk_status lk_siglock_is_locked(lk_siglock *siglock,
                                                   bool *ret_locked);

/** Ends lk_siglock_is_locked_async(); locked means nothing unless LK_OK. */
typedef void (*lk_siglock_is_locked_cb)(lk_status status, bool locked,
                                        void *data);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_siglock_is_locked_async(
    lk_siglock *siglock, lk_siglock_is_locked_cb cb, void *data);

/** Asks who holds the lock; nobody knows who waits. Free with lk_info_free().
    A holder of the other library has the owner that it has there, a lease of
    -1 if it has no end, and nothing else. */
LK_API LK_NODISCARD lk_status lk_siglock_info(lk_siglock *siglock,
                                              lk_info **ret_info);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_siglock_info_async(lk_siglock *siglock,
                                                    lk_info_cb cb, void *data);

#ifdef __cplusplus
}
#endif

#endif /* LK_SIGLOCK_H */
