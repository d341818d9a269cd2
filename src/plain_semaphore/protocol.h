/* SPDX-License-Identifier: MIT */
#ifndef LK_PLAIN_SEMAPHORE_PROTOCOL_H
#define LK_PLAIN_SEMAPHORE_PROTOCOL_H

#include "claims/place.h"
#include "claims/protocol.h"

/*
 * The scripts of the plain semaphore: what they get and answer is in
 * lua/plain_semaphore/plain_semaphore.table, and docs/protocol.md says what stands
 * behind it.
 */

extern const lk__protocol lk__protocol_plain;

/* What is done to a counter; see lua/plain_semaphore/change.lua. */
typedef struct lk__plain_wish {
    char what;
    const char *op;
    int64_t amount;
    bool must;
    uint64_t ttl_ms;
} lk__plain_wish;

/* NULL: no memory. What is settled on the place is told with it. */
lk__question *
lk__plain_ask_change(lk__place *place, const lk__plain_wish *wish);
/* LK_OK, LK_EALREADY, LK_ERANGE or LK_EUNSET; taken: by a drain; more: there is
   more to hand on than a call may. */
lk_status lk__plain_read_change(const redisReply *reply, int64_t *ret_taken,
                                bool *ret_more);

/* What is free; LK_EUNSET. */
lk__question *lk__plain_ask_count(const lk__place *place);
lk_status lk__plain_read_count(const redisReply *reply, int64_t *ret_free);

#endif /* LK_PLAIN_SEMAPHORE_PROTOCOL_H */
