/* SPDX-License-Identifier: MIT */
#ifndef LK_RWLOCK_RWLOCK_H
#define LK_RWLOCK_RWLOCK_H

#include "claims/place.h"

extern const lk__kind lk__kind_rwlock;

/* One of several handles on a HELD claim has ended: those that are left may be
   downgraded ones. */
void lk__rwlock_shed(lk__claim *claim);

/* Whether a claim of this kind writes, and not only reads; and says so. */
bool lk__rwlock_writes(const lk__claim *claim);
void lk__rwlock_set_writes(lk__claim *claim, bool writes);

#endif /* LK_RWLOCK_RWLOCK_H */
