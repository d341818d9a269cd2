/* SPDX-License-Identifier: MIT */

/* A Redis Cluster: where each slot is, and how far its master is believed. */

#include <stdio.h>

#include "base/mem.h"
#include "base/slot.h"
#include "claims/ask.h"
#include "claims/cluster_private.h"
#include "claims/place.h"
#include "claims/protocol.h"
#include "claims/work.h"
#include "engine/client.h"
#include "server/reply.h"

#define MS LK__CLUSTER_MS

enum {
    ASK_MS = 1000,  /* between two rounds of questions, */
    EASE_MS = 2000, /* if there is nothing to be lost, */
    SOON_MS = 250,  /* while a master is away or they disagree, */
    ANEW_MS = 50    /* and at least, whatever is heard */
};

static lk__cluster *cluster_of(const lk_client *client)
{
    return client->work->cluster;
}

void lk__cluster_wake_by(lk__cluster *cluster, uint64_t at)
{
    if (!lk__alarm_is_set(&cluster->alarm) || at < cluster->alarm.timer.at)
        lk__alarm_set(&cluster->client->alarms, &cluster->alarm, at);
}

/* ---- where slots are ----------------------------------------------------------- */

void lk__cluster_give(lk__cluster *cluster, unsigned slot, lk__node *node)
{
    uint64_t now = lk__client_now(cluster->client);

    if (node->slot_count++ == 0)
        lk__cluster_begin(cluster, node);
    cluster->owners[slot]->slot_count--;
    cluster->owners[slot] = node;
    cluster->changed_at[slot] = cluster->settled_at = now;
    cluster->is_unswept = cluster->is_uncompared = true;
}

/* Names that have no node to wait for, if there are any, wait again; not because of a
   node that was asked. */
static void nowhere_look(const lk__cluster *cluster)
{
    lk__conn *conn = &cluster->nowhere->command;

    if (cluster->nowhere->slot_count == LK__SLOTS)
        return;
    lk__node_wait_anew(cluster->nowhere);
    conn->why = LK_EOFFLINE;
    snprintf(conn->words, sizeof(conn->words), "no node serves the slot");
}

/* Those that serve nothing, and are not asked either. */
static void leave_idle(lk__cluster *cluster)
{
    uint64_t now = lk__client_now(cluster->client);

    for (lk__node *node = cluster->nowhere->next; node != NULL;
         node = node->next) {
        if (!lk__cluster_is_master(cluster, node) && now >= node->asked_until)
            lk__node_leave(node, "it serves no slots any more");
    }
}

/* Every name goes where its slot is. */
static void sweep(lk__cluster *cluster)
{
    if (!cluster->is_unswept)
        return;
    cluster->is_unswept = false;
    for (lk__node *node = cluster->nowhere->next; node != NULL;
         node = node->next) {
        if (lk__cluster_is_master(cluster, node))
            lk__node_arrive(node);
    }
    lk__places_settle(cluster->client);
    for (lk__node *node = cluster->nowhere; node != NULL; node = node->next)
        lk__needs_moved(node);
    lk__asks_moved(cluster->client);
    leave_idle(cluster);
    nowhere_look(cluster);
}

/* ---- what masters say ------------------------------------------------------------ */

/* The node that is meant by each master of a map. NULL: no memory. */
static lk__node **nodes_of(lk__cluster *cluster, const lk__slots *slots)
{
    lk__node **nodes =
        lk__alloc((slots->master_count + 1) * sizeof(lk__node *));

    for (size_t i = 0; nodes != NULL && i < slots->master_count; i++) {
        nodes[i] = lk__cluster_at(cluster, &slots->masters[i].at);
        if (nodes[i] == NULL) {
            lk__free(nodes);
            nodes = NULL;
        }
    }
    return nodes;
}

/* A slot goes where this master did not see it before; or where the first that
   is heard sees it; or, if no master is heard, where another node sees it. */
static void learn(lk__cluster *cluster, const lk__view *view,
                  const lk__slots *slots, lk__node *const *whom)
{
    bool is_first = view != NULL && !cluster->is_seen;

    for (unsigned slot = 0; slot < LK__SLOTS; slot++) {
        unsigned number = slots->numbers[slot];
        const lk__node *before =
            view == NULL ? NULL : lk__view_owner(view, slot);

        if (number == 0 || whom[number - 1] == cluster->owners[slot])
            continue;
        if (is_first || cluster->owners[slot] == cluster->nowhere ||
            (view == NULL && !lk__node_is_ready(cluster->owners[slot])) ||
            (before != NULL && before != whom[number - 1]))
            lk__cluster_give(cluster, slot, whom[number - 1]);
    }
    cluster->is_seen = cluster->is_seen || view != NULL;
}

