/* SPDX-License-Identifier: MIT */

/* One question that renews many, from the list to its answer; see batch.h. */

#include "claims/batch.h"

#include <string.h>

#include "base/mem.h"
#include "claims/claim_private.h"
#include "claims/cluster.h"
#include "claims/watchdog.h"
#include "claims/work.h"
#include "server/reply.h"
#include "shared_table.h"

enum {
    BATCH_NAMES = LK__RENEW_CLAIMS, /* a fifth of a millisecond of the
                                       server's time */
    BATCH_WEIGHT = 256,             /* in permits, where a hold has many */
    SEEN_MOST = 512,      /* of another kind, when a batch is filled */
    RECORD_PART = 4,      /* of a record's life: so often it is made to last, */
    WHOLE_MS = 15 * 60000 /* and so often at least */
};

struct batch {
    lk__request request; /* first: found from it */
    lk__node *node;
    lk__conn *conn;    /* over which it goes */
    lk__asking asking; /* before it, where a slot is half moved */
    lk__node *there;   /* that was asked last then; NULL: where the name is */
    size_t part;       /* which key that question is about, from the last, as 1;
                          0: all */
    uint64_t sent_at;  /* when the first question that counts was sent */
    size_t count;
    size_t each;       /* so many keys each claim has in the question */
    bool whole;        /* there is one, and its record is kept as well */
    uint64_t inbox_at; /* when the inbox was ready that stands now; 0: none */
    lk__claim *claims[BATCH_NAMES]; /* of one kind */
    uint64_t leases[BATCH_NAMES];   /* asked for */
};

/* ---- answers ------------------------------------------------------------------ */

static lk_status batch_ask(struct batch *batch);

/* Which claim a key is of, as the answer counts them, from 1; count: of none. */
static size_t claim_of_key(const struct batch *batch, int64_t index)
{
    return index >= 1 && (size_t)index <= batch->count * batch->each
               ? ((size_t)index - 1) / batch->each
               : batch->count;
}

static void batch_lost(struct batch *batch, const lk__lost_answer *lost)
{
    for (size_t i = 0; i < lost->count; i++) {
        size_t at = claim_of_key(batch, lost->all[i].key);
        int64_t code = lost->all[i].code;
        lk__claim *claim;

        claim = at < batch->count ? batch->claims[at] : NULL;
        if (claim == NULL || claim->state != LK__CLAIM_HELD)
            continue;
        if (code != LK__RENEW_UNSURE) {
            lk__claim_lose(claim, lk__claim_loss_of(code));
        } else {
            claim->kept_at = 0; /* so the next one is whole */
            batch->leases[at] = 0;
        }
    }
}

static const lk__protocol *protocol_of(const struct batch *batch)
{
    return lk__claim_protocol(batch->claims[0]);
}

/* It is looked at as a whole: whether it is revoked, too. */
static lk_status read_whole(struct batch *batch, const redisReply *reply)
{
    lk__claim *claim = batch->claims[0];
    lk__keep_answer answer = {.is_held = false};
    lk_status status =
        protocol_of(batch)->read_keep(reply, claim->fence, &answer);

    if (status != LK_OK || claim->state != LK__CLAIM_HELD)
        return status;
    if (!answer.is_held)
        lk__claim_lose(claim, answer.loss);
    else
        lk__claim_kept(claim, batch->request.sent_at, batch->inbox_at);
    batch->leases[0] = lk__claim_kept_ms(claim, &answer, batch->request.sent_at,
                                         batch->leases[0]);
    claim->is_apart = answer.is_apart;
    return LK_OK;
}

/* Those lost are lost then. */
static lk_status batch_read(struct batch *batch, const redisReply *reply)
{
    lk__lost_answer lost;
    lk_status status;

    if (batch->whole)
        return read_whole(batch, reply);
    status = protocol_of(batch)->read_renew(reply, &lost);
    if (status == LK_OK)
        batch_lost(batch, &lost);
    return status;
}

static lk_status batch_check(struct batch *batch, const redisReply *reply)
{
    lk__node *node = batch->node;
    lk_status status = lk__node_check(&batch->request, reply);

    if (status == LK_OK)
        status = batch_read(batch, reply);
    if (status == LK_OK && batch->conn != &node->command)
        lk__lane_serves(&node->road.lane);
    return status;
}

/* Refused or not, the server keeps up. */
static void batch_answered(struct batch *batch, const redisReply *reply)
{
    lk__node *node = batch->node;
    lk_client *client = node->client;

    lk__due_note(node, lk__client_now(client) - batch->request.sent_at);
    if (batch->conn == &node->command && node->road.shares)
        client->stats.renewals_shared += batch->count;
    for (size_t i = 0; reply->type == REDIS_REPLY_ERROR && i < batch->count;
         i++)
        lk__pace_done(batch->claims[i]);
}

