/* SPDX-License-Identifier: MIT */

/* Places: names and their life, the line of local waits, and its front at the server.
   seat.c says how waits come by claims, places.c what nodes tell their places. */

#include "claims/place.h"

#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/slot.h"
#include "claims/cluster.h"
#include "claims/node.h"
#include "claims/work.h"

/* ---- life ---------------------------------------------------------------- */

static void place_free(lk__place *place)
{
    lk__topics_done(place);
    lk__touching_done(place);
    lk__free(place->track);
    lk__free(place->signal);
    if (place->own != NULL)
        place->kind->own_free(place->own);
    lk__channel_done(&place->channel);
    lk__free(place);
}

/* There is room to write any of its keys from now on. */
static bool keys_reserve(const lk__place *place)
{
    const lk__kind *kind = place->kind;
    size_t longest = 0;

    for (size_t i = 0; i < kind->key_count; i++) {
        size_t length = lk__key_write(kind->keys[i], place->name, NULL, 0);

        longest = length > longest ? length : longest;
    }
    return lk__question_reserve(&place->client->work->question, longest + 1);
}

const char *
lk__place_key(const lk__place *place, size_t key, char ret[LK__KEY_SIZE])
{
    lk__key_write(place->kind->keys[key], place->name, ret, LK__KEY_SIZE);
    return ret;
}

static bool channels_make(lk__place *place)
{
    const char *form = place->kind->channel;

    return (form[0] == '\0' || lk__channel_make(&place->channel, form,
                                                place->name, place->slot)) &&
           lk__topics_init(place);
}

/* That of its first key, as of all. */
static unsigned slot_of(const lk__place *place)
{
    char text[LK__KEY_SIZE];
    const char *key = place->kind->key_count > 0
                          ? lk__place_key(place, LK__KEY_NAME, text)
                          : place->name;

    return lk__slot_of(key, strlen(key));
}

static lk__place *
place_new(lk_client *client, const lk__kind *kind, const char *name)
{
    size_t size = strlen(name) + 1;
    lk__place *place = lk__alloc(sizeof(*place) + size);

    if (place == NULL)
        return NULL;
    place->client = client;
    place->kind = kind;
    memcpy(place->name, name, size);
    place->slot = slot_of(place);
    if (!keys_reserve(place) || !channels_make(place) ||
        (kind->signals && !lk__signal_make(place)) ||
        !lk__table_add(&client->work->places_by_name, &place->entry,
                       lk__table_hash(name))) {
        place_free(place);
        return NULL;
    }
    place->node = lk__cluster_node(client, place->slot);
    place->next = client->work->places;
    if (place->next != NULL)
        place->next->prev = place;
    client->work->places = place;
    return place;
}

const lk__kind *lk__kind_find(const lk_client *client, const char *family)
{
    for (size_t i = 0; i < client->work->kind_count; i++) {
        if (strcmp(client->work->kinds[i]->family, family) == 0)
            return client->work->kinds[i];
    }
    return NULL;
}

/* False: no memory. */
static bool kind_note(lk_client *client, const lk__kind *kind)
{
    const lk__kind **kinds;

    if (lk__kind_find(client, kind->family) != NULL)
        return true;
    kinds = lk__realloc(client->work->kinds, (client->work->kind_count + 1) *
                                                 sizeof(const lk__kind *));
    if (kinds == NULL)
        return false;
    client->work->kinds = kinds;
    client->work->kinds[client->work->kind_count++] = kind;
    return true;
}

static lk__place *
place_find(const lk_client *client, const lk__kind *kind, const char *name)
{
    lk__entry *entry =
        lk__table_find(&client->work->places_by_name, lk__table_hash(name));

    for (; entry != NULL; entry = lk__table_find_next(entry)) {
        lk__place *place = LK__CONTAINER_OF(entry, lk__place, entry);

        if (place->kind == kind && strcmp(place->name, name) == 0)
            return place;
    }
    return NULL;
}

lk__place *
lk__place_get(lk_client *client, const lk__kind *kind, const char *name)
{
    lk__place *place = place_find(client, kind, name);

    if (place == NULL && kind_note(client, kind))
        place = place_new(client, kind, name);
    if (place != NULL)
        place->refs++;
    return place;
}

void lk__place_unref(lk__place *place)
{
    if (--place->refs > 0)
        return;
    lk__table_remove(&place->client->work->places_by_name, &place->entry);
    if (place->prev != NULL)
        place->prev->next = place->next;
    else
        place->client->work->places = place->next;
    if (place->next != NULL)
        place->next->prev = place->prev;
    place_free(place);
}

static bool is_text_of(const lk__channel *channel, const char *text)
{
    return channel->text != NULL &&
           (text == channel->text || text == lk__channel_name(channel));
}

const lk__channel *lk__place_channel(const lk__place *place, const char *text)
{
    const lk__topic *news = lk__topic_of(place, LK__TOPIC_OWN);

    if (is_text_of(&place->channel, text))
        return &place->channel;
    return news != NULL && is_text_of(&news->channel, text) ? &news->channel
                                                            : NULL;
}

bool lk__place_is_near(const lk__place *place)
{
    return lk__node_has_shards(place->node) && place->kind->topic == NULL &&
           !place->kind->signals;
}

bool lk__place_can_queue(const lk__place *place)
{
    return lk__node_can_queue(place->node) && lk__topics_heard(place);
}

/* ---- the line ---------------------------------------------------------------- */

/* The claim that this client holds and may pass on to the wait, or NULL. */
static lk__claim *
passing_to(const lk__place *place, const lk__wait *wait, uint64_t now)
{
    for (lk__claim *claim = place->first_claim;
         claim != NULL && claim->was_held; claim = claim->next) {
        if (lk__claim_is_valid_at(claim, now) &&
            lk__claim_suits(claim, wait, now))
            return claim;
    }
    return NULL;
}

static void front_make(lk__place *place, const lk__wait *head)
{
    place->front = lk__claim_new(place, head);
    if (place->front == NULL) {
        lk__wait_end(place->first_wait, LK_ENOMEM, NULL);
        return;
    }
    lk__claim_drive(place->front);
}

/* Nobody waits for the front any more, or only for a shorter lease than it asks
   for: then it would get a hold that the server keeps for too long. */
static bool is_outdated(const lk__claim *front, const lk__wait *head)
{
    return front != NULL && front->line == LK__LINE_COMMON &&
           (head == NULL || head->lease_ms < front->lease_ms);
}

/* One step; false: there is nothing to be done for now. */
static bool drive_once(lk__place *place)
{
    const lk__wait *head = place->first_wait;
    lk__claim *claim;
    uint64_t now;

    if (is_outdated(place->front, head)) {
        lk__claim_leave(place->front);
        return head != NULL;
    }
    if (head == NULL || head->line != LK__LINE_COMMON || place->front != NULL)
        return false;
    now = lk__client_now(place->client);
    claim = passing_to(place, head, now);
    if (claim != NULL) {
        lk__claim_prepare_pass(claim, now);
        return false;
    }
    front_make(place, head);
    return true;
}

/* A step may end waits, and their end asks for the next step: that is a loop
   here, not a recursion as deep as the line is long. */
void lk__place_drive(lk__place *place)
{
    if (place->driving)
        return;
    place->driving = true;
    place->refs++;
    while (drive_once(place)) {
    }
    place->driving = false;
    lk__place_unref(place);
}
