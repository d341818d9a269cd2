/* SPDX-License-Identifier: MIT */

/* The callers of this client that wait for a key, and the one that computes; see
   lua/flight/. */

#include <limits.h>
#include <stdio.h>

#include "base/container.h"
#include "base/mem.h"
#include "base/tempo.h"
#include "claims/node.h"
#include "flight/board_private.h"
#include "flight/value.h"
#include "flight_table.h"

enum {
    LOOK_MS = 1000, /* between two looks, at most */
    JITTER_MS = 20, /* behind the end of a lease */
    AGAIN_MS = 100  /* after a look without an answer */
};

#define MS UINT64_C(1000000)

static void drive(lk__board *b);
static void tend(lk__place *place);

/* ---- life -------------------------------------------------------------------- */

static void on_alarm(lk__alarm *alarm);

lk_status lk__board_make(lk__place *place)
{
    lk__board *b = place->own;

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

/* Only for one that waits or computes: an answer may come when none does any more,
   and is then the last that keeps the board. */
static void alarm_in(lk__board *b, uint64_t ms)
{
    lk_client *client = lk__board_client(b);

    if (!b->leads && b->place->first_wait == NULL)
        return;
    lk__alarm_set(&client->alarms, &b->alarm, lk__client_now(client) + ms * MS);
}

/* ---- the end of waits -------------------------------------------------------- */

static bool is_covered(const lk__wait *wait, unsigned number)
{
    return wait->mark <= number;
}

/* Ends the waits that began before that look. The value is borrowed. While it is
   busy, the end of one ends no other. */
static void end_covered(lk__board *b, unsigned number, lk_status status,
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

static void end_all(lk__board *b, lk_status status, const char *words,
                    lk_flight_value *value)
{
    end_covered(b, UINT_MAX, status, words, value);
}

/* Those who do not want to wait for another, this client's own leader among them. */
static void end_busy(lk__board *b, unsigned number)
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

/* ---- leading ----------------------------------------------------------------- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The first wait ends with the duty to compute. The claim is for the lease of the
   one that was the first when it was asked for. */
static void lead(lk__board *b)
{
    lk__wait *wait = b->place->first_wait;
    uint64_t claimed_ms = b->lease_ms;
    lk__boarding *boarding;

    if (wait == NULL) {
        lk__board_tell_left(b, b->claim);
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
static void renewed_late(lk__board *b, const lk__look *l, lk_status status)
{
    if (status == LK_OK && l->answer == LK__FLIGHT_JOIN_MINE)
        lk__board_tell_left(b, l->claim);
    drive(b);
}

/* Another leads now, or has: what this one computes is for its own callers. */
static void renewed(lk__board *b, const lk__look *l, lk_status status)
{
    if (status == LK_OK && l->answer != LK__FLIGHT_JOIN_MINE)
        lk__client_log(lk__board_client(b), LK_LOG_WARN,
                       "%s: took too long, others have taken over",
                       b->place->name);
    else
        alarm_in(b, b->lease_ms / 3);
}

void lk__board_land(lk__place *place, const lk__landing *landing)
{
    lk_client *client = place->client;
    lk__board *b = place->own;

    lk__client_lock(client);
    if (client->state == LK__CLIENT_OPEN)
        lk__board_tell_landed(b, landing);
    b->leads = false;
    b->claim = 0;
    b->trouble = LK_OK;
    lk__alarm_clear(&client->alarms, &b->alarm);
    end_all(b, landing->status, landing->words, landing->value);
    lk__client_leave(client);
}

/* ---- looking ----------------------------------------------------------------- */

/* Another computes: it tells, or its lease ends. Whoever waits looks at that
   moment, and from time to time: a message may be lost. */
static void follow(lk__board *b, const lk__look *l)
{
    uint64_t left_ms = l->left_ms < 0 ? 0 : (uint64_t)l->left_ms;
    uint64_t pause_ms =
        LOOK_MS * 3 / 4 + lk__client_random(lk__board_client(b), LOOK_MS / 4);

    snprintf(b->leader, sizeof(b->leader), "%.63s", l->text);
    if (left_ms < pause_ms)
        pause_ms =
            left_ms + 1 + lk__client_random(lk__board_client(b), JITTER_MS);
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
static void put_off(lk__board *b, lk_status status)
{
    if (!b->leads && b->place->first_wait == NULL)
        return;
    b->trouble = status;
    alarm_in(b, is_passing(status) ? AGAIN_MS : 1);
}

static void looked(lk__board *b, const lk__look *l, lk_status status)
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
    lk__look *l = (lk__look *)(void *)ask;
    lk__board *b = l->board;
    lk_status status = ask->call.status;

    b->asking = false;
    if (lk__board_client(b)->state != LK__CLIENT_OPEN)
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

static void send(lk__board *b)
{
    lk_status status;

    b->again = false;
    status = lk__look_send(b, on_looked);
    if (status != LK_OK)
        put_off(b, status);
}

/* Too many messages have said so: it looks when the pause is over. */
static bool is_slowed(lk__board *b)
{
    if (b->slowed <= lk__client_now(lk__board_client(b)))
        return false;
    lk__alarm_set(&lk__board_client(b)->alarms, &b->alarm, b->slowed);
    return true;
}

/* Looks, if somebody waits whom the last look does not concern. */
static void drive(lk__board *b)
{
    const lk__wait *last = b->place->last_wait;

    if (b->asking || b->leads || b->busy || last == NULL ||
        b->trouble != LK_OK || lk__board_client(b)->state != LK__CLIENT_OPEN)
        return;
    if (!is_covered(last, b->answered) || (b->again && !is_slowed(b)))
        send(b);
}

static void on_alarm(lk__alarm *alarm)
{
    lk__board *b = LK__CONTAINER_OF(alarm, lk__board, alarm);
    lk_status trouble = b->trouble;

    if (lk__board_client(b)->state != LK__CLIENT_OPEN || b->asking)
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
static void board_wait(lk__board *b, lk__wait *wait)
{
    wait->mark = b->sent + 1;
    if (b->leads && wait->try_only)
        lk__wait_end(wait, LK_EBUSY, NULL);
}

static void tend(lk__place *place)
{
    lk__board *b = place->own;
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
    lk__board *b = place->own;

    b->again = true;
    drive(b);
}

/* Not while a pause lasts: that would never end. */
static void hint(lk__board *b)
{
    uint64_t now = lk__client_now(lk__board_client(b));

    if (b->slowed <= now)
        b->slowed = lk__tempo_hint(&b->hints, now);
    look_now(b->place);
}

static bool landing_take(lk__board *b, const lk__flight_message *message)
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
    lk__board *b = place->own;
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
