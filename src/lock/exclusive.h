/* SPDX-License-Identifier: MIT */
#ifndef LK_LOCK_EXCLUSIVE_H
#define LK_LOCK_EXCLUSIVE_H

#include "claims/place.h"

/*
 * The two kinds of lock that one owner at a time holds. They are of one
 * family: same keys, same scripts, one queue, so that either excludes the
 * other and hands over to it. They differ in who may take a free name and in
 * what a client does with its own waits.
 */

/* A free name is whose comes first; one claim waits for all of a client, and
   what the client holds goes from hand to hand in it. */
extern const lk__kind lk__kind_lock;

/* Nobody is passed by: each wait has a ticket of its own. */
extern const lk__kind lk__kind_fairlock;

#endif /* LK_LOCK_EXCLUSIVE_H */
