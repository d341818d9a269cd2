/* SPDX-License-Identifier: MIT */

/* Releases that the next server may lack; see closed.h. */

#include "claims/closed.h"

#include "claims/claim.h"
#include "claims/node.h"
#include "claims/place.h"
#include "engine/client.h"

#define MS UINT64_C(1000000)

/* Its place has a reference that the caller gives back. */
static struct lk__closed_hold oldest_take(lk__closed *closed)
{
    struct lk__closed_hold hold = closed->holds[closed->first];

    closed->first = (closed->first + 1) % LK__CLOSED;
    closed->count--;
    return hold;
}

static bool is_over(const lk__closed *closed, uint64_t now)
{
    return closed->count == LK__CLOSED ||
           now > closed->holds[closed->first].at + LK__CLOSED_MS * MS;
}

void lk__closed_note(const lk__claim *claim)
{
    lk__place *place = claim->place;
    lk__closed *closed = &place->node->closed;
    uint64_t now = lk__client_now(place->client);

    while (closed->count > 0 && is_over(closed, now))
        lk__place_unref(oldest_take(closed).place);
    place->refs++;
    closed->holds[(closed->first + closed->count++) % LK__CLOSED] =
        (struct lk__closed_hold){.place = place,
                                 .number = claim->entry.hash,
                                 .fence = claim->fence,
                                 .at = now};
}

void lk__closed_again(lk__node *node)
{
    while (node->closed.count > 0) {
        struct lk__closed_hold hold = oldest_take(&node->closed);

        lk__claim_give_back(hold.place, hold.number, hold.fence);
        lk__place_unref(hold.place);
    }
}

void lk__closed_forget(lk__node *node)
{
    while (node->closed.count > 0)
        lk__place_unref(oldest_take(&node->closed).place);
}
