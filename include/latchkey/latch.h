/* SPDX-License-Identifier: MIT */
#ifndef LK_LATCH_H
#define LK_LATCH_H

/**
 * @file
 * A gate that opens for everybody when a count reaches 0; Redisson's
 * RCountDownLatch is the same.
 *
 * Promise: a latch is unset, armed or open. Armed, it opens once, when all
 * that was counted on has happened, each thing counted once however often the
 * network made it be said. Open, it stays so until it is reset, deleted or
 * its time ends, so that whoever comes late passes. A latch that only Redisson
 * used is gone once open: its waiters pass, later ones find it unset.
 *
 * A change that no answer came to may have been done. lk_latch_count_down()
 * returns LK_EPENDING then: it goes on in the background until it is answered,
 * for up to ten minutes, and counts once. lk_latch_reset() and lk_latch_delete()
 * return it, too: repeated, they may undo what others have done since. Any other
 * returns LK_EINDOUBT, and is to be called again.
 *
 * Threads: a handle may be used from any thread. Nobody owns a latch.
 *
 * Lifetime: freeing the handle is local. The latch itself stays on the server
 * until it is deleted or its ttl_ms ends; without one, for an hour after it has
 * opened (fence_keep_ms of its client), and for ever as long as it has not.
 */

#include <latchkey/hold.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_latch lk_latch;

/** Zero in any field means its default. */
typedef struct lk_latch_options {
    size_t size;     /**< set by LK_LATCH_OPTIONS_INIT */
    uint64_t ttl_ms; /**< the latch ends so long after its last change; default:
                          what it was armed with; there, never as long
                          as it is armed: give it one where each job has a
                          name of its own */
} lk_latch_options;

#define LK_LATCH_OPTIONS_INIT LK_SIZED(lk_latch_options)

/** The largest count: 2^53 - 1. */
#define LK_LATCH_COUNT_MAX UINT64_C(9007199254740991)

/** Makes a handle on the latch called name; see lk_lock_new() for names. */
LK_API LK_NODISCARD lk_status lk_latch_new(lk_latch **ret_latch,
                                           lk_client *client, const char *name,
                                           const lk_latch_options *options);

/** Frees the handle. NULL is allowed. No call may be using it. */
LK_API void lk_latch_free(lk_latch *latch);

/**
 * Arms the latch if it is unset.
 *
 * @param count  0 is LK_EINVAL, above LK_LATCH_COUNT_MAX LK_ERANGE; so is
 *               every count here
 * @return LK_OK; LK_EALREADY: it was armed or open, and is unchanged;
 *         LK_EINDOUBT; or the server's refusal
 */
LK_API LK_NODISCARD lk_status lk_latch_try_set_count(lk_latch *latch,
                                                     uint64_t count);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_latch_try_set_count_async(lk_latch *latch,
                                                           uint64_t count,
                                                           lk_done_cb cb,
                                                           void *data);

/**
 * Counts down by count, to 0 at most; harmless on an open latch.
 *
 * @return LK_OK; LK_EUNSET: nothing to count; LK_EPENDING: do not call again,
 *         it would count again; or the server's refusal
 */
LK_API LK_NODISCARD lk_status lk_latch_count_down(lk_latch *latch,
                                                  uint64_t count);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_latch_count_down_async(lk_latch *latch,
                                                        uint64_t count,
                                                        lk_done_cb cb,
                                                        void *data);

/**
 * Says that a member is here; the latch opens when all expected members are.
 * The first to say so arms it. A member is counted once until the latch is
 * reset, so a restarted process may say it again.
 *
 * @param expected  1 or more; the same for all members, and what the latch
 *                  was armed with, else LK_EMISMATCH
 * @param member    its name, the same after a restart; 1 to 200 bytes
 * @return LK_OK, also if the latch is open; LK_EINDOUBT: may be called again;
 *         or the server's refusal
 */
