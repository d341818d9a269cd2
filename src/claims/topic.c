/* SPDX-License-Identifier: MIT */

/*
 * Topics. Each has at most one request under way; what is wanted when that is
 * answered decides about the next. A connection that breaks takes every
 * subscription along.
 */

#include "claims/topic.h"

#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "claims/node.h"
#include "claims/place.h"
#include "claims/work.h"
#include "engine/client.h"
#include "server/reply.h"

#define MS UINT64_C(1000000)

enum {
    LINGER_MS = 10000, /* behind the last wait */
    REFUSED_MS = 100   /* after an error */
};

static void topic_drive(lk__topic *topic);

static lk__topic *topic_of_request(lk__request *request)
{
    return LK__CONTAINER_OF(request, lk__topic, request);
}

static lk__topic *topic_of_entry(lk__entry *entry)
{
    return LK__CONTAINER_OF(entry, lk__topic, entry);
}

/* ---- life ---------------------------------------------------------------- */

static void on_alarm(lk__alarm *alarm);

static const char *name_of(const lk__topic *topic)
{
    return lk__channel_name(&topic->channel);
}

lk__topic *lk__topic_of(const lk__place *place, unsigned which)
{
    lk__topic *topic = place->topics;

    while (topic != NULL && topic->which != which)
        topic = topic->next;
    return topic;
}

/* Takes the channel, which was made, or there was no memory for that. */
static bool
topic_add(lk__place *place, unsigned which, lk__channel *channel, bool is_made)
{
    lk__topic *topic = is_made ? lk__alloc(sizeof(*topic)) : NULL;

    if (topic != NULL) {
        topic->place = place;
        topic->which = which;
        topic->channel = *channel;
        topic->alarm.fire = on_alarm;
        if (lk__table_add(&place->client->work->topics, &topic->entry,
                          lk__table_hash(name_of(topic)))) {
            topic->next = place->topics;
            place->topics = topic;
            return true;
        }
    }
    lk__channel_done(channel);
    lk__free(topic);
    return false;
}

static bool topic_make(lk__place *place, unsigned which, const char *form)
{
    lk__channel channel = {NULL, false};
    bool is_made = lk__channel_make(&channel, form, place->name, place->slot);

    return topic_add(place, which, &channel, is_made);
}

static bool inbox_make(lk__place *place)
{
    lk__channel channel = {NULL, false};
    bool is_made;

    if (lk__topic_of(place, LK__TOPIC_INBOX) != NULL)
        return true;
    is_made = lk__channel_make_inbox(&channel, place->name, place->slot,
                                     place->client->id);
    return topic_add(place, LK__TOPIC_INBOX, &channel, is_made);
}

bool lk__topics_init(lk__place *place)
{
    const lk__kind *kind = place->kind;

    if (kind->topic == NULL)
        return true;
    return topic_make(place, LK__TOPIC_OWN, kind->topic) &&
           (strcmp(kind->channel, kind->topic) == 0 ||
            topic_make(place, LK__TOPIC_REDISSON, kind->channel));
}

void lk__topics_done(lk__place *place)
{
    lk__topic *next;

    for (lk__topic *topic = place->topics; topic != NULL; topic = next) {
        next = topic->next;
        lk__alarm_clear(&place->client->alarms, &topic->alarm);
        lk__table_remove(&place->client->work->topics, &topic->entry);
        lk__channel_done(&topic->channel);
        lk__free(topic);
    }
}

/* ---- whose channels they are --------------------------------------------------- */

static bool is_inbox(const lk__topic *topic)
{
    return topic->which == LK__TOPIC_INBOX;
}

static bool is_sharded(const lk__topic *topic)
{
    return lk__channel_is_sharded(&topic->channel, topic->place->node);
}

/* Goes on behind this entry. NULL: no other topic of the node has the channel. */
static lk__topic *
topic_next(lk__entry *entry, const lk__node *node, const char *channel)
{
    for (; entry != NULL; entry = lk__table_find_next(entry)) {
        lk__topic *topic = topic_of_entry(entry);

        if (topic->place->node == node && strcmp(name_of(topic), channel) == 0)
            return topic;
    }
    return NULL;
}

static lk__topic *topic_first(const lk__node *node, const char *channel)
{
    return topic_next(lk__table_find(&node->client->work->topics,
                                     lk__table_hash(channel)),
                      node, channel);
}

/* A name that this client uses as two kinds has one inbox. */
static bool is_shared(const lk__topic *topic)
{
    const lk__node *node = topic->place->node;
    lk__topic *other = topic_first(node, name_of(topic));

    while (other != NULL && (other == topic || !other->asked))
        other = topic_next(lk__table_find_next(&other->entry), node,
                           name_of(topic));
    return other != NULL;
}

/* ---- subscribing --------------------------------------------------------- */

