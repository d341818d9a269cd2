/* SPDX-License-Identifier: MIT */

/*
 * Bulk renewal. Times are rounded up to a grid of a 600th of the lease, so
 * that claims which are due at about the same time share a batch, and batches
 * stay spread over the time in which the claims were acquired.
 */

#include "core/watchdog.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/claim_private.h"
#include "core/deadline.h"
#include "core/mem.h"
#include "core/names.h"
#include "core/node.h"
#include "core/reply.h"

enum {
    BATCH_NAMES = 32,   /* a fifth of a millisecond of the server's time */
    BATCH_WEIGHT = 256, /* in permits, where a hold has many */
    BATCHES = 16,       /* under way */
    RETRY_FIRST_MS = 50,
    RETRY_MAX_MS = 1000,
    RETRY_SHARE = 8, /* nor longer than this part of the lease */
    GRID = 600
};

struct batch {
    lk__request request; /* first: found from it */
    lk_client *client;
    size_t count;
    lk__claim *claims[BATCH_NAMES];
    char fences[BATCH_NAMES][24];
    uint64_t leases[BATCH_NAMES]; /* asked for */
    lk__arg keys[(LK__RENEW_KEYS + 1) * BATCH_NAMES];
    lk__arg args[3 * BATCH_NAMES];
    char (*claim_keys)[LK__CLAIM_KEY_SIZE]; /* NULL: the kind has none */
};

static void batch_free(struct batch *batch)
{
    lk__free(batch->claim_keys);
    lk__free(batch);
}

/* All of one kind: it has the names of keys for those that need them. */
static struct batch *batch_new(lk_client *client)
{
    const lk__kind *kind = client->first_due->place->kind;
    struct batch *batch = lk__alloc(sizeof(*batch));

    if (batch == NULL)
        return NULL;
    batch->client = client;
    if (kind->claim_key == NULL)
        return batch;
    batch->claim_keys = lk__alloc(BATCH_NAMES * sizeof(*batch->claim_keys));
    if (batch->claim_keys != NULL)
        return batch;
    lk__free(batch);
    return NULL;
}

uint64_t lk__watchdog_next(const lk__claim *claim, uint64_t at)
{
    const lk__place *place = claim->place;
    uint64_t lease_ms = claim->lease_ms;
    uint64_t grid, due;

    if (!claim->watchdog && !place->kind->tends)
        return LK__NEVER;
    if (!claim->watchdog)
        lease_ms = place->client->settings.watchdog_ms;
    grid = lease_ms * LK__MS / GRID + 1;
    due = at + lease_ms * LK__MS / 3;

    return due - due % grid;
}

void lk__watchdog_due(lk__claim *claim)
{
    lk_client *client = claim->place->client;

    claim->renewing = true;
    claim->next_due = client->first_due;
    client->first_due = lk__claim_ref(claim);
}

/* ---- answers ------------------------------------------------------------------ */

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

static void renew_again(lk__claim *claim)
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

void lk__watchdog_renewed(lk__claim *claim, uint64_t sent_at, uint64_t lease_ms)
{
    bool is_look = !claim->watchdog && claim->confirmed;

    claim->unanswered = false;
    claim->renew_failures = 0;
    claim->renew_at = lk__watchdog_next(claim, sent_at);
    claim->confirmed = true;
    if (is_look) {
        lk__claim_arm(claim); /* a fixed lease is looked after, not renewed */
        return;
    }
    claim->place->client->stats.renewals++;
    lk__claim_prolong(claim, lk__deadline_ns(sent_at, lease_ms));
}

static void batch_lost(struct batch *batch, const redisReply *reply)
{
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        int64_t index = lk__reply_integer_at(reply, i, 0);
        int64_t code = lk__reply_integer_at(reply, i + 1, 0);
        lk__claim *claim = index >= 1 && (size_t)index <= batch->count
                               ? batch->claims[index - 1]
                               : NULL;

        if (claim != NULL && claim->state == LK__CLAIM_HELD)
            lk__claim_lose(claim, lk__claim_loss_of(code));
    }
}

static void
on_renewed(lk__request *request, lk_status status, const redisReply *reply)
{
    struct batch *batch = (struct batch *)(void *)request;

    batch->client->renewing--;
    if (status == LK_OK)
        status = lk__node_check(batch->client->node, request, reply);
    if (status == LK_OK && reply->type != REDIS_REPLY_ARRAY)
        status = LK_EPROTO;
    if (status == LK_OK)
        batch_lost(batch, reply);

    for (size_t i = 0; i < batch->count; i++) {
        lk__claim *claim = batch->claims[i];

        claim->renewing = false;
        if (claim->state == LK__CLAIM_HELD && status == LK_OK)
            lk__watchdog_renewed(claim, request->sent_at, batch->leases[i]);
        else if (claim->state == LK__CLAIM_HELD)
            renew_again(claim);
        lk__claim_unref(claim);
    }
    batch_free(batch);
}

