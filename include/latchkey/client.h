/* SPDX-License-Identifier: MIT */
#ifndef LK_CLIENT_H
#define LK_CLIENT_H

/**
 * @file
 * A client: one identity, its connections to a Redis server and the thread
 * that keeps its holds alive.
 *
 * Promise: every call returns by its deadline, which covers name resolution,
 * connecting, authentication and waiting. While the server is away a call waits
 * for it first: a wait by its wait_ms and offline_ms, any other call, or a wait
 * of 0, for command_timeout_ms. So no call returns LK_EOFFLINE at once, and a loop
 * that repeats it does not spin. The connection is kept up by
 * itself; what was waiting when it broke is looked at again as soon as it
 * stands. The library prints nothing, reads no environment, installs no
 * signal handler.
 *
 * Threads: every function may be called from any thread. The client starts
 * one thread of its own, with all signals blocked. A callback runs on that
 * thread, or, with .dispatch, in lk_client_dispatch(); a blocking call from a
 * callback is refused with LK_ECALLBACK. No call is a cancellation point.
 *
 * Lifetime: lk_client_shutdown() ends every wait and releases every hold;
 * lk_client_free() is memory only. Handles made from a client keep its memory
 * alive, so they may be freed in any order. After fork() the child's copy
 * answers LK_EFORKED to everything; its sockets are closed there. A child of
 * a fork() in a callback that returns from that ends, with status 0, if the
 * callback ran on the client's thread; lk_client_dispatch() answers it
 * LK_EFORKED.
 */

#include <latchkey/status.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** For a wait_ms: no limit, also while the server is away. What does not pass by
    itself ends it all the same: LK_EAUTH, LK_EDENIED, LK_EPROTO. */
#define LK_FOREVER ((int64_t)-1)

typedef struct lk_client lk_client;

/** A party that holds: the unit of re-entry. See lk_owner_new(). */
typedef struct lk_owner lk_owner;

/** A request to end waits early. See lk_cancel_new(). */
typedef struct lk_cancel lk_cancel;

typedef enum lk_log_level {
    LK_LOG_ERROR = 1, /**< something is lost or will not work */
    LK_LOG_WARN = 2,  /**< works, but look at it */
    LK_LOG_INFO = 3,  /**< connected, disconnected */
    LK_LOG_DEBUG = 4  /**< every transition */
} lk_log_level;

/** Receives one line without a newline. It may not call the library. */
typedef void (*lk_log_cb)(lk_log_level level, const char *text, void *data);

/**
 * Ends an async call. A call that returns anything but LK_OK never calls back;
 * one that returns LK_OK calls back exactly once, never from within the call: on
 * the client's thread, where this may begin before the call has returned, or in
 * lk_client_dispatch(). lk_last_error() has the words.
 */
typedef void (*lk_done_cb)(lk_status status, void *data);

/** Which other libraries work on the same names; see docs/redisson.md. */
typedef enum lk_interop {
    LK_INTEROP_AUTO = 0,    /**< look for others at each release */
    LK_INTEROP_REDISSON = 1 /**< always assume that Redisson waits as well */
} lk_interop;

/** What is asked of the server's certificate; see docs/tls.md. */
typedef enum lk_tls_verify {
    LK_TLS_FULL = 0, /**< a CA that is trusted, and the host's name */
    LK_TLS_CA = 1,   /**< a CA that is trusted; any name */
    LK_TLS_NONE = 2  /**< nothing: whoever is in between can read and change */
} lk_tls_verify;

/** What is believed around a failover of Sentinel; see docs/sentinel.md. */
typedef enum lk_failover {
    LK_FAILOVER_SAFE = 0, /**< a majority of sentinels; nothing new at once */
    LK_FAILOVER_FAST = 1  /**< whichever master is named; two may hold */
} lk_failover;

/**
 * Zero in any field means its default. A field that is not zero beats the
 * same setting in the URL. New fields are only ever appended. In C:
 *
 *   lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .db = 1};
 *
 * in C++, where the fields are set afterwards:
 *
 *   lk_client_options options = {LK_CLIENT_OPTIONS_INIT};
 *   options.db = 1;
 */