LK_API LK_NODISCARD lk_status lk_latch_arrive(lk_latch *latch,
                                              uint64_t expected,
                                              const char *member);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_latch_arrive_async(lk_latch *latch,
                                                    uint64_t expected,
                                                    const char *member,
                                                    lk_done_cb cb, void *data);

/**
 * Takes an arrival back, unless the latch has opened. A member that stops
 * waiting leaves, so that the others do not start without it. Harmless if it
 * had not arrived. A latch that was armed by the first arrival is unset again
 * when the last one has left and nobody waits.
 *
 * @param ret_open  true: it was open, the others start, and so must this one.
 *                  Untouched unless LK_OK
 * @return LK_OK; LK_EINDOUBT: may be called again, and must be to learn
 *         whether the others start; or the server's refusal
 */
LK_API LK_NODISCARD lk_status lk_latch_leave(lk_latch *latch,
                                             const char *member,
                                             bool *ret_open);

/** Ends lk_latch_leave_async(); open means nothing unless LK_OK. */
typedef void (*lk_latch_leave_cb)(lk_status status, bool open, void *data);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_latch_leave_async(lk_latch *latch,
                                                   const char *member,
                                                   lk_latch_leave_cb cb,
                                                   void *data);

/**
 * Waits until the latch is open. On an unset one, waits for it to be armed
 * and then to open.
 *
 * @param wait_ms  0 looks once; LK_FOREVER waits without limit
 * @param options  NULL, or cancel and reason; an owner or lease is LK_EINVAL
 * @return LK_OK: open, or it opened since the call began; LK_EBUSY (wait_ms
 *         was 0); LK_ETIMEDOUT; LK_ECANCELED; LK_ECLOSED; LK_EOFFLINE; LK_EGONE:
 *         it was deleted, its time ended, or the server has lost it;
 *         LK_EINDOUBT: the time ended before the first answer; or the server's
 *         refusal
 */
LK_API LK_NODISCARD lk_status lk_latch_wait(lk_latch *latch, int64_t wait_ms,
                                            const lk_acquire_options *options);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_latch_wait_async(
    lk_latch *latch, int64_t wait_ms, const lk_acquire_options *options,
    lk_done_cb cb, void *data);

/** Asks what is left to count; 0: open. LK_EUNSET: neither armed nor open. */
LK_API LK_NODISCARD lk_status lk_latch_count(lk_latch *latch,
                                             uint64_t *ret_count);

/** Ends lk_latch_count_async(); count means nothing unless LK_OK. */
typedef void (*lk_latch_count_cb)(lk_status status, uint64_t count, void *data);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_latch_count_async(lk_latch *latch,
                                                   lk_latch_count_cb cb,
                                                   void *data);

/**
 * Arms the latch again, whatever it was, and forgets its members. A wait that
 * the latch opened for still ends with LK_OK; one that it did not goes on.
 *
 * @return LK_OK; LK_EPENDING; or the server's refusal
 */
LK_API LK_NODISCARD lk_status lk_latch_reset(lk_latch *latch, uint64_t count);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_latch_reset_async(lk_latch *latch,
                                                   uint64_t count,
                                                   lk_done_cb cb, void *data);

/**
 * Makes the latch unset; a wait for it to open ends with LK_EGONE.
 *
 * @return LK_OK; LK_EUNSET: it was unset, and a wait for it to be armed goes on;
 *         LK_EPENDING; or the server's refusal
 */
LK_API LK_NODISCARD lk_status lk_latch_delete(lk_latch *latch);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_latch_delete_async(lk_latch *latch,
                                                    lk_done_cb cb, void *data);

/**
 * Asks who has arrived (its holders, by member name: the first 64) and who
 * waits: one party for each client, however many of its threads do. Free with
 * lk_info_free().
 */
LK_API LK_NODISCARD lk_status lk_latch_info(lk_latch *latch,
                                            lk_info **ret_info);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_latch_info_async(lk_latch *latch,
                                                  lk_info_cb cb, void *data);

#ifdef __cplusplus
}
#endif

#endif /* LK_LATCH_H */