/* How many of the question that renews many; 0: it is no part of one. */
static size_t keys_of(const lk__claim *claim)
{
    const lk__protocol *protocol = lk__claim_protocol(claim);

    return protocol->renewal_keys != NULL ? protocol->renewal_keys(claim) : 1;
}

/* Whether the answer speaks of all keys that keep it now. A read beside a write
   begun meanwhile moves the write's lease to a key of its own. */
static bool speaks_of(const struct batch *batch, const lk__claim *claim)
{
    return batch->whole || keys_of(claim) == batch->each;
}

/* All are of one slot where there is more than one node. */
static lk_status
batch_heard(struct batch *batch, lk_status status, const redisReply *reply)
{
    for (size_t i = 0; i < batch->count; i++)
        status = lk__place_heard(batch->claims[i]->place, &batch->request,
                                 status, reply);
    return status;
}

static bool is_in_cluster(const lk__claim *claim)
{
    return claim->place->client->work->cluster != NULL;
}

static bool part_is_held(const struct batch *batch, const redisReply *reply)
{
    lk__lost_answer lost;

    return protocol_of(batch)->read_renew(reply, &lost) == LK_OK &&
           lost.count == 0;
}

/*
 * Of a slot that moves some keys are at one node, and some at the other: then those
 * of a hold are renewed one after the other, each where it is. A key that moves
 * meanwhile is renewed at either. The name itself is the last: a reader that leaves
 * between has it end with the last of the leases that it finds. Whether there is more
 * to be asked.
 */
static bool has_next_part(struct batch *batch, const redisReply *reply)
{
    const lk__place *place = batch->claims[0]->place;
    bool is_error = reply->type == REDIS_REPLY_ERROR;

    if (!is_in_cluster(batch->claims[0]) || batch->whole || batch->count != 1 ||
        !speaks_of(batch, batch->claims[0]))
        return false;
    if (is_error &&
        batch->request.in_full) /* then it was not taken in either */
        lk__node_of(batch->request.conn)->seen[batch->request.script->index] =
            0;
    if ((!is_error && batch->part > 0 && batch->part < batch->each &&
         part_is_held(batch, reply)) ||
        (batch->part == 0 && batch->each > 1 &&
         (lk__reply_is_error(reply, "TRYAGAIN") ||
          lk__reply_is_error(reply, "ASK")))) {
        batch->part++;
        batch->there = NULL;
        return true;
    }
    if (!is_error || batch->there != NULL)
        return false;
    batch->there =
        lk__cluster_asks(place->client, place->slot, &batch->request, reply);
    return batch->there != NULL;
}

/* With what an access rule has refused it; NULL: none has. A node that has all
   of the slot by then renews without an ASKING. */
static const char *
denial_of(const struct batch *batch, lk_status status, const redisReply *reply)
{
    if (status == LK_OK)
        return NULL;
    if (batch->there != NULL && batch->asking.is_denied)
        return batch->asking.words;
    return status == LK_EDENIED ? lk__reply_words(reply) : NULL;
}

/* For one of its claims. denial: NULL if no access rule refused it. */
static void one_answered(const struct batch *batch, size_t i, lk_status status,
                         const char *denial)
{
    lk__claim *claim = batch->claims[i];

    claim->renewing = false;
    if (claim->state != LK__CLAIM_HELD)
        return;
    if (denial != NULL)
        lk__claim_denied(claim, denial);
    if (status == LK_OK && batch->leases[i] > 0 && speaks_of(batch, claim))
        lk__watchdog_renewed(claim, batch->sent_at, batch->leases[i]);
    else if (batch->there == NULL &&
             lk__place_has_left(claim->place, &batch->request))
        lk__claim_renew_soon(claim);
    else
        lk__watchdog_again(claim);
}

static void
on_renewed(lk__request *request, lk_status status, const redisReply *reply)
{
    struct batch *batch = (struct batch *)(void *)request;
    const char *denial;
    bool is_there;

    if (status == LK_OK && has_next_part(batch, reply)) {
        status = batch_ask(batch);
        if (status == LK_OK)
            return;
    }
    is_there = batch->there != NULL;
    batch->node->due.batches--;
    if (!is_there)
        status = batch_heard(batch, status, reply);
    else if (batch->claims[0]->place->node != batch->node)
        status = LK_EINDOUBT; /* that node was asked on behalf of another */
    if (status == LK_OK) {
        batch_answered(batch, reply);
        status = batch_check(batch, reply);
    }
    denial = denial_of(batch, status, reply);

    for (size_t i = 0; i < batch->count; i++) {
        one_answered(batch, i, status, denial);
        lk__claim_unref(batch->claims[i]);
    }
    lk__free(batch);
}

