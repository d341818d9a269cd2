/* SPDX-License-Identifier: MIT */

/* The nodes of a cluster: as many as are of use, and few more. */

#include "claims/cluster_private.h"
#include "engine/client.h"

enum { IDLE_MS = 60000 }; /* so long a node is kept that is of no use */

/* ---- those that are met ---------------------------------------------------------- */

bool lk__cluster_is_master(const lk__cluster *cluster, const lk__node *node)
{
    return node != cluster->nowhere && node->slot_count > 0;
}

size_t lk__cluster_masters(const lk__cluster *cluster)
{
    size_t sum = 0;

    for (const lk__node *node = cluster->nowhere->next; node != NULL;
         node = node->next)
        sum += lk__cluster_is_master(cluster, node);
    return sum;
}

static void spare_put(lk__cluster *cluster, lk__node *node)
{
    node->next = cluster->spare;
    cluster->spare = node;
}

/* One that was let go, or a new one. NULL: no memory, or there are too many. */
static lk__node *node_make(lk__cluster *cluster, const lk__endpoint *endpoint)
{
    lk__node *node = cluster->spare, *next;
    unsigned number;
    bool begins;

    if (node == NULL) {
        if (cluster->nodes < LK__NODES_MOST)
            node = lk__node_new(cluster->client, endpoint);
        if (node != NULL)
            node->number = (unsigned)cluster->nodes++;
        return node;
    }
    next = node->next;
    number = node->number;
    begins = lk__node_begin_anew(node, endpoint);
    node->next = next;
    node->number = number;
    if (!begins)
        return NULL;
    cluster->spare = next;
    return node;
}

/* NULL: no memory, or there are too many. */
static lk__node *node_add(lk__cluster *cluster, const lk__endpoint *endpoint)
{
    lk__node *node = node_make(cluster, endpoint);

    if (node == NULL)
        return NULL;
    node->view = lk__view_new(node);
    if (node->view == NULL) {
        lk__node_let_go(node);
        spare_put(cluster, node);
        return NULL;
    }
    node->used_at = lk__client_now(cluster->client);
    node->next = cluster->nowhere->next;
    cluster->nowhere->next = node;
    return node;
}

lk__node *lk__cluster_at(lk__cluster *cluster, const lk__endpoint *endpoint)
{
    for (lk__node *node = cluster->nowhere->next; node != NULL;
         node = node->next) {
        if (lk__endpoint_same(&node->endpoint, endpoint))
            return node;
    }
    return node_add(cluster, endpoint);
}

/* ---- nodes that are let go ----------------------------------------------------- */

/* No place is at a node without slots, as all have been swept. */
static bool is_used(const lk__cluster *cluster, const lk__node *node)
{
    if (lk__cluster_is_master(cluster, node) || node->due.batches > 0 ||
        lk__node_pending(node) > 0 ||
        lk__client_now(cluster->client) < node->asked_until)
        return true;
    for (const lk__node *other = cluster->nowhere->next; other != NULL;
         other = other->next) {
        if (lk__cluster_is_master(cluster, other) &&
            lk__view_names(other->view, node))
            return true;
    }
    return false;
}

/* What those say that are no masters is of no account. */
static void let_go(lk__cluster *cluster, lk__node *node)
{
    for (lk__node *other = cluster->nowhere->next; other != NULL;
         other = other->next) {
        if (lk__view_names(other->view, node))
            lk__cluster_forget(cluster, other->view);
    }
    lk__cluster_forget(cluster, node->view);
    lk__node_let_go(node);
    spare_put(cluster, node);
}

/* Addresses may be others after each start of a server, and never come back. */
void lk__cluster_let_go(lk__cluster *cluster)
{
    uint64_t now = lk__client_now(cluster->client);
    lk__node **at = &cluster->nowhere->next, *node;

    while (!cluster->is_unswept && (node = *at) != NULL) {
        if (now >= node->used_at + IDLE_MS * LK__CLUSTER_MS &&
            !is_used(cluster, node)) {
            *at = node->next;
            let_go(cluster, node);
            continue;
        }
        if (now >= node->used_at + IDLE_MS * LK__CLUSTER_MS ||
            lk__cluster_is_master(cluster, node))
            node->used_at = now;
        at = &node->next;
    }
}

void lk__cluster_spare_free(lk__cluster *cluster)
{
    while (cluster->spare != NULL) {
        lk__node *node = cluster->spare;

        cluster->spare = node->next;
        lk__node_free(node);
    }
}
