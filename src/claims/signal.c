/* SPDX-License-Identifier: MIT */

/*
 * Signals. One BLPOP is under way at most. Long ones keep the client's place
 * among those that wait at the server, so a pop is ended early only when the
 * names have changed, by CLIENT UNBLOCK from the connection for commands. The
 * two travel on connections of their own: an unblocking that finds nothing to
 * unblock may have come too soon, and is repeated.
 */

#include "claims/signal.h"

#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "claims/claim.h"
#include "claims/node.h"
#include "claims/place.h"
#include "claims/work.h"
#include "server/reply.h"

#define MS UINT64_C(1000000)

enum {
    POP_S = 10,
    POP_SHORT_S = 1,     /* where it cannot be ended early */
    REFUSED_MS = 1000,   /* after an error */
    UNBLOCK_AGAIN_MS = 2 /* it may have overtaken the pop */
};

static void drive(lk__signals *signals);

static lk__signals *signals_of_lane(lk__lane *lane)
{
    return (lk__signals *)(void *)lane;
}

static lk__signals *signals_of_pop(lk__request *request)
{
    return LK__CONTAINER_OF(request, lk__signals, pop);
}

static lk__signals *signals_of_unblock(lk__request *request)
{
    return LK__CONTAINER_OF(request, lk__signals, unblock);
}

static lk_client *client_of(const lk__signals *signals)
{
    return signals->lane.conn.client;
}

static void pause(lk__signals *signals, uint64_t ms)
{
    lk_client *client = client_of(signals);

    lk__alarm_set(&client->alarms, &signals->alarm,
                  lk__client_now(client) + ms * MS);
}

bool lk__signal_make(lk__place *place)
{
    place->signal = lk__alloc(sizeof(*place->signal));
    return place->signal != NULL;
}

/* ---- the list of places ---------------------------------------------------- */

/* Counts as one who has the place. */
static void list_add(lk__signals *signals, lk__place *place)
{
    place->signal->listed = true;
    place->signal->prev = NULL;
    place->signal->next = signals->first;
    if (signals->first != NULL)
        signals->first->signal->prev = place;
    signals->first = place;
    place->refs++;
}

static void list_remove(lk__signals *signals, lk__place *place)
{
    lk__signal *signal = place->signal;

    if (signal->prev != NULL)
        signal->prev->signal->next = signal->next;
    else
        signals->first = signal->next;
    if (signal->next != NULL)
        signal->next->signal->prev = signal->prev;
    signal->next = signal->prev = NULL;
    signal->listed = false;
    lk__place_unref(place);
}

static void set_wanted(lk__signals *signals, lk__place *place, bool wanted)
{
    if (place->signal->wanted == wanted)
        return;
    place->signal->wanted = wanted;
    if (wanted)
        signals->wanted++;
    else
        signals->wanted--;
    if (wanted && !place->signal->listed)
        list_add(signals, place);
    else if (!wanted && !place->signal->asked)
        list_remove(signals, place);
}

static void set_asked(lk__signals *signals, lk__place *place, bool asked)
{
    if (place->signal->asked == asked)
        return;
    place->signal->asked = asked;
    if (asked)
        signals->asked++;
    else
        signals->asked--;
    if (!asked && !place->signal->wanted)
        list_remove(signals, place);
}

void lk__signal_want(lk__place *place)
{
    lk__signals *signals = &place->node->signals;

    if (place->signal->wanted || place->client->work->cluster != NULL)
        return;
    set_wanted(signals, place, true);
    if (!place->signal->asked)
        signals->changed = true;
    lk__conn_start(&signals->lane.conn);
    drive(signals);
}

/* What the pop under way brings for it would be kept from others. */
void lk__signal_drop(lk__place *place)
{
    lk__signals *signals = &place->node->signals;

    if (place->signal == NULL || !place->signal->wanted)
        return;
    if (place->signal->asked)
        signals->changed = true;
    set_wanted(signals, place, false);
    drive(signals);
}

bool lk__signals_are_busy(const lk__signals *signals)
{
    return signals->pop.busy;
}

/* ---- what came ---------------------------------------------------------------- */

/* The name has become free, or may have: somebody has to try. */
static void heard(lk__place *place)
{
    lk__claim *front = place->front;

    if (front == NULL || front->state != LK__CLAIM_WANTED)
        lk__claim_signal(place);
    else
        lk__claim_signaled(front);
}

static lk__place *asked_for(const lk__signals *signals, const char *key)
{
    for (lk__place *place = signals->first; place != NULL;
         place = place->signal->next) {
        char own[LK__KEY_SIZE];

        if (place->signal->asked &&
            strcmp(lk__place_key(place, LK__KEY_SIGNAL, own), key) == 0)
            return place;
    }
    return NULL;
}

/* It is wanted again when the try finds the name held. */
static void hear(lk__signals *signals, lk__place *place)
{
    place->refs++;
    set_wanted(signals, place, false);
    set_asked(signals, place, false);
    heard(place);
    lk__place_unref(place);
}

/* Whatever the pop had in its hands when the connection broke is gone. */
static void hear_all(lk__signals *signals)
{
    lk__place *place = signals->first;

    while (signals->asked > 0) {
        while (!place->signal->asked)
            place = place->signal->next;
        hear(signals, place);
        place = signals->first;
    }
}

