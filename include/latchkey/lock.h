/* SPDX-License-Identifier: MIT */
#ifndef LK_LOCK_H
#define LK_LOCK_H

/**
 * @file
 * A reentrant mutual-exclusion lock shared by every process that names it,
 * Redisson's RLock included.
 *
 * Promise: at most one owner at a time has a valid hold. Waiters are served
 * in the order in which their clients queued: a release hands the lock over
 * to the next one, in the server, in one step. A newcomer may still take a
 * lock that is free. Waiting in order without exception is the fair lock's.
 *
 * Threads: a handle may be used from any thread. The owner is the calling
 * thread unless the options name one; acquiring again what the owner holds
 * succeeds at once, with the same fence, without asking the server.
 *
 * Lifetime: freeing the handle is local; a hold outlives it.
 */

#include <latchkey/hold.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_lock lk_lock;

/** Zero in any field means its default. */
typedef struct lk_lock_options {
    size_t size;       /**< set by LK_LOCK_OPTIONS_INIT */
    uint64_t lease_ms; /**< for acquires that name none; default: watchdog */
    uint64_t strategy; /**< an lk_lock_strategy. Either side excludes the
                            other; where both wait they take turns */
    uint64_t spin_first_ms; /**< a pause is a random time below this at first
                                 and below twice as much each time; 1 */
    uint64_t spin_most_ms;  /**< and never longer than this; 128 */
} lk_lock_options;

#define LK_LOCK_OPTIONS_INIT LK_SIZED(lk_lock_options)

/**
 * Makes a handle on the lock called name. Talks to nobody.
 *
 * @param name  1 to 512 bytes, copied. A brace in it must be part of one
 *              non-empty {tag}, else LK_EINVAL: Redis Cluster would scatter it.
 *              "latchkey:" at its begin is LK_EINVAL, too, here and for every
 *              other primitive: so the library's own keys begin
 */
LK_API LK_NODISCARD lk_status lk_lock_new(lk_lock **ret_lock, lk_client *client,
                                          const char *name,
                                          const lk_lock_options *options);

/** Frees the handle. NULL is allowed. No call may be using it. */
LK_API void lk_lock_free(lk_lock *lock);

/**
 * Acquires the lock. An owner that holds it gets another hold of the same
 * claim: same fence, and the lease of the first acquire stays.
 *
 * @param wait_ms   0 tries once, which may take command_timeout_ms if the
 *                  server is slow; LK_FOREVER waits without limit; other
 *                  negative values are LK_EINVAL
 * @param options   NULL: all defaults
 * @param ret_hold  untouched unless LK_OK
 * @return LK_OK; LK_EBUSY (wait_ms was 0); LK_ETIMEDOUT (it was not 0);
 *         LK_ECANCELED; LK_ECLOSED; LK_EOFFLINE: the server was away for
 *         offline_ms, never with LK_FOREVER; LK_EINDOUBT: not held, and what the server may yet
 *         grant is given back by itself; or the server's refusal
 */
LK_API LK_NODISCARD lk_status lk_lock_acquire(lk_lock *lock, int64_t wait_ms,
                                              const lk_acquire_options *options,
                                              lk_hold **ret_hold);

/** The same without waiting: the wait is the server's and the client's. */
LK_API LK_NODISCARD lk_status lk_lock_acquire_async(
    lk_lock *lock, int64_t wait_ms, const lk_acquire_options *options,
    lk_acquire_cb cb, void *data);

/**
 * Acquires the lock, calls fn, and releases the lock.
 *
 * @return what lk_lock_acquire() answered if that was not LK_OK; LK_ELOST if
 *         the hold was lost before the release, whatever fn did; else what fn
 *         returned
 */
LK_API LK_NODISCARD lk_status lk_lock_run(lk_lock *lock, int64_t wait_ms,
                                          const lk_acquire_options *options,
                                          lk_run_fn fn, void *data);

/**
 * Takes over a hold of this lock that another process has exported. It has a
 * new fence from then on, and the text is worth nothing any more. Its lease
 * begins again, and is renewed from here if it was renewed there.
 *
 * @param options  NULL, or the owner; the rest is the export's
 * @return LK_OK; LK_ELOST: it does not stand any more, an operator has revoked it,
 *         or another has imported it; LK_EMISMATCH: it is of another name; LK_EINVAL: no export;
 *         LK_EINDOUBT and the like: nothing is held here. If the server has
 *         carried it out all the same, the name stays taken until the lease
 *         has ended, and another try answers LK_ELOST
 */
LK_API LK_NODISCARD lk_status lk_lock_import(lk_lock *lock, const char *text,
                                             const lk_acquire_options *options,
                                             lk_hold **ret_hold);

/**
 * Has the hold of one owner end, and lets nobody else in before it has: it is
 * not renewed any more, its client is told (LK_LOSS_REVOKED), and the lock stays
 * held until that client has released it, or its lease has ended. This does not
 * wait for that: called again, it tells again and answers what is left, and
 * LK_ENOTHELD once it is over. Nothing takes it back. For operators.
 *
 * @param owner        as in lk_party
 * @param ret_left_ms  it ends within so long; LK_FOREVER: it is another
 *                     library's, which cannot be told, and nothing was changed;
 *                     or its key has no end
 * @return LK_OK: it holds still; LK_ENOTHELD: it does not, or not any more;
 *         LK_EINDOUBT: no answer in time, call it again
 */
LK_API LK_NODISCARD lk_status lk_lock_revoke(lk_lock *lock, const char *owner,
                                             int64_t *ret_left_ms);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_lock_revoke_async(lk_lock *lock,
                                                   const char *owner,
                                                   lk_revoke_cb cb, void *data);

/**
 * Ends whoever's hold it is at once, though its work may go on, and hands the
 * lock to the next waiter. The holder is told, if it is a Latchkey client. For
 * operators, not for programs.
 *
 * @return LK_OK; LK_ENOTHELD: nobody held it; LK_EPENDING: no answer came. It
 *         may have been done, and called again it would end the next one's hold
 */
LK_API LK_NODISCARD lk_status lk_lock_force_release(lk_lock *lock);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_lock_force_release_async(lk_lock *lock,
                                                          lk_done_cb cb,
                                                          void *data);

/**
 * The same, but only if the holder is this one: whoever came after those who
 * were looked at keeps what is theirs.
 *
 * @param owner  as in lk_party
 * @return LK_OK; LK_ENOTHELD: it does not hold the lock; nothing was changed;
 *         LK_EINDOUBT: no answer in time, call it again
 */
LK_API LK_NODISCARD lk_status lk_lock_force_release_of(lk_lock *lock,
                                                       const char *owner);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_lock_force_release_of_async(lk_lock *lock,
                                                             const char *owner,
                                                             lk_done_cb cb,
                                                             void *data);

/** Asks the server whether anybody holds the lock. */
LK_API LK_NODISCARD lk_status lk_lock_is_locked(lk_lock *lock,
                                                bool *ret_locked);

/** Ends lk_lock_is_locked_async(); locked means nothing unless LK_OK. */
typedef void (*lk_lock_is_locked_cb)(lk_status status, bool locked, void *data);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_lock_is_locked_async(lk_lock *lock,
                                                      lk_lock_is_locked_cb cb,
                                                      void *data);

/** Asks the server who holds and who waits. Free with lk_info_free(). */
LK_API LK_NODISCARD lk_status lk_lock_info(lk_lock *lock, lk_info **ret_info);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_lock_info_async(lk_lock *lock, lk_info_cb cb,
                                                 void *data);

#ifdef __cplusplus
}
#endif

#endif /* LK_LOCK_H */