/* ---- sending ------------------------------------------------------------------- */

/* An explicit lease counts from the grant: only what is left of it is asked. */
uint64_t lk__watchdog_lease(const lk__claim *claim, uint64_t now)
{
    uint64_t elapsed_ms = (now - claim->granted_at) / LK__MS;

    if (claim->watchdog)
        return claim->lease_ms;
    return elapsed_ms < claim->lease_ms ? claim->lease_ms - elapsed_ms : 1;
}

size_t lk__watchdog_keys(const lk__claim *claim, lk__arg *keys, char *claim_key)
{
    const lk__place *place = claim->place;
    const lk__kind *kind = place->kind;
    size_t count = 0;

    for (size_t k = 0; k < kind->renew_key_count; k++)
        keys[count++] = lk__arg_text(place->keys[kind->renew_keys[k]]);
    if (kind->claim_key != NULL) {
        lk__name_claim_key(claim_key, kind->claim_key, place->name, claim->id);
        keys[count++] = lk__arg_text(claim_key);
    }
    return count;
}

/* Keys and arguments lie in the batch: no thread's stack has to hold them. */
static lk_status batch_send(struct batch *batch, const lk__script *script)
{
    size_t key_count = 0;

    for (size_t i = 0; i < batch->count; i++) {
        const lk__claim *claim = batch->claims[i];

        snprintf(batch->fences[i], sizeof(batch->fences[i]), "%" PRIu64,
                 claim->fence);
        key_count +=
            lk__watchdog_keys(claim, batch->keys + key_count,
                              batch->claim_keys != NULL ? batch->claim_keys[i]
                                                        : NULL);
        batch->args[3 * i] = lk__arg_text(claim->id);
        batch->args[3 * i + 1] = lk__arg_text(batch->fences[i]);
        batch->args[3 * i + 2] = lk__arg_number((int64_t)batch->leases[i]);
    }
    batch->request.on_reply = on_renewed;
    return lk__node_call(batch->client->node, &batch->request, script,
                         key_count, batch->keys, 3 * batch->count, batch->args);
}

/* Takes claims of one kind off the list; the list's references go along. */
static const lk__script *batch_fill(struct batch *batch)
{
    lk_client *client = batch->client;
    uint64_t now = lk__client_now(client);
    const lk__script *script = client->first_due->place->kind->renew;
    lk__claim **at = &client->first_due;
    uint64_t weight = 0;

    while (*at != NULL && batch->count < BATCH_NAMES && weight < BATCH_WEIGHT) {
        lk__claim *claim = *at;

        if (claim->state == LK__CLAIM_HELD &&
            claim->place->kind->renew != script) {
            at = &claim->next_due;
            continue;
        }
        *at = claim->next_due;
        if (claim->state == LK__CLAIM_HELD) {
            batch->leases[batch->count] = lk__watchdog_lease(claim, now);
            lk__claim_asked(claim, now, batch->leases[batch->count]);
            batch->claims[batch->count++] = claim;
            weight += claim->terms.need;
        } else {
            claim->renewing = false;
            lk__claim_unref(claim);
        }
    }
    return script;
}

static void batch_undo(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        batch->claims[i]->renewing = false;
        renew_again(batch->claims[i]);
        lk__claim_unref(batch->claims[i]);
    }
    batch_free(batch);
}

/* Without memory for a struct batch its claims are tried again a little later. */
static void due_postpone(lk_client *client)
{
    lk__claim *claim;

    while ((claim = client->first_due) != NULL) {
        client->first_due = claim->next_due;
        claim->renewing = false;
        if (claim->state == LK__CLAIM_HELD)
            renew_again(claim);
        lk__claim_unref(claim);
    }
}

void lk__watchdog_flush(lk_client *client)
{
    while (client->first_due != NULL && client->renewing < BATCHES) {
        struct batch *batch = batch_new(client);
        const lk__script *script;

        if (batch == NULL) {
            due_postpone(client);
            return;
        }
        script = batch_fill(batch);
        if (batch->count == 0)
            batch_free(batch);
        else if (batch_send(batch, script) != LK_OK)
            batch_undo(batch);
        else
            client->renewing++;
    }
}
