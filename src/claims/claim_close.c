/* SPDX-License-Identifier: MIT */

/*
 * Closing: a release, a leave, and the handing over that either may leave to
 * be gone on with. It is asked for until it is answered, however often the
 * connection breaks in between, but not beyond the time at which the server
 * has dropped the claim by itself.
 */

#include "base/container.h"
#include "base/mem.h"
#include "claims/claim_private.h"
#include "claims/hold.h"
#include "claims/node.h"
#include "claims/work.h"
#include "server/reply.h"

enum {
    TICKET_TTL_MS = 60000,     /* as the scripts set it */
    TOMBSTONE_MS = 10 * 60000, /* longer than any request is on its way */
    COUNTER_MS = 10 * 60000,   /* as the memo of a counter remembers */
    RETRY_FIRST_MS = 100,
    RETRY_MAX_MS = 5000
};

/* False: no memory. */
static bool closing_make(lk__claim *claim)
{
    if (claim->close == NULL) {
        claim->close = lk__alloc(sizeof(*claim->close));
        if (claim->close != NULL)
            claim->close->claim = claim;
    }
    return claim->close != NULL;
}

static void
releaser_done(lk__releaser *releaser, lk_status status, const char *words)
{
    lk_client *client = releaser->call.client;

    releaser->claim->releaser = NULL;
    releaser->claim = NULL;
    lk__alarm_clear(&client->alarms, &releaser->alarm);
    lk__call_done(&releaser->call, status, words);
}

static void releaser_tell(const lk__claim *claim, lk_status status)
{
    if (claim->releaser != NULL)
        releaser_done(claim->releaser, status, NULL);
}

/* The handle is gone: whatever the release is told, nobody is to repeat it. */
void lk__releaser_end(lk__releaser *releaser)
{
    const lk__conn *conn = &releaser->claim->place->node->command;

    if (releaser->sent)
        releaser_done(releaser, LK_EPENDING, NULL);
    else if (lk__node_is_ready(releaser->claim->place->node) ||
             lk_status_is_retriable(conn->why))
        releaser_done(releaser, LK_EPENDING, conn->words);
    else
        releaser_done(releaser, conn->why, conn->words);
}

static void retry_later(lk__claim *claim)
{
    lk_client *client = claim->place->client;
    uint64_t ms = RETRY_FIRST_MS;

    if (closing_make(claim)) {
        for (unsigned i = 0; i < claim->close->failures && ms < RETRY_MAX_MS;
             i++)
            ms *= 2;
        claim->close->failures++;
    }
    lk__alarm_set(&client->alarms, &claim->alarm,
                  lk__client_now(client) + ms * LK__MS);
}

/* Ready again or not, by then the server has dropped it by itself. */
static void wait_for_node(lk__claim *claim)
{
    lk__alarm_set(&claim->place->client->alarms, &claim->alarm,
                  claim->give_up_at);
}

/* ---- answers --------------------------------------------------------------- */

/*
 * "Not held" after an unanswered release that was sent in time means that the
 * first one did it.
 */
static lk_status release_status(const lk__claim *claim, bool was_held)
{
    if (was_held)
        return claim->valid_at_release ? LK_OK : LK_ELOST;
    return claim->valid_at_release && claim->release_unanswered ? LK_OK
                                                                : LK_ELOST;
}

/* Whether there is more to hand over; tells whoever waits for the release. */
static lk_status
closed_read(lk__claim *claim, const redisReply *reply, bool *ret_more)
{
    const lk__protocol *protocol = lk__claim_protocol(claim);
    lk__close_answer answer;
    lk_status status;

    if (claim->state == LK__CLAIM_PASSING) {
        *ret_more = protocol->read_hand_on(reply);
        return LK_OK;
    }
    status = protocol->read_close(reply, &answer);
    if (status != LK_OK)
        return status;
    *ret_more = answer.more;
    if (claim->state != LK__CLAIM_RELEASING)
        return LK_OK;
    if (answer.was_held && protocol->release != NULL)
        lk__closed_note(claim);
    releaser_tell(claim, release_status(claim, answer.was_held));
    return LK_OK;
}

