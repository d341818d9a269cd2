/* SPDX-License-Identifier: MIT */
#ifndef LK_PLAIN_SEMAPHORE_CHANGE_H
#define LK_PLAIN_SEMAPHORE_CHANGE_H

#include <latchkey/plain_semaphore.h>

#include "base/script.h"
#include "claims/place.h"

extern const lk__script lk__script_plain_add;
extern const lk__script lk__script_plain_count;
extern const lk__script lk__script_plain_delete;
extern const lk__script lk__script_plain_drain;
extern const lk__script lk__script_plain_set;

/*
 * A change of the counter, or the question how much is free. Each change has a
 * number of its own out of those of the claims, by which the server knows it.
 * So it may be asked for again, and is made once; what adds or takes is asked
 * for until it is answered.
 */
typedef struct lk__change {
    const lk__script *script;
    size_t count; /* of the script's own arguments, but for the last */
    int64_t args[2];
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
