/* SPDX-License-Identifier: MIT */
#ifndef LK_SERVER_SLOTS_H
#define LK_SERVER_SLOTS_H

#include <latchkey/status.h>

#include <hiredis/hiredis.h>

#include "base/slot.h"
#include "server/endpoint.h"

/* As many as Redis Cluster is made for. */
enum { LK__MASTERS_MOST = 1000 };

enum { LK__NODE_ID = 41 }; /* bytes of a node's id, with its end */

typedef struct lk__master {
    lk__endpoint at;
    char id[LK__NODE_ID]; /* "": none was told */
} lk__master;

/*
 * Which master serves which slot, as one node of a cluster says: a claim, which
 * may be old or wrong. A map is taken as a whole or not at all.
 */
typedef struct lk__slots {
    lk__master *masters; /* each once, in no order; owned */
    size_t master_count;
    uint16_t numbers[LK__SLOTS]; /* which of the masters, from 1; 0: nobody */
} lk__slots;

/*
 * Makes a map of what a node answered to CLUSTER SLOTS; free with
 * lk__slots_free(). asked: the host at which that node was reached, which is
 * what it means where it names none.
 *
 * LK_EPROTO: it is no map, or two masters have one address there. LK_ENOTSUP: the server is no node of a cluster.
 * LK_ENOMEM. Or what another error of the server's means. *ret_words then says
 * it to people, and may lie in the reply.
 */
lk_status lk__slots_new(lk__slots **ret_slots, const redisReply *reply,
                        const char *asked, const char **ret_words);

/* Whether a node's answer says just that. Where it says one slot twice that may be
   overlooked. */
bool lk__slots_says(const lk__slots *slots, const redisReply *reply,
                    const char *asked);

/* NULL is allowed. */
void lk__slots_free(lk__slots *slots);

/* NULL: nobody serves it. Good until the map is freed. */
const lk__endpoint *lk__slots_owner(const lk__slots *slots, unsigned slot);

#endif /* LK_SERVER_SLOTS_H */
