/* SPDX-License-Identifier: MIT */
#ifndef LK_SERVER_SENTINEL_H
#define LK_SERVER_SENTINEL_H

#include "server/conn.h"
#include "server/ear.h"
#include "server/login.h"
#include "server/naming.h"

typedef struct lk__sentinel lk__sentinel;

/* What a sentinel tells the one it works for. Inside the monitor. */
typedef struct lk__sentinel_class {
    /* It was asked, and all that it said is in the naming; or it is down. */
    void (*heard)(lk__sentinel *sentinel);
    /* It tells of another master, which is a hint to ask. */
    void (*hinted)(lk__sentinel *sentinel);
} lk__sentinel_class;

/*
 * One sentinel: a connection on which it is asked, about every second, for the
 * address of a master and for how long it has named that one; and another on
 * which it is listened to, for as long as the first one stands. What it may not
 * be asked, it is believed without.
 */
struct lk__sentinel {
    lk__conn conn; /* first */
    lk__ear ear;
    lk__naming *naming;
    lk__login login;
    lk__request address, master;
    lk__alarm alarm;    /* the next question */
    uint64_t hinted_at; /* when it was last worth asking again */
    bool is_unknown;    /* it says that it knows no such master */
    const lk__sentinel_class *class;
    void *data; /* for the class */
};

/* The naming, the address and the class stay the caller's, and live as long. */
void lk__sentinel_init(lk__sentinel *sentinel, struct lk_client *client,
                       const lk__address *address, lk__naming *naming,
                       const lk__sentinel_class *class, void *data);
void lk__sentinel_done(lk__sentinel *sentinel);
void lk__sentinel_start(lk__sentinel *sentinel);
void lk__sentinel_stop(lk__sentinel *sentinel);
void lk__sentinel_flush(lk__sentinel *sentinel);

/* Asks by then at the latest, if it is connected. */
void lk__sentinel_ask_by(lk__sentinel *sentinel, uint64_t at);

/* Asks now, and not more often than 20 times a second, if it is connected. */
void lk__sentinel_ask_anew(lk__sentinel *sentinel);

#endif /* LK_SERVER_SENTINEL_H */
