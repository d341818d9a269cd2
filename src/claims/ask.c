/* SPDX-License-Identifier: MIT */

/*
 * Questions. One that cannot be sent now waits in the client's list; the node
 * sends all of them when it is ready.
 */

#include "claims/ask.h"

#include <string.h>

#include "base/container.h"
#include "base/deadline.h"
#include "base/mem.h"
#include "base/slot.h"
#include "claims/ask_args.h"
#include "claims/cluster.h"
#include "claims/node.h"
#include "claims/protocol.h"
#include "claims/work.h"
#include "server/reply.h"

#define MS UINT64_C(1000000)

/* A minute less than the server remembers: the last one may be late. */
enum { PERSIST_MS = 10 * 60000 };

enum {
    OWED_PAUSE_MS = 50, /* when there was no memory or room for what is owed */
    REFUSED_MS = 20,    /* the first pause after a refusal that may pass, */
    REFUSED_MOST_MS = 500 /* and the longest */
};

static void send_now(lk__ask *ask);

/* ---- life ---------------------------------------------------------------- */

static void list_add(lk__ask *ask)
{
    lk_client *client = ask->call.client;

    ask->next = client->work->first_ask;
    if (ask->next != NULL)
        ask->next->prev = ask;
    client->work->first_ask = ask;
    ask->listed = true;
}

static void list_remove(lk__ask *ask)
{
    if (ask->prev != NULL)
        ask->prev->next = ask->next;
    else
        ask->call.client->work->first_ask = ask->next;
    if (ask->next != NULL)
        ask->next->prev = ask->prev;
    ask->next = ask->prev = NULL;
    ask->listed = false;
}

static void ask_free(lk__ask *ask)
{
    if (ask->cleanup != NULL)
        ask->cleanup(ask);
    if (ask->place != NULL)
        lk__place_unref(ask->place);
    lk__free(ask->args);
    lk__free(ask);
}

void lk__ask_release(lk__ask *ask)
{
    ask->released = true;
    if (!ask->request.busy && !ask->listed)
        ask_free(ask);
}

void lk__ask_finish(lk__ask *ask)
{
    lk_client *client = ask->call.client;

    lk__client_lock(client);
    lk__ask_release(ask);
    lk__client_leave(client);
}

lk__ask *lk__ask_of_call(lk__call *call)
{
    return LK__CONTAINER_OF(call, lk__ask, call);
}

static void call_end(lk__ask *ask, lk_status status, const char *words)
{
    char text[LK__REFUSAL_SIZE];

    words = lk__refusal_words(ask->place, status, words, ask->found, text);
    if (ask->is_settled)
        lk__call_done(&ask->call, ask->settled, NULL);
    else
        lk__call_done(&ask->call, status, words);
    if (ask->ended != NULL)
        ask->ended(ask);
}

/* It was answered, or is given up. */
static void end(lk__ask *ask, lk_status status, const char *words)
{
    if (!ask->listed)
        return;
    list_remove(ask);
    lk__alarm_clear(&ask->call.client->alarms, &ask->alarm);
    if (!ask->call.done)
        call_end(ask, status, words);
    if (ask->released && !ask->replying && !ask->request.busy)
        ask_free(ask);
}

void lk__ask_drop(lk__ask *ask)
{
    ask->ended = NULL;
    end(ask, LK_ECANCELED, NULL);
}

static bool is_persistent(const lk__ask *ask)
{
    return ask->owed_ms != 0 || (ask->persists && ask->sends > 0);
}

/* The call ends in doubt; the question goes on if it can. */
static void doubt(lk__ask *ask)
{
    lk_client *client = ask->call.client;

    if (!is_persistent(ask)) {
        end(ask, ask->doubt, NULL);
        return;
    }
    if (ask->owed_ms != 0)
        ask->until =
            lk__wait_until_ns(lk__client_now(client), (int64_t)ask->owed_ms);
    else
        ask->until = lk__wait_until_ns(ask->first_sent_at, PERSIST_MS);
    lk__alarm_set(&client->alarms, &ask->alarm, ask->until);
    call_end(ask, ask->doubt, NULL);
}