/* The view NULL: of a node that is no master. */
static lk_status map_take(lk__cluster *cluster, lk__view *view,
                          const redisReply *reply, const char *asked,
                          uint64_t asked_at, const char **ret_words)
{
    lk__slots *slots;
    lk__node **whom;
    lk_status status;

    if (view != NULL && view->slots != NULL &&
        lk__slots_says(view->slots, reply, asked)) {
        view->asked_at = asked_at;
        return LK_OK;
    }
    status = lk__slots_new(&slots, reply, asked, ret_words);
    if (status != LK_OK)
        return status;
    whom = nodes_of(cluster, slots);
    if (whom == NULL) {
        lk__slots_free(slots);
        return LK_ENOMEM;
    }
    learn(cluster, view, slots, whom);
    if (view != NULL) {
        lk__view_take(view, slots, whom, asked_at);
    } else {
        lk__slots_free(slots);
        lk__free(whom);
    }
    return LK_OK;
}

/* ---- asking ------------------------------------------------------------------------ */

/* One of those that were asked has said nothing that counts. */
static void ask_others(lk__cluster *cluster)
{
    lk__cluster_wake_by(cluster,
                        lk__client_now(cluster->client) + ANEW_MS * MS);
}

static void
on_view(lk__request *request, lk_status status, const redisReply *reply)
{
    lk__view *view = (lk__view *)(void *)request;
    lk__node *node = view->node;
    lk__cluster *cluster = cluster_of(node->client);
    const char *words = NULL;

    if (status == LK_OK)
        status = lk__node_check(request, reply);
    if (status != LK_OK) {
        ask_others(cluster);
        return;
    }
    status = map_take(cluster, view, reply, node->endpoint.host,
                      request->sent_at, &words);
    if (status != LK_OK) {
        lk__client_log(node->client, LK_LOG_WARN, "CLUSTER SLOTS: %s",
                       words != NULL ? words : lk_status_text(status));
        ask_others(cluster);
    } else {
        lk__cluster_note(cluster, view);
    }
    sweep(cluster);
    lk__cluster_judge(cluster);
}

/* Once, until a round or a hint has it asked again. */
static void ask(lk__node *node)
{
    lk__view *view = node->view;
    lk__arg args[2] = {lk__arg_text("CLUSTER"), lk__arg_text("SLOTS")};
    lk__conn *conn = view->request.busy ? NULL : lk__road_pass(&node->road);

    if (conn == NULL)
        return; /* what is under way may outlive the commands */
    view->request.on_reply = on_view;
    view->request.script = NULL;
    view->request.in_full = false;
    if (lk__conn_send(conn, &view->request, 2, args) == LK_OK)
        view->due_at = LK__NEVER;
}

static bool is_troubled(const lk__cluster *cluster)
{
    if (cluster->nowhere->slot_count > 0)
        return true;
    for (const lk__node *node = cluster->nowhere->next; node != NULL;
         node = node->next) {
        if (lk__cluster_is_master(cluster, node) &&
            (!lk__node_is_ready(node) || lk__view_disagrees(node->view)))
            return true;
    }
    return false;
}

/* It was asked, and has not answered in time, or nothing that counts. */
static bool is_dumb(const lk__view *view, uint64_t now)
{
    const lk__request *request = &view->request;

    return request->busy ? now >= request->sent_at + SOON_MS * MS
                         : request->sent_at != view->asked_at;
}

/* A majority may not be enough: one is dumb, or has to be named by more. */
static bool is_unsure(const lk__cluster *cluster)
{
    uint64_t now = lk__client_now(cluster->client);

    for (const lk__node *node = cluster->nowhere->next; node != NULL;
         node = node->next) {
        if (lk__cluster_is_master(cluster, node) &&
            (node->belief.from == LK__NEVER || is_dumb(node->view, now)))
            return true;
    }
    return false;
}

/* A client that holds or waits may stand still for longer without harm. */
static uint64_t pause_ms(const lk__cluster *cluster)
{
    const lk_client_stats *stats = &cluster->client->stats;

    if (is_troubled(cluster))
        return SOON_MS;
    return stats->holding + stats->waiting > 0 ? ASK_MS : EASE_MS;
}

