/* SPDX-License-Identifier: MIT */

/*
 * Seeking: what is sent from the wish to the grant, and the grant that is
 * pushed. claim_answer.c says what the answers mean.
 *
 * A grant that names our ticket was made after the last look was sent that was
 * answered "still queued". So the deadline of a pushed grant needs no server's
 * clock. A grant that was long on its way is confirmed before it is believed.
 */

#include "base/container.h"
#include "base/deadline.h"
#include "claims/claim_private.h"
#include "claims/node.h"
#include "claims/pace.h"
#include "claims/work.h"

enum {
    RETRY_MS = 5,   /* when there was no memory for a request */
    FOREIGN_MS = 50 /* when a script met a key that has moved */
};

static lk__claim *claim_of_look(lk__request *request)
{
    return LK__CONTAINER_OF(request, lk__seeking, look)->claim;
}

/* Too many answers have led nowhere: it asks when the pause is over. */
static bool is_slowed(lk__claim *claim)
{
    lk_client *client = claim->place->client;
    const lk__wait *head = lk__place_head(claim);

    if (head == NULL || head->tempo.until <= lk__client_now(client))
        return false;
    lk__alarm_set(&client->alarms, &claim->alarm, head->tempo.until);
    return true;
}

/*
 * An acquire that went out before the client could queue may be answered
 * "busy", and has to be sent again. Those of the same place that would queue
 * meanwhile stay behind it: they were wished for later. That takes a trip at
 * most, for as soon as one may queue none goes out any more that may not.
 */
static bool stays_behind(const lk__claim *claim)
{
    const lk__wait *head = claim->seek->first_seat;

    return claim->line == LK__LINE_OWN && claim->place->unqueued > 0 &&
           (head == NULL || !head->try_only) && !lk__claim_is_spinning(claim) &&
           lk__place_can_queue(claim->place);
}

static void unqueued_begin(lk__claim *claim, const lk__wait *head)
{
    claim->unqueued = claim->line == LK__LINE_OWN && !claim->queueable &&
                      !lk__claim_is_spinning(claim) && head != NULL &&
                      !head->try_only;
    claim->place->unqueued += claim->unqueued;
}

/* It is answered. True: it stays in the place's count until the answer is dealt
   with, for till then nobody is to go, not even itself. */
static bool unqueued_end(lk__claim *claim)
{
    bool was_one = claim->unqueued;

    claim->unqueued = false;
    return was_one;
}

/* Those that stayed behind, and if they can queue now, the others with them, in
   order. If they cannot, one with a time of its own keeps to it. */
static void unqueued_go(lk__claim *claim)
{
    bool can_queue = lk__place_can_queue(claim->place);

    if (claim->line == LK__LINE_OWN && claim->state == LK__CLAIM_WANTED &&
        !lk__claim_is_spinning(claim) &&
        (can_queue || !lk__alarm_is_set(&claim->alarm)))
        lk__claim_seek(claim);
}

/* The name went to another node meanwhile, where nothing was asked yet; or the
   answer was none, though the node is there. A refusal is an answer, and has a
   pause of its own. */
static void go_on_elsewhere(lk__claim *claim, const lk__request *request,
                            bool was_no_answer)
{
    if (!lk__claim_is_seeking(claim) || claim->seek->look.busy)
        return;
    if (lk__place_has_left(claim->place, request))
        lk__claim_drive(claim);
    else if (was_no_answer)
        lk__claim_look_after(claim, FOREIGN_MS);
}

/* An answer that comes when the state has moved on is of no concern. */
static void
on_look(lk__request *request, lk_status status, const redisReply *reply)
{
    lk__claim *claim = claim_of_look(request);
    bool was_unqueued = unqueued_end(claim);
    bool was_answered = status == LK_OK, is_none;

    status = lk__place_heard(claim->place, request, status, reply);
    is_none = was_answered && status != LK_OK;
    claim->doubted = claim->doubted || status == LK_EINDOUBT;
    if (status == LK_EINDOUBT && claim->state == LK__CLAIM_WANTED) {
        claim->in_doubt = true;
    } else if (status == LK_OK && (claim->state == LK__CLAIM_WANTED ||
                                   claim->state == LK__CLAIM_QUEUED)) {
        status = lk__node_check(request, reply);
        if (status != LK_OK)
            lk__claim_refused(claim, status, reply);
        else
            lk__claim_take_answer(claim, reply);
    } else if (status == LK_OK && claim->state == LK__CLAIM_UNSURE) {
        lk__claim_seek(claim); /* the confirm had to wait for this answer */
    }
    if (was_unqueued && --claim->place->unqueued == 0)
        lk__place_visit(claim->place, unqueued_go);
    go_on_elsewhere(claim, request, is_none);
    lk__claim_end_seeking(claim);
    lk__claim_answered(claim);
}

/* ---- a grant that was long on its way -------------------------------------- */

static void
on_confirm(lk__request *request, lk_status status, const redisReply *reply)
{
    lk__claim *claim = claim_of_look(request);
    bool was_answered = status == LK_OK, is_none;

    status = lk__place_heard(claim->place, request, status, reply);
    is_none = was_answered && status != LK_OK;
    if (claim->state == LK__CLAIM_UNSURE && status == LK_OK) {
        status = lk__node_check(request, reply);
        if (status != LK_OK)
            lk__claim_refused(claim, status, reply);
        else
            lk__claim_take_confirmation(claim, reply);
    }
    go_on_elsewhere(claim, request, is_none);
    lk__claim_end_seeking(claim);
    lk__claim_answered(claim);
}

