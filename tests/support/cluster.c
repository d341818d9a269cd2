/* SPDX-License-Identifier: MIT */
#include "support/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/slot.h"
#include "support/check.h"
#include "support/cluster_inside.h"
#include "support/node.h"
#include "support/wait.h"

enum {
    BUS_ABOVE = 10000, /* the port of a node */
    BUS_ARG = 8,
    FAILOVER_MS = 8000, /* a manual one is given up after five seconds */
    FAILOVER_TRIES = 10
};

/* ---- what a node says ---- */

bool cluster_runs(const cluster *c, const server *node)
{
    return server_pid(node) != 0 && !server_is_frozen(node) && node != c->alone;
}

unsigned cluster_port(const cluster *c, const server *node)
{
    return c->is_tls ? server_tls_port(node) : server_port(node);
}

void cluster_url(const cluster *c, char *url, size_t size)
{
    (void)snprintf(url, size,
                   "%s+cluster://127.0.0.1:%u,127.0.0.1:%u,127.0.0.1:%u",
                   c->is_tls ? "rediss" : "redis", cluster_port(c, c->nodes[0]),
                   cluster_port(c, c->nodes[1]), cluster_port(c, c->nodes[2]));
}

size_t cluster_index(const cluster *c, const server *node)
{
    for (size_t i = 0; i < c->count; i++) {
        if (c->nodes[i] == node)
            return i;
    }
    fail_msg("cluster: it is no node of this cluster");
    return 0;
}

/* The node that serves each slot: a place in nodes. */
typedef struct map {
    unsigned char masters[LK__SLOTS];
} map;

/* Notes a range of CLUSTER SLOTS; returns how many slots it has. */
static size_t
range_read(const cluster *c, const redisReply *range, map *ret_map)
{
    const char *id = range->element[2]->element[2]->str;
    long long first = range->element[0]->integer;
    long long last = range->element[1]->integer;

    for (size_t i = 0; i < c->count; i++) {
        if (strcmp(c->ids[i], id) != 0)
            continue;
        memset(ret_map->masters + first, (int)i, (size_t)(last - first) + 1);
        return (size_t)(last - first) + 1;
    }
    return 0;
}

/* False: it does not know a master of each slot, or does not answer. */
static bool map_read(const cluster *c, server *node, map *ret_map)
{
    redisReply *reply = server_ask(node, "CLUSTER SLOTS");
    size_t known = 0;

    if (reply != NULL && reply->type == REDIS_REPLY_ARRAY) {
        for (size_t i = 0; i < reply->elements; i++)
            known += range_read(c, reply->element[i], ret_map);
    }
    freeReplyObject(reply);
    return known == LK__SLOTS;
}

bool cluster_is_replica_of(const cluster *c, server *node, const server *master)
{
    char words[CLUSTER_ID + 32];

    (void)snprintf(words, sizeof(words), "myself,slave %s",
                   c->ids[cluster_index(c, master)]);
    return node_says(node, "CLUSTER NODES", words);
}

bool cluster_is_master(server *node)
{
    return node_says(node, "INFO replication", "role:master");
}

/* ---- all nodes ---- */

/* All that run say the same of each slot, and who serves one is a master. */
static bool map_agreed(const cluster *c, map *ret_map)
{
    map another;
    bool is_first = true;

    for (size_t i = 0; i < c->count; i++) {
        map *read = is_first ? ret_map : &another;

        if (!cluster_runs(c, c->nodes[i]))
            continue;
        if (!map_read(c, c->nodes[i], read) ||
            memcmp(read, ret_map, sizeof(*read)) != 0)
            return false;
        is_first = false;
    }
    if (is_first)
        return false;
    for (size_t slot = 0; slot < LK__SLOTS; slot++) {
        if (!cluster_runs(c, c->nodes[ret_map->masters[slot]]))
            return false;
    }
    return true;
}

static bool serves(const map *agreed, size_t node)
{
    return memchr(agreed->masters, (int)node, LK__SLOTS) != NULL;
}

static bool is_whole(void *data)
{
    const cluster *c = data;
    map agreed;

    if (!map_agreed(c, &agreed))
        return false;
    for (size_t i = 0; i < c->count; i++) {
        server *node = c->nodes[i];

        if (cluster_runs(c, node) &&
            (!node_is_ok(node) ||
             (cluster_is_master(node) ? !serves(&agreed, i)
                                      : !node_says(node, "INFO replication",
                                                   "master_link_status:up"))))
            return false;
    }
    return true;
}

void cluster_wait_whole(cluster *c)
{
    if (!wait_until(is_whole, c, CLUSTER_COME_MS))
        fail_msg("the cluster does not become whole");
}

server *cluster_master_of(cluster *c, unsigned slot)
{
    map known;

    for (size_t i = 0; i < c->count; i++) {
        if (cluster_runs(c, c->nodes[i]) && map_read(c, c->nodes[i], &known))
            return c->nodes[known.masters[slot]];
    }
    fail_msg("no node knows the master of slot %u", slot);
    return NULL;
}

