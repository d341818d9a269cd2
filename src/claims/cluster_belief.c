/* SPDX-License-Identifier: MIT */

/* Whom the masters of a cluster name, and how far that is believed. */

#include <stdlib.h>

#include "base/deadline.h"
#include "claims/cluster_private.h"
#include "claims/place.h"
#include "engine/client.h"
#include "server/naming.h"

#define MS LK__CLUSTER_MS

enum {
    HOLDS_MS = 300,   /* between two times that holds are told of a belief */
    SETTLED_MS = 2000 /* so long masters may disagree because some know more */
};

bool lk__cluster_is_fast(const lk__cluster *cluster)
{
    return cluster->client->settings.failover == LK_FAILOVER_FAST;
}

/* ---- belief ------------------------------------------------------------------ */

/* It has never followed another, and has run for long enough. */
static bool is_old(const lk__node *node, uint64_t now)
{
    const lk__greeting *greeting = &node->command_greeting;

    return lk__node_is_ready(node) && greeting->has_led &&
           greeting->born_at != INT64_MAX &&
           greeting->born_at + (int64_t)(LK__BELIEF_MS * MS) < (int64_t)now;
}

static int later_first(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? 1 : x > y ? -1 : 0;
}

/* When those masters were asked that name it for all that it has. */
static size_t votes_for(lk__cluster *cluster, const lk__node *whom)
{
    size_t count = 0;

    for (const lk__node *node = cluster->nowhere->next; node != NULL;
         node = node->next) {
        if (lk__cluster_is_master(cluster, node) && node->view->asked_at != 0 &&
            !lk__view_denies(node->view, whom))
            cluster->asked[count++] = node->view->asked_at;
    }
    qsort(cluster->asked, count, sizeof(*cluster->asked), later_first);
    return count;
}

/* A master that was not heard of for so long may have been replaced and been
   elected again meanwhile. */
static void judge(lk__cluster *cluster, lk__node *node, size_t needed)
{
    lk__belief *belief = &node->belief;
    uint64_t now = lk__client_now(cluster->client);
    bool was_heard = belief->until > now;
    uint64_t until;

    if (votes_for(cluster, node) < needed)
        return;
    until = lk__deadline_ns(cluster->asked[needed - 1], LK__BELIEF_MS);
    if (until > belief->until) {
        belief->until = until;
        cluster->is_unheard = true;
    }
    if (until <= now)
        return;
    if (is_old(node, now))
        belief->from = 0;
    else if (belief->from == LK__NEVER || !was_heard)
        belief->from = lk__wait_until_ns(now, LK__BELIEF_MS);
    lk__belief_born(node);
}

static void gives_note(lk__cluster *cluster, lk__node *node)
{
    bool gives = lk__node_is_ready(node) && lk__node_gives(node);
    uint64_t now = lk__client_now(cluster->client);

    if (now < node->belief.from && node->belief.from != LK__NEVER)
        lk__cluster_wake_by(cluster, node->belief.from);
    if (gives == node->gave)
        return;
    node->gave = gives;
    if (gives)
        lk__node_give_again(node);
}

/* Not at each answer: there may be many holds. */
static void holds_tell(lk__cluster *cluster)
{
    uint64_t now = lk__client_now(cluster->client);
    uint64_t at = cluster->heard_at + HOLDS_MS * MS;

    if (!cluster->is_unheard)
        return;
    if (now < at) {
        lk__cluster_wake_by(cluster, at);
        return;
    }
    cluster->is_unheard = false;
    cluster->heard_at = now;
    for (lk__node *node = cluster->nowhere->next; node != NULL;
         node = node->next)
        lk__belief_stays(node);
    lk__places_believe_all(cluster->client);
}

void lk__cluster_judge(lk__cluster *cluster)
{
    size_t masters = 0;

    if (lk__cluster_is_fast(cluster))
        return;
    for (const lk__node *node = cluster->nowhere->next; node != NULL;
         node = node->next)
        masters += lk__cluster_is_master(cluster, node);
    for (lk__node *node = cluster->nowhere->next; node != NULL;
         node = node->next) {
        if (lk__cluster_is_master(cluster, node))
            judge(cluster, node, masters / 2 + 1);
    }
    holds_tell(cluster);
    for (lk__node *node = cluster->nowhere->next; node != NULL;
         node = node->next)
        gives_note(cluster, node);
}

/* ---- masters that go on to disagree ---------------------------------------------- */

bool lk__cluster_is_fresh(const lk__cluster *cluster, const lk__node *node)
{
    return lk__cluster_is_master(cluster, node) && node->view->asked_at != 0 &&
           lk__client_now(cluster->client) <
               node->view->asked_at + LK__BELIEF_MS * MS;
}

static size_t
names(const lk__cluster *cluster, unsigned slot, const lk__node *whom)
{
    size_t sum = 0;

    for (const lk__node *node = cluster->nowhere->next; node != NULL;
         node = node->next)
        sum += lk__cluster_is_fresh(cluster, node) &&
               lk__view_owner(node->view, slot) == whom;
    return sum;
}

static void outvote(lk__cluster *cluster, const lk__view *view)
{
    for (unsigned slot = 0; slot < LK__SLOTS; slot++) {
        lk__node *owner = lk__view_owner(view, slot);

        if (owner != NULL && owner != cluster->owners[slot] &&
            names(cluster, slot, owner) >
                names(cluster, slot, cluster->owners[slot]))
            lk__cluster_give(cluster, slot, owner);
    }
}

void lk__cluster_reconcile(lk__cluster *cluster)
{
    if (lk__client_now(cluster->client) < cluster->settled_at + SETTLED_MS * MS)
        return;
    for (const lk__node *node = cluster->nowhere->next; node != NULL;
         node = node->next) {
        if (lk__cluster_is_fresh(cluster, node) &&
            lk__view_disagrees(node->view))
            outvote(cluster, node->view);
    }
}
