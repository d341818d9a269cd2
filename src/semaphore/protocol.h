/* SPDX-License-Identifier: MIT */
#ifndef LK_SEMAPHORE_PROTOCOL_H
#define LK_SEMAPHORE_PROTOCOL_H

#include "claims/protocol.h"

/*
 * The semaphore's scripts: what they get and answer is in
 * lua/semaphore/semaphore.table, and docs/protocol.md says what stands behind it.
 */

extern const lk__protocol lk__protocol_semaphore;

/* NULL: no memory. */
lk__question *
lk__semaphore_ask_resize(const struct lk__place *place, uint64_t permits);
lk__question *lk__semaphore_ask_count(const struct lk__place *place);

/* Whether it answers one of these. */
bool lk__semaphore_is_resize(const lk__script *script);
bool lk__semaphore_is_count(const lk__script *script);

/* more: there is more to hand on than a call may do. */
lk_status lk__semaphore_read_resize(const redisReply *reply, bool *ret_more);
/* LK_EUNSET. Redisson may make N less than nothing. */
lk_status lk__semaphore_read_count(const redisReply *reply, int64_t *ret_number,
                                   int64_t *ret_free);

#endif /* LK_SEMAPHORE_PROTOCOL_H */
