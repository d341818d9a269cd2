/* SPDX-License-Identifier: MIT */

/* Whom the masters of a cluster name, and how far that is believed. */

#include <string.h>

#include "base/deadline.h"
#include "claims/cluster_private.h"
#include "claims/hold.h"
#include "engine/client.h"
#include "server/naming.h"

#define MS LK__CLUSTER_MS

enum {
    HOLDS_MS = 300,    /* between two times that holds are told of a belief */
    MISSED_MS = 10000, /* so long a master is waited for that says nothing */
    SETTLED_MS = 2000  /* so long masters may disagree because some know more */
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
           node->command.ready_at + LK__BELIEF_MS * MS >= node->heard_since &&
           greeting->born_at != INT64_MAX &&
           greeting->born_at + (int64_t)(LK__BELIEF_MS * MS) < (int64_t)now;
}

/* One that is not among them stays so. */
static void view_remove(lk__cluster *cluster, lk__view *view)
{
    if (view->prev != NULL)
        view->prev->next = view->next;
    else if (cluster->latest == view)
        cluster->latest = view->next;
    if (view->next != NULL)
        view->next->prev = view->prev;
    view->prev = view->next = NULL;
}

/* The last asked come first. */
static void view_add(lk__cluster *cluster, lk__view *view)
{
    lk__view **at = &cluster->latest, *before = NULL;

    while (*at != NULL && (*at)->asked_at > view->asked_at) {
        before = *at;
        at = &before->next;
    }
    view->prev = before;
    view->next = *at;
    if (view->next != NULL)
        view->next->prev = view;
    *at = view;
}

void lk__cluster_note(lk__cluster *cluster, lk__view *view)
{
    view_remove(cluster, view);
    view_add(cluster, view);
    if (view->compared_at <= cluster->settled_at) /* or it says something new */
        lk__view_compare(view, cluster->owners, cluster->changed_at);
}

void lk__cluster_forget(lk__cluster *cluster, lk__view *view)
{
    view_remove(cluster, view);
    lk__view_forget(view);
}

static void compare_all(lk__cluster *cluster)
{
    if (!cluster->is_uncompared)
        return;
    cluster->is_uncompared = false;
    for (lk__node *node = cluster->nowhere->next; node != NULL;
         node = node->next)
        lk__view_compare(node->view, cluster->owners, cluster->changed_at);
}

/* When a master was asked that is one of so many, all asked later, that name this
   one for all that it has; 0: there are not so many. NULL: one that all name. */
static uint64_t
named_at(const lk__cluster *cluster, const lk__node *whom, size_t needed)
{
    for (const lk__view *view = cluster->latest; view != NULL;
         view = view->next) {
        if (lk__cluster_is_master(cluster, view->node) &&
            (whom == NULL || !lk__view_denies(view, whom)) && --needed == 0)
            return view->asked_at;
    }
    return 0;
}

/* Nobody was there for so long, each time that it was tried. */
static bool is_absent(const lk__node *node, uint64_t since)
{
    const lk__conn *conn = &node->command;

    if (conn->absent_since > since)
        since = conn->absent_since;
    return conn->absent_since != 0 &&
           conn->absent_at >= since + LK__BELIEF_MS * MS;
}

/* It has said nothing for so long that it is not waited for. What the client did not
   hear because it stood still itself is no silence. */
static bool is_missed(const lk__cluster *cluster, const lk__view *view,
                      const lk__node *whom)
{
    uint64_t at =
        view->asked_at > whom->led_since ? view->asked_at : whom->led_since;

    if (whom->heard_since > at)
        at = whom->heard_since;
    return is_absent(view->node, at) ||
           lk__client_now(cluster->client) >= at + MISSED_MS * MS;
}

/*
 * Whether so many others have named it since it is a master that no majority can
 * have gone on to name the one before. See cluster.h.
 */
static bool is_elected(const lk__cluster *cluster, const lk__node *whom)
{
    size_t others = 0, agree = 0, needed;

    for (const lk__node *node = cluster->nowhere->next; node != NULL;
         node = node->next) {
        const lk__view *view = node->view;

        if (node == whom || !lk__cluster_is_master(cluster, node))
            continue;
        others++;
        if (view->asked_at > whom->led_since)
            agree += !lk__view_denies(view, whom);
        else
            agree += is_missed(cluster, view, whom);
    }
    needed = (others + 2) / 2;
    return agree >= (needed < others ? needed : others);
}

void lk__cluster_begin(lk__cluster *cluster, lk__node *node)
{
    if (lk__cluster_is_fast(cluster) || node == cluster->nowhere)
        return;
    node->belief.from = LK__NEVER;
    node->belief.until = 0;
    node->led_since = lk__client_now(cluster->client);
    lk__cluster_ask_anew(cluster);
}

/* A master that was not heard of for so long may have been replaced and been
   elected again meanwhile. Views overlook nothing of it any more. */