bool cluster_is_idle(const cluster *c, const server *node)
{
    map agreed;

    return map_agreed(c, &agreed) && !serves(&agreed, cluster_index(c, node));
}

/* ---- start and stop ---- */

bool cluster_node_run(cluster *c, size_t i)
{
    char timeout[16], port[8], known[96];
    const char *args[] = {"--cluster-node-timeout",
                          timeout,
                          "--cluster-config-file",
                          known,
                          "--cluster-announce-ip",
                          "127.0.0.1",
                          "--repl-diskless-sync-delay",
                          "0",
                          NULL,
                          port,
                          NULL};
    redisReply *id;

    (void)snprintf(timeout, sizeof(timeout), "%u", c->timeout_ms);
    (void)snprintf(known, sizeof(known), "%s/%zu", scratch_path(c->memory), i);
    (void)unlink(known); /* of a node that is gone */
    if (c->bus != NULL) {
        c->bus_ports[i] = bus_open(c->bus);
        (void)snprintf(port, sizeof(port), "%u", c->bus_ports[i]);
        args[BUS_ARG] = "--cluster-announce-bus-port";
    }
    c->nodes[i] =
        c->is_tls ? server_start_node_tls(args) : server_start_node(args);
    if (c->nodes[i] == NULL)
        return false;
    if (c->bus != NULL)
        bus_lead(c->bus, c->bus_ports[i],
                 (uint16_t)(server_port(c->nodes[i]) + BUS_ABOVE));
    id = server_command(c->nodes[i], "CLUSTER MYID");
    (void)snprintf(c->ids[i], sizeof(c->ids[i]), "%s", id->str);
    freeReplyObject(id);
    return true;
}

static bool nodes_run(cluster *c)
{
    for (size_t i = 0; i < c->count; i++) {
        if (!cluster_node_run(c, i))
            return false;
    }
    return true;
}

bool cluster_told(server *node, const char *command)
{
    redisReply *reply = server_ask(node, command);
    bool is_done = reply != NULL && reply->type == REDIS_REPLY_STATUS;

    if (!is_done)
        (void)fprintf(stderr, "cluster: %s: %s\n", command,
                      reply != NULL && reply->str != NULL ? reply->str : "");
    freeReplyObject(reply);
    return is_done;
}

static bool slots_share(cluster *c)
{
    for (size_t i = 0; i < c->masters; i++) {
        unsigned first = (unsigned)(LK__SLOTS * i / c->masters);
        unsigned next = (unsigned)(LK__SLOTS * (i + 1) / c->masters);

        if (!node_own(c->nodes[i], first, next - 1))
            return false;
    }
    return true;
}

bool cluster_meet(cluster *c, size_t who, size_t i)
{
    const unsigned port = cluster_port(c, c->nodes[i]);
    char command[64];

    (void)snprintf(command, sizeof(command), "CLUSTER MEET 127.0.0.1 %u %u",
                   port, c->bus != NULL ? c->bus_ports[i] : port + BUS_ABOVE);
    return cluster_told(c->nodes[who], command);
}

/* Each has an epoch of its own, so that no two begin with the same. */
static bool nodes_meet(cluster *c)
{
    char command[64];

    for (size_t i = 0; i < c->count; i++) {
        (void)snprintf(command, sizeof(command), "CLUSTER SET-CONFIG-EPOCH %zu",
                       i + 1);
        if (!cluster_told(c->nodes[i], command) ||
            (i > 0 && !cluster_meet(c, 0, i)))
            return false;
    }
    return true;
}

bool cluster_all_known(void *data)
{
    map known;
    const cluster *c = data;

    for (size_t i = 0; i < c->count; i++) {
        if (!map_read(c, c->nodes[i], &known))
            return false;
        for (size_t j = 0; j < c->count; j++) {
            if (!node_says(c->nodes[i], "CLUSTER NODES", c->ids[j]))
                return false;
        }
    }
    return true;
}

static bool replicas_follow(cluster *c)
{
    char command[CLUSTER_ID + 32];

    for (size_t i = c->masters; i < c->count; i++) {
        (void)snprintf(command, sizeof(command), "CLUSTER REPLICATE %s",
                       c->ids[i % c->masters]);
        if (!cluster_told(c->nodes[i], command))
            return false;
    }
    return true;
}

static cluster *
start(size_t masters, size_t replicas, bool is_tls, bool is_apart)
{
    cluster *c = calloc(1, sizeof(*c));

    assert_in_range(masters * (1 + replicas), 1, CLUSTER_NODES);
    if (c != NULL) {
        c->masters = masters;
        c->count = masters * (1 + replicas);
        c->is_tls = is_tls;
        c->timeout_ms =
            replicas > 0 ? CLUSTER_TIMEOUT_MS : CLUSTER_LONG_TIMEOUT_MS;
        c->bus = is_apart ? bus_start() : NULL;
        c->memory = scratch_new_in_memory();
    }
    if (c != NULL && (c->bus != NULL || !is_apart) && c->memory != NULL &&
        nodes_run(c) && slots_share(c) && nodes_meet(c) &&
        cluster_wait_known(c) && replicas_follow(c) &&
        wait_until(is_whole, c, CLUSTER_COME_MS))
        return c;
    (void)fprintf(stderr, "cluster: it does not come together\n");
    cluster_stop(c);
    return NULL;
}

