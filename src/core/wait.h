/* SPDX-License-Identifier: MIT */
#ifndef LK_CORE_WAIT_H
#define LK_CORE_WAIT_H

#include <latchkey/hold.h>

#include "core/client.h"

struct lk__place;

/*
 * One caller's wish to acquire something. It lives in the caller's memory,
 * from lk__wait_begin() to its end, and stands in its place's line.
 *
 * It ends once: with a grant, an error, a cancel, or by its time. The caller's
 * own thread watches the time, so a wait ends in time however busy the loop is.
 */
typedef struct lk__wait {
    struct lk__wait *next, *prev;         /* in the place's line */
    struct lk__wait *next_all, *prev_all; /* in the client's list */
    lk_client *client;
    struct lk__place *place;
    uint64_t owner; /* who acts */
    uint64_t lease_ms;
    bool watchdog;      /* the lease is the client's, to be renewed */
    bool try_only;      /* answers busy instead of waiting */
    const char *reason; /* borrowed; "" if none */
    const lk_cancel *cancel;
    uint64_t until; /* when it ends by itself */
    lk_hold *hold;  /* made beforehand, so that a grant cannot fail */
    lk_status status;
    bool done;
    char words[160]; /* for lk_last_error() on the caller's thread */
    lk__parking parking;
} lk__wait;

/* Stands in line. It may be done at once. Inside the monitor. */
void lk__wait_begin(lk__wait *wait);

/*
 * Ends it; it is out of every list afterwards. words are for lk_last_error();
 * NULL: the status' own text. Inside the monitor.
 */
void lk__wait_end(lk__wait *wait, lk_status status, const char *words);

/*
 * The blocking acquire of every primitive: enters the monitor, stands in line
 * at the place, sleeps, and answers.
 */
lk_status lk__wait_acquire(struct lk__place *place, int64_t wait_ms,
                           uint64_t default_lease_ms,
                           const lk_acquire_options *options,
                           lk_hold **ret_hold);

/* Ends every wait of the client with one status. Inside the monitor. */
void lk__waits_end(lk_client *client, lk_status status, const char *words);

/* Ends the waits whose cancel token was fired. Inside the monitor. */
void lk__waits_cancel(lk_client *client);

/*
 * Sleeps until condition holds, looked at whenever somebody leaves the
 * monitor, or until the time has come. Enters and leaves the monitor by
 * itself. Returns whether the condition holds.
 */
typedef struct lk__watcher {
    struct lk__watcher *next;
    bool (*condition)(const lk_client *client);
    bool holds;
    lk__parking parking;
} lk__watcher;

bool lk__watch(lk_client *client, bool (*condition)(const lk_client *client),
               uint64_t until);

/* Wakes the watchers whose condition holds. Inside the monitor. */
void lk__watchers_look(lk_client *client);

#endif /* LK_CORE_WAIT_H */
