/* SPDX-License-Identifier: MIT */

/*
 * Bulk renewal. Times are rounded up to a grid of a 600th of the lease, so
 * that claims which are due at about the same time share a batch, and batches
 * stay spread over the time in which the claims were acquired.
 */

#include "claims/watchdog.h"

#include <string.h>

#include "base/deadline.h"
#include "base/mem.h"
#include "claims/claim_private.h"
#include "claims/cluster.h"
#include "claims/node.h"
#include "claims/work.h"
#include "server/reply.h"
#include "shared_table.h"

enum {
    BATCH_NAMES = LK__RENEW_CLAIMS, /* a fifth of a millisecond of the
                                       server's time */
    BATCH_WEIGHT = 256,             /* in permits, where a hold has many */
    BATCHES_LEAST = 4, /* under way at a time; more where these do not do */
    BATCHES_MOST = 256,
    DRAIN_SHARE =
        30,          /* what is due at once is to leave in so much of a lease */
    SEEN_MOST = 512, /* of another kind, when a batch is filled */
    RETRY_FIRST_MS = 50,
    RETRY_MAX_MS = 1000,
    RETRY_SHARE = 8,   /* nor longer than this part of the lease */
    TENDED_MS = 30000, /* to so much Redisson's renewals cut another's lease */
    GRID = 600,
    RECORD_PART = 4,      /* of a record's life: so often it is made to last, */
    WHOLE_MS = 15 * 60000 /* and so often at least */
};

struct batch {
    lk__request request; /* first: found from it */
    lk__node *node;
    lk__conn *conn;    /* over which it goes */
    lk__asking asking; /* before it, where a slot is half moved */
    lk__node *there;   /* that was asked last then; NULL: where the name is */
    size_t part;       /* which key that question is about, from 1; 0: all */
    uint64_t sent_at;  /* when the first question that counts was sent */
    size_t count;
    size_t each;       /* so many keys each claim has in the question */
    bool whole;        /* there is one, and its record is kept as well */
    uint64_t inbox_at; /* when the inbox was ready that stands now; 0: none */
    lk__claim *claims[BATCH_NAMES]; /* of one kind */
    uint64_t leases[BATCH_NAMES];   /* asked for */
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
    lk__due *due = &node->due;