cluster *cluster_start(size_t masters, size_t replicas)
{
    return start(masters, replicas, getenv("LK_TEST_TLS") != NULL, false);
}

cluster *cluster_start_tls(size_t masters, size_t replicas)
{
    return start(masters, replicas, true, false);
}

cluster *cluster_start_apart(size_t masters, size_t replicas)
{
    return start(masters, replicas, false, true);
}

void cluster_stop(cluster *c)
{
    for (size_t i = 0; c != NULL && i < c->count; i++)
        server_stop(c->nodes[i]);
    if (c != NULL) {
        bus_stop(c->bus);
        scratch_free(c->memory);
    }
    free(c);
}

/* ---- another master ---- */

struct other {
    cluster *c;
    unsigned slot;
    const server *than;
    server *named;
};

static bool is_other(void *data)
{
    struct other *other = data;
    map agreed;

    if (!map_agreed(other->c, &agreed))
        return false;
    other->named = other->c->nodes[agreed.masters[other->slot]];
    return other->named != other->than && cluster_is_master(other->named) &&
           node_is_ok(other->named);
}

server *cluster_wait_other(cluster *c, unsigned slot, const server *than)
{
    struct other other = {.c = c, .slot = slot, .than = than};

    if (!wait_until(is_other, &other, CLUSTER_COME_MS))
        fail_msg("slot %u gets no other master", slot);
    server_reconnect(other.named);
    c->elected_at[cluster_index(c, other.named)] = wait_now_ms();
    return other.named;
}

server *cluster_replica_of(cluster *c, const server *master)
{
    for (size_t i = 0; i < c->count; i++) {
        if (c->nodes[i] != master && cluster_runs(c, c->nodes[i]) &&
            cluster_is_replica_of(c, c->nodes[i], master))
            return c->nodes[i];
    }
    fail_msg("the master has no replica");
    return NULL;
}

void cluster_kill(cluster *c, server *master)
{
    cluster_rest(c, master);
    server_kill(master);
}

struct promotion {
    cluster *c;
    server *from, *to;
};

/* A master does not listen to a replica that it takes for something else. Who
   cannot be asked need not listen. */
static bool is_listened_to(void *data)
{
    const struct promotion *p = data;
    const char *id = p->c->ids[cluster_index(p->c, p->to)];
    char slave[CLUSTER_ID + 8], *rest = NULL;
    bool is_known = !cluster_runs(p->c, p->from);
    redisReply *reply = is_known ? NULL : server_ask(p->from, "CLUSTER NODES");

    (void)snprintf(slave, sizeof(slave), "slave %s",
                   p->c->ids[cluster_index(p->c, p->from)]);
    for (char *line = reply != NULL ? strtok_r(reply->str, "\n", &rest) : NULL;
         line != NULL; line = strtok_r(NULL, "\n", &rest))
        is_known = is_known || (strncmp(line, id, CLUSTER_ID) == 0 &&
                                strstr(line, slave) != NULL);
    freeReplyObject(reply);
    return is_known;
}

static bool is_promoted(void *data)
{
    const struct promotion *p = data;
    map agreed;

    return map_agreed(p->c, &agreed) &&
           !serves(&agreed, cluster_index(p->c, p->from)) &&
           cluster_is_master(p->to) && node_is_ok(p->to);
}

static server *promote(cluster *c, server *master, const char *command)
{
    struct promotion p = {.c = c,
                          .from = master,
                          .to = cluster_replica_of(c, master)};

    if (!wait_until(is_listened_to, &p, CLUSTER_COME_MS))
        fail_msg("the master does not know its replica");
    for (int i = 0; i < FAILOVER_TRIES; i++) {
        freeReplyObject(server_ask(p.to, command));
        if (wait_until(is_promoted, &p, FAILOVER_MS)) {
            server_reconnect(master);
            server_reconnect(p.to);
            c->elected_at[cluster_index(c, p.to)] = wait_now_ms();
            return p.to;
        }
    }
    fail_msg("the replica does not become the master");
    return NULL;
}

static bool old_follows(void *data)
{
    const struct promotion *p = data;

    return cluster_is_replica_of(p->c, p->from, p->to) &&
           node_says(p->from, "INFO replication", "master_link_status:up");
}

server *cluster_failover(cluster *c, server *master)
{
    struct promotion p = {.c = c, .from = master};

    cluster_rest(c, master);
    p.to = promote(c, master, "CLUSTER FAILOVER");
    if (!wait_until(old_follows, &p, CLUSTER_COME_MS))
        fail_msg("the master before does not follow");
    return p.to;
}

server *cluster_takeover(cluster *c, server *master)
{
    return promote(c, master, "CLUSTER FAILOVER TAKEOVER");
}
