/* SPDX-License-Identifier: MIT */
#ifndef LK_PLAIN_SEMAPHORE_CHANGE_H
#define LK_PLAIN_SEMAPHORE_CHANGE_H

#include <latchkey/plain_semaphore.h>

#include "claims/place.h"

/*
 * A change of the counter, or the question how much is free. Each change has a
 * number of its own out of those of the claims, by which the server knows it.
 * So it may be asked for again, and is made once; what adds or takes is asked
 * for until it is answered.
 */
typedef struct lk__change {
    char what; /* as in lua/plain_semaphore/change.lua, or c: the question */
    int64_t amount;
    bool must;
    uint64_t ttl_ms;
} lk__change;

/*
 * Makes it; inside the monitor, which the blocking one leaves while it sleeps.
 * The number that it answers is written unless ret_number is NULL. Of the
 * callbacks one is NULL.
 */
lk_status lk__change_make(lk__place *place, const lk__change *change,
                          int64_t *ret_number);
lk_status lk__change_make_async(lk__place *place, const lk__change *change,
                                lk_done_cb done,
                                lk_plain_semaphore_number_cb cb, void *data);

#endif /* LK_PLAIN_SEMAPHORE_CHANGE_H */
