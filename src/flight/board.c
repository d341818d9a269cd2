/* SPDX-License-Identifier: MIT */

/* The callers of this client that wait for a key, and the one that computes; see
   lua/flight/. */

#include "flight/board.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "base/tempo.h"
#include "claims/ask.h"
#include "claims/family.h"
#include "claims/node.h"
#include "claims/protocol.h"
#include "claims/work.h"
#include "engine/client.h"
#include "flight/message.h"
#include "flight/value.h"
#include "flight_table.h"

enum {
    LOOK_MS = 1000,    /* between two looks, at most */
    JITTER_MS = 20,    /* behind the end of a lease */
    AGAIN_MS = 100,    /* after a look without an answer */
    MESSAGE_MAX = 8192 /* bytes of a value that comes with the message */
};

#define MS UINT64_C(1000000)

typedef struct board {
    lk__place *place;
    uint64_t claim; /* number of this client's; 0: it has to have a new one */
    bool leads;
    bool asking;       /* a look is under way */
    bool busy;         /* waits are walked over, or a look is begun */
    bool again;        /* look, whatever is known */
    unsigned sent;     /* looks */
    unsigned answered; /* the last of them that was */
    uint64_t lease_ms; /* of the claim */
    char leader[64];   /* who computes, as of then; "": nobody, or unknown */
    lk__alarm alarm;   /* the next look, or renewal */
    lk_status trouble; /* why a look could not be sent; LK_OK: it could */
    uint64_t hints;  /* messages that say no more than to look; see tempo.h, */
    uint64_t slowed; /* and until when they have it pause */
} board;

/* One look; or, without a board, what nobody waits for the answer of. */
typedef struct look {
    lk__ask ask; /* first */
    board *board;
    uint64_t claim;
    unsigned number;
    int answer; /* a lk__flight_join_kind; 0: none */
    int64_t left_ms;
    lk_status status; /* that landed */
    char text[LK__FLIGHT_WORDS];
    lk_flight_value *value;
} look;

static void drive(board *b);
static void tend(lk__place *place);

/* ---- life -------------------------------------------------------------------- */

static void on_alarm(lk__alarm *alarm);

lk_status lk__board_make(lk__place *place)
{
    board *b = place->own;

    if (b != NULL)
        return LK_OK;
    place->own = b = lk__alloc(sizeof(*b));
    if (b == NULL)
        return LK_ENOMEM;
    b->place = place;
    b->alarm.fire = on_alarm;
    return LK_OK;
}

/* The place has no waits by then, and nobody leads: the alarm is clear. */
static void board_free(void *own)
{
    lk__free(own);
}

static lk_client *client_of(const board *b)
{
    return b->place->client;
}

/* Only for one that waits or computes: an answer may come when none does any more,
   and is then the last that keeps the board. */
static void alarm_in(board *b, uint64_t ms)
{
    lk_client *client = client_of(b);

    if (!b->leads && b->place->first_wait == NULL)
        return;
    lk__alarm_set(&client->alarms, &b->alarm, lk__client_now(client) + ms * MS);
}

static void
claim_id(char id[LK__NUMBERED_SIZE], const board *b, uint64_t number)
{
    lk__numbered_write(id, client_of(b)->id, number);
}

/* ---- the end of waits -------------------------------------------------------- */

static bool is_covered(const lk__wait *wait, unsigned number)
{
    return wait->mark <= number;
}

/* Ends the waits that began before that look. The value is borrowed. While it is
   busy, the end of one ends no other. */
static void end_covered(board *b, unsigned number, lk_status status,
                        const char *words, lk_flight_value *value)
{
    lk__place *place = b->place;
    lk__wait *wait, *next;

    place->refs++;
    b->busy = true;
    for (wait = place->first_wait; wait != NULL; wait = next) {
        lk__boarding *boarding = wait->own;

        next = wait->next;
        if (!is_covered(wait, number))
            continue;
        boarding->value = lk__flight_value_ref(value);
        lk__wait_end(wait, status, words);
    }
    b->busy = false;
    lk__place_unref(place);
}

static void
end_all(board *b, lk_status status, const char *words, lk_flight_value *value)
{
    end_covered(b, UINT_MAX, status, words, value);
}

/* Those who do not want to wait for another, this client's own leader among them. */
static void end_busy(board *b, unsigned number)
{
    lk__place *place = b->place;
    lk__wait *wait, *next;

    place->refs++;
    b->busy = true;
    for (wait = place->first_wait; wait != NULL; wait = next) {
        next = wait->next;
        if (wait->try_only && is_covered(wait, number))
            lk__wait_end(wait, LK_EBUSY, NULL);
    }
    b->busy = false;
    lk__place_unref(place);
}

/* ---- asking without waiting -------------------------------------------------- */

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

/* Says something for a claim that may be said again. Others wait for it, so it
   is owed for as long as the claim can last, and a shutdown waits for it. */