/* The time is over: what was sent may have been done. */
static void end_late(lk__ask *ask)
{
    const lk__conn *conn = &lk__ask_node(ask)->command;

    if (ask->pauses)
        end(ask, LK_OK, NULL);
    else if (ask->call.done)
        end(ask, ask->doubt, NULL);
    else if (is_persistent(ask) || (ask->sends > 0 && !ask->reads))
        doubt(ask);
    else if (ask->refusals > 0)
        end(ask, LK_ESERVER, lk__ask_node(ask)->refusal);
    else if (ask->takes && lk__node_why_not(lk__ask_node(ask)) != NULL)
        end(ask, LK_EOFFLINE, lk__node_why_not(lk__ask_node(ask)));
    else if (conn->state == LK__CONN_READY)
        end(ask, LK_EOFFLINE, "no answer in time");
    else
        end(ask, conn->why, conn->words);
}

static void on_alarm(lk__alarm *alarm)
{
    lk__ask *ask = LK__CONTAINER_OF(alarm, lk__ask, alarm);
    lk_client *client = ask->call.client;

    if (lk__client_now(client) >= ask->until) {
        end_late(ask);
        return;
    }
    lk__alarm_set(&client->alarms, &ask->alarm, ask->until);
    if (!ask->request.busy)
        send_now(ask);
}

/* It cannot be asked, or the server refuses it. That says nothing of a request
   before, which was not answered. */
static void end_refused(lk__ask *ask, lk_status status, const char *words)
{
    end(ask, ask->doubted && !ask->reads ? ask->doubt : status, words);
}

/* ---- answers --------------------------------------------------------------- */

/* It is asked again in a moment. */
static void pause(lk__ask *ask)
{
    lk_client *client = ask->call.client;
    uint64_t limit = REFUSED_MS;
    uint64_t at;

    for (unsigned i = 0; i < ask->refusals && limit < REFUSED_MOST_MS; i++)
        limit *= 2;
    ask->refusals++;
    at = lk__client_now(client) + lk__client_random(client, limit * MS) + MS;
    lk__alarm_set(&client->alarms, &ask->alarm,
                  at < ask->until ? at : ask->until);
}

/* The server did not do it, and may in a moment. */
static void refused_for_now(lk__ask *ask)
{
    ask->sends--;
    pause(ask);
}

/* The right was taken away, or the key is of another type, of which the script makes
   no error. It goes out on the same connection, so behind all that was sent there. */
static void short_refused(lk__ask *ask, const redisReply *reply)
{
    if (!lk__reply_is_error(reply, "WRONGTYPE"))
        lk__ask_node(ask)->delifeq = LK__DELIFEQ_NOT;
    ask->deletes = false;
    send_now(ask);
}

/* At once, or after a pause; the alarm is set to the end again then. */
static void send_more(lk__ask *ask)
{
    lk_client *client = ask->call.client;

    lk__tempo_again(&ask->tempo, lk__client_now(client));
    if (ask->tempo.until == 0)
        send_now(ask);
    else if (ask->tempo.until < ask->until)
        lk__alarm_set(&client->alarms, &ask->alarm, ask->tempo.until);
}

static void on_answer(lk__ask *ask, const redisReply *reply)
{
    bool more = false;
    lk_status status = lk__node_check(&ask->request, reply);

    if (!ask->listed)
        return;
    if (lk__reply_is_noscript(reply)) {
        send_now(ask);
    } else if (status == LK_ELOADING || status == LK_EREADONLY) {
        ask->sends--; /* refused: it is asked again when that is over */
    } else if (lk__node_passes(&ask->request, reply)) {
        refused_for_now(ask);
    } else if (status != LK_OK && ask->is_short) {
        short_refused(ask, reply);
    } else if (status != LK_OK) {
        end_refused(ask, status, lk__reply_words(reply));
    } else {
        ask->refusals = 0;
        status = ask->take(ask, reply, &more);
        ask->doubted = false; /* the next question begins again */
        if (status == LK_OK && more)
            send_more(ask);
        else
            end(ask, status, ask->words);
    }
}

