/* SPDX-License-Identifier: MIT */
#ifndef LK_SEMAPHORE_OPERATE_H
#define LK_SEMAPHORE_OPERATE_H

#include <latchkey/semaphore.h>

#include "base/script.h"
#include "claims/place.h"

extern const lk__script lk__script_semaphore_count;
extern const lk__script lk__script_semaphore_resize;

/* What operators do to a semaphore and ask of it. */
typedef struct lk__operation {
    const lk__script *script;
    int64_t number; /* of a resize */
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
