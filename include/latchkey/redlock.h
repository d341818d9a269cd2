/* SPDX-License-Identifier: MIT */
#ifndef LK_REDLOCK_H
#define LK_REDLOCK_H

/**
 * @file
 * A lock over several independent Redis servers: whoever has planted a token
 * on most of them holds it. With one server it is the plain token lock
 * (`SET NX PX`, compare and delete) of many other libraries.
 *
 * Promise: while a hold is valid by its owner's clock, most of the servers
 * keep its token, so nobody else gets most of them, as long as no server that
 * runs forgets what it acknowledged: one that restarts has no vote at first,
 * see .durable. That holds as far as the clocks of all hosts run at one rate
 * within 1 % and do not jump. There is
 * no fence: a holder that is stopped for longer than its lease is not kept
 * from a late write. docs/redlock.md says when that is good enough.
 *
 * Threads: a handle may be used from any thread. It has no owners and is not
 * re-entered: a thread that acquires what it holds waits for itself.
 * Callbacks run on the thread of any one of the clients, or in the
 * lk_client_dispatch() of any one of them.
 *
 * Lifetime: freeing the handle is local; a hold outlives it. The shutdown of
 * one client takes its server's vote away. An async call that it ends does so a
 * moment later: with .dispatch, go on dispatching until its callback has run.
 */

#include <latchkey/hold.h>

#ifdef __cplusplus
extern "C" {
#endif

/** More servers are refused. */
#define LK_REDLOCK_NODES_MAX 9

typedef struct lk_redlock lk_redlock;

/** Zero in any field means its default. */
typedef struct lk_redlock_options {
    size_t size;              /**< set by LK_REDLOCK_OPTIONS_INIT */
    uint64_t lease_ms;        /**< of holds that name none of their own, which
                                   are renewed; 30000 */
    uint64_t node_timeout_ms; /**< for so long a server's answer is waited for;
                                   50. Well below the lease */
    uint64_t retry_ms;        /**< a pause before the next attempt lasts half
                                   to one and a half times as long; 100 */
    uint64_t useful_ms; /**< a grant with less validity than this left is given
                             back; 0 */
    uint64_t longest_lease_ms; /**< the longest lease that anybody uses with
                                    this name; a server that was started more
                                    recently has no vote; lease_ms */
    uint64_t durable; /**< 1: the servers lose nothing that they acknowledged,
                           not even killed, so each has a vote at once */
} lk_redlock_options;

#define LK_REDLOCK_OPTIONS_INIT LK_SIZED(lk_redlock_options)

/** What one server had to say. */
typedef enum lk_redlock_answer {
    LK_REDLOCK_PENDING = 0,     /**< nothing yet; most others were enough */
    LK_REDLOCK_GRANTED = 1,     /**< it keeps the token */
    LK_REDLOCK_BUSY = 2,        /**< it keeps another's */
    LK_REDLOCK_UNREACHABLE = 3, /**< nothing within node_timeout_ms */
    LK_REDLOCK_QUARANTINED = 4, /**< it was started too recently */
    LK_REDLOCK_DUPLICATE = 5,   /**< it is the server of a client before it */
    LK_REDLOCK_ERROR = 6        /**< it refused, or its client is shut down */
} lk_redlock_answer;

/** One server's part in an attempt. */
typedef struct lk_redlock_outcome {
    size_t size; /**< set by the caller: sizeof(lk_redlock_outcome) */
    lk_redlock_answer answer;
    lk_status status; /**< LK_OK if granted */
    char words[96];   /**< the same for people; "" if granted */
} lk_redlock_outcome;

/**
 * Makes a handle on the lock called name. Talks to nobody.
 *
 * @param clients  one for each server, each another one; in any order. They
 *                 must be of this process and all with or all without
 *                 .dispatch. Kept alive by the handle
 * @param count    odd, 1 to LK_REDLOCK_NODES_MAX. The same servers in every
 *                 process
 * @param name     1 to 512 bytes, copied; the key, as it is. It may not begin
 *                 with "latchkey:"
 * @return LK_OK; LK_EINVAL: no clients, an even number or too many, one of
 *         them twice, or a mixture; LK_EFORKED; LK_ENOTSUP; LK_ENOMEM
 */
LK_API LK_NODISCARD lk_status lk_redlock_new(lk_redlock **ret_redlock,
                                             lk_client *const *clients,
                                             size_t count, const char *name,
                                             const lk_redlock_options *options);

/** Frees the handle. NULL is allowed. No call may be using it. */
LK_API void lk_redlock_free(lk_redlock *redlock);

/**
 * Acquires the lock: asks all servers at once, and returns as soon as most of
 * them have granted it. What an attempt without success has planted is taken
 * away again in the background, also on servers that answer later.
 *
 * @param wait_ms   0 tries once, which may take node_timeout_ms; LK_FOREVER
 *                  waits without limit; other negative values are LK_EINVAL.
 *                  There is no queue: each attempt is as good as another's
 * @param options   NULL: all defaults. An owner and replicas are LK_EINVAL; the
 *                  cancel token may be of any of the clients; the reason is
 *                  not kept
 * @param ret_hold  untouched unless LK_OK
 * @return LK_OK; LK_EBUSY (wait_ms was 0); LK_ETIMEDOUT; LK_ECANCELED;
 *         LK_EQUORUM: too few servers could be asked, which ends a wait early
 *         if they were away for offline_ms, not with LK_FOREVER, or if too few
 *         are distinct (a wait shorter than node_timeout_ms may end with
 *         LK_ETIMEDOUT first);
 *         LK_ECLOSED: too few clients are left; LK_EINVAL: a lease longer
 *         than longest_lease_ms, or one that never leaves useful_ms; or what
 *         most servers refuse it with
 */
LK_API LK_NODISCARD lk_status
lk_redlock_acquire(lk_redlock *redlock, int64_t wait_ms,
                   const lk_acquire_options *options, lk_hold **ret_hold);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_redlock_acquire_async(
    lk_redlock *redlock, int64_t wait_ms, const lk_acquire_options *options,
    lk_acquire_cb cb, void *data);

/**
 * Acquires the lock, calls fn, and releases the lock.
 *
 * @return what lk_redlock_acquire() answered if that was not LK_OK; LK_ELOST
 *         if the hold was lost before the release, whatever fn did; else what
 *         fn returned
 */
LK_API LK_NODISCARD lk_status lk_redlock_run(lk_redlock *redlock,
                                             int64_t wait_ms,
                                             const lk_acquire_options *options,
                                             lk_run_fn fn, void *data);

/**
 * Tells what one server said to the last attempt that was made with this
 * handle, by whatever thread, as far as it is known by now.
 *
 * @param node  the client's place in the array, from 0
 * @return LK_OK; LK_ENOTHELD: there was no attempt yet; LK_EINVAL
 */
LK_API LK_NODISCARD lk_status lk_redlock_outcome_get(
    lk_redlock *redlock, size_t node, lk_redlock_outcome *ret_outcome);

#ifdef __cplusplus
}
#endif

#endif /* LK_REDLOCK_H */