/* What it says of a cluster. Whether it is to be sent to another node now. */
static lk_status heard(lk__ask *ask, bool *ret_elsewhere, lk_status status,
                       const redisReply *reply)
{
    lk_client *client = ask->call.client;
    const lk__arg *key = lk__ask_key(ask);
    lk_status said = status;

    if (client->work->cluster == NULL || key == NULL)
        return status;
    if (ask->place != NULL)
        said = lk__place_heard(ask->place, &ask->request, status, reply);
    else if (status == LK_OK)
        said = lk__cluster_heard(client, lk__slot_of(key->bytes, key->size),
                                 &ask->request, reply);
    *ret_elsewhere = lk__node_of(ask->request.conn) != lk__ask_node(ask);
    if (status == LK_OK && said == LK_EOFFLINE)
        ask->sends--;
    else if (status == LK_OK && said == LK_EINDOUBT && !*ret_elsewhere &&
             ask->listed)
        pause(ask); /* a script met a key that has moved */
    return said;
}

static void
on_reply(lk__request *request, lk_status status, const redisReply *reply)
{
    lk__ask *ask = (lk__ask *)(void *)request;
    bool is_elsewhere = false;

    ask->replying = true; /* whoever ends it within leaves its memory here */
    status = heard(ask, &is_elsewhere, status, reply);
    ask->doubted = ask->doubted || status == LK_EINDOUBT;
    if (status == LK_OK)
        on_answer(ask, reply);
    else if (status == LK_EINDOUBT && !ask->reads && !ask->repeats &&
             ask->owed_ms == 0)
        end(ask, ask->doubt, NULL);
    else if ((ask->renews || is_elsewhere) && ask->listed)
        send_now(ask); /* the other connection may stand */
    ask->replying = false;
    if (ask->released && !ask->listed && !ask->request.busy)
        ask_free(ask);
}

/* ---- asking ---------------------------------------------------------------- */

lk__ask *lk__ask_new(size_t size, lk_client *client, lk__place *place,
                     void (*deliver)(lk__call *call))
{
    lk__ask *ask = lk__alloc(size);

    if (ask == NULL)
        return NULL;
    lk__call_init(&ask->call, client, deliver);
    ask->request.on_reply = on_reply;
    ask->alarm.fire = on_alarm;
    ask->doubt = LK_EINDOUBT;
    ask->place = place;
    if (place != NULL)
        place->refs++;
    return ask;
}

lk_status lk__ask_go_on(lk__ask *ask, lk_status status,
                        const lk__question *question, bool *ret_more)
{
    ask->is_settled = true;
    ask->settled = status;
    *ret_more = lk__ask_question(ask, question) == LK_OK;
    return *ret_more ? LK_OK : status;
}

static lk__conn *road_for(const lk__ask *ask)
{
    lk__node *node = lk__ask_node(ask);

    if (ask->takes && !lk__node_gives(node))
        return NULL;
    if (ask->renews) {
        lk__road_want(&node->road);
        return lk__road_take(&node->road, false);
    }
    return lk__node_is_ready(node) ? &node->command : NULL;
}

static lk_status send_short(lk__ask *ask, lk__node *node)
{
    const lk__arg args[3] = {lk__arg_text("DELIFEQ"), ask->args[0],
                             ask->args[1]};

    return lk__node_command(node, &ask->request, 3, args);
}

