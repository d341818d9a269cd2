/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_TRACK_H
#define LK_CLAIMS_TRACK_H

#include "server/conn.h"

struct lk__claim;
struct lk__node;
struct lk__place;

/*
 * Tracking: the server tells when a name's key changes, whoever changes it and
 * however, the end of its lease included. So a claim that others keep out, who
 * will never hand over to it, need not look again and again.
 *
 * It is Redis' CLIENT TRACKING: the connection for commands reads the key once,
 * and the inbox is told of the next change. A name is tracked until that is
 * told. What is told is a hint to look: it knows no databases. Where the server
 * refuses it, the claim looks, with pauses.
 */
typedef struct lk__track {
    struct lk__place *place;
    lk__request caching, read;
    unsigned armed_by; /* the node's number of then; another: not tracked */
    bool was_held;     /* as the claim's last look said */
} lk__track;

typedef struct lk__tracking {
    lk__request request;
    unsigned number; /* of this pair of connections; 0 before there is one */
    bool begun;      /* with this pair */
    bool refused;    /* the same */
    bool was_told;   /* the log was told of a refusal */
} lk__tracking;

/* The connections are others, or will be: nothing is tracked any more. */
void lk__tracking_reset(struct lk__node *node);

/*
 * Has the next change of the place's name be told, and sees to it that a change
 * since the claim's last look, which found the name held or free, is not
 * missed. False: the server does not track.
 */
bool lk__track_want(struct lk__place *place, bool is_held);

/* The place is at another node now. */
void lk__track_lost(struct lk__place *place);

/* The inbox was told of a channel's message: true if it is about what is
   tracked. keys is its last element. */
bool lk__track_take(struct lk__node *node, const char *channel,
                    const redisReply *keys);

#endif /* LK_CLAIMS_TRACK_H */
