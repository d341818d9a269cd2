/* SPDX-License-Identifier: MIT */

/*
 * Topics. Each has at most one request under way; what is wanted when that is
 * answered decides about the next. A connection that breaks takes every
 * subscription along.
 */

#include "claims/topic.h"

#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "claims/node.h"
#include "claims/place.h"
#include "claims/work.h"
#include "server/shape.h"

static void topic_drive(lk__topic *topic);

static lk__topic *topic_of(lk__request *request)
{
    return (lk__topic *)(void *)((char *)request -
                                 offsetof(lk__topic, request));
}

static lk__topic *topic_of_entry(lk__entry *entry)
{
    return (lk__topic *)(void *)((char *)entry - offsetof(lk__topic, entry));
}

/* ---- life ---------------------------------------------------------------- */

static bool topic_init(lk__topic *topic, lk__place *place, const char *form)
{
    topic->place = place;
    topic->channel = form[0] == ':' ? lk__key_make(form, place->name)
                                    : lk__name_form(form, place->name);
    if (topic->channel == NULL)
        return false;
    if (lk__table_add(&place->client->work->topics, &topic->entry,
                      lk__table_hash(topic->channel)))
        return true;
    lk__free(topic->channel);
    topic->channel = NULL;
    return false;
}

bool lk__topics_init(lk__place *place)
{
    const lk__kind *kind = place->kind;

    if (kind->topic == NULL)
        return true;
    return topic_init(&place->topics[0], place, kind->topic) &&
           (strcmp(kind->channel, kind->topic) == 0 ||
            topic_init(&place->topics[1], place, kind->channel));
}

void lk__topics_done(lk__place *place)
{
    for (size_t i = 0; i < LK__PLACE_TOPICS; i++) {
        lk__topic *topic = &place->topics[i];

        if (topic->channel == NULL)
            continue;
        lk__table_remove(&place->client->work->topics, &topic->entry);
        lk__free(topic->channel);
    }
}

/* ---- subscribing --------------------------------------------------------- */

static bool all_heard(const lk__place *place)
{
    for (size_t i = 0; i < LK__PLACE_TOPICS; i++) {
        if (place->topics[i].channel != NULL && !place->topics[i].heard)
            return false;
    }
    return true;
}

/* What was published before the subscription stood was not heard. */
static void look(lk__place *place)
{
    lk__claim *front = place->front;

    if (place->kind->subscribed != NULL)
        place->kind->subscribed(place);
    else if (front == NULL)
        return;
    else if (front->state == LK__CLAIM_WANTED && !front->look.busy)
        lk__claim_drive(front);
    else
        lk__claim_look_again(front);
}

/* Redisson's channel may be denied: what comes by it is found by looking. */
static void
on_answered(lk__request *request, lk_status status, const redisReply *reply)
{
    lk__topic *topic = topic_of(request);
    lk__place *place = topic->place;

    if (lk__place_has_left(place, request))
        status = LK_EOFFLINE;
    if (status == LK_OK) {
        topic->heard = topic->asked;
        if (reply->type == REDIS_REPLY_ERROR)
            lk__client_log(place->client, LK_LOG_WARN, "%s: %s", topic->channel,
                           reply->str);
    } else {
        topic->asked = topic->heard = false;
    }
    if ((status == LK_OK || lk__place_has_left(place, request)) &&
        topic->wanted != topic->asked)
        topic_drive(topic);
    else if (topic->heard && all_heard(place))
        look(place);
    lk__place_unref(place);
}

static void topic_drive(lk__topic *topic)
{
    lk__node *node = topic->place->node;
    lk__arg args[2] = {lk__arg_text(topic->wanted ? "SUBSCRIBE"
                                                  : "UNSUBSCRIBE"),
                       lk__arg_text(topic->channel)};

    if (topic->request.busy || topic->wanted == topic->asked ||
        node->inbox.state != LK__CONN_READY)
        return;
    topic->request.on_reply = on_answered;
    if (lk__conn_send(&node->inbox, &topic->request, 2, args) != LK_OK)
        return; /* seen to with the next wait, and the looks go on */
    topic->asked = topic->wanted;
    topic->heard = false;
    topic->place->refs++;
}

static void topics_set(lk__place *place, bool wanted)
{
    for (size_t i = 0; i < LK__PLACE_TOPICS; i++) {
        if (place->topics[i].channel == NULL)
            continue;
        place->topics[i].wanted = wanted;
        topic_drive(&place->topics[i]);
    }
}

void lk__topics_want(lk__place *place)
{
    if (place->kind->topic == NULL)
        return;
    lk__node_want_inbox(place->node);
    topics_set(place, true);
}

void lk__topics_drop(lk__place *place)
{
    topics_set(place, false);
}

void lk__topics_again(lk__place *place)
{
    for (size_t i = 0; i < LK__PLACE_TOPICS; i++) {
        if (place->topics[i].channel != NULL)
            topic_drive(&place->topics[i]);
    }
}

void lk__topics_lost(lk__place *place)
{
    for (size_t i = 0; i < LK__PLACE_TOPICS; i++)
        place->topics[i].asked = place->topics[i].heard = false;
}

bool lk__topics_heard(const lk__place *place)
{
    return all_heard(place);
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
    lk__entry *entry =
        lk__table_find(&node->client->work->topics, lk__table_hash(channel));

    while (entry != NULL) {
        lk__topic *topic = topic_of_entry(entry);

        entry = lk__table_find_next(entry);
        if (topic->place->node == node &&
            strcmp(topic->channel, channel) == 0) {
            hear(topic->place, text, size);
            return;
        }
    }
}
