/* SPDX-License-Identifier: MIT */
#ifndef LK_STATUS_H
#define LK_STATUS_H

/**
 * @file
 * What a call answers: one type for the whole library.
 *
 * Promise: each status answers three questions: do I hold it, may I retry,
 * what now? Values never change meaning and are never reused; new ones are
 * appended. docs/errors.md holds the same table with more words.
 *
 * Threads: every function here may be called from any thread.
 */

#include <latchkey/export.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * X(name, value, retriable, text): name without LK_. "Retriable" means that to
 * repeat the call as it is is right: it does nothing twice, and it may succeed
 * although nobody sets or corrects anything first.
 */
#define LK_STATUS_MAP(X)                                                       \
    X(OK, 0, false, "success")                                                 \
    X(EINVAL, -1, false, "invalid argument; nothing was done")                 \
    X(ENOMEM, -2, true, "out of memory in this process")                       \
    X(ENOTSUP, -3, false, "not supported by this version of the library")      \
    X(EURL, -4, false, "the URL is not understood")                            \
    X(EBUSY, -5, true, "not free now; not held by the caller")                 \
    X(ETIMEDOUT, -6, true, "the wait ended first; not held")                   \
    X(ECANCELED, -7, false, "canceled by the caller; not held")                \
    X(ECLOSED, -8, false, "the client is shut down; not held")                 \
    X(ENOTHELD, -9, false, "not held, or not by the owner that was named")     \
    X(ELOST, -10, false, "was held and is lost; stop the guarded work")        \
    X(EINDOUBT, -11, true, "sent, but no answer came; it may be repeated")     \
    X(EOFFLINE, -12, true, "the server cannot be reached; nothing was done")   \
    X(EFULL, -13, true, "too many requests under way in this client")          \
    X(EAUTH, -14, false, "a user, password or certificate is refused")         \
    X(EDENIED, -15, false,                                                     \
      "the server's access rules deny a command, key or channel")              \
    X(ETYPE, -16, false, "the key holds something else; nothing was changed")  \
    X(EMISMATCH, -17, false,                                                   \
      "the name is in use with other settings or by another layout")           \
    X(ESERVERMEM, -18, true, "the server is out of memory; not held")          \
    X(EREADONLY, -19, true, "the server is a read-only replica; not held")     \
    X(ELOADING, -20, true, "the server is loading its data; not held")         \
    X(ESERVER, -21, true, "the server refused; see lk_last_error()")           \
    X(EPROTO, -22, false, "the server's reply is not understood")              \
    X(EFORKED, -23, false,                                                     \
      "this client belongs to the parent process; open another one")           \
    X(ECALLBACK, -24, false,                                                   \
      "a blocking call from a callback; use another thread")                   \
    X(EUPGRADE, -25, false,                                                    \
      "would wait for itself: a plain read hold cannot become a write hold")   \
    X(EGONE, -26, false, "deleted, or its time ended, while waited for")       \
    X(EUNSET, -27, false, "nothing is set under this name yet")                \
    X(EALREADY, -28, false, "it was set before; nothing was changed")          \
    X(ERANGE, -29, false, "the number is outside of what is possible")         \
    X(EREPLICAS, -30, true,                                                    \
      "too few replicas had it in time; it was given back")                    \
    X(ESTALE, -31, false,                                                      \
      "not the newest version or fence; nothing was written")                  \
    X(EQUORUM, -32, true,                                                      \
      "too few of the servers agreed or could be asked; not held")             \
    X(EPENDING, -33, false,                                                    \
      "accepted, and its end is not known; do not repeat it")

/** The answer of every call that can fail: LK_OK or a negative value. */
typedef enum lk_status {
#define X(name, value, retriable, text) LK_##name = (value),
    LK_STATUS_MAP(X)
#undef X
} lk_status;

/** Returns one sentence for a status; never NULL, static storage. */
LK_API const char *lk_status_text(lk_status status);

/** Returns the name of a status, for example "EBUSY"; never NULL. */
LK_API const char *lk_status_name(lk_status status);

/**
 * Tells whether to repeat the call as it is is right. A loop that does so needs
 * no pause: while the server is away, each call waits for it first.
 */
LK_API bool lk_status_is_retriable(lk_status status);

/**
 * Returns the words behind the last call on this thread that failed: what was
 * wrong with a URL, what the server said; or just the status' own text. Never
 * NULL, never a password. A call that succeeds leaves them as they are. Valid
 * until the thread's next call that fails.
 */
LK_API const char *lk_last_error(void);

#ifdef __cplusplus
}
#endif

#endif /* LK_STATUS_H */