static void confirm_send(lk__claim *claim)
{
    const lk__question *question =
        lk__claim_protocol(claim)->keep(claim, claim->lease_ms, 0);

    claim->seek->look.on_reply = on_confirm;
    if (lk__claim_send(claim, &claim->seek->look, question) != LK_OK)
        lk__claim_look_after(claim, RETRY_MS);
}

/* In a cluster it only says that it is time to ask: the bus carries messages to all
   nodes, also those of a master that woke and has been replaced. */
void lk__claim_grant(lk__claim *claim, uint64_t ticket, uint64_t fence,
                     uint64_t top_fence, uint64_t lease_ms)
{
    lk_client *client = claim->place->client;
    uint64_t deadline;

    if (claim->state != LK__CLAIM_QUEUED && claim->state != LK__CLAIM_WANTED)
        return; /* said twice, or being given back already */
    if (claim->seek->ticket != 0 && claim->seek->ticket != ticket)
        return; /* an older ticket of ours, void by itself */
    if (claim->place->kind->holdless || claim->place->kind->signals)
        return; /* of such a kind nothing is ever granted so */
    if (claim->seek->ticket == 0) {
        lk__claim_opened(claim); /* nothing proves it before the answer */
        return;
    }

    if (lease_ms > claim->lease_ms)
        lease_ms = claim->lease_ms;
    deadline = lk__deadline_ns(claim->seek->bound, lease_ms);
    client->stats.grants++;
    lk__claim_set_fence(claim, fence, top_fence);
    if (client->work->cluster == NULL && lk__node_gives(claim->place->node) &&
        deadline > lk__client_now(client) + lease_ms * LK__MS / 2) {
        lk__claim_ref(claim);
        lk__claim_hold(claim, deadline, LK__GRANT_PUSHED);
        lk__claim_end_seeking(claim);
        lk__claim_unref(claim);
        return;
    }
    client->stats.grants_late++;
    claim->state = LK__CLAIM_UNSURE;
    lk__claim_seek(claim);
}

/* ---- sending --------------------------------------------------------------- */

/* What the server is to do if the claim is not granted. One that waits, but
   cannot queue yet, leaves the others their turn, as it would in the queue. */
static char how_of(const lk__claim *claim)
{
    const lk__wait *head = lk__place_head(claim);

    if (claim->queueable)
        return LK__HOW_QUEUE;
    if (head == NULL || (head->try_only && !head->yields))
        return LK__HOW_TRY;
    return head->try_only || !lk__claim_is_spinning(claim) ? LK__HOW_YIELD
                                                           : LK__HOW_SPIN;
}

static void acquire_send(lk__claim *claim)
{
    lk__place *place = claim->place;
    const lk__wait *head = lk__place_head(claim);
    lk_status status;

    if (claim->seek->looks == 0)
        claim->is_near = lk__place_is_near(place);
    claim->queueable = (head == NULL || !head->try_only) &&
                       !lk__claim_is_spinning(claim) && !place->kind->signals &&
                       lk__place_can_queue(place);
    claim->opened = false;
    claim->seek->look.on_reply = on_look;
    status = lk__claim_send(claim, &claim->seek->look,
                            lk__claim_protocol(claim)->acquire(claim,
                                                               how_of(claim)));
    if (status != LK_OK) {
        lk__claim_give_up(claim, status, NULL);
        return;
    }
    claim->seek->looks++;
    unqueued_begin(claim, head);
}

static void look_send(lk__claim *claim)
{
    claim->opened = false;
    claim->seek->look.on_reply = on_look;
    if (lk__claim_send(claim, &claim->seek->look,
                       lk__claim_protocol(claim)->look(claim)) == LK_OK) {
        claim->place->client->stats.rechecks++;
        claim->seek->looks++;
    } else {
        lk__claim_look_after(claim, RETRY_MS);
    }
}

/* Where the old connection cannot be killed, its acquire may still come:
   the claim is given up behind a tombstone, and another one stands in. */
static bool is_doubt_open(const lk__claim *claim)
{
    return claim->in_doubt && !claim->place->node->can_kill;
}

void lk__claim_seek(lk__claim *claim)
{
    const lk__node *node = claim->place->node;

    if (claim->seek->look.busy || !lk__node_is_ready(node))
        return;

    if (!lk__node_gives(node) || is_slowed(claim)) {
        lk__claim_pass_signal(claim);
    } else if (claim->state == LK__CLAIM_UNSURE) {
        confirm_send(claim);
    } else if (claim->state == LK__CLAIM_QUEUED) {
        look_send(claim);
    } else if (is_doubt_open(claim)) {
        lk__claim_give_up(claim, LK_OK, NULL);
    } else if (stays_behind(claim) || lk__pace_holds_back(claim)) {
        lk__claim_pass_signal(claim);
    } else {
        acquire_send(claim);
    }
}

/* An answer to what was sent before the signal came says nothing of now. */
void lk__claim_signaled(lk__claim *claim)
{
    claim->signaled = true;
    claim->opened = lk__claim_is_looking(claim);
    lk__claim_seek(claim);
}

void lk__claim_pass_signal(lk__claim *claim)
{
    if (!claim->signaled)
        return;
    claim->signaled = false;
    lk__claim_signal(claim->place);
}

void lk__claim_on_seek_alarm(lk__claim *claim)
{
    lk__claim_seek(claim);
}