/* A round that begins asks a majority, each master in its turn. Where all have to be
   asked, the round that goes on asks those that it has not asked yet. */
static void round_look(lk__cluster *cluster)
{
    uint64_t now = lk__client_now(cluster->client);
    bool is_new = now >= cluster->round_at + pause_ms(cluster) * MS;
    bool is_all = is_troubled(cluster) || is_unsure(cluster);
    size_t masters = lk__cluster_masters(cluster), i = cluster->turn;

    if (is_new) {
        cluster->round_at = now;
        cluster->turn += masters / 2 + 1;
    }
    for (lk__node *node = cluster->nowhere->next; node != NULL;
         node = node->next) {
        lk__view *view = node->view;

        if (lk__cluster_is_master(cluster, node) &&
            ((is_all && view->request.sent_at < cluster->round_at) ||
             (is_new && i++ % masters <= masters / 2)))
            view->due_at = view->due_at < now ? view->due_at : now;
    }
}

/* Its first attempt goes on: another map would only take that from it. */
static bool is_being_tried(const lk__node *node)
{
    return !lk__node_is_ready(node) && node->command.failures == 0;
}

static void ask_due(lk__cluster *cluster)
{
    uint64_t now = lk__client_now(cluster->client);
    bool is_lost = true;

    round_look(cluster);
    for (lk__node *node = cluster->nowhere->next; node != NULL;
         node = node->next) {
        if (!lk__cluster_is_master(cluster, node))
            continue;
        is_lost = is_lost && !lk__node_is_ready(node) && !is_being_tried(node);
        if (!lk__node_is_ready(node))
            continue;
        if (now >= node->view->due_at && !node->view->request.busy)
            ask(node);
        lk__cluster_wake_by(cluster, node->view->request.busy ||
                                             now >= node->view->due_at
                                         ? now + SOON_MS * MS
                                         : node->view->due_at);
    }
    if (is_lost)
        lk__scout_start(&cluster->scout);
    lk__cluster_wake_by(cluster, cluster->round_at + pause_ms(cluster) * MS);
}

void lk__cluster_rouse(lk__cluster *cluster)
{
    if (cluster != NULL && lk__alarm_is_set(&cluster->alarm))
        lk__cluster_wake_by(cluster, cluster->round_at + ASK_MS * MS);
}

void lk__cluster_ask_anew(lk__cluster *cluster)
{
    uint64_t now = lk__client_now(cluster->client);

    for (lk__node *node = cluster->nowhere->next; node != NULL;
         node = node->next) {
        uint64_t sent_at = node->view->request.sent_at;
        uint64_t at = sent_at == 0 ? now : sent_at + ANEW_MS * MS;

        if (at < node->view->due_at)
            node->view->due_at = at;
    }
    lk__cluster_wake_by(cluster, now + ANEW_MS * MS);
}

static void on_alarm(lk__alarm *alarm)
{
    lk__cluster *cluster =
        (lk__cluster *)(void *)((char *)alarm - offsetof(lk__cluster, alarm));

    if (cluster->client->state == LK__CLIENT_CLOSED)
        return;
    lk__cluster_reconcile(cluster);
    sweep(cluster);
    leave_idle(cluster);
    lk__cluster_let_go(cluster);
    lk__cluster_judge(cluster);
    ask_due(cluster);
}

/* ---- the nodes of the URL ------------------------------------------------------------ */

static void
tell_trouble(const lk__cluster *cluster, lk_status why, const char *words)
{
    const lk__scout *scout = &cluster->scout;
    lk__conn *conn = &cluster->nowhere->command;

    conn->why = why;
    conn->failures = scout->conn.failures;
    snprintf(conn->words, sizeof(conn->words), "%.80s:%u: %.70s",
             scout->conn.address->host, (unsigned)scout->conn.address->port,
             words);
    if (why == LK_EAUTH || why == LK_EDENIED || why == LK_ENOTSUP ||
        (cluster->nowhere->offline && !lk_status_is_retriable(why)))
        lk__node_give_up(cluster->nowhere);
}

