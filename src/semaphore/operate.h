/* SPDX-License-Identifier: MIT */
#ifndef LK_SEMAPHORE_OPERATE_H
#define LK_SEMAPHORE_OPERATE_H

#include <latchkey/semaphore.h>

#include "claims/place.h"

/* What operators do to a semaphore, or ask of it: how many permits there are. */
typedef struct lk__operation {
    bool resizes;
    uint64_t permits; /* to be */
} lk__operation;

/* What is answered; of a count alone. */
typedef struct lk__numbers {
    uint64_t permits;
    int64_t free;
} lk__numbers;

/* Does it. Inside the monitor, which the blocking one leaves while it sleeps.
   ret_numbers may be NULL; of the callbacks one is NULL. */
lk_status lk__operate(lk__place *place, const lk__operation *operation,
                      lk__numbers *ret_numbers);
lk_status lk__operate_async(lk__place *place, const lk__operation *operation,
                            lk_done_cb done, lk_semaphore_count_cb count,
                            void *data);

#endif /* LK_SEMAPHORE_OPERATE_H */
