/* SPDX-License-Identifier: MIT */

/*
 * Tracking; see track.h. For each name three commands at most, one behind the
 * other: CLIENT TRACKING once for the connections, CLIENT CACHING YES, by which
 * the next command is tracked, and that command, EXISTS. A refusal of any of
 * them ends it for these connections. A client is told of its own changes, too:
 * they end the tracking as others' do, and it would not know with NOLOOP.
 */

#include "claims/track.h"

#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "claims/claim.h"
#include "claims/node.h"
#include "claims/place.h"
#include "claims/work.h"
#include "engine/client.h"
#include "server/reply.h"

#define CHANNEL "__redis__:invalidate"

static lk__place *place_of_caching(lk__request *request)
{
    return LK__CONTAINER_OF(request, lk__track, caching)->place;
}

static lk__place *place_of_read(lk__request *request)
{
    return LK__CONTAINER_OF(request, lk__track, read)->place;
}

static lk__node *node_of(lk__request *request)
{
    lk__tracking *tracking = LK__CONTAINER_OF(request, lk__tracking, request);

    return LK__CONTAINER_OF(tracking, lk__node, tracking);
}

static bool is_armed(const lk__place *place)
{
    return place->track != NULL &&
           place->track->armed_by == place->node->tracking.number;
}

/* False: no memory. */
static bool track_make(lk__place *place)
{
    if (place->track != NULL)
        return true;
    place->track = lk__alloc(sizeof(*place->track));
    if (place->track == NULL)
        return false;
    place->track->place = place;
    return true;
}

void lk__track_lost(lk__place *place)
{
    if (place->track != NULL)
        place->track->armed_by = 0;
}

/* The claim that others keep out looks. There is one at most: the first. */
static void look(lk__place *place)
{
    for (lk__claim *claim = place->first_claim; claim != NULL;
         claim = claim->next) {
        if (claim->state == LK__CLAIM_QUEUED && claim->seek->contest.is_on) {
            lk__claim_told(claim);
            return;
        }
    }
}

/* ---- refused ----------------------------------------------------------------- */

void lk__tracking_reset(lk__node *node)
{
    node->tracking.number++;
    node->tracking.begun = false;
    node->tracking.refused = false;
}

/* The name is at another node of the cluster now. */
static bool is_elsewhere(const redisReply *reply)
{
    return lk__reply_is_error(reply, "MOVED") ||
           lk__reply_is_error(reply, "ASK") || lk__reply_is_passing(reply);
}

/* From now on it is looked; the one that was to be told begins. */
static bool
is_refused(lk__node *node, lk_status status, const redisReply *reply)
{
    lk__tracking *tracking = &node->tracking;

    if (status != LK_OK || reply->type != REDIS_REPLY_ERROR ||
        is_elsewhere(reply))
        return false;
    if (!tracking->was_told)
        lk__client_log(node->client, LK_LOG_WARN,
                       "changes of names are not told, so waiters behind "
                       "others look more often: %s",
                       reply->str);
    tracking->was_told = true;
    tracking->refused = true;
    return true;
}

/* ---- asking -------------------------------------------------------------------- */

static void
on_begun(lk__request *request, lk_status status, const redisReply *reply)
{
    (void)is_refused(node_of(request), status, reply);
}

static void
on_caching(lk__request *request, lk_status status, const redisReply *reply)
{
    lk__place *place = place_of_caching(request);

    (void)is_refused(lk__node_of(request->conn), status, reply);
    lk__place_unref(place);
}

/* A number has changed without a sign that EXISTS would give. */
static bool has_changed(const lk__place *place, const redisReply *reply)
{
    return place->kind->counts ||
           place->track->was_held != (reply->integer != 0);
}

static void
on_read(lk__request *request, lk_status status, const redisReply *reply)
{
    lk__place *place = place_of_read(request);
    lk__node *node = lk__node_of(request->conn);

    if (status == LK_OK &&
        (is_refused(node, status, reply) || node->tracking.refused ||
         has_changed(place, reply)))
        look(place);
    lk__place_unref(place);
}

static bool
send(lk__place *place, lk__request *request, size_t count, const lk__arg *args)
{
    if (lk__node_command(place->node, request, count, args) != LK_OK)
        return false;
    place->refs++;
    return true;
}

static bool begin(lk__node *node)
{
    lk__tracking *tracking = &node->tracking;
    lk__arg args[6] = {lk__arg_text("CLIENT"),
                       lk__arg_text("TRACKING"),
                       lk__arg_text("ON"),
                       lk__arg_text("REDIRECT"),
                       lk__arg_number(node->inbox_greeting.id),
                       lk__arg_text("OPTIN")};

    if (tracking->begun)
        return true;
    if (tracking->request.busy)
        return false;
    tracking->request.on_reply = on_begun;
    tracking->begun =
        lk__node_command(node, &tracking->request, 6, args) == LK_OK;
    return tracking->begun;
}

static bool arm(lk__place *place)
{
    lk__track *track = place->track;
    char key[LK__KEY_SIZE];
    lk__arg caching[3] = {lk__arg_text("CLIENT"), lk__arg_text("CACHING"),
                          lk__arg_text("YES")};
    lk__arg read[2] = {lk__arg_text("EXISTS"),
                       lk__arg_text(lk__place_key(place, LK__KEY_NAME, key))};

    if (track->caching.busy || track->read.busy)
        return false;
    track->caching.on_reply = on_caching;
    track->read.on_reply = on_read;
    return send(place, &track->caching, 3, caching) &&
           send(place, &track->read, 2, read);
}

bool lk__track_want(lk__place *place, bool is_held)
{
    lk__node *node = place->node;

    if (node->tracking.refused || node->inbox_greeting.id == 0 ||
        !lk__node_can_queue(node))
        return false;
    if (is_armed(place))
        return true;
    if (!track_make(place))
        return false;
    place->track->was_held = is_held;
    if (!begin(node) || !arm(place))
        return false;
    place->track->armed_by = node->tracking.number;
    return true;
}

/* ---- told ------------------------------------------------------------------------ */

static void take(lk__place *place)
{
    if (!is_armed(place))
        return;
    place->track->armed_by = 0;
    look(place);
}

/* A look sends at most, so it ends no place. */
static void take_name(const lk__node *node, const char *name)
{
    lk__entry *entry = lk__table_find(&node->client->work->places_by_name,
                                      lk__table_hash(name));

    for (; entry != NULL; entry = lk__table_find_next(entry)) {
        lk__place *place = LK__CONTAINER_OF(entry, lk__place, entry);

        if (place->node == node && strcmp(place->name, name) == 0)
            take(place);
    }
}

/* Of a database that was emptied no keys are named. */
bool lk__track_take(lk__node *node, const char *channel, const redisReply *keys)
{
    if (strcmp(channel, CHANNEL) != 0)
        return false;
    if (keys == NULL || keys->type != REDIS_REPLY_ARRAY) {
        for (lk__place *place = node->client->work->places; place != NULL;
             place = place->next) {
            if (place->node == node)
                take(place);
        }
        return true;
    }
    for (size_t i = 0; i < keys->elements; i++)
        take_name(node, lk__reply_text_at(keys, i));
    return true;
}
