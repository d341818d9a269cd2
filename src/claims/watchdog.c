/* SPDX-License-Identifier: MIT */

/*
 * When holds are renewed. Times are rounded down to a grid of a 600th of the lease, so
 * that claims which are due at about the same time share a batch, and batches
 * stay spread over the time in which the claims were acquired.
 */

#include "claims/watchdog.h"

#include "base/deadline.h"
#include "claims/batch.h"
#include "claims/claim_private.h"
#include "claims/node.h"

enum {
    RETRY_FIRST_MS = 50,
    RETRY_MAX_MS = 1000,
    RETRY_SHARE = 8,   /* nor longer than this part of the lease */
    TENDED_MS = 30000, /* to so much Redisson's renewals cut another's lease */
    GRID = 600
};

uint64_t lk__watchdog_next(const lk__claim *claim, uint64_t at)
{
    const lk__place *place = claim->place;
    uint64_t lease_ms = claim->lease_ms;
    uint64_t grid, due;

    if (!claim->watchdog && !place->kind->tends)
        return LK__NEVER;
    if (!claim->watchdog)
        lease_ms = place->client->settings.watchdog_ms;
    if (place->kind->tends && lease_ms > TENDED_MS)
        lease_ms = TENDED_MS;
    grid = lease_ms * LK__MS / GRID + 1;
    due = at + lease_ms * LK__MS / 3;

    return due - due % grid;
}

/* Where it has lived for so long, and will, or where many commands stand: a
   hold that came and is asked for once is no reason for a connection more. */
static bool wants_lane(const lk__claim *claim)
{
    const lk_client *client = claim->place->client;
    uint64_t ms =
        claim->watchdog ? claim->lease_ms : client->settings.watchdog_ms;

    return lk__road_is_crowded(&claim->place->node->road) ||
           lk__client_now(client) >= claim->granted_at + ms * LK__MS / 4;
}

void lk__watchdog_due(lk__claim *claim)
{
    lk__node *node = claim->place->node;

    if (wants_lane(claim))
        lk__road_want(&node->road);
    lk__pace_due(claim);
    claim->renewing = true;
    lk__due_add(&node->due, lk__claim_ref(claim));
}

/* The longest pause before the next try: the last one before the deadline must
   not be long before it. */
static uint64_t retry_ms(const lk__claim *claim)
{
    uint64_t most = claim->lease_ms / RETRY_SHARE;
    uint64_t ms = RETRY_FIRST_MS;

    if (most > RETRY_MAX_MS)
        most = RETRY_MAX_MS;
    for (unsigned i = 0; i < claim->renew_failures && ms < most; i++)
        ms *= 2;
    return ms < most ? ms : most;
}

void lk__watchdog_again(lk__claim *claim)
{
    lk_client *client = claim->place->client;
    uint64_t ms = retry_ms(claim);

    claim->unanswered = true;
    claim->renew_failures++;
    claim->renew_at = lk__client_now(client) +
                      lk__client_random(client, ms * LK__MS) + LK__MS;
    lk__claim_arm(claim);
    lk__place_drive(claim->place);
}

/* A process may stand still between counting what is left of a fixed lease and
   asking for it. */
static uint64_t
deadline_of(const lk__claim *claim, uint64_t sent_at, uint64_t lease_ms)
{
    uint64_t asked = lk__deadline_ns(sent_at, lease_ms);
    uint64_t fixed = lk__deadline_ns(claim->granted_at, claim->lease_ms);

    return claim->watchdog || asked < fixed ? asked : fixed;
}

/* What the server keeps for less than was asked, as its key ends sooner, is asked
   for again before that: somebody may let the key live on. */
static uint64_t
next_of(const lk__claim *claim, uint64_t sent_at, uint64_t lease_ms)
{
    uint64_t next = lk__watchdog_next(claim, sent_at);
    uint64_t ms = lease_ms / 3 > RETRY_FIRST_MS ? lease_ms / 3 : RETRY_FIRST_MS;

    if (claim->watchdog && lease_ms < claim->lease_ms &&
        sent_at + ms * LK__MS < next)
        next = sent_at + ms * LK__MS;
    return next;
}

void lk__watchdog_renewed(lk__claim *claim, uint64_t sent_at, uint64_t lease_ms)
{
    bool is_look = !claim->watchdog && claim->confirmed;

    lk__pace_done(claim);
    claim->unanswered = false;
    claim->is_denied = false;
    claim->renew_failures = 0;
    if (claim->renew_at <= sent_at) /* else it is to be asked once more */
        claim->renew_at = next_of(claim, sent_at, lease_ms);
    claim->confirmed = true;
    if (is_look) {
        lk__claim_confirm(claim);
        lk__claim_arm(claim); /* a fixed lease is looked after, not renewed */
        return;
    }
    claim->place->client->stats.renewals++;
    lk__claim_prolong(claim, deadline_of(claim, sent_at, lease_ms));
}

/* An explicit lease counts from the grant: only what is left of it is asked. */
uint64_t lk__watchdog_lease(const lk__claim *claim, uint64_t now)
{
    uint64_t elapsed_ms = (now - claim->granted_at) / LK__MS;

    if (claim->watchdog)
        return claim->lease_ms;
    return elapsed_ms < claim->lease_ms ? claim->lease_ms - elapsed_ms : 1;
}

/* Without memory for a batch its claims are tried again a little later. */
static void due_postpone(lk__due *due)
{
    while (due->first != NULL) {
        lk__claim *claim = due->first;

        lk__due_drop(due, claim);
        if (claim->state == LK__CLAIM_HELD)
            lk__watchdog_again(claim);
        lk__claim_unref(claim);
    }
}

void lk__watchdog_flush(lk__node *node)
{
    uint64_t most = node->due.first != NULL ? lk__due_most(node) : 0;
    lk__conn *conn;

    while (node->due.first != NULL && node->due.batches < most &&
           (conn = lk__road_take(&node->road, true)) != NULL) {
        if (!lk__batch_send(node, conn)) {
            due_postpone(&node->due);
            return;
        }
    }
}

void lk__watchdog_moved(lk__claim *claim, lk__node *from)
{
    if (!claim->is_due)
        return;
    lk__due_drop(&from->due, claim);
    if (claim->state == LK__CLAIM_HELD)
        lk__watchdog_due(claim);
    lk__claim_unref(claim);
}

void lk__watchdog_stop(lk__node *node)
{
    while (node->due.first != NULL) {
        lk__claim *claim = node->due.first;

        lk__due_drop(&node->due, claim);
        lk__claim_unref(claim);
    }
}
