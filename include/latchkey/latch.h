/* SPDX-License-Identifier: MIT */
#ifndef LK_LATCH_H
#define LK_LATCH_H

/**
 * @file
 * In this release the header is declared so that programs can be written
 * against it; no function of it is in the library yet. A gate that opens for
 * everybody when a count reaches 0; Redisson's RCountDownLatch is the same.
 *
 * Promise: a latch is unset, armed or open. Armed, it opens once, when all
 * that was counted on has happened, each thing counted once however often the
 * network made it be said. Open, it stays so until it is reset, deleted or
 * its time ends, so that whoever comes late passes. A latch that only Redisson
 * used is gone once open: its waiters pass, later ones find it unset.
 *
 * Threads: a handle may be used from any thread. Nobody owns a latch.
 *
 * Lifetime: freeing the handle is local. The latch itself stays on the server
 * until it is deleted or its ttl_ms ends.
 */

#include <latchkey/hold.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_latch lk_latch;

/** Zero in any field means its default. */
typedef struct lk_latch_options {
    size_t size;     /**< set by LK_LATCH_OPTIONS_INIT */
    uint64_t ttl_ms; /**< removed so long after a change; default: never */
} lk_latch_options;

#define LK_LATCH_OPTIONS_INIT .size = sizeof(lk_latch_options)

/** Makes a handle on the latch called name; see lk_lock_new() for names. */
LK_API LK_NODISCARD lk_status lk_latch_new(lk_latch **ret_latch,
                                           lk_client *client, const char *name,
                                           const lk_latch_options *options);

/** Frees the handle. NULL is allowed. No call may be using it. */
LK_API void lk_latch_free(lk_latch *latch);

/**
 * Arms the latch with a count of 1 or more, if it is unset.
 *
 * @return LK_OK; LK_EALREADY: it was armed or open, and is unchanged
 */
LK_API LK_NODISCARD lk_status lk_latch_try_set_count(lk_latch *latch,
                                                     uint64_t count);

/**
 * Counts down by count, to 0 at most; harmless on an open latch.
 *
 * @return LK_OK; LK_EUNSET: nothing to count; LK_EINDOUBT: the library goes on
 *         until it is counted, so do not call again
 */
LK_API LK_NODISCARD lk_status lk_latch_count_down(lk_latch *latch,
                                                  uint64_t count);

/**
 * Says that a member is here; the latch opens when all expected members are.
 * The first to say so arms it. A member is counted once until the latch is
 * reset, so a restarted process may say it again.
 *
 * @param expected  1 or more; the same for all members, else LK_EMISMATCH
 * @param member    its name, the same after a restart; 1 to 200 bytes
 * @return LK_OK, also if the latch is open; LK_EINDOUBT: call again
 */
LK_API LK_NODISCARD lk_status lk_latch_arrive(lk_latch *latch,
                                              uint64_t expected,
                                              const char *member);

/**
 * Takes an arrival back, unless the latch has opened. A member that stops
 * waiting leaves, so that the others do not start without it. Harmless if it
 * had not arrived.
 *
 * @param ret_open  true: it was open, the others start, and so must this one
 */
LK_API LK_NODISCARD lk_status lk_latch_leave(lk_latch *latch,
                                             const char *member,
                                             bool *ret_open);

/**
 * Waits until the latch is open. On an unset one, waits for it to be armed
 * and then to open.
 *
 * @param wait_ms  0 looks once; LK_FOREVER waits without limit
 * @param options  NULL, or cancel and reason; an owner or lease is LK_EINVAL
 * @return LK_OK: open; LK_EBUSY (wait_ms was 0); LK_ETIMEDOUT; LK_ECANCELED;
 *         LK_ECLOSED; LK_EOFFLINE; LK_EGONE: it was deleted or its time ended;
 *         or the server's refusal
 */
LK_API LK_NODISCARD lk_status lk_latch_wait(lk_latch *latch, int64_t wait_ms,
                                            const lk_acquire_options *options);

/** Asks what is left to count; 0: open. LK_EUNSET: neither armed nor open. */
LK_API LK_NODISCARD lk_status lk_latch_count(lk_latch *latch,
                                             uint64_t *ret_count);

/**
 * Arms the latch anew, whatever it was, and forgets its members. A wait that
 * the latch opened for still ends with LK_OK; one that it did not goes on.
 */
LK_API LK_NODISCARD lk_status lk_latch_reset(lk_latch *latch, uint64_t count);

/** Makes the latch unset; its waiters end with LK_EGONE. */
LK_API LK_NODISCARD lk_status lk_latch_delete(lk_latch *latch);

/**
 * Asks who has arrived (its holders, by member name) and who waits. Free with
 * lk_info_free().
 */
LK_API LK_NODISCARD lk_status lk_latch_info(lk_latch *latch,
                                            lk_info **ret_info);

#ifdef __cplusplus
}
#endif

#endif /* LK_LATCH_H */
