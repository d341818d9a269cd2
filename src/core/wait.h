/* SPDX-License-Identifier: MIT */
#ifndef LK_CORE_WAIT_H
#define LK_CORE_WAIT_H

#include <latchkey/hold.h>

#include "core/call.h"

struct lk__place;

/*
 * One caller's wish to acquire something. It stands in its place's line from
 * lk__wait_begin() to its end, and ends once: with a grant, an error, a cancel,
 * or by its time. A blocking caller's own thread watches the time, so that it
 * returns in time however busy the loop is; for an async one an alarm does.
 */
typedef struct lk__wait {
    struct lk__wait *next, *prev;         /* in the place's line */
    struct lk__wait *next_all, *prev_all; /* in the client's list */
    lk__call call;
    struct lk__place *place;
    uint64_t owner; /* who acts */
    uint64_t lease_ms;
    bool watchdog; /* the lease is the client's, to be renewed */
    bool try_only; /* answers busy instead of waiting */
    char *reason;  /* "" if none */
    const lk_cancel *cancel;
    uint64_t until; /* when it ends by itself */
    lk__alarm alarm;
    lk_hold *hold; /* made beforehand, so that a grant cannot fail */
    lk_acquire_cb cb;
    void *data;
} lk__wait;

/* Stands in line. It may be done at once. Inside the monitor. */
void lk__wait_begin(lk__wait *wait);

/*
 * Ends it; it is out of every list afterwards. words are for lk_last_error();
 * NULL: the status' own text. Inside the monitor.
 */
void lk__wait_end(lk__wait *wait, lk_status status, const char *words);

/* Copies and checks the options of an acquire. */
lk_status lk__acquire_options_take(const struct lk__place *place,
                                   const lk_acquire_options *given,
                                   lk_acquire_options *ret_options);

/* What an acquire asks for. */
typedef struct lk__wish {
    struct lk__place *place;
    int64_t wait_ms;
    uint64_t default_lease_ms; /* 0: the watchdog's */
    const lk_acquire_options *options;
} lk__wish;

/* The blocking acquire of every primitive, and the async one. */
lk_status lk__wait_acquire(const lk__wish *wish, lk_hold **ret_hold);
lk_status
lk__wait_acquire_async(const lk__wish *wish, lk_acquire_cb cb, void *data);

/* Ends every wait of the client with one status. Inside the monitor. */
void lk__waits_end(lk_client *client, lk_status status, const char *words);

/* Ends the waits whose cancel token was fired. Inside the monitor. */
void lk__waits_cancel(lk_client *client);

#endif /* LK_CORE_WAIT_H */
