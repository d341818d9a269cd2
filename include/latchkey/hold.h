/* SPDX-License-Identifier: MIT */
#ifndef LK_HOLD_H
#define LK_HOLD_H

/**
 * @file
 * What a caller gets when something is granted, and who else has or wants it.
 *
 * Promise: while lk_hold_check() answers LK_OK, nobody else holds the same,
 * as far as the server keeps what it acknowledged (docs/guarantees.md says
 * where that ends). A hold that is lost says so by the clock alone, without
 * any reply: lk_hold_check() at once, the callback and the descriptor at or
 * before the deadline.
 *
 * Threads: a hold may be used and released from any thread, not only from
 * the one that acquired it, but released once.
 *
 * Lifetime: lk_hold_release() ends the handle, whatever it answers.
 */

#include <latchkey/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_hold lk_hold;

/** How to acquire. Zero in any field means its default. */
typedef struct lk_acquire_options {
    size_t size;         /**< set by LK_ACQUIRE_OPTIONS_INIT */
    lk_owner *owner;     /**< who acts; default: the calling thread. Whoever
                             acts for one owner is not kept from each other */
    lk_cancel *cancel;   /**< ends the wait early; default: nothing does */
    uint64_t lease_ms;   /**< fixed lease, not renewed; default: the client's
                             watchdog lease, renewed while the hold lives */
    const char *reason;  /**< shown to operators; at most 200 bytes are kept */
    uint64_t replicas;   /**< so many replicas must have it before it is
                             reported, else it is given back, which may take a
                             moment more: LK_EREPLICAS. No guarantee, less
                             risk: docs/guarantees.md. 1000 at most; 0: none */
    uint64_t replica_ms; /**< for so long after the grant that is waited for,
                              whatever wait_ms is; 1000 */
} lk_acquire_options;

/** The first of the fields, and not all of them:
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT, .lease_ms = 8000}; */
#define LK_ACQUIRE_OPTIONS_INIT LK_SIZED(lk_acquire_options)

/**
 * Ends an async acquire; see lk_done_cb. An async acquire whose options name
 * no owner acts for one of its own: it never re-enters.
 *
 * @param hold  NULL unless status is LK_OK
 */
typedef void (*lk_acquire_cb)(lk_status status, lk_hold *hold, void *data);

/** How a client waits for a lock, or a read-write lock, that others hold. */
typedef enum lk_lock_strategy {
    LK_QUEUE = 0, /**< stands in the server's queue and is handed the lock */
    LK_SPIN = 1   /**< tries again and again, with pauses: no queue, no order,
                       no Pub/Sub. For holds of a millisecond on a hot name
                       and for servers on which Pub/Sub is unwelcome */
} lk_lock_strategy;

/** Why a hold was lost. */
typedef enum lk_loss {
    LK_LOSS_NONE = 0,        /**< not lost */
    LK_LOSS_EXPIRED = 1,     /**< a fixed lease ended */
    LK_LOSS_UNREACHABLE = 2, /**< the lease ended; the server did not answer */
    LK_LOSS_DELETED = 3,     /**< the server no longer knows the hold */
    LK_LOSS_TAKEN = 4,       /**< somebody else holds it now */
    LK_LOSS_REVOKED = 5,     /**< an operator has ended it. Unless that was by
                                  force, the server keeps the name held until
                                  this hold is released, or its lease ends */
    LK_LOSS_CLOSED = 6,      /**< the client was shut down */
    LK_LOSS_DENIED = 7,      /**< the lease ended; an access rule forbids to
                                  renew it, which the log has told */
    LK_LOSS_STOPPED = 8 /**< the lease ended while this process stood still:
                                  stopped, not scheduled, asleep with the machine,
                                  or its loop kept by a callback */
} lk_loss;

/**
 * Called when a hold is lost, or will be unless it is renewed by then.
 *
 * @param remaining_ms  time left to stop the guarded work; 0: lost
 */
