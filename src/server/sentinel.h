/* SPDX-License-Identifier: MIT */
#ifndef LK_SERVER_SENTINEL_H
#define LK_SERVER_SENTINEL_H

#include "server/conn.h"
#include "server/naming.h"

/*
 * One sentinel: a connection on which it is asked, about every second, for the
 * address of a master and for how long it has named that one. It greets with
 * AUTH alone, with the sentinels' own user. What it may not be asked, it is
 * believed without.
 */
typedef struct lk__sentinel {
    lk__conn conn; /* first */
    lk__naming *naming;
    lk__request auth, address, master;
    lk__alarm alarm; /* the next question */
    bool is_unknown; /* it says that it knows no such master */
    /* It was asked, and all that it said is in the naming. */
    void (*heard)(struct lk__sentinel *sentinel);
    void *data; /* for heard */
} lk__sentinel;

/* The naming and the address stay the caller's, and live as long. */
void lk__sentinel_init(lk__sentinel *sentinel, struct lk_client *client,
                       const lk__address *address, lk__naming *naming,
                       void (*heard)(lk__sentinel *sentinel), void *data);
void lk__sentinel_start(lk__sentinel *sentinel);
void lk__sentinel_stop(lk__sentinel *sentinel);

/* Asks by then at the latest, if it is connected. */
void lk__sentinel_ask_by(lk__sentinel *sentinel, uint64_t at);

#endif /* LK_SERVER_SENTINEL_H */
