/* SPDX-License-Identifier: MIT */

/* Places: the line of local waits for a name, and its front at the server. */

#include "claims/place.h"

#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/slot.h"
#include "claims/ask.h"
#include "claims/cluster.h"
#include "claims/hold.h"
#include "claims/node.h"
#include "claims/protocol.h"
#include "claims/watchdog.h"
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
        lk__place *place = lk__container_of(entry, lk__place, entry);

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
static lk__claim *passing_to(const lk__place *place, const lk__wait *wait)
{
    for (lk__claim *claim = place->first_claim;
         claim != NULL && claim->was_held; claim = claim->next) {
        if (lk__claim_is_valid(claim) && lk__claim_suits(claim, wait))
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

    if (is_outdated(place->front, head)) {
        lk__claim_leave(place->front);
        return head != NULL;
    }
    if (head == NULL || head->line != LK__LINE_COMMON || place->front != NULL)
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

/* Its lease is not longer than the wait's own; a shorter one is made up for by
   the first renewal. */
static void claim_adopt(lk__claim *claim, const lk__wait *wait)
{
    bool longer = wait->lease_ms > claim->lease_ms;

    claim->watchdog = wait->watchdog;
    claim->lease_ms = wait->lease_ms;
    claim->confirmed = claim->confirmed && !longer;
    if ((wait->watchdog || longer) && claim->renew_at == LK__NEVER)
        claim->renew_at = claim->granted_at;
    lk__claim_arm(claim);
}

static void bind(lk__wait *wait, lk__claim *claim)
{
    lk__hold_bind(wait->hold, claim, wait->owner);
    wait->place->client->stats.acquires++;
    lk__wait_end(wait, LK_OK, NULL);
}

void lk__place_bind(lk__place *place, lk__claim *claim)
{
    claim_adopt(claim, place->first_wait);
    bind(place->first_wait, claim);
}

/* ---- seats: waits of a line of their own, and of a shared one ----------------- */

lk__wait *lk__place_head(const lk__claim *claim)
{
    if (claim->line == LK__LINE_COMMON)
        return claim->place->first_wait;
    return claim->seek != NULL ? claim->seek->first_seat : NULL;
}

/* A claim's memory stays while somebody sits on it. */
static void sit(lk__wait *wait, lk__claim *claim)
{
    lk__seeking *seek = claim->seek;

    wait->claim = lk__claim_ref(claim);
    wait->seat_look = seek->looks;
    wait->prev_seat = seek->last_seat;
    if (wait->prev_seat != NULL)
        wait->prev_seat->next_seat = wait;
    else
        seek->first_seat = wait;
    seek->last_seat = wait;
}

static void rise(lk__wait *wait)
{
    lk__claim *claim = wait->claim;

    if (wait->prev_seat != NULL)
        wait->prev_seat->next_seat = wait->next_seat;
    else
        claim->seek->first_seat = wait->next_seat;
    if (wait->next_seat != NULL)
        wait->next_seat->prev_seat = wait->prev_seat;
    else
        claim->seek->last_seat = wait->prev_seat;
    wait->next_seat = wait->prev_seat = NULL;
    wait->claim = NULL;
    lk__claim_unref(claim);
}

/* The claim that this client holds, and that one more may share; or NULL. */
static lk__claim *joined_by(const lk__place *place, const lk__wait *wait)
{
    for (lk__claim *claim = place->first_claim;
         claim != NULL && claim->was_held; claim = claim->next) {
        if (lk__claim_may_join(claim, wait))
            return claim;
    }
    return NULL;
}

static lk__claim *claim_for(lk__place *place, const lk__wait *wait)
{
    lk__claim *claim = lk__claim_new(place, wait);

    if (claim == NULL)
        return NULL;
    claim->line = (uint8_t)wait->line;
    claim->terms = wait->terms;
    if (wait->line == LK__LINE_SHARED && !wait->try_only)
        place->front = claim;
    return claim;
}

void lk__place_seat(lk__wait *wait)
{
    lk__place *place = wait->place;
    bool shares = wait->line == LK__LINE_SHARED;
    lk__claim *claim = shares ? joined_by(place, wait) : NULL;

    if (claim != NULL) {
        bind(wait, claim);
        return;
    }
    if (shares && !wait->try_only && place->front != NULL) {
        sit(wait, place->front);
        if (place->kind->judge != NULL)
            lk__claim_look_again(place->front);
        return;
    }
    claim = lk__touching_make(place) ? claim_for(place, wait) : NULL;
    if (claim == NULL) {
        lk__wait_end(wait, LK_ENOMEM, NULL);
        return;
    }
    sit(wait, claim);
    if (!wait->try_only)
        lk__topics_want(place);
    lk__claim_drive(claim);
}

void lk__place_unseat(lk__wait *wait)
{
    lk__claim *claim = lk__claim_ref(wait->claim);

    rise(wait);
    if (claim->seek->first_seat == NULL && lk__claim_is_seeking(claim))
        lk__claim_leave(claim);
    lk__claim_unref(claim);
}

/* The end of a wait that shares ends no other: only a common line is driven. */
void lk__place_judge(lk__claim *claim, const void *facts)
{
    lk__wait *wait, *next;

    lk__claim_ref(claim);
    for (wait = claim->seek->first_seat; wait != NULL; wait = next) {
        lk__verdict verdict = LK__VERDICT_WAIT;

        next = wait->next_seat;
        if (wait->seat_look < claim->seek->looks)
            verdict = claim->place->kind->judge(&wait->mark, facts);
        if (verdict == LK__VERDICT_OK)
            lk__wait_end(wait, LK_OK, NULL);
        else if (verdict == LK__VERDICT_GONE)
            lk__wait_end(wait, LK_EGONE, NULL);
    }
    lk__claim_unref(claim);
}

/* ---- the end of seeking -------------------------------------------------------- */

static void front_clear(lk__place *place, const lk__claim *claim)
{
    if (place->front == claim)
        place->front = NULL;
}

void lk__place_granted(lk__place *place, lk__claim *claim)
{
    front_clear(place, claim);
    if (lk__place_head(claim) == NULL) {
        lk__claim_release(claim, NULL);
    } else if (claim->line == LK__LINE_COMMON) {
        lk__place_bind(place, claim);
    } else {
        lk__claim_ref(claim);
        while (claim->seek->first_seat != NULL)
            bind(claim->seek->first_seat, claim);
        lk__claim_unref(claim);
    }
}

void lk__place_taken(lk__place *place, lk__claim *claim)
{
    front_clear(place, claim);
    lk__claim_ref(claim);
    if (place->kind->granted != NULL)
        place->kind->granted(place, claim);
    lk__claim_kill(claim);
    while (claim->seek->first_seat != NULL)
        lk__wait_end(claim->seek->first_seat, LK_OK, NULL);
    lk__claim_unref(claim);
}

/* With LK_OK each gets another claim. */
static void seats_fail(lk__claim *claim, lk_status status, const char *words)
{
    lk__claim_ref(claim);
    while (claim->seek->first_seat != NULL) {
        lk__wait *wait = claim->seek->first_seat;

        if (status != LK_OK) {
            lk__wait_end(wait, status, words);
        } else {
            rise(wait);
            lk__place_seat(wait);
        }
    }
    lk__claim_unref(claim);
}

void lk__place_failed(lk__place *place, lk__claim *claim, lk_status status,
                      const char *words)
{
    front_clear(place, claim);
    if (claim->line != LK__LINE_COMMON)
        seats_fail(claim, status, words);
    else if (status != LK_OK && place->first_wait != NULL)
        lk__wait_end(place->first_wait, status, words);
    else
        lk__place_drive(place);
}

/* ---- all places ---------------------------------------------------------------- */

/* Those of one node, or all of them. A visit may end claims, and with the last of
   them a place: so it is pinned. */
static void places_visit(lk_client *client, const lk__node *node,
                         void (*visit)(lk__place *place))
{
    lk__place *place = client->work->places;

    if (place != NULL)
        place->refs++;
    while (place != NULL) {
        lk__place *next;

        if (node == NULL || place->node == node)
            visit(place);
        next = place->next;
        if (next != NULL)
            next->refs++;
        lk__place_unref(place);
        place = next;
    }
}

/* A claim that leaves the list moves what comes next. */
void lk__place_visit(lk__place *place, void (*visit)(lk__claim *claim))
{
    for (lk__claim *claim = place->first_claim; claim != NULL;
         claim = place->next_visited) {
        place->next_visited = claim->next;
        visit(claim);
    }
}

static void claims_drive(lk__place *place)
{
    lk__place_visit(place, lk__claim_drive);
    lk__place_drive(place);
}

void lk__places_on_ready(lk__node *node)
{
    places_visit(node->client, node, claims_drive);
}

/* Each hold is renewed at once: a loss is told when that is answered. */
static void hold_check(lk__claim *claim)
{
    if (claim->state == LK__CLAIM_HELD)
        lk__claim_renew_soon(claim);
}

static void holds_check(lk__place *place)
{
    lk__place_visit(place, hold_check);
}

void lk__places_check_holds(lk__node *node)
{
    places_visit(node->client, node, holds_check);
}

static void hold_believe(lk__claim *claim)
{
    if (claim->state == LK__CLAIM_HELD)
        lk__claim_believe(claim);
}

static void holds_believe(lk__place *place)
{
    lk__place_visit(place, hold_believe);
}

void lk__places_believe(lk__node *node)
{
    places_visit(node->client, node, holds_believe);
}

static void holds_believe_no_more(lk__place *place)
{
    lk__place_visit(place, lk__claim_believe_no_more);
}

void lk__places_believe_no_more(lk__node *node)
{
    places_visit(node->client, node, holds_believe_no_more);
}

static void wanted_drive(lk__claim *claim)
{
    if (claim->state == LK__CLAIM_WANTED)
        lk__claim_drive(claim);
}

void lk__place_hears(lk__place *place)
{
    lk__place_visit(place, wanted_drive);
    if (place->front != NULL)
        lk__claim_look_again(place->front);
    lk__touch_later(place, 0);
}

void lk__place_deaf(lk__place *place, lk_status status, const char *words)
{
    lk__wait *wait = place->first_wait;

    place->refs++;
    while (wait != NULL) {
        if (wait->try_only) {
            wait = wait->next;
        } else {
            lk__wait_end(wait, status, words);
            wait = place->first_wait;
        }
    }
    lk__place_unref(place);
}

/* What the inbox may have missed: a grant, or that a hold was revoked. And who
   could not queue without it can now, in the order in which they came. */
static void claims_look(lk__place *place)
{
    holds_check(place);
    lk__place_visit(place, wanted_drive);
    if (place->front != NULL)
        lk__claim_drive(place->front);
    lk__topics_again(place);
    lk__touch_later(place, 0);
}

void lk__places_on_inbox(lk__node *node)
{
    places_visit(node->client, node, claims_look);
}

void lk__places_on_inbox_down(lk__node *node)
{
    places_visit(node->client, node, lk__topics_lost);
}

/* ---- from node to node ------------------------------------------------------------ */

/* Nothing that the node before said counts for the next one: neither that a claim
   is queued, nor that a hold is known. */
static void claims_leave_node(lk__place *place)
{
    for (lk__claim *claim = place->first_claim; claim != NULL;
         claim = claim->next) {
        lk__pace_drop(claim);
        lk__pace_done(claim);
        if (claim->seek != NULL && claim->seek->bound != LK__NEVER)
            claim->seek->bound = 0;
        claim->kept_by = 0;
        claim->replicas = 0;
        claim->turn = 0;
        claim->is_apart = false;
        lk__claim_believe_no_more(claim);
    }
}

/* The list of the place has each of them meanwhile. */
static void claims_move(const lk__place *place, lk__node *from)
{
    for (lk__claim *claim = place->first_claim; claim != NULL;
         claim = claim->next)
        lk__watchdog_moved(claim, from);
}

/* Holds are confirmed there by claim and fence, or lost; waiters are looked
   after, as behind an outage. What is under way is in doubt, or in time. */
static void move(lk__place *place, lk__node *node)
{
    lk__node *from = place->node;

    claims_leave_node(place);
    lk__topics_lost(place);
    lk__track_lost(place);
    place->node = node;
    claims_move(place, from);
    if (place->first_claim != NULL)
        lk__node_want_inbox(node);
    claims_look(place);
    claims_drive(place);
}

static void settle(lk__place *place)
{
    lk__node *node = lk__cluster_node(place->client, place->slot);

    if (node == place->node)
        return;
    place->refs++;
    move(place, node);
    lk__place_unref(place);
}

void lk__places_settle(lk_client *client)
{
    places_visit(client, NULL, settle);
}

lk_status lk__place_heard(lk__place *place, const lk__request *request,
                          lk_status status, const redisReply *reply)
{
    if (status == LK_OK)
        status = lk__cluster_heard(place->client, place->slot, request, reply);
    settle(place);
    return status;
}

bool lk__place_has_left(const lk__place *place, const lk__request *request)
{
    return lk__node_of(request->conn) != place->node;
}

/* ---- the end --------------------------------------------------------------------- */

static void claims_shut(lk__place *place)
{
    lk__topics_shut(place);
    lk__place_visit(place, lk__claim_shut);
}

void lk__places_shut(lk_client *client)
{
    places_visit(client, NULL, claims_shut);
}

static void claims_abandon(lk__place *place)
{
    lk__topics_shut(place);
    lk__place_visit(place, lk__claim_abandon);
}

void lk__places_abandon(lk_client *client)
{
    places_visit(client, NULL, claims_abandon);
}

bool lk__places_are_closed(const lk_client *client)
{
    for (const lk__place *place = client->work->places; place != NULL;
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

void lk__places_on_offline(lk__node *node)
{
    const lk__conn *conn = &node->command;

    lk__waits_end(node->client, node, conn->why, conn->words);
    lk__asks_leave_doubtful(node->client, node, conn->why, conn->words);
}