typedef struct lk_client_options {
    size_t size;                 /**< set by LK_CLIENT_OPTIONS_INIT */
    const char *name;            /**< shown to operators; default: program */
    const char *user;            /**< ACL user */
    const char *password;        /**< never logged */
    uint64_t db;                 /**< database number; 0 */
    uint64_t connect_timeout_ms; /**< one attempt, all steps; 2000 */
    uint64_t command_timeout_ms; /**< one request; 2000 */
    uint64_t offline_ms;         /**< outage ridden out in a wait that has a
                                      limit; 5000, in a cluster and with Sentinel
                                      60000. A wait that begins later gives the
                                      server command_timeout_ms more */
    uint64_t watchdog_ms;        /**< lease of holds without one; 30000 */
    uint64_t max_pending;        /**< requests under way; 100000 */
    uint64_t interop;            /**< an lk_interop */
    uint64_t dispatch;           /**< 1: callbacks in lk_client_dispatch() */
    lk_log_cb log;               /**< default: silent */
    void *log_data;              /**< handed to log */
    uint64_t log_level;          /**< an lk_log_level; LK_LOG_WARN */
    uint64_t fence_keep_ms;      /**< the record of an unused name lives so
                                      long; 3600000 */
    const char *tls_ca_file;     /**< PEM; the only CAs trusted; the system's */
    const char *tls_ca_dir;      /**< the same, as openssl rehash makes it */
    const char *tls_cert_file;   /**< PEM, shown to the server; none */
    const char *tls_key_file;    /**< PEM, no password; in tls_cert_file */
    const char *tls_server_name; /**< in the certificate; the URL's host */
    uint64_t tls_verify;         /**< an lk_tls_verify */
    const char *under;           /**< ids of clients under whose holds this
                                      program runs, with a blank between; the
                                      last 8 count. A name that this client
                                      waits for is their holds'
                                      lk_party.waits_for as well; none. It is
                                      no setting of the URL */
    const char *sentinel_user;   /**< ACL user at the sentinels; none */
    const char *sentinel_password; /**< never logged; that of the URL is the
                                        servers' alone */
    uint64_t failover;             /**< an lk_failover */
    const char *tenant; /**< letters, digits, `-`, `_`, `.`: the inbox and the
                             record of the client are this tenant's, which
                             ACL patterns can tell from others'; none. See
                             docs/trust.md */
} lk_client_options;

#define LK_CLIENT_OPTIONS_INIT LK_SIZED(lk_client_options)

/** Counters since the client was opened, and what is there now. */
typedef struct lk_client_stats {
    size_t size;           /**< set by the caller: sizeof(lk_client_stats) */
    uint64_t commands;     /**< requests sent */
    uint64_t writes;       /**< system calls that sent them */
    uint64_t replies;      /**< replies read */
    uint64_t connects;     /**< connections that became ready */
    uint64_t disconnects;  /**< connections lost */
    uint64_t scripts_lost; /**< scripts sent again in full: server forgot */
    uint64_t grants;       /**< grants received by hand-over */
    uint64_t grants_late;  /**< of these confirmed before they were believed */
    uint64_t grants_void;  /**< grants nobody waited for: passed on, or
                                left to end after 3 s if there are many */
    uint64_t passes;       /**< holds handed over within this client */
    uint64_t acquires;     /**< holds obtained */
    uint64_t releases;     /**< holds released */
    uint64_t losses;       /**< holds lost */
    uint64_t renewals;     /**< leases renewed */
    uint64_t rechecks;     /**< looks of waiters at the server */
    uint64_t holding;      /**< holds now */
    uint64_t waiting;      /**< waits now */
    uint64_t pending;      /**< requests under way now */
    uint64_t renewals_shared; /**< leases renewed among the commands, since
                                   they had no connection of their own */
    uint64_t renewals_late;   /**< holds now whose renewal is late */
    uint64_t held_back;       /**< acquires that stayed here for a while, since
                                   the server did not keep up */
    uint64_t holding_back;    /**< of these those that do so now */
} lk_client_stats;

/**
 * Checks the URL and the options and starts the client. Talks to nobody
 * before it returns; lk_client_wait_ready() tells when the server answers.
 *
 *   redis://[user:password@]host[:port][/db][?option=value&...]
 *   unix:/path/to/socket[?option=value&...]
 *   redis+sentinel://[user:password@]host[:port][,...]/master[/db][?...]
 *   redis+cluster://[user:password@]host[:port][,...][?...]
 *   rediss://..., rediss+sentinel://... and rediss+cluster://...: with TLS
 *
 * Options in the URL bear the names of the fields above; times take a unit
 * (`500ms`, `5s`, `2m`). docs/url.md lists every spelling that is accepted.
 *
 * With TLS the server has to prove that it is the URL's host before anything
 * is sent, and nothing is ever sent without TLS instead. The files of TLS are
 * read here. docs/tls.md has the settings.
 *
 * @return LK_OK, LK_EURL, LK_EINVAL, LK_ENOTSUP or LK_ENOMEM; lk_last_error()
 *         says what is wrong with which part
 */