static void ask_none(lk__signals *signals)
{
    lk__place *next;

    for (lk__place *place = signals->first; place != NULL; place = next) {
        next = place->signal->next;
        set_asked(signals, place, false);
    }
}

static void on_popped(lk__signals *signals, const redisReply *reply)
{
    lk_client *client = client_of(signals);
    lk__place *place = NULL;

    /* The list is in order before anything is tried: a try may end waits, which
       drop their places. */
    if (reply->type == REDIS_REPLY_ERROR) {
        lk__client_log(client, LK_LOG_WARN, "%s: %s", "signals", reply->str);
        pause(signals, REFUSED_MS);
    } else {
        lk__lane_serves(&signals->lane);
        place = asked_for(signals, lk__reply_text_at(reply, 0));
    }
    if (place != NULL)
        place->refs++;
    ask_none(signals);
    if (place != NULL) {
        hear(signals, place);
        lk__place_unref(place);
    }
}

static void
on_pop(lk__request *request, lk_status status, const redisReply *reply)
{
    lk__signals *signals = signals_of_pop(request);

    if (client_of(signals)->state == LK__CLIENT_CLOSED) {
        ask_none(signals);
        return;
    }
    if (status == LK_OK)
        on_popped(signals, reply);
    else if (status == LK_EINDOUBT)
        hear_all(signals);
    else
        ask_none(signals);
    drive(signals);
}

/* ---- asking ------------------------------------------------------------------------- */

/* From now on pops are short; the present one ends with its connection. */
static void on_denied(lk__signals *signals)
{
    signals->cannot_unblock = true;
    if (signals->pop.busy)
        lk__conn_break(&signals->lane.conn, LK_EDENIED,
                       "CLIENT UNBLOCK is denied");
}

static void
on_unblocked(lk__request *request, lk_status status, const redisReply *reply)
{
    lk__signals *signals = signals_of_unblock(request);

    if (status == LK_OK && reply->type == REDIS_REPLY_ERROR)
        on_denied(signals);
    else if (signals->pop.busy &&
             (status != LK_OK || reply->type != REDIS_REPLY_INTEGER ||
              reply->integer == 0))
        pause(signals, UNBLOCK_AGAIN_MS);
}

static void unblock(lk__signals *signals)
{
    lk__node *node = lk__node_of(&signals->lane.conn);
    lk__arg args[3] = {lk__arg_text("CLIENT"), lk__arg_text("UNBLOCK"),
                       lk__arg_number(signals->lane.greeting.id)};

    if (signals->cannot_unblock || signals->unblock.busy)
        return;
    signals->unblock.on_reply = on_unblocked;
    if (lk__node_command(node, &signals->unblock, 3, args) != LK_OK)
        pause(signals, REFUSED_MS);
}

static void pop(lk__signals *signals)
{
    lk__conn *conn = &signals->lane.conn;
    bool is_short = signals->cannot_unblock || signals->lane.greeting.id == 0;
    uint64_t seconds = is_short ? POP_SHORT_S : POP_S;
    lk__arg word = lk__arg_text("BLPOP");
    lk__arg limit = lk__arg_number((int64_t)seconds);

    if (lk__conn_check(conn) != LK_OK) {
        pause(signals, REFUSED_MS);
        return;
    }
    lk__lane_patience(&signals->lane, seconds * 1000 * MS);
    lk__conn_begin(conn, signals->wanted + 2);
    lk__conn_args(conn, 1, &word);
    for (lk__place *place = signals->first; place != NULL;
         place = place->signal->next) {
        char text[LK__KEY_SIZE];
        lk__arg key = lk__arg_text(lk__place_key(place, LK__KEY_SIGNAL, text));

        lk__conn_args(conn, 1, &key);
        set_asked(signals, place, true);
    }
    lk__conn_args(conn, 1, &limit);
    signals->pop.on_reply = on_pop;
    signals->changed = false;
    if (lk__conn_end(conn, &signals->pop) != LK_OK) {
        ask_none(signals);
        pause(signals, REFUSED_MS);
    }
}

/* While no pop is under way, all that are listed are wanted. */
static void drive(lk__signals *signals)
{
    if (!lk__lane_is_ready(&signals->lane) || lk__alarm_is_set(&signals->alarm))
        return;
    if (signals->pop.busy && signals->changed)
        unblock(signals);
    else if (!signals->pop.busy && signals->wanted > 0)
        pop(signals);
}

/* ---- life ---------------------------------------------------------------------------- */

static void on_alarm(lk__alarm *alarm)
{
    drive(LK__CONTAINER_OF(alarm, lk__signals, alarm));
}

static void on_ready(lk__lane *lane)
{
    const lk__node *node = lk__node_of(&lane->conn);

    if (lk__node_is_ready(node))
        lk__lane_together(lane, node->command_greeting.run_id);
    drive(signals_of_lane(lane));
}

static void on_down(lk__lane *lane)
{
    (void)lane; /* the pop was failed, and with it all is said */
}

void lk__signals_init(lk__signals *signals, lk__node *node)
{
    signals->alarm.fire = on_alarm;
    lk__lane_init(&signals->lane, "signal", node->client, node, on_ready,
                  on_down);
}

void lk__signals_stop(lk__signals *signals)
{
    lk__alarm_clear(&client_of(signals)->alarms, &signals->alarm);
    lk__conn_stop(&signals->lane.conn);
}