static void on_closed_answer(lk__claim *claim, const redisReply *reply)
{
    lk_client *client = claim->place->client;
    bool more = false;

    if (closed_read(claim, reply, &more) != LK_OK) {
        retry_later(claim);
        return;
    }
    if (more && lk__claim_protocol(claim)->hand_on != NULL) {
        lk__tempo *tempo = &claim->close->tempo;

        claim->state = LK__CLAIM_PASSING;
        lk__tempo_again(tempo, lk__client_now(client));
        if (tempo->until == 0)
            lk__claim_close(claim);
        else
            lk__alarm_set(&client->alarms, &claim->alarm, tempo->until);
    } else {
        lk__claim_kill(claim);
    }
}

/* The key holds something else by now, and no hold of ours. */
static void on_replaced(lk__claim *claim)
{
    releaser_tell(claim, LK_ELOST);
    lk__claim_kill(claim);
}

/* A right that is missing may be given, so it is asked again; the caller need not
   wait for that. */
static void
on_refused(lk__claim *claim, lk_status status, const redisReply *reply)
{
    if (status == LK_EDENIED && claim->releaser != NULL)
        releaser_done(claim->releaser, status, lk__reply_words(reply));
    retry_later(claim);
}

static void
on_close(lk__request *request, lk_status status, const redisReply *reply)
{
    lk__claim *claim = LK__CONTAINER_OF(request, lk__closing, request)->claim;

    status = lk__place_heard(claim->place, request, status, reply);
    if (claim->state == LK__CLAIM_DEAD) {
        lk__claim_answered(claim);
        return;
    }
    if (status != LK_OK) {
        claim->release_unanswered |= status == LK_EINDOUBT;
        if (lk__place_has_left(claim->place, request))
            lk__claim_close(claim);
        else if (lk__node_is_ready(claim->place->node))
            retry_later(claim); /* a script met a key that has moved */
        else
            wait_for_node(claim);
    } else {
        status = lk__node_check(request, reply);
        if (status == LK_OK)
            on_closed_answer(claim, reply);
        else if (lk__reply_is_noscript(reply))
            lk__claim_close(claim);
        else if (status == LK_ETYPE)
            on_replaced(claim);
        else
            on_refused(claim, status, reply);
    }
    lk__claim_answered(claim);
}

/* ---- sending --------------------------------------------------------------- */

static const lk__question *leave_question(const lk__claim *claim)
{
    bool tombstone = claim->in_doubt && !claim->place->node->can_kill;

    return lk__claim_protocol(claim)->leave(claim,
                                            tombstone ? TOMBSTONE_MS : 0);
}

static const lk__question *close_question(const lk__claim *claim)
{
    switch ((int)claim->state) {
    case LK__CLAIM_RELEASING:
        return lk__claim_protocol(claim)->release(claim);
    case LK__CLAIM_LEAVING:
        return leave_question(claim);
    default:
        return lk__claim_protocol(claim)->hand_on(claim->place);
    }
}

static lk_status close_send(lk__claim *claim)
{
    if (!closing_make(claim))
        return LK_ENOMEM;
    claim->close->request.on_reply = on_close;
    return lk__claim_send(claim, &claim->close->request, close_question(claim));
}

void lk__claim_close(lk__claim *claim)
{
    lk_client *client = claim->place->client;
    lk_status status;

    if (claim->close != NULL && claim->close->request.busy)
        return;
    if (lk__client_now(client) >= claim->give_up_at) {
        lk__claim_abandon(claim);
        return;
    }
    status =
        lk__node_is_ready(claim->place->node) ? close_send(claim) : LK_EOFFLINE;
    if (status == LK_OK && claim->releaser != NULL)
        claim->releaser->sent = true;
    if (status == LK_EOFFLINE)
        wait_for_node(claim);
    else if (status != LK_OK)
        retry_later(claim);
}

/* ---- beginning -------------------------------------------------------------- */

/* What a claim got from a counter no lease gives back. */
static uint64_t leave_for_ms(const lk__claim *claim)
{
    return claim->place->kind->holdless ? COUNTER_MS
                                        : claim->lease_ms + TICKET_TTL_MS;
}

