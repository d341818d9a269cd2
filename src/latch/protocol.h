/* SPDX-License-Identifier: MIT */
#ifndef LK_LATCH_PROTOCOL_H
#define LK_LATCH_PROTOCOL_H

#include "claims/place.h"
#include "claims/protocol.h"

/*
 * The latch's scripts: what they get and answer is in lua/latch/latch.table, and
 * docs/protocol.md says what stands behind it.
 */

extern const lk__protocol lk__protocol_latch;

/* What is done to a latch; see lua/latch/change.lua. */
typedef struct lk__latch_wish {
    char what;
    const char *op;
    uint64_t number, ttl_ms;
    const char *who;
} lk__latch_wish;

typedef enum lk__latch_changed {
    LK__LATCH_DONE,
    LK__LATCH_NO,
    LK__LATCH_UNSET,
    LK__LATCH_OTHER
} lk__latch_changed;

/* NULL: no memory. */
lk__question *
lk__latch_ask_change(const lk__place *place, const lk__latch_wish *wish);
/* denied: the waiters could not be told. size: so many others expect, of OTHER. */
lk_status lk__latch_read_change(const redisReply *reply, lk__latch_changed *ret,
                                bool *ret_denied, int64_t *ret_size);

/* What is left to count; LK_EUNSET. */
lk__question *lk__latch_ask_count(const lk__place *place);
lk_status lk__latch_read_count(const redisReply *reply, uint64_t *ret_count);

/* A message of the latch's channel, or of Redisson's. An opening of the
   generation that waits were told of ends those at once; anything else that is
   about this latch has the others look. */
void lk__latch_hear(lk__place *place, const char *text, size_t size);

#endif /* LK_LATCH_PROTOCOL_H */
