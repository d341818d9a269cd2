/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_SCOUT_H
#define LK_CLAIMS_SCOUT_H

#include "server/conn.h"

/*
 * Asks the nodes that the URL names, one after the other, for the map of the
 * cluster, while no master of it is connected. Replicas know it as well.
 */
typedef struct lk__scout {
    lk__conn conn; /* first */
    lk__request login, map;
    size_t seed; /* which of the URL's it is at */
    size_t left; /* how many are tried before it pauses */
    /* It answered, or NULL: it cannot be asked, and its connection says why. */
    void (*heard)(struct lk__scout *scout, const redisReply *reply);
    void *data;
} lk__scout;

void lk__scout_init(lk__scout *scout, struct lk_client *client,
                    void (*heard)(lk__scout *scout, const redisReply *reply),
                    void *data);

/* Begins, if it has not. */
void lk__scout_start(lk__scout *scout);

/* It has answered. The next one is asked if that was of no use. */
void lk__scout_rest(lk__scout *scout);

#endif /* LK_CLAIMS_SCOUT_H */