/* The inbox counts where the node has such channels. */
static bool all_heard(const lk__place *place)
{
    const lk__topic *inbox = lk__topic_of(place, LK__TOPIC_INBOX);

    for (const lk__topic *topic = place->topics; topic != NULL;
         topic = topic->next) {
        if (!topic->heard && topic != inbox)
            return false;
    }
    return !lk__place_is_near(place) || (inbox != NULL && inbox->heard);
}

/* What was published before the subscription stood was not heard. */
static void look(lk__place *place)
{
    lk__claim *front = place->front;

    if (place->kind->subscribed != NULL)
        place->kind->subscribed(place);
    else if (place->kind->topic == NULL)
        lk__place_hears(place);
    else if (front == NULL)
        return;
    else if (front->state == LK__CLAIM_WANTED && !lk__claim_is_looking(front))
        lk__claim_drive(front);
    else
        lk__claim_look_again(front);
}

static void alarm_in(lk__topic *topic, uint64_t ms)
{
    lk_client *client = topic->place->client;

    lk__alarm_set(&client->alarms, &topic->alarm,
                  lk__client_now(client) + ms * MS);
}

/* Redisson's channel may be denied: what comes by it is found by looking. So is
   what comes by a topic. Without an inbox nobody can be told anything, and with a
   script that may not publish there it would be the same. */
static void on_denied(lk__topic *topic, const redisReply *reply)
{
    char words[240]; /* as many as a call has for them */

    lk__client_log(topic->place->client, LK_LOG_WARN, "%s: %s", name_of(topic),
                   reply->str);
    topic->heard = topic->asked && !is_inbox(topic);
    if (!is_inbox(topic))
        return;
    topic->asked = false;
    topic->wanted = false;
    snprintf(words, sizeof(words), "SSUBSCRIBE %.110s: %.110s", name_of(topic),
             reply->str);
    lk__place_deaf(topic->place, LK_EDENIED, words);
}

/* Of a sharded channel an error that may pass, as while the slot is elsewhere,
   is asked for again. */
static void on_error(lk__topic *topic, const redisReply *reply)
{
    if (!is_sharded(topic) || lk__reply_status(reply) == LK_EDENIED) {
        on_denied(topic, reply);
        return;
    }
    topic->asked = topic->heard = false;
    alarm_in(topic, REFUSED_MS);
}

/* The server may end a subscription just when it is asked to: then it says so
   twice, and nobody can tell which is the answer. */
static bool is_about(const lk__topic *topic, const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR ||
           strcmp(lk__reply_text_at(reply, 1), name_of(topic)) == 0;
}

static void on_told(lk__topic *topic, const redisReply *reply)
{
    if (!is_about(topic, reply))
        lk__conn_break(topic->request.conn, LK_EPROTO,
                       "an answer about another channel");
    else if (reply->type == REDIS_REPLY_ERROR && topic->asked)
        on_error(topic, reply);
    else
        topic->heard = topic->asked;
}

static void
on_answered(lk__request *request, lk_status status, const redisReply *reply)
{
    lk__topic *topic = topic_of_request(request);
    lk__place *place = topic->place;

    if (topic->asked && is_sharded(topic))
        status = lk__place_heard(place, request, status, reply);
    if (lk__place_has_left(place, request))
        status = LK_EOFFLINE;
    if (status == LK_OK)
        on_told(topic, reply);
    else
        topic->asked = topic->heard = false;
    if ((status == LK_OK || lk__place_has_left(place, request)) &&
        topic->wanted != topic->asked)
        topic_drive(topic);
    else if (topic->heard && all_heard(place))
        look(place);
    lk__place_unref(place);
}

static bool is_to_be_asked(const lk__topic *topic)
{
    const lk__node *node = topic->place->node;

    return !topic->request.busy && topic->wanted != topic->asked &&
           !lk__alarm_is_set(&topic->alarm) &&
           (!is_inbox(topic) || lk__place_is_near(topic->place)) &&
           node->inbox.state == LK__CONN_READY;
}

static void topic_drive(lk__topic *topic)
{
    lk__node *node = topic->place->node;
    bool sharded = is_sharded(topic);
    lk__arg args[2] = {lk__arg_text(topic->wanted
                                        ? sharded ? "SSUBSCRIBE" : "SUBSCRIBE"
                                    : sharded ? "SUNSUBSCRIBE"
                                              : "UNSUBSCRIBE"),
                       lk__arg_text(name_of(topic))};

    if (!is_to_be_asked(topic))
        return;
    topic->heard = false;
    if (!topic->wanted) {
        topic->asked = false;
        if (is_shared(topic))
            return;
    }
    topic->request.on_reply = on_answered;
    if (lk__conn_send(&node->inbox, &topic->request, 2, args) != LK_OK)
        return; /* seen to with the next wait, and the looks go on */
    topic->asked = topic->wanted;
    topic->place->refs++;
}

