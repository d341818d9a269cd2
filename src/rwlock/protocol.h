/* SPDX-License-Identifier: MIT */
#ifndef LK_RWLOCK_PROTOCOL_H
#define LK_RWLOCK_PROTOCOL_H

#include <latchkey/rwlock.h>

#include "claims/protocol.h"

/*
 * What is said to the server about read-write locks: see lua/rwlock/rwlock.table.
 * What only this kind asks is declared here; as claims/protocol.h has it.
 */

extern const lk__protocol lk__protocol_rwlock;

typedef struct lk__downgrade_answer {
    bool reads;    /* from now on; else it holds no more */
    lk_loss loss;  /* where it does not */
    uint64_t left; /* of its lease, in ms */
    bool more;     /* to let in than a call may do */
} lk__downgrade_answer;

/* A HELD writer becomes a reader. */
lk__question *
lk__rwlock_ask_downgrade(const lk__claim *claim, uint64_t lease_ms);
lk_status
lk__rwlock_read_downgrade(const redisReply *reply, lk__downgrade_answer *ret);

lk__question *lk__rwlock_ask_state(const struct lk__place *place);
lk_status
lk__rwlock_read_state(const redisReply *reply, lk_rwlock_state *ret_state);

#endif /* LK_RWLOCK_PROTOCOL_H */