static void on_scouted(lk__scout *scout, const redisReply *reply)
{
    lk__cluster *cluster = scout->data;
    const char *words = NULL;
    lk_status status;

    if (reply == NULL) {
        tell_trouble(cluster, scout->conn.why, scout->conn.words);
        return;
    }
    status =
        map_take(cluster, NULL, reply, scout->conn.address->host, 0, &words);
    if (status != LK_OK) {
        lk__conn_break(&scout->conn, status,
                       words != NULL ? words : lk_status_text(status));
        return;
    }
    lk__scout_rest(scout);
    sweep(cluster);
    lk__cluster_wake_by(cluster,
                        lk__client_now(cluster->client) + SOON_MS * MS);
}

/* ---- what the others ask --------------------------------------------------------------- */

lk__node *lk__cluster_node(const lk_client *client, unsigned slot)
{
    const lk__cluster *cluster = cluster_of(client);

    return cluster == NULL ? client->node : cluster->owners[slot];
}

lk__node *
lk__cluster_node_of(const lk_client *client, const char *key, size_t size)
{
    return cluster_of(client) == NULL
               ? client->node
               : lk__cluster_node(client, lk__slot_of(key, size));
}

lk__node *lk__cluster_next(const lk_client *client, const lk__node *node)
{
    const lk__cluster *cluster = cluster_of(client);
    lk__node *next;

    if (cluster == NULL)
        return node == NULL ? client->node : NULL;
    next = node == NULL ? cluster->nowhere->next : node->next;
    while (next != NULL && !lk__cluster_is_master(cluster, next))
        next = next->next;
    return next;
}

lk__node *lk__cluster_lead(const lk_client *client)
{
    const lk__cluster *cluster = cluster_of(client);

    if (cluster == NULL)
        return client->node;
    for (lk__node *node = cluster->nowhere->next; node != NULL;
         node = node->next) {
        if (lk__cluster_is_master(cluster, node) && lk__node_is_ready(node))
            return node;
    }
    return cluster->nowhere;
}

void lk__cluster_look(lk__node *node)
{
    lk__cluster *cluster = cluster_of(node->client);

    if (cluster == NULL || node == cluster->nowhere)
        return;
    if (!lk__node_is_ready(node)) {
        node->gave = false;
        lk__cluster_ask_anew(cluster);
        return;
    }
    lk__belief_born(node);
    ask(node);
    node->view->due_at = lk__client_now(node->client) + SOON_MS * MS;
    lk__cluster_judge(cluster);
}

bool lk__cluster_see(const lk__cluster *cluster, lk__cluster_facts *ret_facts)
{
    if (cluster == NULL)
        return false;
    *ret_facts = (lk__cluster_facts){.unserved = cluster->nowhere->slot_count};
    for (const lk__node *node = cluster->nowhere->next; node != NULL;
         node = node->next) {
        ret_facts->masters += lk__cluster_is_master(cluster, node);
        ret_facts->ready +=
            lk__cluster_is_master(cluster, node) && lk__node_is_ready(node);
        ret_facts->heard += lk__cluster_is_fresh(cluster, node);
    }
    return true;
}

/* ---- life -------------------------------------------------------------------------------- */

bool lk__cluster_new(lk_client *client)
{
    lk__cluster *cluster;

    if (client->settings.seed_count == 0)
        return true;
    cluster = lk__alloc(sizeof(*cluster));
    if (cluster == NULL)
        return false;
    client->work->cluster = cluster;
    cluster->client = client;
    cluster->alarm.fire = on_alarm;
    cluster->nowhere = client->node;
    cluster->nowhere->slot_count = LK__SLOTS;
    cluster->nodes = 1;
    for (unsigned slot = 0; slot < LK__SLOTS; slot++)
        cluster->owners[slot] = cluster->nowhere;
    lk__scout_init(&cluster->scout, client, on_scouted, cluster);
    return true;
}

void lk__cluster_free(lk__cluster *cluster)
{
    if (cluster == NULL)
        return;
    lk__conn_done(&cluster->scout.conn);
    lk__cluster_spare_free(cluster);
    lk__free(cluster);
}

void lk__cluster_start(lk__cluster *cluster)
{
    if (cluster != NULL)
        ask_due(cluster);
}

void lk__cluster_stop(lk__cluster *cluster)
{
    if (cluster == NULL)
        return;
    lk__alarm_clear(&cluster->client->alarms, &cluster->alarm);
    lk__conn_stop(&cluster->scout.conn);
}

void lk__cluster_flush(lk__cluster *cluster)
{
    if (cluster != NULL)
        lk__conn_flush(&cluster->scout.conn);
}