void lk__claim_leave(lk__claim *claim)
{
    lk_client *client = claim->place->client;
    bool sent = lk__claim_protocol(claim)->leave != NULL &&
                (claim->in_doubt || lk__claim_is_looking(claim) ||
                 claim->signaled || claim->state != LK__CLAIM_WANTED);

    if (claim->place->front == claim)
        claim->place->front = NULL;
    lk__pace_drop(claim);
    if (!sent) {
        lk__claim_kill(claim);
        return;
    }
    claim->in_doubt = claim->in_doubt || lk__claim_is_looking(claim);
    claim->state = LK__CLAIM_LEAVING;
    claim->give_up_at = lk__client_now(client) + leave_for_ms(claim) * LK__MS;
    lk__claim_close(claim);
}

void lk__claim_release(lk__claim *claim, lk__releaser *releaser)
{
    lk_client *client = claim->place->client;

    claim->valid_at_release = lk__claim_is_valid(claim);
    if (claim->state == LK__CLAIM_HELD) {
        client->stats.holding--;
        client->stats.releases++;
    }
    claim->state = LK__CLAIM_RELEASING;
    claim->renew_at = LK__NEVER;
    lk__pace_done(claim);
    claim->releaser = releaser;
    if (releaser != NULL)
        releaser->claim = claim;
    lk__claim_asked(claim, lk__client_now(client), claim->lease_ms);
    claim->give_up_at = claim->server_until + TICKET_TTL_MS * LK__MS;
    lk__alarm_clear(&client->alarms, &claim->alarm);
    lk__claim_close(claim);
    lk__place_drive(claim->place); /* others counted on being passed it */
}

void lk__claim_end_lost(lk__claim *claim)
{
    switch (lk__claim_loss(claim)) {
    case LK_LOSS_EXPIRED:
    case LK_LOSS_UNREACHABLE:
    case LK_LOSS_STOPPED:
    case LK_LOSS_DENIED:
    case LK_LOSS_REVOKED:
        lk__claim_release(claim, NULL);
        break;
    case LK_LOSS_NONE:
    case LK_LOSS_DELETED:
    case LK_LOSS_TAKEN:
    case LK_LOSS_CLOSED:
        lk__claim_kill(claim);
        break;
    }
}

void lk__claim_shut(lk__claim *claim)
{
    if (claim->state == LK__CLAIM_HELD) {
        claim->loss = LK_LOSS_CLOSED;
        claim->lost_at = lk__client_now(claim->place->client);
        lk__holds_tell_lost(claim);
        lk__claim_release(claim, NULL);
    } else if (claim->state == LK__CLAIM_LOST) {
        if (lk__claim_loss(claim) == LK_LOSS_REVOKED)
            lk__claim_release(claim, NULL); /* the server waits for that */
        else
            lk__claim_kill(claim);
    } else if (claim->state == LK__CLAIM_EXPORTED) {
        lk__claim_kill(claim);
    }
}

void lk__claim_abandon(lk__claim *claim)
{
    releaser_tell(claim, LK_EPENDING);
    lk__claim_kill(claim);
}

/* A claim that the server does not know ends like this. */
static void say(lk__place *place, lk__claim_state how)
{
    lk_client *client = place->client;
    lk__claim *claim =
        lk__claim_new_numbered(place, ++client->work->last_claim_number);

    if (claim == NULL)
        return; /* no memory: those who wait find out by looking */
    claim->state = (uint8_t)how;
    claim->give_up_at = lk__client_now(client) + leave_for_ms(claim) * LK__MS;
    lk__claim_close(claim);
}

/* To leave a name that is free is to say so to a waiter. */
void lk__claim_signal(lk__place *place)
{
    say(place, LK__CLAIM_LEAVING);
}

void lk__claim_hand_on(lk__place *place)
{
    for (const lk__claim *claim = place->first_claim; claim != NULL;
         claim = claim->next) {
        if (claim->state == LK__CLAIM_PASSING)
            return;
    }
    say(place, LK__CLAIM_PASSING);
}

void lk__claim_give_back(lk__place *place, uint64_t number, uint64_t fence)
{
    lk__claim *claim = lk__claim_new_numbered(place, number);

    if (claim == NULL)
        return; /* no memory: its lease ends it */
    claim->fence = fence;
    lk__claim_release(claim, NULL);
}