static void send_now(lk__ask *ask)
{
    lk__node *node = lk__ask_node(ask);
    lk_status status;

    ask->at = node;
    ask->over = road_for(ask);
    if (ask->over == NULL || ask->pauses)
        return;
    if (ask->script != NULL)
        lk__ask_channels_tell(ask);
    ask->is_short = ask->deletes && node->delifeq == LK__DELIFEQ_HAS;
    if (ask->is_short)
        status = send_short(ask, node);
    else if (ask->script == NULL)
        status = lk__node_command(node, &ask->request, ask->count, ask->args);
    else
        status =
            lk__node_call(ask->over, &ask->request, ask->script, ask->key_count,
                          ask->args, ask->count - ask->key_count,
                          ask->args + ask->key_count);
    if (status == LK_OK && ask->first_sent_at == 0)
        ask->first_sent_at = ask->request.sent_at;
    if (status == LK_OK)
        ask->sends++;
    else if (status != LK_EOFFLINE && ask->owed_ms != 0)
        lk__alarm_set(&ask->call.client->alarms, &ask->alarm,
                      lk__client_now(ask->call.client) + OWED_PAUSE_MS * MS);
    else if (status != LK_EOFFLINE)
        end_refused(ask, status, NULL);
}

/* Whether it began; else its call has ended: the server is away for a reason that
   does not pass by itself. A renewal's own road may stand where the commands have
   none. */
static bool begin(lk__ask *ask, uint64_t until)
{
    lk_client *client = ask->call.client;
    const lk__node *node = lk__ask_node(ask);

    list_add(ask);
    if (lk__node_is_vain(node) && ask->owed_ms == 0 && road_for(ask) == NULL) {
        end(ask, node->command.why, node->command.words);
        return false;
    }
    ask->until = until;
    lk__alarm_set(&client->alarms, &ask->alarm, until);
    return true;
}

void lk__ask_begin(lk__ask *ask)
{
    lk__ask_begin_by(ask, LK__NEVER);
}

void lk__ask_begin_by(lk__ask *ask, uint64_t until)
{
    const lk_client *client = ask->call.client;
    int64_t ms = (int64_t)client->settings.command_timeout_ms;
    uint64_t patience = lk__wait_until_ns(lk__client_now(client), ms);

    if (begin(ask, patience < until ? patience : until))
        send_now(ask);
}

void lk__ask_pause(lk__ask *ask, uint64_t ns)
{
    ask->pauses = true;
    begin(ask, lk__client_now(ask->call.client) + ns);
}

lk_status lk__ask_sleep(lk__ask *ask)
{
    if (!lk__call_sleep(&ask->call, ask->until))
        end_late(ask); /* not freed: the caller has not let go of it */
    return lk__call_status(&ask->call);
}

/* ---- all questions ----------------------------------------------------------- */

void lk__asks_moved(lk_client *client)
{
    lk__ask *ask = client->work->first_ask;

    while (ask != NULL) {
        lk__ask *next = ask->next;

        if (lk__ask_node(ask) != ask->at && !ask->request.busy &&
            !ask->replying)
            send_now(ask);
        ask = next;
    }
}

void lk__asks_on_ready(lk__node *node)
{
    lk__ask *ask = node->client->work->first_ask;

    while (ask != NULL) {
        lk__ask *next = ask->next;

        if (lk__ask_node(ask) == node && !ask->request.busy)
            send_now(ask);
        ask = next;
    }
}

/* The server that the commands do not reach may yet answer it. */
static bool is_on_its_own_road(const lk__ask *ask)
{
    const lk_client *client = ask->call.client;

    return client->state == LK__CLIENT_OPEN && ask->request.busy &&
           ask->over != &lk__ask_node(ask)->command;
}

void lk__asks_leave_doubtful(lk_client *client, const lk__node *node,
                             lk_status status, const char *words)
{
    lk__ask *ask = client->work->first_ask;

    while (ask != NULL) {
        lk__ask *next = ask->next;

        if (node != NULL && lk__ask_node(ask) != node) {
            /* another node's */
        } else if (is_persistent(ask)) {
            if (!ask->call.done)
                doubt(ask);
        } else if (is_on_its_own_road(ask)) {
            /* its time ends it */
        } else if (ask->sends > 0 && ask->repeats && !ask->persists) {
            end(ask, ask->doubt, NULL);
        } else {
            end(ask, status, words);
        }
        ask = next;
    }
}

void lk__asks_end(lk_client *client, lk_status status, const char *words)
{
    while (client->work->first_ask != NULL)
        end(client->work->first_ask, status, words);
}
