/* SPDX-License-Identifier: MIT */

/* Places: the line of local waits for a name, and its front at the server. */

#include "core/place.h"

#include <string.h>

#include "core/ask.h"
#include "core/hold.h"
#include "core/mem.h"
#include "core/names.h"
#include "core/node.h"

/* ---- life ---------------------------------------------------------------- */

static const char *const key_prefixes[LK__KEYS] = {
    [LK__KEY_STATE] = "latchkey:state",
    [LK__KEY_QUEUE] = "latchkey:queue",
    [LK__KEY_TICKETS] = "latchkey:tickets",
    [LK__KEY_SKIPPED] = "latchkey:skipped",
    [LK__KEY_TOKEN] = "redisson_lock_token",
    [LK__KEY_VOID] = "latchkey:void",
    [LK__KEY_FAIR_QUEUE] = "redisson_lock_queue",
    [LK__KEY_SPIN] = "latchkey:spin",
};

static void place_free(lk__place *place)
{
    for (size_t i = 0; i < LK__KEYS; i++)
        lk__free(place->keys[i]);
    lk__free(place->channel);
    lk__free(place->name);
    lk__free(place);
}

static bool keys_make(lk__place *place)
{
    bool complete = true;

    for (size_t i = 0; i < LK__KEYS; i++) {
        place->keys[i] = i == LK__KEY_LOCK
                             ? lk__strdup(place->name)
                             : lk__name_prefixed(key_prefixes[i], place->name);
        complete = complete && place->keys[i] != NULL;
    }
    place->channel = lk__name_prefixed("redisson_lock__channel", place->name);
    return complete && place->channel != NULL;
}

static lk__place *
place_new(lk_client *client, const lk__kind *kind, const char *name)
{
    lk__place *place = lk__alloc(sizeof(*place));

    if (place == NULL)
        return NULL;
    place->client = client;
    place->kind = kind;
    place->name = lk__strdup(name);
    if (place->name == NULL || !keys_make(place) ||
        !lk__table_add(&client->places_by_name, &place->entry,
                       lk__table_hash(name))) {
        place_free(place);
        return NULL;
    }
    place->next = client->places;
    if (place->next != NULL)
        place->next->prev = place;
    client->places = place;
    return place;
}

const lk__kind *lk__kind_find(const lk_client *client, const char *word)
{
    for (size_t i = 0; i < LK__CLIENT_KINDS && client->kinds[i] != NULL; i++) {
        if (strcmp(client->kinds[i]->word, word) == 0)
            return client->kinds[i];
    }
    return NULL;
}

static void kind_note(lk_client *client, const lk__kind *kind)
{
    size_t i = 0;

    while (client->kinds[i] != NULL && client->kinds[i] != kind)
        i++;
    client->kinds[i] = kind;
}

static lk__place *
place_find(const lk_client *client, const lk__kind *kind, const char *name)
{
    lk__entry *entry =
        lk__table_find(&client->places_by_name, lk__table_hash(name));

    for (; entry != NULL; entry = lk__table_find_next(entry)) {
        lk__place *place =
            (lk__place *)(void *)((char *)entry - offsetof(lk__place, entry));

        if (place->kind == kind && strcmp(place->name, name) == 0)
            return place;
    }
    return NULL;
}

lk__place *
lk__place_get(lk_client *client, const lk__kind *kind, const char *name)
{
    lk__place *place = place_find(client, kind, name);

    kind_note(client, kind);
    if (place == NULL)
        place = place_new(client, kind, name);
    if (place != NULL)
        place->refs++;
    return place;
}

void lk__place_unref(lk__place *place)
{
    if (--place->refs > 0)
        return;
    lk__table_remove(&place->client->places_by_name, &place->entry);
    if (place->prev != NULL)
        place->prev->next = place->next;
    else
        place->client->places = place->next;
    if (place->next != NULL)
        place->next->prev = place->prev;
    place_free(place);
}

/* ---- calls ----------------------------------------------------------------- */

lk_status lk__place_call(lk__place *place, lk__request *request,
                         const lk__script *script, const char *owner,
                         size_t count, const lk__arg *args)
{
    lk_client *client = place->client;
    lk__arg keys[LK__KEYS];
    lk__arg all[LK__PLACE_ARGS + 8];

    for (size_t i = 0; i < LK__KEYS; i++)
        keys[i] = lk__arg_text(place->keys[i]);
    all[0] = lk__arg_text(owner);
    all[1] = lk__arg_text(place->channel);
    all[2] = lk__arg_number(client->settings.interop == LK_INTEROP_REDISSON);
    for (size_t i = 0; i < count; i++)
        all[LK__PLACE_ARGS + i] = args[i];
    return lk__node_call(client->node, request, script, LK__KEYS, keys,
                         LK__PLACE_ARGS + count, all);
}

/* ---- the line ---------------------------------------------------------------- */

