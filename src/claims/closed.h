/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_CLOSED_H
#define LK_CLAIMS_CLOSED_H

#include <stddef.h>
#include <stdint.h>

struct lk__claim;
struct lk__node;
struct lk__place;

/*
 * The holds whose end a node has told last. The server that takes the node's place
 * may lack these releases: a failover loses what the replica had not received, a
 * restart what was not written to the disk. Nobody would ask that server for them
 * again, and the names would stay held until the leases end. So they are asked for
 * once more there. A release compares claim and fence, so one that was not lost
 * changes nothing.
 *
 * Kept are those of the last two seconds before the latest, which is what
 * `appendfsync everysec` may lose; a replica lags by less. So they cost the next
 * server no more than two seconds of what the one before did, however many clients
 * there are. And no more than 256: each is 32 bytes and may keep a place.
 */
enum { LK__CLOSED = 256, LK__CLOSED_MS = 2000 };

typedef struct lk__closed {
    struct lk__closed_hold {
        struct lk__place *place;
        uint64_t number, fence; /* of the claim */
        uint64_t at;
    } holds[LK__CLOSED]; /* a ring, from the first on */
    size_t first, count;
} lk__closed;

/* The node has told that the hold of this claim is ended now. */
void lk__closed_note(const struct lk__claim *claim);

/* The node's server may be another, or its names are elsewhere. */
void lk__closed_again(struct lk__node *node);

void lk__closed_forget(struct lk__node *node);

#endif /* LK_CLAIMS_CLOSED_H */