static void tell(const board *b, const lk__question *question)
{
    lk__ask *ask = lk__ask_new(sizeof(*ask), client_of(b), b->place, NULL);

    if (ask == NULL)
        return;
    ask->take = take_nothing;
    ask->ended = on_told;
    ask->owed_ms = b->lease_ms;
    if (lk__ask_question(ask, question) == LK_OK)
        lk__ask_begin(ask);
    lk__ask_release(ask);
}

static void tell_left(const board *b, uint64_t claim)
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

/* ---- leading ----------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The first wait ends with the duty to compute. The claim is for the lease of the
   one that was the first when it was asked for. */
static void lead(board *b)
{
    lk__wait *wait = b->place->first_wait;
    uint64_t claimed_ms = b->lease_ms;
    lk__boarding *boarding;

    if (wait == NULL) {
        tell_left(b, b->claim);
        b->claim = 0;
        return;
    }
    boarding = wait->own;
    boarding->claim = b->claim;
    b->lease_ms = boarding->lease_ms;
    b->leads = true;
    alarm_in(b, least(claimed_ms, b->lease_ms) / 3);
    lk__wait_end(wait, LK_OK, NULL);
    end_busy(b, UINT_MAX);
}

/* The answer to a renewal that came after the landing. If the server did them
   in another order, it believes that somebody computes. */
static void renewed_late(board *b, const look *l, lk_status status)
{
    if (status == LK_OK && l->answer == LK__FLIGHT_JOIN_MINE)
        tell_left(b, l->claim);
    drive(b);
}

/* Another leads now, or has: what this one computes is for its own callers. */
static void renewed(board *b, const look *l, lk_status status)
{
    if (status == LK_OK && l->answer != LK__FLIGHT_JOIN_MINE)
        lk__client_log(client_of(b), LK_LOG_WARN,
                       "%s: took too long, others have taken over",
                       b->place->name);
    else
        alarm_in(b, b->lease_ms / 3);
}

static void send_landing(const board *b, const lk__landing *landing)
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

void lk__board_land(lk__place *place, const lk__landing *landing)
{
    lk_client *client = place->client;
    board *b = place->own;

    lk__client_lock(client);
    if (client->state == LK__CLIENT_OPEN)
        send_landing(b, landing);
    b->leads = false;
    b->claim = 0;
    b->trouble = LK_OK;
    lk__alarm_clear(&client->alarms, &b->alarm);
    end_all(b, landing->status, landing->words, landing->value);
    lk__client_leave(client);
}

/* ---- looking ----------------------------------------------------------------- */

static lk_status landed_take(look *l, const lk__flight_join_answer *a)
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
    look *l = (look *)(void *)ask;
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
    lk_flight_value_free(((look *)(void *)ask)->value);
}

/* Another computes: it tells, or its lease ends. Whoever waits looks at that
   moment, and from time to time: a message may be lost. */
static void follow(board *b, const look *l)
{
    uint64_t left_ms = l->left_ms < 0 ? 0 : (uint64_t)l->left_ms;
    uint64_t pause_ms =
        LOOK_MS * 3 / 4 + lk__client_random(client_of(b), LOOK_MS / 4);

    snprintf(b->leader, sizeof(b->leader), "%.63s", l->text);
    if (left_ms < pause_ms)
        pause_ms = left_ms + 1 + lk__client_random(client_of(b), JITTER_MS);
    alarm_in(b, pause_ms);
    end_busy(b, l->number);
    if (b->place->first_wait != NULL)
        lk__topics_want(b->place);
}

/* Nothing was answered. It is tried again as long as somebody waits, for the
   server may come back; whoever leads goes on until it has landed. */
static bool is_passing(lk_status status)
{
    return lk__status_is_outage(status) || status == LK_EINDOUBT ||
           status == LK_ECLOSED;
}

/* Nobody is told from here: others may be walking over the waits. */
static void put_off(board *b, lk_status status)
{
    if (!b->leads && b->place->first_wait == NULL)
        return;
    b->trouble = status;
    alarm_in(b, is_passing(status) ? AGAIN_MS : 1);
}

static void looked(board *b, const look *l, lk_status status)
{
    b->leader[0] = '\0';
    b->answered = l->number;
    if (status != LK_OK)
        end_covered(b, l->number, status, l->ask.call.words, NULL);
    else if (l->answer == LK__FLIGHT_JOIN_LANDED)
        end_covered(b, l->number, l->status,
                    l->text[0] != '\0' ? l->text : NULL, l->value);
    else if (l->answer == LK__FLIGHT_JOIN_MINE)
        lead(b);
    else
        follow(b, l);
    drive(b);
}

