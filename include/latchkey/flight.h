/* SPDX-License-Identifier: MIT */
#ifndef LK_FLIGHT_H
#define LK_FLIGHT_H

/**
 * @file
 * Request coalescing: whoever wants the same thing at the same time shares one
 * computation of it, in a process and across processes.
 *
 * Promise: of all calls for one key that are under way at one time, one runs
 * its function, the leader; the others wait and get its value or its error.
 * What has come out of it can be had for ttl_ms more; a call after that runs
 * its function again. A leader that dies is taken over from when its claim
 * lease ends; one that was stopped for longer than that computes beside its
 * successor. So the function may run twice, and must do no harm then.
 *
 * Threads: a handle may be used from any thread. The function of a blocking
 * call runs on the caller's thread. It must not call for the same key: it would
 * wait for itself.
 *
 * Lifetime: freeing the handle is local. A value belongs to the one that got it,
 * and may be shared: do not write to it.
 */

#include <latchkey/hold.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_flight lk_flight;

/** The largest max_size there may be: 32 MiB. */
#define LK_FLIGHT_SIZE_MAX UINT64_C(33554432)

/** Zero in any field means its default. */
typedef struct lk_flight_options {
    size_t size;           /**< set by LK_FLIGHT_OPTIONS_INIT */
    uint64_t ttl_ms;       /**< how long a value can be had; 1000 */
    uint64_t error_ttl_ms; /**< the same for an error; 100 */
    uint64_t lease_ms;     /**< a dead leader is waited for so long; 3000 */
    uint64_t max_size;     /**< bytes in a value; 1 MiB */
} lk_flight_options;

#define LK_FLIGHT_OPTIONS_INIT LK_SIZED(lk_flight_options)

/** What came out of a computation. */
typedef struct lk_flight_value {
    size_t size;       /**< bytes */
    const void *bytes; /**< a NUL stands behind them */
} lk_flight_value;

/** Gives a value back. NULL is allowed. */
LK_API void lk_flight_value_free(lk_flight_value *value);

/**
 * Makes a handle on the flights called name; keys are told apart within it. A
 * colon in the name may make it meet another's: "a" with the key "b:c" is "a:b"
 * with "c".
 *
 * @return LK_OK; LK_EINVAL: a lease below 100 ms, a time above ten years, a
 *         max_size above LK_FLIGHT_SIZE_MAX; LK_ECLOSED; LK_ENOMEM
 */
LK_API LK_NODISCARD lk_status lk_flight_new(lk_flight **ret_flight,
                                            lk_client *client, const char *name,
                                            const lk_flight_options *options);

/** Frees the handle. NULL is allowed. No blocking call may be using it. */
LK_API void lk_flight_free(lk_flight *flight);

/** The right, and the duty, to compute what a key stands for. */
typedef struct lk_flight_ticket lk_flight_ticket;

/**
 * Computes what the key stands for, and returns: as long as it does not, its
 * claim is renewed and all others wait. lk_flight_ticket_set() takes the value;
 * without it the value has no bytes.
 *
 * @return LK_OK, or an error for everybody who waits; above 0 it is LK_EINVAL
 */
typedef lk_status (*lk_flight_fn)(lk_flight_ticket *ticket, void *data);

/**
 * Sets the value; a later call replaces it. Bytes are copied.
 *
 * @return LK_OK; LK_ERANGE: more than max_size bytes; LK_ENOMEM
 */
LK_API LK_NODISCARD lk_status lk_flight_ticket_set(lk_flight_ticket *ticket,
                                                   const void *bytes,
                                                   size_t size);

/** Sets what lk_last_error() says to everybody if the computation fails; at
    most 150 bytes are kept. */
LK_API void lk_flight_ticket_words(lk_flight_ticket *ticket, const char *words);

/**
 * Gets the value of a key: one that has landed, or that somebody computes now,
 * or runs fn.
 *
 * @param key      with the name of the flight and a colon before it, at most
 *                 512 bytes; see lk_lock_new() for braces
 * @param wait_ms  how long to wait for somebody else; 0: not at all; LK_FOREVER:
 *                 without limit. The caller that runs fn is not limited by it
 * @param options  NULL, or a cancel token for the wait; an owner or a lease is
 *                 LK_EINVAL
 * @return LK_OK; LK_EBUSY (wait_ms was 0: somebody else computes); LK_ETIMEDOUT;
 *         LK_ECANCELED; LK_ECLOSED; LK_EOFFLINE; the server's refusal; or the
 *         error that fn returned, here or at the leader's
 */
LK_API LK_NODISCARD lk_status lk_flight_do(lk_flight *flight, const char *key,
                                           int64_t wait_ms,
                                           const lk_acquire_options *options,
                                           lk_flight_fn fn, void *data,
                                           lk_flight_value **ret_value);

/**
 * Begins to compute. Called where callbacks are, so it may not block; the
 * ticket is completed by it or later, from any thread.
 */
typedef void (*lk_flight_start_fn)(lk_flight_ticket *ticket, void *data);

/**
 * Ends the computation of an async call, once, and with it the ticket. A client
 * with .dispatch must not be freed before: nobody would call back.
 *
 * @param status  LK_OK: the value is what was set last; else an error for
 *                everybody who waits. What is above 0 is no status: LK_EINVAL
 */
LK_API void lk_flight_complete(lk_flight_ticket *ticket, lk_status status);

/** Ends lk_flight_do_async(). The callback owns value, NULL unless LK_OK. */
typedef void (*lk_flight_cb)(lk_status status, lk_flight_value *value,
                             void *data);

/**
 * The same without waiting. A leader is called back after its ticket was
 * completed, and not before: neither the wait's time nor its cancel token ends
 * that.
 */
LK_API LK_NODISCARD lk_status
lk_flight_do_async(lk_flight *flight, const char *key, int64_t wait_ms,
                   const lk_acquire_options *options, lk_flight_start_fn start,
                   lk_flight_cb cb, void *data);

#ifdef __cplusplus
}
#endif

#endif /* LK_FLIGHT_H */
