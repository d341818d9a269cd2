/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_WATCHDOG_H
#define LK_CLAIMS_WATCHDOG_H

#include "claims/claim.h"

struct lk__node;

/*
 * The watchdog renews holds in bulk. When a claim falls due it is put on a
 * list of its node's (due.h); leaving the monitor sends the list in batches (batch.h)
 * over the road (road.h), as many at a time as are needed. The answer names only the lost. What is not
 * answered is tried again until the deadline. What has no road yet stays on
 * the list.
 */

/* When a claim that was granted or renewed at this time is due again. */
uint64_t lk__watchdog_next(const lk__claim *claim, uint64_t at);

/* Puts a HELD claim on the list. */
void lk__watchdog_due(lk__claim *claim);

/* The lease that a renewal is to bring. An explicit one counts from the grant:
   what is left of it. */
uint64_t lk__watchdog_lease(const lk__claim *claim, uint64_t now);

/* A HELD claim was renewed by what was sent then. */
void lk__watchdog_renewed(lk__claim *claim, uint64_t sent_at,
                          uint64_t lease_ms);

/* A HELD claim was not renewed: it is due again a little later. */
void lk__watchdog_again(lk__claim *claim);

/* The claim's name is at this node no more: what is due is so at another. The
   caller has the claim. */
void lk__watchdog_moved(lk__claim *claim, struct lk__node *from);

/* Sends what is due. */
void lk__watchdog_flush(struct lk__node *node);

/* Lets go of what is due: nothing is sent any more. */
void lk__watchdog_stop(struct lk__node *node);

#endif /* LK_CLAIMS_WATCHDOG_H */
