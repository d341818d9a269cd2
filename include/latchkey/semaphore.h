/* SPDX-License-Identifier: MIT */
#ifndef LK_SEMAPHORE_H
#define LK_SEMAPHORE_H

/**
 * @file
 * In this release the header is declared so that programs can be written
 * against it; no function of it is in the library yet. N permits shared by
 * every process: lk_semaphore leases them (Redisson's expirable permits);
 * latchkey/plain_semaphore.h has the bare counter (RSemaphore). One name is
 * used as one of the two.
 *
 * Promise: of a leased semaphore no more than N permits are validly held, and
 * those of a killed process come back when their lease ends. Waiters are
 * served in order; a large request is not starved by small ones. Redisson on
 * the same name keeps no order, and ends leases by its own hosts' clocks.
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

typedef struct lk_semaphore lk_semaphore;

/** Zero in any field means its default. */
typedef struct lk_semaphore_options {
    size_t size;       /**< set by LK_SEMAPHORE_OPTIONS_INIT */
    uint64_t permits;  /**< N, set by the first acquire where none is set yet;
                            default: set elsewhere */
    uint64_t lease_ms; /**< for acquires that name none; default: watchdog */
    uint64_t resize;   /**< 1: the first acquire replaces another N */
} lk_semaphore_options;

#define LK_SEMAPHORE_OPTIONS_INIT .size = sizeof(lk_semaphore_options)

/** Makes a handle on the semaphore called name; see lk_lock_new() for names. */
LK_API LK_NODISCARD lk_status
lk_semaphore_new(lk_semaphore **ret_semaphore, lk_client *client,
                 const char *name, const lk_semaphore_options *options);

/** Frees the handle. NULL is allowed. No call may be using it. */
LK_API void lk_semaphore_free(lk_semaphore *semaphore);

/**
 * Acquires count permits at once, as one hold. Its fence guards no write.
 *
 * @param count     1 or more
 * @param wait_ms   0 tries once; LK_FOREVER waits without limit
 * @param options   NULL: all defaults
 * @param ret_hold  untouched unless LK_OK
 * @return LK_OK; LK_EBUSY (wait_ms was 0); LK_ETIMEDOUT; LK_ECANCELED;
 *         LK_ECLOSED; LK_EOFFLINE; LK_EINDOUBT; LK_EUNSET: no N is set;
 *         LK_EMISMATCH: N is not .permits; LK_ERANGE: count is more than N;
 *         or the server's refusal
 */
LK_API LK_NODISCARD lk_status
lk_semaphore_acquire(lk_semaphore *semaphore, uint64_t count, int64_t wait_ms,
                     const lk_acquire_options *options, lk_hold **ret_hold);

/**
 * Sets N, whatever it was. More wakes waiters at once; fewer takes nothing
 * from those who hold, and grants nothing until enough came back.
 */
LK_API LK_NODISCARD lk_status lk_semaphore_resize(lk_semaphore *semaphore,
                                                  uint64_t permits);

/** Asks for N and for what is free of it: below 0 after N was made smaller. */
LK_API LK_NODISCARD lk_status lk_semaphore_count(lk_semaphore *semaphore,
                                                 uint64_t *ret_permits,
                                                 int64_t *ret_free);

/**
 * Ends one holder's hold, and its permits go to the waiters. For operators.
 *
 * @param owner  as in lk_party; NULL: all holders
 * @return LK_OK; LK_ENOTHELD: it held nothing
 */
LK_API LK_NODISCARD lk_status
lk_semaphore_force_release(lk_semaphore *semaphore, const char *owner);

/** Asks who holds permits and who waits. Free with lk_info_free(). */
LK_API LK_NODISCARD lk_status lk_semaphore_info(lk_semaphore *semaphore,
                                                lk_info **ret_info);

#ifdef __cplusplus
}
#endif

#endif /* LK_SEMAPHORE_H */
