/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/cluster.h"
#include "support/cluster_inside.h"
#include "support/wait.h"

enum {
    MEET_MS = 3 * CLUSTER_TIMEOUT_MS,
    VOTES_MS = 4 * CLUSTER_TIMEOUT_MS + 500 /* an election is remembered for */
};

/* ---- until the next election ---- */

bool cluster_is_rested(cluster *c, const server *master)
{
    for (size_t i = 0; i < c->count; i++) {
        if (cluster_runs(c, c->nodes[i]) &&
            cluster_is_replica_of(c, c->nodes[i], master) &&
            c->elected_at[i] != 0 &&
            wait_now_ms() <= c->elected_at[i] + VOTES_MS)
            return false;
    }
    return true;
}

struct rest {
    cluster *c;
    const server *master;
};

static bool is_rested(void *data)
{
    const struct rest *r = data;

    return cluster_is_rested(r->c, r->master);
}

void cluster_rest(cluster *c, const server *master)
{
    struct rest r = {.c = c, .master = master};

    if (!wait_until(is_rested, &r, CLUSTER_COME_MS))
        fail_msg("the time does not pass");
}

/* ---- one apart from all others ---- */

static void replica_set(server *replica, const char *password)
{
    freeReplyObject(server_ask(replica, "CONFIG SET masterauth %s", password));
}

/* Those that follow it are refused when they try to go on. */
void cluster_isolate(cluster *c, server *master)
{
    const size_t alone = cluster_index(c, master);

    for (size_t i = 0; i < c->count; i++) {
        if (i != alone)
            replica_set(c->nodes[i], "wrong");
    }
    c->alone = master;
    bus_cut(c->bus, c->bus_ports[alone], c->ids[alone]);
    (void)server_integer(master, "CLIENT KILL TYPE replica");
}

void cluster_join(cluster *c)
{
    for (size_t i = 0; i < c->count; i++)
        replica_set(c->nodes[i], "");
    bus_heal(c->bus);
    c->alone = NULL;
    cluster_wait_whole(c);
}

/* ---- more and fewer ---- */

static void meet_again(cluster *c)
{
    for (size_t i = 1; i < c->count; i++) {
        if (!node_says(c->nodes[0], "CLUSTER NODES", c->ids[i]))
            (void)cluster_meet(c, 0, i);
        if (!node_says(c->nodes[i], "CLUSTER NODES", c->ids[0]))
            (void)cluster_meet(c, i, 0);
    }
}

struct meeting {
    cluster *c;
    uint64_t since;
};

/* One that does not hear the other for its timeout when they meet forgets that
   they did, and listens to it no more. The other one, which has heard it, does not
   begin again. */
static bool is_over(void *data)
{
    struct meeting *meeting = data;
    bool all_known = cluster_all_known(meeting->c);

    if (!all_known && wait_now_ms() >= meeting->since + MEET_MS) {
        meeting->since = wait_now_ms();
        meet_again(meeting->c);
    }
    return all_known;
}

bool cluster_wait_known(cluster *c)
{
    struct meeting meeting = {.c = c, .since = wait_now_ms()};

    return wait_until(is_over, &meeting, CLUSTER_COME_MS);
}

server *cluster_add(cluster *c)
{
    size_t i = c->count;

    assert_in_range(i, 1, CLUSTER_NODES - 1);
    if (!cluster_node_run(c, i))
        fail_msg("the node does not start");
    c->count++;
    c->elected_at[i] = 0;
    if (!cluster_meet(c, 0, i) || !cluster_wait_known(c) ||
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
        c->bus_ports[i] = c->bus_ports[i + 1];
        c->elected_at[i] = c->elected_at[i + 1];
    }
    if (!wait_until(is_forgotten, &d, CLUSTER_COME_MS))
        fail_msg("the node is not forgotten");
}
