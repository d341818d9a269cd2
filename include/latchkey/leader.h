/* SPDX-License-Identifier: MIT */
#ifndef LK_LEADER_H
#define LK_LEADER_H

/**
 * @file
 * Elects one leader among all who campaign under one name, tells who leads,
 * and in which term.
 *
 * Promise: at most one leader at a time has a valid hold. Its term, which is
 * the hold's fence, is larger than every one before. Candidates follow in the
 * order in which they came. A leader that loses the lead knows before the
 * next one can have it: by lk_hold_check() at once, by its callback
 * .notice_ms before the end and at the end. That rests on the server's keeping
 * what it acknowledged: after a flush, a restart without data, or an
 * operator's force, the next leader may be there first, in a larger term.
 *
 * An election is the fair lock (fairlock.h) of its name.
 *
 * Threads: a handle may be used from any thread. The calling thread campaigns,
 * unless the options name an owner.
 *
 * Lifetime: freeing the handle is local; a hold outlives it, and so do waits
 * and watches that began before.
 */

#include <latchkey/hold.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_leader lk_leader;

/** What tells of every change; see lk_leader_watch_new(). */
typedef struct lk_leader_watch lk_leader_watch;

/** Bytes of a value at most. */
#define LK_LEADER_VALUE_MAX 200

/** Zero in any field means its default. */
typedef struct lk_leader_options {
    size_t size;        /**< set by LK_LEADER_OPTIONS_INIT */
    uint64_t lease_ms;  /**< renewed while the leader lives; a dead one's term
                             ends so long after its last renewal at the
                             latest; default: the client's watchdog_ms */
    uint64_t notice_ms; /**< .lost is called so long before the term would
                             end, as lk_hold_on_lost() says; default: a third of
                             the lease */
    const char *value;  /**< what everybody is told of the leader, such as its
                             address: text of LK_LEADER_VALUE_MAX bytes at
                             most, copied; default: "" */
    lk_lost_cb lost;    /**< set on each hold of a campaign, before the
                             campaign ends; see lk_hold_on_lost() */
    void *lost_data;    /**< handed to lost */
} lk_leader_options;

#define LK_LEADER_OPTIONS_INIT LK_SIZED(lk_leader_options)

/**
 * Makes a handle on the election called name; see lk_lock_new() for names.
 * Talks to nobody.
 *
 * @return LK_OK; LK_EINVAL: a name, a value or a time that cannot be, or a
 *         notice that is not shorter than the lease; LK_ENOMEM; LK_ECLOSED;
 *         LK_EFORKED
 */
LK_API LK_NODISCARD lk_status lk_leader_new(lk_leader **ret_leader,
                                            lk_client *client, const char *name,
                                            const lk_leader_options *options);

/** Frees the handle. NULL is allowed. */
LK_API void lk_leader_free(lk_leader *leader);

/* ---- to lead ------------------------------------------------------------- */

/**
 * Waits to become the leader. The hold is the lead: lk_hold_fence() is the
 * term, lk_hold_check() says whether it is still held. A leader that campaigns
 * again gets another handle in the same term.
 *
 * @param wait_ms   0 tries once, and is refused while anybody leads or waits;
 *                  LK_FOREVER waits without limit
 * @param options   NULL: all defaults. A lease_ms here is a term that is not
 *                  renewed; a third of it is the notice, unless the handle has a
 *                  .notice_ms. A reason is published in place of the value
 * @param ret_hold  untouched unless LK_OK
 * @return LK_OK; LK_EINVAL: also a lease_ms that is not longer than the handle's
 *         .notice_ms; LK_EBUSY (wait_ms was 0); LK_ETIMEDOUT; LK_ECANCELED;
 *         LK_ECLOSED; LK_EOFFLINE; LK_EINDOUBT; or the server's refusal
 */
LK_API LK_NODISCARD lk_status
lk_leader_campaign(lk_leader *leader, int64_t wait_ms,
                   const lk_acquire_options *options, lk_hold **ret_hold);

/** The same without waiting: the wait is the server's and the client's. */
LK_API LK_NODISCARD lk_status lk_leader_campaign_async(
    lk_leader *leader, int64_t wait_ms, const lk_acquire_options *options,
    lk_acquire_cb cb, void *data);

/**
 * Gives up the lead, and tells those who observe. The handle of the hold has
 * ended whatever this answers; lk_hold_release() does the same, but those who
 * observe find out by looking where nobody else comes to lead.
 *
 * @return as lk_hold_release()
 */
LK_API lk_status lk_leader_resign(lk_leader *leader, lk_hold *hold);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_leader_resign_async(lk_leader *leader,
                                                     lk_hold *hold,
                                                     lk_done_cb cb, void *data);

/* ---- to know who leads --------------------------------------------------- */

/**
 * Asks who leads now and who waits to. Free with lk_info_free(). The leader is
 * the one holder, if there is one: its fence is the term, its reason the value.
 * It was so when the server answered; what must be right is guarded by the
 * term, not by this.
 */
LK_API LK_NODISCARD lk_status lk_leader_get(lk_leader *leader,
                                            lk_info **ret_info);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_leader_get_async(lk_leader *leader,
                                                  lk_info_cb cb, void *data);

/** Returns the term that an answer tells of; 0: nobody leads, or NULL. */
LK_API uint64_t lk_leader_term(const lk_info *info);

/**
 * Waits until the term is another one than this: another leader's, or none.
 * An observer that has seen term 7 hears of its end, and perhaps of term 9 alone: terms in
 * between may be missed.
 *
 * @param term      the last one known; 0: nobody led
 * @param wait_ms   0 looks once; LK_FOREVER waits without limit
 * @param cancel    NULL, or a token that ends the wait early
 * @param ret_info  as of lk_leader_get(); untouched unless LK_OK
 * @return LK_OK; LK_EBUSY: it is that term (wait_ms was 0); LK_ETIMEDOUT;
 *         LK_ECANCELED; LK_ECLOSED; LK_EOFFLINE: the server was away for
 *         offline_ms, never with LK_FOREVER; or the server's refusal
 */
LK_API LK_NODISCARD lk_status lk_leader_observe(lk_leader *leader,
                                                uint64_t term, int64_t wait_ms,
                                                lk_cancel *cancel,
                                                lk_info **ret_info);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status
lk_leader_observe_async(lk_leader *leader, uint64_t term, int64_t wait_ms,
                        lk_cancel *cancel, lk_info_cb cb, void *data);

/**
 * Told of every change, first of what is so now.
 *
 * @param status  LK_OK; or why it cannot be told at present: said once, and
 *                looked again every second. LK_ECLOSED comes last
 * @param leader  whose fence is the term and whose reason the value; NULL:
 *                nobody leads, or status is not LK_OK. Only good in the call
 */
typedef void (*lk_leader_cb)(lk_status status, const lk_party *leader,
                             void *data);

/** Has cb called on every change, in order, one call at a time. */
LK_API LK_NODISCARD lk_status lk_leader_watch_new(lk_leader_watch **ret_watch,
                                                  lk_leader *leader,
                                                  lk_leader_cb cb, void *data);

/**
 * Ends it. cb is not called any more, and is not running any more unless it
 * is the caller. NULL is allowed.
 */
LK_API void lk_leader_watch_free(lk_leader_watch *watch);

#ifdef __cplusplus
}
#endif

#endif /* LK_LEADER_H */