LK_API LK_NODISCARD lk_status lk_client_open(lk_client **ret_client,
                                             const char *url,
                                             const lk_client_options *options);

/** Bytes that are enough for the description of any URL. */
#define LK_URL_DESCRIPTION_SIZE 65536

/**
 * Writes what is understood of a URL as one URL: the canonical spelling, every
 * part that matters, and *** in the place of a password. For people to read.
 *
 * @param size  of text; LK_URL_DESCRIPTION_SIZE at least, or less if the
 *              caller knows better
 * @return LK_OK; LK_EURL or LK_ENOTSUP as lk_client_open(); LK_EINVAL: NULL,
 *         or too little room; LK_ENOMEM. text is complete only with LK_OK
 */
LK_API LK_NODISCARD lk_status lk_url_describe(const char *url, char *text,
                                              size_t size);

/**
 * Sets one field of options by its name, as it would stand in a URL. Strings
 * are borrowed until lk_client_open() has copied them.
 *
 * @return LK_OK, or LK_EINVAL for an unknown name or a value it cannot take
 */
LK_API LK_NODISCARD lk_status lk_client_options_set(lk_client_options *options,
                                                    const char *key,
                                                    const char *value);

/**
 * Waits until requests can be served.
 *
 * @return LK_OK; LK_ETIMEDOUT; or what the server answers to the client: for
 *         example LK_EAUTH, LK_ELOADING, LK_EDENIED
 */
LK_API LK_NODISCARD lk_status lk_client_wait_ready(lk_client *client,
                                                   int64_t wait_ms);

/** The same without waiting: cb gets what lk_client_wait_ready() returns. */
LK_API LK_NODISCARD lk_status lk_client_wait_ready_async(lk_client *client,
                                                         int64_t wait_ms,
                                                         lk_done_cb cb,
                                                         void *data);

/**
 * Ends every wait with LK_ECLOSED and releases every hold, then disconnects.
 * From then on every call answers LK_ECLOSED. Calling it again is harmless.
 * Handles, holds among them, still have to be freed or released for their
 * memory.
 *
 * @param wait_ms  at most so long; a hold whose release is not answered by
 *                 then may end with its lease only, and so may a flight whose
 *                 landing is not
 * @return LK_OK, or LK_ETIMEDOUT if something had to be left to its lease
 */
LK_API lk_status lk_client_shutdown(lk_client *client, int64_t wait_ms);

/** The same without waiting. Calls under way end first, then cb is called. */
LK_API LK_NODISCARD lk_status lk_client_shutdown_async(lk_client *client,
                                                       int64_t wait_ms,
                                                       lk_done_cb cb,
                                                       void *data);

/**
 * Gives the client back. Shuts it down first if that was not done, waiting at
 * most 100 ms, in a callback not at all. With .dispatch, the callbacks that
 * are still due run within it. NULL is allowed. The memory goes with the last
 * handle.
 */
LK_API void lk_client_free(lk_client *client);

/** Returns the client's id, as it stands in Redis; 32 characters. */
LK_API const char *lk_client_id(const lk_client *client);

/** Fills in the counters the caller's struct has room for. */
LK_API LK_NODISCARD lk_status lk_client_stats_get(lk_client *client,
                                                  lk_client_stats *stats);

/**
 * Returns a descriptor that is readable while callbacks are due, for poll(2)
 * and event loops; -1 unless the client was opened with .dispatch.
 */
LK_API int lk_client_fd(lk_client *client);

/** Runs the callbacks that are due, on this thread; needs .dispatch. */
LK_API LK_NODISCARD lk_status lk_client_dispatch(lk_client *client);

/**
 * Makes an owner that is not a thread: a request, a fiber, a job. Calls that
 * name it in their options act for it, from whatever thread.
 */
LK_API LK_NODISCARD lk_status lk_owner_new(lk_owner **ret_owner,
                                           lk_client *client);

/** Frees an owner. What it holds stays held until released. */
LK_API void lk_owner_free(lk_owner *owner);

/** Makes a token that can end any number of waits of this client. */
LK_API LK_NODISCARD lk_status lk_cancel_new(lk_cancel **ret_cancel,
                                            lk_client *client);

/**
 * Asks every wait that names the token, now or later, to end with
 * LK_ECANCELED. A wait that was granted just before may still end with LK_OK.
 * Safe in a signal handler and from any thread.
 */
LK_API void lk_cancel_fire(lk_cancel *cancel);

/** Frees the token. No call may be waiting with it. NULL is allowed. */
LK_API void lk_cancel_free(lk_cancel *cancel);

#ifdef __cplusplus
}
#endif

#endif /* LK_CLIENT_H */
