/* SPDX-License-Identifier: MIT */

/* All places of a client: what their nodes tell them, and how they go from one node
   to another. */

#include "claims/ask.h"
#include "claims/cluster.h"
#include "claims/node.h"
#include "claims/place.h"
#include "claims/watchdog.h"
#include "claims/work.h"

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
        claim->kept_at = 0;
        if (claim->extra != NULL)
            claim->extra->replicas = 0;
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
    if (place->first_wait != NULL)
        lk__node_wait_more(node);
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

    lk__waits_give_up(node);
    lk__asks_leave_doubtful(node->client, node, conn->why, conn->words);
}