static void on_looked(lk__ask *ask)
{
    look *l = (look *)(void *)ask;
    board *b = l->board;
    lk_status status = ask->call.status;

    b->asking = false;
    if (client_of(b)->state != LK__CLIENT_OPEN)
        return;
    if (b->busy)
        put_off(b, status);
    else if (l->claim != b->claim)
        renewed_late(b, l, status);
    else if (b->leads)
        renewed(b, l, status);
    else if (status != LK_OK && is_passing(status))
        put_off(b, status);
    else
        looked(b, l, status);
}

static const lk__question *ask_join(const board *b)
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
static void lease_choose(board *b)
{
    const lk__wait *first = b->place->first_wait;

    if (!b->leads && first != NULL)
        b->lease_ms = ((const lk__boarding *)first->own)->lease_ms;
}

static lk_status look_send(board *b)
{
    look *l =
        (look *)(void *)lk__ask_new(sizeof(*l), client_of(b), b->place, NULL);
    lk_status status;

    if (l == NULL)
        return LK_ENOMEM;
    if (b->claim == 0)
        b->claim = ++client_of(b)->work->last_claim_number;
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
        l->ask.ended = on_looked;
        b->busy = true;
        lk__ask_begin(&l->ask);
        b->busy = false;
    }
    lk__ask_release(&l->ask);
    return status;
}

static void send(board *b)
{
    lk_status status;

    b->again = false;
    status = look_send(b);
    if (status != LK_OK)
        put_off(b, status);
}

/* Too many messages have said so: it looks when the pause is over. */
static bool is_slowed(board *b)
{
    if (b->slowed <= lk__client_now(client_of(b)))
        return false;
    lk__alarm_set(&client_of(b)->alarms, &b->alarm, b->slowed);
    return true;
}

/* Looks, if somebody waits whom the last look does not concern. */
static void drive(board *b)
{
    const lk__wait *last = b->place->last_wait;

    if (b->asking || b->leads || b->busy || last == NULL ||
        b->trouble != LK_OK || client_of(b)->state != LK__CLIENT_OPEN)
        return;
    if (!is_covered(last, b->answered) || (b->again && !is_slowed(b)))
        send(b);
}

static void on_alarm(lk__alarm *alarm)
{
    board *b = LK__CONTAINER_OF(alarm, board, alarm);
    lk_status trouble = b->trouble;

    if (client_of(b)->state != LK__CLIENT_OPEN || b->asking)
        return;
    b->trouble = LK_OK;
    if (b->leads) {
        send(b);
    } else if (trouble != LK_OK && !is_passing(trouble)) {
        end_all(b, trouble, NULL, NULL);
    } else {
        b->again = true;
        drive(b);
    }
}

/* ---- what the place tells ---------------------------------------------------- */

/* A new wait is the last one. Where this client leads there is nothing to look at:
   what is known answers it, or it waits for the landing. Nobody walks over the
   waits while one begins, so it may be ended here. */
static void board_wait(board *b, lk__wait *wait)
{
    wait->mark = b->sent + 1;
    if (b->leads && wait->try_only)
        lk__wait_end(wait, LK_EBUSY, NULL);
}

static void tend(lk__place *place)
{
    board *b = place->own;
    lk__wait *last = place->last_wait;

    if (last == NULL && !b->leads) {
        lk__alarm_clear(&place->client->alarms, &b->alarm);
        b->trouble = LK_OK;
        return;
    }
    if (last != NULL && last->mark == 0)
        board_wait(b, last);
    drive(b);
}

static void look_now(lk__place *place)
{
    board *b = place->own;

    b->again = true;
    drive(b);
}

/* Not while a pause lasts: that would never end. */
static void hint(board *b)
{
    uint64_t now = lk__client_now(client_of(b));

    if (b->slowed <= now)
        b->slowed = lk__tempo_hint(&b->hints, now);
    look_now(b->place);
}

static bool landing_take(board *b, const lk__flight_message *message)
{
    lk_flight_value *value = NULL;

    if (message->status == LK_OK) {
        value = lk__flight_value_new(message->bytes, message->size);
        if (value == NULL)
            return false;
    }
    end_covered(b, b->answered, message->status,
                message->words[0] != '\0' ? message->words : NULL, value);
    lk_flight_value_free(value);
    return true;
}

/* From the leader that is known, or else only a hint to look. */
static void hear(lk__place *place, const char *text, size_t size)
{
    board *b = place->own;
    lk__flight_message message;

    if (b->leads)
        return;
    if (!lk__flight_message_read(&message, b->leader, text, size) ||
        !landing_take(b, &message)) {
        hint(b);
        return;
    }
    b->leader[0] = '\0';
    b->again = b->asking; /* its answer may be of before the landing */
    drive(b);
}

const lk__kind lk__kind_flight = {
    .word = "flight",
    .family = "flight",
    .holdless = true,
    .key_count = LK__FLIGHT_KEYS,
    .keys = lk__flight_keys,
    .channel = "latchkey:flight-news",
    .topic = "latchkey:flight-news",
    .hear = hear,
    .subscribed = look_now,
    .tend = tend,
    .own_free = board_free,
};