typedef void (*lk_lost_cb)(lk_hold *hold, uint64_t remaining_ms, void *data);

/**
 * Tells whether the hold is valid at this moment. No lock, no system call but
 * the clock: call it before every guarded write. lk_hold_remaining_ms() says
 * for how long; what must never overlap carries the fence.
 *
 * @return LK_OK, LK_ELOST, LK_EFORKED, or LK_EINVAL for NULL
 */
LK_API LK_NODISCARD lk_status lk_hold_check(const lk_hold *hold);

/**
 * Returns the fence: larger than that of every earlier exclusive hold of this
 * name, unchanged on re-entry. Send it with every guarded write and let the
 * resource refuse smaller ones. 0 for NULL, and for a hold that has none
 * (siglock.h).
 */
LK_API uint64_t lk_hold_fence(const lk_hold *hold);

/** Returns how long the hold is still valid unless renewed; 0: lost. */
LK_API uint64_t lk_hold_remaining_ms(const lk_hold *hold);

/** Returns why the hold was lost; LK_LOSS_NONE if it is not. */
LK_API lk_loss lk_hold_loss(const lk_hold *hold);

/** Returns how long ago the hold was lost; 0 if it is not. */
LK_API uint64_t lk_hold_lost_for_ms(const lk_hold *hold);

/**
 * Makes the lease last at least lease_ms from now. Never shortens it.
 *
 * @return LK_OK; LK_ELOST; LK_EINDOUBT or LK_EOFFLINE: the old deadline stands
 */
LK_API LK_NODISCARD lk_status lk_hold_extend(lk_hold *hold, uint64_t lease_ms);

/** The same without waiting. The hold may be released before cb is called. */
LK_API LK_NODISCARD lk_status lk_hold_extend_async(lk_hold *hold,
                                                   uint64_t lease_ms,
                                                   lk_done_cb cb, void *data);

/**
 * Tells the holder about the end: has cb called once when at most notice_ms of
 * validity is left, and once more when the hold is lost. A renewal in between
 * arms the notice again. A hold that was handed over has a lease of 3 s at most
 * until its first renewal, 50 ms later: for so long a longer notice is given when
 * a third of that is left. cb may use and release the hold; a release from within
 * it does not wait.
 * Not called after the release has begun. Replaces an earlier callback; NULL
 * takes it away. If that one runs in another thread, this waits for its end.
 *
 * @return LK_OK, also if the hold is lost; LK_ELOST: the callback that this has
 *         waited for has released the hold, and the handle has ended; LK_ENOMEM:
 *         nothing has changed
 */
LK_API LK_NODISCARD lk_status lk_hold_on_lost(lk_hold *hold, uint64_t notice_ms,
                                              lk_lost_cb cb, void *data);

/**
 * Returns a descriptor that becomes readable when the hold is lost, however
 * busy every loop and thread is; -1 if there is none to be had. It belongs to
 * the hold and is closed by its release. Do not read from it.
 */
LK_API int lk_hold_fd(lk_hold *hold);

/**
 * Releases the hold and ends the handle, whatever it answers. NULL is allowed
 * and answers LK_EINVAL. A re-entered hold is given up with its last handle.
 * If its callback runs in another thread, it waits for the callback's end.
 * From a callback it does not wait for the server and returns LK_EPENDING.
 *
 * @return LK_OK; LK_ELOST: it was lost before, see lk_last_error() for since
 *         when; LK_EPENDING: no answer in time, or the server is away: the
 *         library goes on releasing until the lease ends; LK_EDENIED, LK_EAUTH:
 *         the same, and an access rule forbids it so far
 */
LK_API lk_status lk_hold_release(lk_hold *hold);

/**
 * The same without waiting. If this returns LK_OK, the handle has ended.
 *
 * @param cb  NULL: nobody wants to know
 */
LK_API LK_NODISCARD lk_status lk_hold_release_async(lk_hold *hold,
                                                    lk_done_cb cb, void *data);

