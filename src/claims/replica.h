/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_REPLICA_H
#define LK_CLAIMS_REPLICA_H

#include "base/alarm.h"
#include "engine/call.h"
#include "engine/cancel.h"
#include "server/lane.h"

struct lk__claim;
struct lk__node;

/*
 * A need: so many replicas must have a claim that is held. WAIT counts what its
 * own connection has written, and keeps waiting what comes behind it. So it has
 * a lane, on which each claim is renewed once before; and one WAIT serves all
 * needs of its time.
 *
 * On the heap, because a renewal may be under way when nobody waits any more.
 */
typedef struct lk__need {
    lk__request renewal; /* first */
    lk__call call;
    struct lk__need *next, *prev; /* in these, while listed */
    struct lk__replicas *replicas;
    struct lk__claim *claim; /* counted; NULL: it has not begun */
    const lk_cancel *cancel; /* NULL: none; looked at while listed */
    uint64_t count, ms;
    uint64_t had;      /* how many had it, by the last answer */
    uint64_t lease_ms; /* that the renewal brings */
    uint64_t renew_at; /* it was refused, and is sent again then; 0: at once */
    bool written;      /* the claim was renewed on the present connection */
    bool listed;
    bool released; /* nobody waits; goes with its last request */
    lk__alarm alarm;
    void *data; /* for the deliver */
} lk__need;

struct lk__replicas;
typedef struct lk__replicas {
    lk__lane lane; /* first */
    lk__need *first;
    lk__request wait;
    uint64_t downs;  /* tells the lane's connections apart */
    lk__alarm alarm; /* for renewals that were refused */
} lk__replicas;

void lk__replicas_init(lk__replicas *replicas, struct lk__node *node);
void lk__replicas_stop(lk__replicas *replicas);

/* NULL: out of memory. */
lk__need *lk__need_new(uint64_t count, uint64_t ms);

/*
 * Begins; ends its call with LK_OK, LK_EREPLICAS, LK_ELOST, LK_ECANCELED,
 * LK_ECLOSED or what the server refuses. deliver NULL: a blocking one. Inside
 * the monitor.
 */
void lk__need_begin(lk__need *need, struct lk__claim *claim,
                    const lk_cancel *cancel, void (*deliver)(lk__call *call));

/* Sleeps until a blocking one has ended. Inside the monitor. */
lk_status lk__need_sleep(lk__need *need);

/* Finds it from its call. */
lk__need *lk__need_of_call(lk__call *call);

/* Lets go of it. NULL is allowed. Inside the monitor, if it has begun. */
void lk__need_release(lk__need *need);

/* Ends those at this node whose token was fired. */
void lk__needs_cancel(struct lk__node *node);

/* Names are at this node no more: their needs go with them. */
void lk__needs_moved(struct lk__node *node);

/* The shutdown ends every one at this node. */
void lk__needs_end(struct lk__node *node, lk_status status);

#endif /* LK_CLAIMS_REPLICA_H */
