/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/cluster.h"
#include "support/cluster_inside.h"
#include "support/wait.h"

/* ---- one apart from all others ---- */

void cluster_isolate(cluster *c, server *master)
{
    for (size_t i = 0; i < c->count; i++) {
        if (c->nodes[i] != master && cluster_runs(c->nodes[i]))
            server_freeze(c->nodes[i]);
    }
}

void cluster_join(cluster *c)
{
    for (size_t i = 0; i < c->count; i++) {
        if (server_is_frozen(c->nodes[i]))
            server_thaw(c->nodes[i]);
    }
    cluster_wait_whole(c);
    /* Any of them may have been elected. */
    for (size_t i = 0; i < c->count; i++)
        c->elected_at[i] = wait_now_ms();
}

/* ---- more and fewer ---- */

server *cluster_add(cluster *c)
{
    size_t i = c->count;

    assert_in_range(i, 1, CLUSTER_NODES - 1);
    if (!cluster_node_run(c, i))
        fail_msg("the node does not start");
    c->count++;
    c->elected_at[i] = 0;
    if (!cluster_meet(c, i) ||
        !wait_until(cluster_all_known, c, CLUSTER_COME_MS) ||
        !node_wait_ok(c->nodes[i]))
        fail_msg("the node does not become one of the cluster");
    return c->nodes[i];
}

struct departure {
    cluster *c;
    const server *node;
    char id[CLUSTER_ID + 1];
};

static bool serves_none(void *data)
{
    const struct departure *d = data;

    return cluster_is_idle(d->c, d->node);
}

/* A node that has forgotten does not learn of it from others for a minute. */
static bool is_forgotten(void *data)
{
    const struct departure *d = data;
    bool is_gone = true;

    for (size_t i = 0; i < d->c->count; i++) {
        if (!node_says(d->c->nodes[i], "CLUSTER NODES", d->id))
            continue;
        freeReplyObject(server_ask(d->c->nodes[i], "CLUSTER FORGET %s", d->id));
        is_gone = false;
    }
    return is_gone;
}

void cluster_remove(cluster *c, server *node)
{
    struct departure d = {.c = c, .node = node};
    size_t i = cluster_index(c, node);

    (void)snprintf(d.id, sizeof(d.id), "%s", c->ids[i]);
    if (!wait_until(serves_none, &d, CLUSTER_COME_MS))
        fail_msg("the node has slots");
    server_stop(node);
    c->count--;
    for (; i < c->count; i++) {
        c->nodes[i] = c->nodes[i + 1];
        memcpy(c->ids[i], c->ids[i + 1], sizeof(c->ids[i]));
        c->elected_at[i] = c->elected_at[i + 1];
    }
    if (!wait_until(is_forgotten, &d, CLUSTER_COME_MS))
        fail_msg("the node is not forgotten");
}
