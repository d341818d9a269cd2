/* SPDX-License-Identifier: MIT */
#ifndef LK_PLAIN_SEMAPHORE_H
#define LK_PLAIN_SEMAPHORE_H

/**
 * @file
 * A killed process keeps its permits: what it took and did not give back is
 * missing until somebody adds it. For permits that come back by themselves
 * take lk_semaphore: one name is used as one of the two. A bare counter of
 * permits shared by every process that names it, Redisson's RSemaphore
 * included.
 *
 * Promise: each call changes the counter once, however often the network made
 * it be said. Waiters of Latchkey are served in order, and a large request is
 * not starved by small ones. Redisson on the same name keeps no order. Nobody
 * owns a permit, so anybody may give one back, also one that nobody took.
 *
 * Threads: a handle may be used from any thread. Permits are not re-entered:
 * each acquire takes its own, so a thread may wait for itself.
 *
 * Lifetime: freeing the handle is local. The counter stays on the server until
 * it is deleted or its time ends.
 */

#include <latchkey/hold.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_plain_semaphore lk_plain_semaphore;

/** The counter is between this and its negative, as Redisson's is. */
#define LK_PLAIN_SEMAPHORE_MAX INT64_C(2147483647)

/** Makes a handle on the counter called name; see lk_lock_new() for names. */
LK_API LK_NODISCARD lk_status lk_plain_semaphore_new(
    lk_plain_semaphore **ret_semaphore, lk_client *client, const char *name);

/** Frees the handle. NULL is allowed. No call may be using it. */
LK_API void lk_plain_semaphore_free(lk_plain_semaphore *semaphore);

/**
 * Takes count permits at once, which anybody may give back.
 *
 * @param count    1 or more; LK_ERANGE above LK_PLAIN_SEMAPHORE_MAX. A wait for
 *                 more than there ever are keeps all behind it waiting
 * @param wait_ms  0 tries once; LK_FOREVER waits without limit
 * @param options  NULL, or cancel and reason; an owner or lease is LK_EINVAL
 * @return LK_OK: they are the caller's to give back; LK_EBUSY (wait_ms was 0);
 *         LK_ETIMEDOUT; LK_ECANCELED; LK_ECLOSED; LK_EOFFLINE; LK_EUNSET:
 *         nothing is set; LK_EGONE: the counter was deleted or its time ended
 *         while it was waited for; LK_EINDOUBT: what was taken, if any, is
 *         given back by itself; or the server's refusal
 */
LK_API LK_NODISCARD lk_status
lk_plain_semaphore_acquire(lk_plain_semaphore *semaphore, uint64_t count,
                           int64_t wait_ms, const lk_acquire_options *options);

/** The same without waiting: the wait is the server's and the client's. */
LK_API LK_NODISCARD lk_status lk_plain_semaphore_acquire_async(
    lk_plain_semaphore *semaphore, uint64_t count, int64_t wait_ms,
    const lk_acquire_options *options, lk_done_cb cb, void *data);

/**
 * Gives count permits back, whoever took them. Nothing remembers how many were
 * set: what nobody took is added, too.
 *
 * @param count  1 or more
 * @return LK_OK; LK_EUNSET: nothing is set; LK_ERANGE: it would be above
 *         LK_PLAIN_SEMAPHORE_MAX; LK_EPENDING: the library goes on for ten
 *         minutes until it is done, so do not call again
 */
LK_API LK_NODISCARD lk_status
lk_plain_semaphore_release(lk_plain_semaphore *semaphore, uint64_t count);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_plain_semaphore_release_async(
    lk_plain_semaphore *semaphore, uint64_t count, lk_done_cb cb, void *data);

/**
 * Sets the permits where none are set.
 *
 * @param ttl_ms  0: for ever; else the counter is removed after so long, and
 *                its waiters end with LK_EGONE
 * @return LK_OK; LK_EALREADY: it was set, and is unchanged; LK_EINDOUBT: it
 *         may have been set, call again
 */
LK_API LK_NODISCARD lk_status lk_plain_semaphore_try_set(
    lk_plain_semaphore *semaphore, uint64_t permits, uint64_t ttl_ms);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_plain_semaphore_try_set_async(
    lk_plain_semaphore *semaphore, uint64_t permits, uint64_t ttl_ms,
    lk_done_cb cb, void *data);

/**
 * Adds to the permits, or takes from them if below 0, which may leave fewer
 * than none: then so many releases satisfy nobody. Sets them if unset.
 *
 * @return LK_OK; LK_ERANGE: it would leave the range; LK_EPENDING as above
 */
LK_API LK_NODISCARD lk_status
lk_plain_semaphore_add(lk_plain_semaphore *semaphore, int64_t permits);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_plain_semaphore_add_async(
    lk_plain_semaphore *semaphore, int64_t permits, lk_done_cb cb, void *data);

/**
 * Takes all that are free, past whoever waits, and sets the counter to 0.
 *
 * @param ret_taken  below 0: so many fewer than none there were
 * @return LK_OK; LK_EUNSET; LK_EPENDING: they are taken or will be, and it
 *         cannot be told how many
 */
LK_API LK_NODISCARD lk_status
lk_plain_semaphore_drain(lk_plain_semaphore *semaphore, int64_t *ret_taken);

/** Ends an async call that asks for a number; it is 0 unless LK_OK. */
typedef void (*lk_plain_semaphore_number_cb)(lk_status status, int64_t number,
                                             void *data);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_plain_semaphore_drain_async(
    lk_plain_semaphore *semaphore, lk_plain_semaphore_number_cb cb, void *data);

/** Asks how many are free; below 0 after an add of less. LK_EUNSET. */
LK_API LK_NODISCARD lk_status
lk_plain_semaphore_count(lk_plain_semaphore *semaphore, int64_t *ret_free);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_plain_semaphore_count_async(
    lk_plain_semaphore *semaphore, lk_plain_semaphore_number_cb cb, void *data);

/**
 * Removes the counter; its waiters end with LK_EGONE, also if it is set again
 * at once.
 *
 * @return LK_OK; LK_EUNSET: there was none; LK_EPENDING: it may have been
 *         deleted; called again it may delete what others have set since
 */
LK_API LK_NODISCARD lk_status
lk_plain_semaphore_delete(lk_plain_semaphore *semaphore);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_plain_semaphore_delete_async(
    lk_plain_semaphore *semaphore, lk_done_cb cb, void *data);

/**
 * Asks who waits. Nobody knows who has the permits: there are no holders in
 * it. Free with lk_info_free().
 */
LK_API LK_NODISCARD lk_status
lk_plain_semaphore_info(lk_plain_semaphore *semaphore, lk_info **ret_info);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_plain_semaphore_info_async(
    lk_plain_semaphore *semaphore, lk_info_cb cb, void *data);

#ifdef __cplusplus
}
#endif

#endif /* LK_PLAIN_SEMAPHORE_H */
