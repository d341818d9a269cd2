/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_SIGNAL_H
#define LK_CLAIMS_SIGNAL_H

#include "base/alarm.h"
#include "server/lane.h"

struct lk__node;
struct lk__place;

/* The place's key that is its signal. */
enum { LK__KEY_SIGNAL = 1 };

/*
 * Signals: lists to which something is pushed when a name has become free, and
 * from which whoever waits pops it. The one that popped it alone knows of it: it has to
 * try to take the name, or to push another one.
 *
 * A client pops all lists that it waits for in one blocking command on a lane.
 * When the names change, that is ended and sent again. Signals may be lost, by
 * a process that is killed with one in its hands or by a list that ends: a
 * waiting process looks about every second, too. In a cluster, where one command pops
 * of one slot alone, that is all.
 */
typedef struct lk__signal {
    struct lk__place *next, *prev; /* in the node, while listed */
    bool listed;
    bool wanted; /* somebody waits, and was told that the name is held */
    bool asked;  /* it is in the pop that is under way */
} lk__signal;

typedef struct lk__signals {
    lk__lane lane; /* first */
    struct lk__place *first;
    size_t wanted, asked; /* how many */
    lk__request pop, unblock;
    bool changed;        /* since the pop was sent */
    bool cannot_unblock; /* the server's rules deny it: pops are short */
    lk__alarm alarm;     /* not before then: the next pop, or unblocking */
} lk__signals;

void lk__signals_init(lk__signals *signals, struct lk__node *node);

/* Ends it at once: the client is shut down. */
void lk__signals_stop(lk__signals *signals);

/* Makes that of a new place. False: no memory. */
bool lk__signal_make(struct lk__place *place);

/* Somebody waits for the place's signal; nobody does any more. */
void lk__signal_want(struct lk__place *place);
void lk__signal_drop(struct lk__place *place);

/* A pop is under way that may yet bring one. */
bool lk__signals_are_busy(const lk__signals *signals);

#endif /* LK_CLAIMS_SIGNAL_H */