static void begin_anew(lk__cluster *cluster, lk__node *node, uint64_t since)
{
    node->belief.from = LK__NEVER;
    node->led_since = since;
    cluster->is_uncompared = true;
}

/* So many others name it that it will give; or, before it does so, they do not any
   more: one is there again that was not waited for. */
static void election_note(lk__cluster *cluster, lk__node *node, uint64_t now)
{
    lk__belief *belief = &node->belief;
    bool was_elected = belief->from != LK__NEVER;

    if (belief->from <= now || was_elected == is_elected(cluster, node))
        return;
    belief->from =
        was_elected ? LK__NEVER : lk__wait_until_ns(now, LK__BELIEF_MS);
    cluster->is_uncompared = true;
}

/* It gives from now on. Views that overlooked it until then need not name it. */
static void be_old(lk__cluster *cluster, lk__belief *belief)
{
    if (belief->from == LK__NEVER)
        cluster->is_uncompared = true;
    belief->from = 0;
}

/* A majority named it when it was asked then; 0: none does. */
static void judge(lk__cluster *cluster, lk__node *node, uint64_t asked_at)
{
    lk__belief *belief = &node->belief;
    uint64_t now = lk__client_now(cluster->client);
    uint64_t until = lk__deadline_ns(asked_at, LK__BELIEF_MS);
    uint64_t before = belief->until;

    if (asked_at == 0)
        return;
    if (until > belief->until) {
        belief->until = until;
        cluster->is_unheard = true;
    }
    if (until <= now)
        return;
    if (before <= now) {
        node->heard_since = now;
        node->gave = false; /* nobody looked while it was not believed */
    }
    if (is_old(node, now))
        be_old(cluster, belief);
    else if (before <= now && belief->from != LK__NEVER)
        begin_anew(cluster, node, before);
    else
        election_note(cluster, node, now);
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

/* Not at each answer, as there may be many timers, unless what was told ends soon. */
static void holds_tell(lk__cluster *cluster)
{
    uint64_t now = lk__client_now(cluster->client);
    uint64_t at = cluster->heard_at + HOLDS_MS * MS;

    if (!cluster->is_unheard)
        return;
    if (now < at && at < cluster->told_until) {
        lk__cluster_wake_by(cluster, at);
        return;
    }
    cluster->is_unheard = false;
    cluster->heard_at = now;
    cluster->told_until = LK__NEVER;
    for (lk__node *node = cluster->nowhere->next; node != NULL;
         node = node->next) {
        lk__belief_stays(node);
        if (node->trust.reign != 0 && node->trust.until < cluster->told_until)
            cluster->told_until = node->trust.until;
    }
    lk__holds_time(cluster->client);
}

/* denied: the nodes that any node denies. */
static void
denied_note(const lk__cluster *cluster, unsigned char denied[LK__NODES_BYTES])
{
    memset(denied, 0, LK__NODES_BYTES);
    for (const lk__node *node = cluster->nowhere->next; node != NULL;
         node = node->next) {
        for (size_t i = 0; i < LK__NODES_BYTES; i++)
            denied[i] |= node->view->denies[i];
    }
}

/* Those whom nobody denies are named by the same. */
static void judge_all(lk__cluster *cluster)
{
    unsigned char denied[LK__NODES_BYTES];
    size_t needed = lk__cluster_masters(cluster) / 2 + 1;
    uint64_t by_all = named_at(cluster, NULL, needed);

    denied_note(cluster, denied);
    for (lk__node *node = cluster->nowhere->next; node != NULL;
         node = node->next) {
        bool is_denied =
            (denied[node->number / 8] >> node->number % 8 & 1) != 0;

        if (lk__cluster_is_master(cluster, node))
            judge(cluster, node,
                  is_denied ? named_at(cluster, node, needed) : by_all);
    }
}

void lk__cluster_judge(lk__cluster *cluster)
{
    if (lk__cluster_is_fast(cluster))
        return;
    compare_all(cluster);
    judge_all(cluster);
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

/* Where this master says that the slot is. */
static lk__node *
named(const lk__cluster *cluster, const lk__view *view, unsigned slot)
{
    lk__node *node = lk__view_owner(view, slot);

    return node != NULL ? node : cluster->nowhere;
}

static size_t
names(const lk__cluster *cluster, unsigned slot, const lk__node *whom)
{
    size_t sum = 0;

    for (const lk__node *node = cluster->nowhere->next; node != NULL;
         node = node->next)
        sum += lk__cluster_is_fresh(cluster, node) &&
               named(cluster, node->view, slot) == whom;
    return sum;
}

/* One that has given goes on to do so where nobody else is named. */
static void outvote(lk__cluster *cluster, const lk__view *view)
{
    for (unsigned slot = 0; slot < LK__SLOTS; slot++) {
        const lk__node *before = cluster->owners[slot];
        lk__node *owner = named(cluster, view, slot);

        if (owner == cluster->nowhere && before->belief.from != LK__NEVER)
            continue;
        if (owner != before &&
            names(cluster, slot, owner) > names(cluster, slot, before))
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
