/* SPDX-License-Identifier: MIT */

/* What a board asks and tells the server; see lua/flight/. */

#include <limits.h>
#include <stdio.h>

#include "claims/family.h"
#include "claims/protocol.h"
#include "claims/work.h"
#include "flight/board_private.h"
#include "flight/value.h"
#include "flight_table.h"

enum { MESSAGE_MAX = 8192 }; /* bytes of a value that comes with the message */

static void
claim_id(char id[LK__NUMBERED_SIZE], const lk__board *b, uint64_t number)
{
    lk__numbered_write(id, lk__board_client(b)->id, number);
}

/* ---- telling ----------------------------------------------------------------- */

/* It is late: the lease may see to the rest. */
static void on_told(lk__ask *ask)
{
    if (ask->call.status != LK_OK)
        lk__client_log(ask->call.client, LK_LOG_WARN, "%s: %s: %s",
                       ask->place->name, ask->script->name, ask->call.words);
}

static lk_status
take_nothing(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    (void)ask;
    (void)reply;
    *ret_more = false;
    return LK_OK;
}

/* Says something for a claim that may be said again. */
static void tell(const lk__board *b, const lk__question *question)
{
    lk__ask *ask =
        lk__ask_new(sizeof(*ask), lk__board_client(b), b->place, NULL);

    if (ask == NULL)
        return;
    ask->take = take_nothing;
    ask->ended = on_told;
    ask->owed_ms = b->lease_ms;
    if (lk__ask_question(ask, question) == LK_OK)
        lk__ask_begin(ask);
    lk__ask_release(ask);
}

void lk__board_tell_left(const lk__board *b, uint64_t claim)
{
    lk__question *q = lk__family_begin(b->place, &lk__flight_leave, 0);
    char id[LK__NUMBERED_SIZE];
    lk__flight_leave_args args = {.channel = lk__family_channel(b->place)};

    if (q == NULL)
        return;
    claim_id(id, b, claim);
    args.own = lk__text_of(id);
    tell(b, lk__family_fill(q, b->place, &lk__flight_leave,
                            LK__FLIGHT_LEAVE_WHOLE, &args));
}

void lk__board_tell_landed(const lk__board *b, const lk__landing *landing)
{
    const lk_flight_value *value = landing->value;
    lk__question *q = lk__family_begin(b->place, &lk__flight_land, 0);
    char id[LK__NUMBERED_SIZE];
    lk__flight_land_args args = {
        .channel = lk__family_channel(b->place),
        .ttl = (int64_t)landing->ttl_ms,
        .status = landing->status,
        .words = lk__text_of(landing->words != NULL ? landing->words : ""),
        .value = {value != NULL ? value->bytes : "",
                  value != NULL ? value->size : 0},
        .most = MESSAGE_MAX,
    };

    if (q == NULL)
        return;
    claim_id(id, b, landing->claim);
    args.own = lk__text_of(id);
    tell(b, lk__family_fill(q, b->place, &lk__flight_land,
                            LK__FLIGHT_LAND_WHOLE, &args));
}

/* ---- looking ----------------------------------------------------------------- */

static lk_status landed_take(lk__look *l, const lk__flight_join_answer *a)
{
    if (a->landed.status > LK_OK || a->landed.status < INT_MIN)
        return LK_EPROTO;
    l->status = (lk_status)a->landed.status;
    snprintf(l->text, sizeof(l->text), "%.*s", (int)a->landed.words.size,
             a->landed.words.bytes);
    if (l->status != LK_OK)
        return LK_OK;
    l->value =
        lk__flight_value_new(a->landed.value.bytes, a->landed.value.size);
    return l->value != NULL ? LK_OK : LK_ENOMEM;
}

static lk_status take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    lk__look *l = (lk__look *)(void *)ask;
    lk__flight_join_answer a;

    *ret_more = false;
    if (lk__answer_read(&lk__flight_join_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    l->answer = a.kind;
    if (a.kind == LK__FLIGHT_JOIN_LANDED)
        return landed_take(l, &a);
    if (a.kind == LK__FLIGHT_JOIN_OTHER) {
        l->left_ms = a.other.left;
        snprintf(l->text, sizeof(l->text), "%.*s", (int)a.other.leader.size,
                 a.other.leader.bytes);
    }
    return LK_OK;
}

static void cleanup(lk__ask *ask)
{
    lk_flight_value_free(((lk__look *)(void *)ask)->value);
}

static const lk__question *ask_join(const lk__board *b)
{
    lk__question *q =
        lk__family_begin(b->place, &lk__flight_join, LK__NUMBERED_SIZE);
    char *id;
    lk__flight_join_args args = {.lease = (int64_t)b->lease_ms};

    if (q == NULL)
        return NULL;
    id = lk__question_text(q, LK__NUMBERED_SIZE);
    claim_id(id, b, b->claim);
    args.own = lk__text_of(id);
    return lk__family_fill(q, b->place, &lk__flight_join, LK__FLIGHT_JOIN_WHOLE,
                           &args);
}

/* While nobody leads here it is that of the one that would. */
static void lease_choose(lk__board *b)
{
    const lk__wait *first = b->place->first_wait;

    if (!b->leads && first != NULL)
        b->lease_ms = ((const lk__boarding *)first->own)->lease_ms;
}

lk_status lk__look_send(lk__board *b, void (*ended)(lk__ask *ask))
{
    lk__look *l =
        (lk__look *)(void *)lk__ask_new(sizeof(*l), lk__board_client(b),
                                        b->place, NULL);
    lk_status status;

    if (l == NULL)
        return LK_ENOMEM;
    if (b->claim == 0)
        b->claim = ++lk__board_client(b)->work->last_claim_number;
    l->board = b;
    l->claim = b->claim;
    l->ask.take = take;
    l->ask.cleanup = cleanup;
    l->ask.reads = true; /* sent again it changes nothing */
    lease_choose(b);
    status = lk__ask_question(&l->ask, ask_join(b));
    if (status == LK_OK) {
        l->number = ++b->sent;
        b->asking = true;
        l->ask.ended = ended;
        b->busy = true;
        lk__ask_begin(&l->ask);
        b->busy = false;
    }
    lk__ask_release(&l->ask);
    return status;
}