/* ---- wanting ------------------------------------------------------------------ */

/* That is over. The caller keeps the place. */
static void linger_end(lk__topic *topic)
{
    if (!topic->lingers)
        return;
    topic->lingers = false;
    topic->wanted = topic->place->first_wait != NULL;
    lk__alarm_clear(&topic->place->client->alarms, &topic->alarm);
    lk__place_unref(topic->place);
}

static void linger(lk__topic *topic)
{
    if (!topic->lingers)
        topic->place->refs++;
    topic->lingers = true;
    alarm_in(topic, LINGER_MS);
}

static void on_alarm(lk__alarm *alarm)
{
    lk__topic *topic = LK__CONTAINER_OF(alarm, lk__topic, alarm);
    lk__place *place = topic->place;

    place->refs++;
    linger_end(topic);
    topic_drive(topic);
    lk__place_unref(place);
}

static void topic_set(lk__topic *topic, bool wanted)
{
    if (topic == NULL)
        return;
    topic->wanted = wanted;
    topic_drive(topic);
}

void lk__topics_want(lk__place *place)
{
    if (place->kind->topic == NULL)
        return;
    lk__node_want_inbox(place->node);
    topic_set(lk__topic_of(place, LK__TOPIC_OWN), true);
    topic_set(lk__topic_of(place, LK__TOPIC_REDISSON), true);
}

void lk__topics_await(lk__place *place)
{
    lk__node_want_inbox(place->node);
    if (lk__place_is_near(place) && inbox_make(place))
        topic_set(lk__topic_of(place, LK__TOPIC_INBOX), true);
}

static void inbox_drop(lk__topic *inbox)
{
    if (inbox == NULL)
        return;
    if (inbox->heard && inbox->place->client->state == LK__CLIENT_OPEN)
        linger(inbox);
    else if (!inbox->lingers)
        topic_set(inbox, false);
}

void lk__topics_drop(lk__place *place)
{
    topic_set(lk__topic_of(place, LK__TOPIC_OWN), false);
    topic_set(lk__topic_of(place, LK__TOPIC_REDISSON), false);
    inbox_drop(lk__topic_of(place, LK__TOPIC_INBOX));
}

void lk__topics_shut(lk__place *place)
{
    lk__topic *inbox = lk__topic_of(place, LK__TOPIC_INBOX);

    if (inbox != NULL)
        linger_end(inbox);
}

void lk__topics_again(lk__place *place)
{
    for (lk__topic *topic = place->topics; topic != NULL; topic = topic->next)
        topic_drive(topic);
}

/* Whoever waits is looked after when it is heard again. */
static void topic_lost(lk__topic *topic)
{
    topic->asked = topic->heard = false;
    linger_end(topic);
}

void lk__topics_lost(lk__place *place)
{
    for (lk__topic *topic = place->topics; topic != NULL; topic = topic->next)
        topic_lost(topic);
}

bool lk__topics_heard(const lk__place *place)
{
    return all_heard(place);
}

/* The oldest request of the inbox gives this channel up, so that what comes now is
   the answer to it; also if its place has gone to another node meanwhile. */
static bool is_awaited(const lk__node *node, const char *channel)
{
    lk__request *first = node->inbox.first;
    const lk__topic *topic;

    if (first == NULL || first->on_reply != on_answered)
        return false;
    topic = topic_of_request(first);
    return !topic->asked &&
           strcmp(lk__channel_name(&topic->channel), channel) == 0;
}

bool lk__topic_ended(lk__node *node, const char *channel)
{
    lk__topic *topic = topic_first(node, channel), *next;

    if (is_awaited(node, channel))
        return false;
    /* One that is being asked for is asked for behind this. */
    for (; topic != NULL; topic = next) {
        lk__place *place = topic->place;

        next = topic_next(lk__table_find_next(&topic->entry), node, channel);
        place->refs++;
        if (!topic->request.busy)
            topic_lost(topic);
        topic_drive(topic);
        lk__place_unref(place);
    }
    return true;
}

/* ---- messages -------------------------------------------------------------- */

static void look_all(lk__place *place)
{
    for (lk__claim *claim = place->first_claim; claim != NULL;
         claim = claim->next)
        lk__claim_look_now(claim);
}

static void hear(lk__place *place, const char *text, size_t size)
{
    place->refs++;
    if (place->kind->hear != NULL)
        place->kind->hear(place, text, size);
    else
        look_all(place);
    lk__place_unref(place);
}

void lk__topic_take(lk__node *node, const char *channel, const char *text,
                    size_t size)
{
    lk__topic *topic = topic_first(node, channel);

    if (topic != NULL)
        hear(topic->place, text, size);
}
