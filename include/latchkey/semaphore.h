/* SPDX-License-Identifier: MIT */
#ifndef LK_SEMAPHORE_H
#define LK_SEMAPHORE_H

/**
 * @file
 * N permits shared by every process that names them, leased to their holders:
 * Redisson's RPermitExpirableSemaphore. latchkey/plain_semaphore.h has the
 * bare counter (RSemaphore). One name is used as one of the two.
 *
 * Promise: no more than N permits are validly held, and those of a killed
 * process come back when their lease ends. Waiters are served in order, several
 * at once if there is room; a large request is not starved by small ones.
 * Redisson on the same name keeps no order, and ends leases by its own hosts'
 * clocks (docs/semaphore.md).
 *
 * Threads: a handle may be used from any thread. Permits are not re-entered:
 * each acquire takes its own, so a thread may wait for itself.
 *
 * Lifetime: freeing the handle is local; a hold outlives it.
 */

#include <latchkey/hold.h>

#ifdef __cplusplus
extern "C" {
#endif

/** More permits than this a semaphore cannot have. */
#define LK_SEMAPHORE_MAX 2147483647

/** More permits than this one hold cannot have. */
#define LK_SEMAPHORE_MAX_COUNT 1000

typedef struct lk_semaphore lk_semaphore;

/** Zero in any field means its default. */
typedef struct lk_semaphore_options {
    size_t size;       /**< set by LK_SEMAPHORE_OPTIONS_INIT */
    uint64_t permits;  /**< N, set by the first acquire where none is set yet;
                            default: set elsewhere */
    uint64_t lease_ms; /**< for acquires that name none; default: watchdog */
    uint64_t resize;   /**< 1: the first acquire replaces another N */
} lk_semaphore_options;

#define LK_SEMAPHORE_OPTIONS_INIT LK_SIZED(lk_semaphore_options)

/**
 * Makes a handle on the semaphore called name; see lk_lock_new() for names.
 * Talks to nobody.
 *
 * @return LK_OK; LK_ERANGE: .permits is more than LK_SEMAPHORE_MAX; LK_EINVAL:
 *         .resize without .permits, or another bad argument
 */
LK_API LK_NODISCARD lk_status
lk_semaphore_new(lk_semaphore **ret_semaphore, lk_client *client,
                 const char *name, const lk_semaphore_options *options);

/** Frees the handle. NULL is allowed. No call may be using it. */
LK_API void lk_semaphore_free(lk_semaphore *semaphore);

/**
 * Acquires count permits at once, as one hold. Its fence guards no write.
 *
 * N is compared with .permits until an acquire of this handle has got its
 * permits, or found them busy: what an operator sets later stays.
 *
 * A name that is a tag and nothing else, `{x}`, has no permits: Redisson keeps
 * the leases of `x` under the same key.
 *
 * @param count     1 to LK_SEMAPHORE_MAX_COUNT
 * @param wait_ms   0 tries once, and is refused while anybody waits;
 *                  LK_FOREVER waits without limit
 * @param options   NULL: all defaults. The owner is of no importance
 * @param ret_hold  untouched unless LK_OK
 * @return LK_OK; LK_EBUSY (wait_ms was 0); LK_ETIMEDOUT; LK_ECANCELED;
 *         LK_ECLOSED; LK_EOFFLINE; LK_EINDOUBT; LK_EUNSET: no N is set;
 *         LK_EMISMATCH: N is not .permits; LK_EINVAL: the name is one tag, or
 *         another bad argument; LK_ERANGE: count is more than N, now
 *         or since N was made smaller, or than one hold can have; or the
 *         server's refusal
 */
LK_API LK_NODISCARD lk_status
lk_semaphore_acquire(lk_semaphore *semaphore, uint64_t count, int64_t wait_ms,
                     const lk_acquire_options *options, lk_hold **ret_hold);

/** The same without waiting: the wait is the server's and the client's. */
LK_API LK_NODISCARD lk_status lk_semaphore_acquire_async(
    lk_semaphore *semaphore, uint64_t count, int64_t wait_ms,
    const lk_acquire_options *options, lk_acquire_cb cb, void *data);

/** Acquires, calls fn, and releases; see lk_lock_run(). */
LK_API LK_NODISCARD lk_status
lk_semaphore_run(lk_semaphore *semaphore, uint64_t count, int64_t wait_ms,
                 const lk_acquire_options *options, lk_run_fn fn, void *data);

/** Takes over a hold that was exported elsewhere; see lk_lock_import(). */
LK_API LK_NODISCARD lk_status
lk_semaphore_import(lk_semaphore *semaphore, const char *text,
                    const lk_acquire_options *options, lk_hold **ret_hold);

/**
 * Sets N, whatever it was. More wakes waiters at once; fewer takes nothing
 * from those who hold, and grants nothing until enough came back.
 *
 * @return LK_OK; LK_ERANGE: more than LK_SEMAPHORE_MAX; LK_EINDOUBT: do it
 *         again, once or twice is the same
 */
LK_API LK_NODISCARD lk_status lk_semaphore_resize(lk_semaphore *semaphore,
                                                  uint64_t permits);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_semaphore_resize_async(lk_semaphore *semaphore,
                                                        uint64_t permits,
                                                        lk_done_cb cb,
                                                        void *data);

/**
 * Asks for N and for what is free of it: below 0 after N was made smaller.
 *
 * @return LK_OK; LK_EUNSET: no N is set
 */
LK_API LK_NODISCARD lk_status lk_semaphore_count(lk_semaphore *semaphore,
                                                 uint64_t *ret_permits,
                                                 int64_t *ret_free);

/** Ends lk_semaphore_count_async(); the numbers mean nothing unless LK_OK. */
typedef void (*lk_semaphore_count_cb)(lk_status status, uint64_t permits,
                                      int64_t free, void *data);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_semaphore_count_async(lk_semaphore *semaphore,
                                                       lk_semaphore_count_cb cb,
                                                       void *data);

/**
 * Has one holder's hold end, and gives its permits to nobody before it has;
 * see lk_lock_revoke().
 */
LK_API LK_NODISCARD lk_status lk_semaphore_revoke(lk_semaphore *semaphore,
                                                  const char *owner,
                                                  int64_t *ret_left_ms);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_semaphore_revoke_async(lk_semaphore *semaphore,
                                                        const char *owner,
                                                        lk_revoke_cb cb,
                                                        void *data);

/**
 * Ends one holder's hold at once, though its work may go on, and its permits go
 * to the waiters. The holder is told, if it is a Latchkey client. For operators,
 * not for programs.
 *
 * @param owner  as in lk_party; NULL: all holders
 * @return LK_OK; LK_ENOTHELD: it held nothing
 */
LK_API LK_NODISCARD lk_status
lk_semaphore_force_release(lk_semaphore *semaphore, const char *owner);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_semaphore_force_release_async(
    lk_semaphore *semaphore, const char *owner, lk_done_cb cb, void *data);

/**
 * Asks who holds permits and who waits. Free with lk_info_free().
 *
 * Holders are in the order in which their leases end, and 64 at most.
 * Redisson's are told permit by permit: the owner is the permit's id.
 */
LK_API LK_NODISCARD lk_status lk_semaphore_info(lk_semaphore *semaphore,
                                                lk_info **ret_info);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_semaphore_info_async(lk_semaphore *semaphore,
                                                      lk_info_cb cb,
                                                      void *data);

#ifdef __cplusplus
}
#endif

#endif /* LK_SEMAPHORE_H */
