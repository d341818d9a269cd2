/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_NAP_H
#define LK_CLAIMS_NAP_H

#include "base/alarm.h"

struct lk_client;

/*
 * A moment in which something waits that has nothing under way at the server.
 * It ends by its time, or when the client is shut down. Inside the monitor.
 */
typedef struct lk__nap lk__nap;

struct lk__nap {
    lk__alarm alarm; /* first */
    struct lk_client *client;
    lk__nap *next, *prev; /* in the client, while it lasts */
    void (*over)(lk__nap *nap);
};

bool lk__nap_lasts(const lk__nap *nap);

/* Begins one; client and over are set. One that lasts goes on as it was. */
void lk__nap_take(lk__nap *nap, uint64_t ns);

/* Ends it without a word. */
void lk__nap_stop(lk__nap *nap);

/* The client is shut down: ends all of them. */
void lk__naps_end(struct lk_client *client);

#endif /* LK_CLAIMS_NAP_H */