/* The claim that this client holds and may pass on to the wait, or NULL. */
static lk__claim *passing_to(const lk__place *place, const lk__wait *wait)
{
    for (lk__claim *claim = place->first_claim; claim != NULL;
         claim = claim->next) {
        if (lk__claim_is_valid(claim) && lk__claim_suits(claim, wait))
            return claim;
    }
    return NULL;
}

static void front_make(lk__place *place, const lk__wait *head)
{
    place->front =
        lk__claim_new(place, head->lease_ms, head->watchdog, head->reason);
    if (place->front == NULL)
        lk__wait_end(place->first_wait, LK_ENOMEM, NULL);
    else
        lk__claim_drive(place->front);
}

/* One step; false: there is nothing to be done for now. */
static bool drive_once(lk__place *place)
{
    const lk__wait *head = place->first_wait;
    lk__claim *claim;

    if (head == NULL && place->front != NULL) {
        lk__claim_leave(place->front);
        return false;
    }
    if (head == NULL || place->front != NULL)
        return false;
    claim = passing_to(place, head);
    if (claim != NULL) {
        lk__claim_prepare_pass(claim);
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

/* A shorter lease than the wait's own is made up for by the first renewal. */
static void claim_adopt(lk__claim *claim, const lk__wait *wait)
{
    bool longer = wait->lease_ms > claim->lease_ms;

    claim->owner = wait->owner;
    claim->watchdog = wait->watchdog;
    claim->lease_ms = wait->lease_ms;
    claim->confirmed = claim->confirmed && !longer;
    if ((wait->watchdog || longer) && claim->renew_at == LK__NEVER)
        claim->renew_at = claim->granted_at;
    lk__claim_arm(claim);
}

void lk__place_granted(lk__place *place, lk__claim *claim)
{
    if (place->front == claim)
        place->front = NULL;
    if (place->first_wait == NULL)
        lk__claim_release(claim, NULL);
    else
        lk__place_bind(place, claim);
}

void lk__place_bind(lk__place *place, lk__claim *claim)
{
    lk__wait *wait = place->first_wait;

    claim_adopt(claim, wait);
    lk__hold_bind(wait->hold, claim);
    place->client->stats.acquires++;
    lk__wait_end(wait, LK_OK, NULL);
}

void lk__place_failed(lk__place *place, lk__claim *claim, lk_status status,
                      const char *words)
{
    if (place->front == claim)
        place->front = NULL;
    if (status != LK_OK && place->first_wait != NULL)
        lk__wait_end(place->first_wait, status, words);
    else
        lk__place_drive(place);
}

/* ---- all places ---------------------------------------------------------------- */

/* A visit may end claims, and with the last of them a place: so it is pinned. */
static void places_visit(lk_client *client, void (*visit)(lk__place *place))
{
    lk__place *place = client->places;

    if (place != NULL)
        place->refs++;
    while (place != NULL) {
        lk__place *next;

        visit(place);
        next = place->next;
        if (next != NULL)
            next->refs++;
        lk__place_unref(place);
        place = next;
    }
}

static void claims_drive(lk__place *place)
{
    for (lk__claim *claim = place->first_claim, *next; claim != NULL;
         claim = next) {
        next = claim->next;
        lk__claim_drive(claim);
    }
    lk__place_drive(place);
}

void lk__places_on_ready(lk_client *client)
{
    places_visit(client, claims_drive);
}

/* What the inbox may have missed: a grant, or that a hold was revoked. */
static void claims_look(lk__place *place)
{
    for (lk__claim *claim = place->first_claim; claim != NULL;
         claim = claim->next) {
        if (claim->state == LK__CLAIM_HELD)
            lk__claim_renew_soon(claim);
    }
    if (place->front != NULL)
        lk__claim_drive(place->front);
}

void lk__places_on_inbox(lk_client *client)
{
    places_visit(client, claims_look);
}

static void claims_shut(lk__place *place)
{
    for (lk__claim *claim = place->first_claim, *next; claim != NULL;
         claim = next) {
        next = claim->next;
        lk__claim_shut(claim);
    }
}

void lk__places_shut(lk_client *client)
{
    places_visit(client, claims_shut);
}

static void claims_abandon(lk__place *place)
{
    for (lk__claim *claim = place->first_claim, *next; claim != NULL;
         claim = next) {
        next = claim->next;
        lk__claim_abandon(claim);
    }
}

void lk__places_abandon(lk_client *client)
{
    places_visit(client, claims_abandon);
}

bool lk__places_are_closed(const lk_client *client)
{
    for (const lk__place *place = client->places; place != NULL;
         place = place->next) {
        for (const lk__claim *claim = place->first_claim; claim != NULL;
             claim = claim->next) {
            if (claim->state == LK__CLAIM_RELEASING ||
                claim->state == LK__CLAIM_LEAVING ||
                claim->state == LK__CLAIM_PASSING)
                return false;
        }
    }
    return true;
}

void lk__places_on_offline(lk_client *client)
{
    const lk__conn *conn = &client->node->command;

    lk__waits_end(client, conn->why, conn->words);
    lk__asks_end(client, conn->why, conn->words);
}