    if (wants_lane(claim))
        lk__road_want(&node->road);
    lk__pace_due(claim);
    claim->renewing = true;
    claim->is_due = true;
    claim->next_due = NULL;
    claim->prev_due = due->last;
    if (due->first == NULL)
        due->first = claim;
    else
        due->last->next_due = claim;
    due->last = lk__claim_ref(claim);
    due->count++;
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

/* A process may stand still between counting what is left of a fixed lease and
   asking for it. */
static uint64_t
deadline_of(const lk__claim *claim, uint64_t sent_at, uint64_t lease_ms)
{
    uint64_t asked = lk__deadline_ns(sent_at, lease_ms);
    uint64_t fixed = lk__deadline_ns(claim->granted_at, claim->lease_ms);

    return claim->watchdog || asked < fixed ? asked : fixed;
}

void lk__watchdog_renewed(lk__claim *claim, uint64_t sent_at, uint64_t lease_ms)
{
    bool is_look = !claim->watchdog && claim->confirmed;

    lk__pace_done(claim);
    claim->unanswered = false;
    claim->is_denied = false;
    claim->renew_failures = 0;
    claim->renew_at = sent_at < claim->ask_since
                          ? claim->ask_since
                          : lk__watchdog_next(claim, sent_at);
    claim->confirmed = true;
    if (is_look) {
        lk__claim_confirm(claim);
        lk__claim_arm(claim); /* a fixed lease is looked after, not renewed */
        return;
    }
    claim->place->client->stats.renewals++;
    lk__claim_prolong(claim, deadline_of(claim, sent_at, lease_ms));
}

/* Which claim a key is of, as the answer counts them, from 1; count: of none. */
static size_t claim_of_key(const struct batch *batch, int64_t index)
{
    return index >= 1 && (size_t)index <= batch->count * batch->each
               ? ((size_t)index - 1) / batch->each
               : batch->count;
}

static void batch_lost(struct batch *batch, const lk__list *lost)
{
    for (size_t i = 0; i < lk__list_count(lost); i++) {
        lk__lost_group one;
        lk__claim *claim;
        size_t at;

        lk__list_get(lost, i, &one);
        at = claim_of_key(batch, one.index);
        claim = at < batch->count ? batch->claims[at] : NULL;
        if (claim == NULL || claim->state != LK__CLAIM_HELD)
            continue;
        if (one.code != LK__RENEW_UNSURE) {
            lk__claim_lose(claim, lk__claim_loss_of(one.code));
        } else {
            claim->kept_by = 0; /* so the next one is whole */
            batch->leases[at] = 0;
        }
    }
}

/* What is due at once is to be renewed in this time, and a batch is to be
   answered: the lease counts from before it was sent. */
static uint64_t drain_ns(const lk_client *client)
{
    return client->settings.watchdog_ms * LK__MS / DRAIN_SHARE;
}

/* More batches under way than the server answers in time only wait there, while
   their leases run. */
static void due_note(lk__node *node, uint64_t took_ns)
{
    lk__due *due = &node->due;

    due->took_ns = took_ns;
    if (took_ns > drain_ns(node->client))
        due->room -= due->room > BATCHES_LEAST;
    else
        due->room += due->room < BATCHES_MOST;
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
    claim->is_apart = answer.is_apart;
    return LK_OK;
}

/* Those lost are lost then. */
static lk_status batch_read(struct batch *batch, const redisReply *reply)
{
    lk__list lost;
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

    due_note(node, lk__client_now(client) - batch->request.sent_at);
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

static lk_status batch_send(struct batch *batch);

static bool part_is_held(const struct batch *batch, const redisReply *reply)
{
    lk__list lost;

    return protocol_of(batch)->read_renew(reply, &lost) == LK_OK &&
           lk__list_count(&lost) == 0;
}

/*
 * Of a slot that moves some keys are at one node, and some at the other: then those
 * of a hold are renewed one after the other, each where it is. A key that moves
 * meanwhile is renewed at either. Whether there is more to be asked.
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

/* With what an access rule has refused it; NULL: none has. */
static const char *
denial_of(const struct batch *batch, lk_status status, const redisReply *reply)
{
    if (batch->there != NULL && batch->asking.denial[0] != '\0')
        return batch->asking.denial;
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
        renew_again(claim);
}

static void
on_renewed(lk__request *request, lk_status status, const redisReply *reply)
{
    struct batch *batch = (struct batch *)(void *)request;
    const char *denial;
    bool is_there;

    if (status == LK_OK && has_next_part(batch, reply)) {
        status = batch_send(batch);
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

/* An explicit lease counts from the grant: only what is left of it is asked. */
uint64_t lk__watchdog_lease(const lk__claim *claim, uint64_t now)
{
    uint64_t elapsed_ms = (now - claim->granted_at) / LK__MS;

    if (claim->watchdog)
        return claim->lease_ms;
    return elapsed_ms < claim->lease_ms ? claim->lease_ms - elapsed_ms : 1;
}

static lk_status batch_send(struct batch *batch)
{
    const lk__claim *first = batch->claims[0];
    lk__question *question =
        batch->whole
            ? protocol_of(batch)->keep(first->place, first->id, first->fence,
                                       batch->leases[0], 0)
            : protocol_of(batch)->renew(batch->claims, batch->leases,
                                        batch->count);
    lk_status status;

    if (question == NULL)
        return LK_ENOMEM;
    if (batch->part > 0)
        lk__question_pick(question, batch->part - 1);
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

/* Takes one off the list; its reference goes along. */
static void due_take(lk__due *due, lk__claim *claim)
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

/* The same without renewing it. */
static void due_drop(lk__due *due, lk__claim *claim)
{
    due_take(due, claim);
    claim->renewing = false;
}

/* By its own keys alone a hold is renewed while the inbox stands that would hear
   of its end, and its record lasts. Another server may have given the name to
   others and to this claim again, with another fence. */
static bool wants_whole(const lk__claim *claim, uint64_t now)
{
    const lk_client *client = claim->place->client;
    uint64_t ns = client->settings.fence_keep_ms * LK__MS / RECORD_PART;

    if (claim->place->kind->fenceless)
        return false; /* its own keys are all that there are */
    if (keys_of(claim) == 0)
        return true;
    if (is_in_cluster(claim) && claim->renew_failures % 2 == 1 &&
        claim->turn == claim->place->node->belief.turn)
        return false; /* of a slot that moves some keys may be elsewhere */
    if (strncmp(claim->id, client->id, strlen(client->id)) != 0)
        return true; /* borrowed: its end is told to another */
    if (ns > WHOLE_MS * LK__MS)
        ns = WHOLE_MS * LK__MS;
    return claim->kept_by == 0 || now >= claim->kept_at + ns ||
           claim->kept_by != lk__node_inbox_at(claim->place->node);
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
            due_drop(due, at);
            lk__claim_unref(at);
        } else if (goes_along(batch, at, now)) {
            due_take(due, at);
            batch_add(batch, at, now);
            weight += at->terms.need;
        } else {
            seen++;
        }
    }
}

static void batch_undo(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        batch->claims[i]->renewing = false;
        renew_again(batch->claims[i]);
        lk__claim_unref(batch->claims[i]);
    }
    lk__free(batch);
}

/* Without memory for a struct batch its claims are tried again a little later. */
static void due_postpone(lk__due *due)
{
    while (due->first != NULL) {
        lk__claim *claim = due->first;

        due_drop(due, claim);
        if (claim->state == LK__CLAIM_HELD)
            renew_again(claim);
        lk__claim_unref(claim);
    }
}

/* As many as it takes to have all that is due renewed in drain_ns(), at the
   pace of the last answer: where a client's holds fall due all at once, after an
   outage, others are not kept waiting for longer than they must. In a cluster few
   names share a slot, and so a question. */
static uint64_t batches_most(const lk__node *node)
{
    const lk__due *due = &node->due;
    size_t names = node->client->work->cluster != NULL ? 1 : BATCH_NAMES;
    uint64_t most = (due->count / names + 1) * (due->took_ns / 1000) /
                    (drain_ns(node->client) / 1000);

    if (most > due->room)
        most = due->room;
    return most < BATCHES_LEAST ? BATCHES_LEAST : most;
}

static void batch_go(struct batch *batch)
{
    if (batch->count == 0)
        lk__free(batch);
    else if (batch_send(batch) != LK_OK)
        batch_undo(batch);
    else
        batch->node->due.batches++;
}

void lk__watchdog_flush(lk__node *node)
{
    uint64_t most = batches_most(node);
    lk__conn *conn;

    while (node->due.first != NULL && node->due.batches < most &&
           (conn = lk__road_take(&node->road, true)) != NULL) {
        struct batch *batch = lk__alloc(sizeof(*batch));

        if (batch == NULL) {
            due_postpone(&node->due);
            return;
        }
        batch->node = node;
        batch->conn = conn;
        batch->inbox_at = lk__node_inbox_at(node);
        batch_fill(batch);
        batch_go(batch);
    }
}

void lk__watchdog_moved(lk__claim *claim, lk__node *from)
{
    if (!claim->is_due)
        return;
    due_drop(&from->due, claim);
    if (claim->state == LK__CLAIM_HELD)
        lk__watchdog_due(claim);
    lk__claim_unref(claim);
}

void lk__watchdog_stop(lk__node *node)
{
    while (node->due.first != NULL) {
        lk__claim *claim = node->due.first;

        due_drop(&node->due, claim);
        lk__claim_unref(claim);
    }
}