/* ---- sending ------------------------------------------------------------------- */

static lk_status batch_ask(struct batch *batch)
{
    const lk__claim *first = batch->claims[0];
    lk__question *question =
        batch->whole ? protocol_of(batch)->keep(first, batch->leases[0], 0)
                     : protocol_of(batch)->renew(batch->claims, batch->leases,
                                                 batch->count);
    lk_status status;

    if (question == NULL)
        return LK_ENOMEM;
    if (batch->part > 0)
        lk__question_pick(question, batch->each - batch->part);
    batch->request.on_reply = on_renewed;
    if (batch->there != NULL)
        status = lk__cluster_ask(batch->there, &batch->asking, &batch->request,
                                 question);
    else
        status = lk__question_send(batch->conn, &batch->request, question);
    if (batch->part <= 1)
        batch->sent_at = batch->request.sent_at;
    return status;
}

/* By its own keys alone a hold is renewed while the inbox stands that would hear
   of its end, and its record lasts. Another server may have given the name to
   others and to this claim again, with another fence. */
static bool wants_whole(const lk__claim *claim, uint64_t now)
{
    const lk_client *client = claim->place->client;
    uint64_t ns = client->settings.fence_keep_ms * LK__MS / RECORD_PART;
    uint64_t inbox_at = lk__node_inbox_at(claim->place->node);

    if (claim->place->kind->fenceless)
        return false; /* its own keys are all that there are */
    if (keys_of(claim) == 0)
        return true;
    if (is_in_cluster(claim) && claim->renew_failures % 2 == 1 &&
        claim->turn == claim->place->node->belief.turn)
        return false; /* of a slot that moves some keys may be elsewhere */
    if (ns > WHOLE_MS * LK__MS)
        ns = WHOLE_MS * LK__MS;
    return inbox_at == 0 || claim->kept_at < inbox_at ||
           now >= claim->kept_at + ns;
}

static void batch_add(struct batch *batch, lk__claim *claim, uint64_t now)
{
    batch->each = keys_of(claim);
    batch->leases[batch->count] = lk__watchdog_lease(claim, now);
    lk__claim_asked(claim, now, batch->leases[batch->count]);
    batch->claims[batch->count++] = claim;
}

/* A node of a cluster takes one slot in a question; of a slot that moves it may
   know some keys alone. */
static bool share_a_question(const lk__claim *a, const lk__claim *b)
{
    if (!is_in_cluster(a))
        return true;
    return a->place->slot == b->place->slot && a->renew_failures == 0 &&
           b->renew_failures == 0;
}

/* Whether it may be renewed by the same question as those in the batch. */
static bool
goes_along(const struct batch *batch, const lk__claim *claim, uint64_t now)
{
    const lk__claim *first = batch->claims[0];

    if (batch->count == 0)
        return batch->whole == wants_whole(claim, now);
    if (batch->whole || wants_whole(claim, now) ||
        !share_a_question(first, claim) || keys_of(claim) != batch->each ||
        lk__claim_protocol(claim) != lk__claim_protocol(first))
        return false;
    return batch->leases[0] == lk__watchdog_lease(claim, now);
}

/* Takes claims of one kind off the list, those first that have been due for the
   longest. */
static void batch_fill(struct batch *batch)
{
    lk__due *due = &batch->node->due;
    uint64_t now = lk__client_now(batch->node->client);
    lk__claim *next;
    uint64_t weight = 0, seen = 0;

    batch->whole = wants_whole(due->first, now);
    for (lk__claim *at = due->first; at != NULL && batch->count < BATCH_NAMES &&
                                     weight < BATCH_WEIGHT && seen < SEEN_MOST;
         at = next) {
        next = at->next_due;
        if (at->state != LK__CLAIM_HELD) {
            lk__due_drop(due, at);
            lk__claim_unref(at);
        } else if (goes_along(batch, at, now)) {
            lk__due_take(due, at);
            batch_add(batch, at, now);
            weight += lk__claim_terms(at)->need;
        } else {
            seen++;
        }
    }
}

static void batch_undo(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        batch->claims[i]->renewing = false;
        lk__watchdog_again(batch->claims[i]);
        lk__claim_unref(batch->claims[i]);
    }
    lk__free(batch);
}

bool lk__batch_send(lk__node *node, lk__conn *conn)
{
    struct batch *batch = lk__alloc(sizeof(*batch));

    if (batch == NULL)
        return false;
    batch->node = node;
    batch->conn = conn;
    batch->inbox_at = lk__node_inbox_at(node);
    batch_fill(batch);
    if (batch->count == 0)
        lk__free(batch);
    else if (batch_ask(batch) != LK_OK)
        batch_undo(batch);
    else
        node->due.batches++;
    return true;
}
