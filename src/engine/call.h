/* SPDX-License-Identifier: MIT */
#ifndef LK_ENGINE_CALL_H
#define LK_ENGINE_CALL_H

#include "engine/client.h"

/*
 * How a public call ends, blocking or async: once, with a status and words.
 *
 * A blocking call lies on its caller's stack, or where its caller frees it;
 * the caller sleeps in lk__call_sleep(). An async call is ended by a post:
 * deliver runs once, outside the monitor, on the loop or in dispatch, never
 * within the call that began it, and frees it. On the loop it may begin before
 * that call has returned.
 */
typedef struct lk__call lk__call;

struct lk__call {
    lk_client *client;
    bool done;
    lk_status status;
    char words[240];                 /* for lk_last_error() */
    void (*deliver)(lk__call *call); /* NULL: blocking */
    lk__post post;
    lk__parking parking;
    bool parked;          /* the caller sleeps there until it is woken */
    lk__call *next_woken; /* of those whose callers are to be woken */
};

/* deliver NULL: a blocking call. The shutdown ends every call there is, and a
   call that is done keeps the client's memory until it is delivered. */
void lk__call_init(lk__call *call, lk_client *client,
                   void (*deliver)(lk__call *call));

/* Ends it; words NULL: the status has its own. Inside the monitor. */
void lk__call_done(lk__call *call, lk_status status, const char *words);

/*
 * Sleeps until the call is done or the time has come; leaves the monitor
 * meanwhile. Returns whether it is done.
 */
bool lk__call_sleep(lk__call *call, uint64_t until);

/* The same; but once the call is done, the caller has left the monitor. */
bool lk__call_await(lk__call *call, uint64_t until);

/*
 * Wakes the callers of calls that are done. Outside the monitor, so that they do
 * not run into it: a caller that was parked stays until it is woken, and then
 * its call may be gone.
 */
void lk__calls_wake(lk_client *client, lk__call *first);

/* The status to return, with its words noted on this thread. */
lk_status lk__call_status(const lk__call *call);

#endif /* LK_ENGINE_CALL_H */
