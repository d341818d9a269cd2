/* SPDX-License-Identifier: MIT */

/* Touching: many claims of one name say in one call that they wait. */

#include "claims/touch.h"

#include "base/container.h"
#include "base/mem.h"
#include "claims/claim.h"
#include "claims/node.h"
#include "claims/place.h"
#include "claims/protocol.h"
#include "server/reply.h"

enum {
    BATCH_CLAIMS = LK__TOUCH_CLAIMS,
    EVERY_MS = 1000, /* the longest sleep between two touches */
    SOONEST_MS = 5   /* behind the end of a lease; and if it cannot be sent */
};

#define MS UINT64_C(1000000)

struct batch {
    lk__request request; /* first: found from it */
    lk__place *place;    /* counted */
    size_t count;
    lk__claim *claims[BATCH_CLAIMS]; /* counted */
};

static void touch(lk__place *place);

static void on_alarm(lk__alarm *alarm)
{
    touch(LK__CONTAINER_OF(alarm, lk__touching, alarm)->place);
}

bool lk__touching_make(lk__place *place)
{
    if (place->touching != NULL)
        return true;
    place->touching = lk__alloc(sizeof(*place->touching));
    if (place->touching == NULL)
        return false;
    place->touching->place = place;
    place->touching->alarm.fire = on_alarm;
    return true;
}

void lk__touching_done(lk__place *place)
{
    if (place->touching != NULL)
        lk__alarm_clear(&place->client->alarms, &place->touching->alarm);
    lk__free(place->touching);
}

/* ---- when ---------------------------------------------------------------- */

void lk__touch_later(lk__place *place, int64_t left_ms)
{
    lk_client *client = place->client;
    lk__touching *touching = place->touching;
    uint64_t ms = EVERY_MS - lk__client_random(client, EVERY_MS / 4);
    uint64_t at;

    if (touching == NULL)
        return;
    if (left_ms == 0)
        ms = 0;
    else if (left_ms > 0 && (uint64_t)left_ms + SOONEST_MS < ms)
        ms = (uint64_t)left_ms + SOONEST_MS;
    at = lk__client_now(client) + ms * MS;
    if (at < touching->tempo.until)
        at = touching->tempo.until;
    if (!lk__alarm_is_set(&touching->alarm) || at < touching->alarm.timer.at)
        lk__alarm_set(&client->alarms, &touching->alarm, at);
}

/* ---- answers --------------------------------------------------------------- */

/* True: it waits on. */
static bool on_ticket(lk__claim *claim, uint64_t ticket, uint64_t sent_at)
{
    if (claim->state != LK__CLAIM_QUEUED)
        return false;
    claim->seek->refusals = 0;
    if (ticket == claim->seek->ticket) {
        lk__claim_still_queued(claim, sent_at);
        return true;
    }
    lk__claim_ask_again(claim);
    return false;
}

/* Where all that were touched have come in, and others may, nobody of them is left
   to look again. */
static void on_answer(struct batch *batch, const redisReply *reply)
{
    const lk__protocol *protocol = batch->place->kind->protocol;
    lk__touch_answer answer = {.left_ms = -1, .turn = batch->count};
    bool waits = false;

    if (protocol->read_touch(reply, batch->count, &answer) == LK_OK) {
        for (size_t i = 0; i < batch->count; i++)
            waits |=
                on_ticket(batch->claims[i], protocol->read_ticket(reply, i),
                          batch->request.sent_at);
    }
    if (answer.turn < batch->count)
        lk__claim_ask_again(batch->claims[answer.turn]);
    if (answer.more && !waits)
        lk__claim_hand_on(batch->place);
    if (answer.more || answer.left_ms == 0)
        lk__tempo_again(&batch->place->touching->tempo,
                        lk__client_now(batch->place->client));
    lk__touch_later(batch->place, answer.more ? 0 : answer.left_ms);
}

static void batch_free(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        lk__claim_unref(batch->claims[i]);
    lk__place_unref(batch->place);
    lk__free(batch);
}

/* A refusal concerns every one of them alike. One that may pass they sit out;
   any other each hears by its own look, and if that is not refused they go on
   as before. */
static void on_refused(struct batch *batch, const redisReply *reply)
{
    if (lk__reply_is_noscript(reply)) {
        lk__touch_later(batch->place, 0);
        return;
    }
    for (size_t i = 0; i < batch->count; i++) {
        lk__claim *claim = batch->claims[i];

        if (!lk__node_passes(&batch->request, reply))
            lk__claim_look_now(claim);
        else if (claim->state == LK__CLAIM_QUEUED)
            claim->seek->refusals++;
    }
    lk__touch_later(batch->place, -1);
}

/* Without an answer the connection is gone: its return touches again. */
static void
on_touched(lk__request *request, lk_status status, const redisReply *reply)
{
    struct batch *batch = (struct batch *)(void *)request;
    lk__touching *touching = batch->place->touching;

    touching->under_way--;
    status = lk__place_heard(batch->place, request, status, reply);
    if (status == LK_OK) {
        status = lk__node_check(request, reply);
        if (status == LK_OK)
            on_answer(batch, reply);
        else
            on_refused(batch, reply);
    }
    if (touching->under_way == 0 && touching->again) {
        touching->again = false;
        lk__touch_later(batch->place, 0);
    }
    if (lk__place_has_left(batch->place, request))
        lk__touch_later(batch->place, 0);
    batch_free(batch);
}

/* ---- sending ------------------------------------------------------------------- */

/* Fills a batch with waiting claims; returns the one to go on with. */
static lk__claim *batch_fill(struct batch *batch, lk__claim *claim)
{
    for (; claim != NULL && batch->count < BATCH_CLAIMS; claim = claim->next) {
        if (claim->state != LK__CLAIM_QUEUED || claim->line != LK__LINE_OWN ||
            lk__claim_is_looking(claim))
            continue;
        batch->claims[batch->count++] = lk__claim_ref(claim);
    }
    return claim;
}

static bool batch_send(struct batch *batch)
{
    lk__place *place = batch->place;
    const lk__question *question;

    if (batch->count == 0)
        return false;
    question = place->kind->protocol->touch(place, batch->claims, batch->count);
    if (question == NULL ||
        lk__question_send(&place->node->command, &batch->request, question) !=
            LK_OK)
        return false;
    place->touching->under_way++;
    place->client->stats.rechecks++;
    return true;
}

static struct batch *batch_new(lk__place *place)
{
    struct batch *batch = lk__alloc(sizeof(*batch));

    if (batch == NULL)
        return NULL;
    batch->request.on_reply = on_touched;
    batch->place = place;
    place->refs++;
    return batch;
}

/* Claims are in order of their numbers, and so of their tickets: a first batch
   that is refused leaves no gap. */
static void touch(lk__place *place)
{
    lk__claim *claim = place->first_claim;

    if (!lk__node_is_ready(place->node))
        return; /* it is seen to again when it is */
    if (place->touching->under_way > 0) {
        place->touching->again = true;
        return;
    }
    while (claim != NULL) {
        struct batch *batch = batch_new(place);
        bool is_empty;

        if (batch == NULL) {
            lk__touch_later(place, SOONEST_MS);
            return;
        }
        claim = batch_fill(batch, claim);
        is_empty = batch->count == 0;
        if (batch_send(batch))
            continue;
        batch_free(batch);
        if (!is_empty)
            lk__touch_later(place, SOONEST_MS);
        return;
    }
}
