/* SPDX-License-Identifier: MIT */
#ifndef LK_STRIPES_AGREE_H
#define LK_STRIPES_AGREE_H

#include <stdatomic.h>

#include "engine/client.h"

/*
 * Whether all processes have the same number of stripes. It is kept in
 * `latchkey:stripes:{name}`, as a decimal number. Whoever finds none sets it.
 * It lives for a week from the last day in which somebody compared, so that a
 * name space that nobody uses leaves nothing; whoever uses one compares every
 * minute, so that a number that went otherwise, by hand, by eviction or with
 * all data, is there again within that time.
 */
typedef struct lk__agreement {
    atomic_uint refs; /* the handle's, and each comparison's under way */
    lk_client *client;
    char *key;
    uint64_t count;
    _Atomic uint64_t compared_at; /* 0: never */
    _Atomic uint64_t prolonged_at;
} lk__agreement;

/* Of a name that was checked. NULL: no memory. Keeps the client. */
lk__agreement *
lk__agreement_new(lk_client *client, const char *name, uint64_t count);
void lk__agreement_unref(lk__agreement *agreement);

/* Whether it was compared within the last minute. */
bool lk__agreement_is_fresh(const lk__agreement *agreement);

/* Compares; the time limit is the command's, or until if that is sooner. Inside
   the monitor, which it leaves while it sleeps. */
lk_status lk__agree(lk__agreement *agreement, uint64_t until);

/* The same without waiting. cb runs on the loop, outside of the monitor, with
   the words of a failure noted. */
lk_status lk__agree_async(lk__agreement *agreement, uint64_t until,
                          lk_done_cb cb, void *data);

#endif /* LK_STRIPES_AGREE_H */