/** Bytes that are enough for any exported hold. */
#define LK_EXPORT_SIZE 768

/**
 * Writes the hold as one line of text for another process to import, and ends
 * the handle without releasing. Nobody renews it until it is imported; if it
 * never is, its lease ends it. The text is as good as the hold until then: keep
 * it secret. What is left of a lease that was just handed over may be 3 s: see
 * lk_hold_remaining_ms(), and extend it before if that is too short.
 *
 * @param size  LK_EXPORT_SIZE at least
 * @return LK_OK; LK_ELOST; LK_EINVAL: it was re-entered, its owner holds the same
 *         read-write lock in another mode as well, or waits for that, or size is
 *         too small. Unless LK_OK the handle stays, but if its callback released it while
 *         this waited for the callback's end: LK_ELOST
 */
LK_API LK_NODISCARD lk_status lk_hold_export(lk_hold *hold, char *text,
                                             size_t size);

/** What runs under a hold; see lk_lock_run(). */
typedef lk_status (*lk_run_fn)(lk_hold *hold, void *data);

/** Releases what a guarded variable holds; for LK_HOLD_GUARD. */
LK_API void lk_hold_guard_end(lk_hold **hold);

/**
 * Before a variable's declaration: releases it when it goes out of scope.
 *
 *   LK_HOLD_GUARD lk_hold *hold = NULL;
 *
 * A release of your own sets the variable to NULL afterwards. For compilers
 * that have the attribute: GCC and Clang.
 */
#if defined(__GNUC__)
#define LK_HOLD_GUARD __attribute__((cleanup(lk_hold_guard_end)))
#endif

/** One holder or waiter, as the server knows it. Strings are never NULL. */
typedef struct lk_party {
    const char *owner;     /**< its id in Redis: <client>:<number> */
    const char *host;      /**< "" if unknown, as for other libraries */
    const char *command;   /**< program name */
    const char *user;      /**< user name of the process */
    const char *name;      /**< the client's name */
    const char *reason;    /**< as given on acquire */
    uint64_t pid;          /**< 0 if unknown */
    const char *mode;      /**< "read", "upgradeable", "write"; "" otherwise */
    uint64_t count;        /**< permits, or entries of another library's holder;
                              0 for another library's waiter */
    uint64_t fence;        /**< 0 for a waiter */
    uint64_t since_ms;     /**< for so long it has held or waited */
    int64_t lease_ms;      /**< lease left; -1: none set; 0 for a waiter */
    const char *waits_for; /**< of a holder: the name that the same owner waits
                                for, or a program that runs under its client
                                (lk_client_options.under), as told a second or
                                two ago; "" if none is known */
    bool revoked;          /**< of a holder: an operator has told it to stop, it
                                is not renewed any more and ends with its lease
                                at the latest; of a siglock it is not shown */
    bool near; /**< pid is one of the caller's own pid namespace, since
                                this boot: it may be looked for there */
} lk_party;

/** Who holds and who waits, in order, at one moment. */
typedef struct lk_info {
    size_t holder_count;
    const lk_party *const *holders;
    size_t waiter_count;            /**< all waiters, but those that were not
                                         heard of for 13 s, as those that died:
                                         they are not listed either */
    size_t listed_count;            /**< of these in waiters: at most 64 */
    const lk_party *const *waiters; /**< first in line first; those who wait for
                                         Redisson's fair lock behind them */
} lk_info;

/** Ends an async _info call. The callback owns info, NULL unless LK_OK. */
typedef void (*lk_info_cb)(lk_status status, lk_info *info, void *data);

/** Ends an async _revoke call; left_ms means nothing unless LK_OK. */
typedef void (*lk_revoke_cb)(lk_status status, int64_t left_ms, void *data);

/** Frees what an _info call returned. NULL is allowed. */
LK_API void lk_info_free(lk_info *info);

#ifdef __cplusplus
}
#endif

#endif /* LK_HOLD_H */
