/* SPDX-License-Identifier: MIT */

/* What is due, and how fast it is to go. */

#include "claims/due.h"

#include "claims/claim_private.h"
#include "claims/node.h"
#include "claims/protocol.h"
#include "claims/work.h"

enum {
    BATCHES_LEAST = 4, /* under way at a time; more where these do not do */
    BATCHES_MOST = 256,
    DRAIN_SHARE = 30 /* what is due at once is to leave in so much of a lease */
};

void lk__due_add(lk__due *due, lk__claim *claim)
{
    claim->is_due = true;
    claim->next_due = NULL;
    claim->prev_due = due->last;
    if (due->first == NULL)
        due->first = claim;
    else
        due->last->next_due = claim;
    due->last = claim;
    due->count++;
}

void lk__due_take(lk__due *due, lk__claim *claim)
{
    if (claim->prev_due == NULL)
        due->first = claim->next_due;
    else
        claim->prev_due->next_due = claim->next_due;
    if (claim->next_due == NULL)
        due->last = claim->prev_due;
    else
        claim->next_due->prev_due = claim->prev_due;
    claim->next_due = claim->prev_due = NULL;
    claim->is_due = false;
    due->count--;
}

void lk__due_drop(lk__due *due, lk__claim *claim)
{
    lk__due_take(due, claim);
    claim->renewing = false;
}

/* What is due at once is to be renewed in this time, and a batch is to be
   answered: the lease counts from before it was sent. */
static uint64_t drain_ns(const lk_client *client)
{
    return client->settings.watchdog_ms * LK__MS / DRAIN_SHARE;
}

/* More batches under way than the server answers in time only wait there, while
   their leases run. */
void lk__due_note(lk__node *node, uint64_t took_ns)
{
    lk__due *due = &node->due;

    due->took_ns = took_ns;
    if (took_ns > drain_ns(node->client))
        due->room -= due->room > BATCHES_LEAST;
    else
        due->room += due->room < BATCHES_MOST;
}

/* A lease that is renewed in time has two thirds left. One that was handed over, or
   has seen an outage, may have far less, however long the watchdog's is. */
static uint64_t haste_ns(const lk__node *node)
{
    uint64_t now = lk__client_now(node->client), most = drain_ns(node->client);
    uint64_t until = node->due.first->leased_until;
    uint64_t left = until > now ? (until - now) / 2 * 3 / DRAIN_SHARE : 0;

    return left < most ? left : most;
}

/* As many as it takes to have all that is due renewed in haste_ns(), at the
   pace of the last answer: where a client's holds fall due all at once, after an
   outage, others are not kept waiting for longer than they must. In a cluster few
   names share a slot, and so a question. */
uint64_t lk__due_most(const lk__node *node)
{
    const lk__due *due = &node->due;
    size_t names = node->client->work->cluster != NULL ? 1 : LK__RENEW_CLAIMS;
    uint64_t most = (due->count / names + 1) * (due->took_ns / 1000) /
                    (haste_ns(node) / 1000 + 1);

    if (most > due->room)
        most = due->room;
    return most < BATCHES_LEAST ? BATCHES_LEAST : most;
}
