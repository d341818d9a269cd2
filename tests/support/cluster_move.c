/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/cluster.h"
#include "support/cluster_inside.h"
#include "support/wait.h"

enum { KEYS_AT_ONCE = 100 };

typedef struct order {
    server *node;
    unsigned slot;
    const char *word, *id;
    redisReply *reply;
} order;

/* Valkey has its replicas do it first, and refuses where none is online yet. */
static bool is_answered(void *data)
{
    order *o = data;

    freeReplyObject(o->reply);
    o->reply = server_command(o->node, "CLUSTER SETSLOT %d %s %s", (int)o->slot,
                              o->word, o->id);
    return o->reply->type != REDIS_REPLY_ERROR ||
           strncmp(o->reply->str, "NOREPLICAS", 10) != 0;
}

/* Freed by the caller. */
static redisReply *order_slot(cluster *c, server *node, unsigned slot,
                              const char *word, const server *to)
{
    enum { ONLINE_MS = 10000 };
    order o = {node, slot, word, c->ids[cluster_index(c, to)], NULL};

    (void)wait_until(is_answered, &o, ONLINE_MS);
    return o.reply;
}

static void
set_slot(cluster *c, server *node, unsigned slot, const char *word, server *to)
{
    redisReply *reply = order_slot(c, node, slot, word, to);

    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("CLUSTER SETSLOT %s: %s", word, reply->str);
    freeReplyObject(reply);
}

void cluster_move_begin(cluster *c, unsigned slot, server *to)
{
    server *from = cluster_master_of(c, slot);

    set_slot(c, to, slot, "IMPORTING", from);
    set_slot(c, from, slot, "MIGRATING", to);
}

size_t cluster_move_keys(cluster *c, unsigned slot, server *to, size_t most)
{
    server *from = cluster_master_of(c, slot);
    redisReply *keys = server_command(from, "CLUSTER GETKEYSINSLOT %d %d",
                                      (int)slot, (int)most);
    size_t count = keys->elements;

    assert_int_equal(keys->type, REDIS_REPLY_ARRAY);
    for (size_t i = 0; i < count; i++) {
        char *ok =
            server_string(from, "MIGRATE 127.0.0.1 %d %b 0 %d",
                          (int)cluster_port(c, to), keys->element[i]->str,
                          keys->element[i]->len, (int)wait_scaled_ms(10000));

        assert_true(strcmp(ok, "OK") == 0 || strcmp(ok, "NOKEY") == 0);
        free(ok);
    }
    freeReplyObject(keys);
    return count;
}

/* The one before follows the new one as soon as it has no slot left. */
static void
release_slot(cluster *c, server *from, unsigned slot, const server *to)
{
    redisReply *reply = order_slot(c, from, slot, "NODE", to);

    if (reply->type == REDIS_REPLY_ERROR && cluster_is_master(from))
        fail_msg("CLUSTER SETSLOT: %s", reply->str);
    freeReplyObject(reply);
}

/* The epoch in which a node knows another; -1: it does not know it. */
static long long epoch_known(server *node, const char *id)
{
    char *text = server_string(node, "CLUSTER NODES");
    const char *line = strstr(text, id);
    long long epoch = -1;

    for (; line != NULL && line != text && line[-1] != '\n';
         line = strstr(line + 1, id)) {
    }
    for (int word = 1; line != NULL && word < 7; word++) {
        line = strchr(line, ' ');
        line = line != NULL ? line + 1 : NULL;
    }
    if (line != NULL)
        epoch = strtoll(line, NULL, 10);
    free(text);
    return epoch;
}

struct move {
    cluster *c;
    server *to;
};

/* A node that has not heard of it takes a slot from this master, or is elected
   in its place, with an epoch in which others do not believe it. */
static bool is_epoch_known(void *data)
{
    const struct move *m = data;
    const char *id = m->c->ids[cluster_index(m->c, m->to)];
    long long epoch = node_info(m->to, "cluster_my_epoch");

    for (size_t i = 0; i < m->c->count; i++) {
        if (cluster_runs(m->c, m->c->nodes[i]) &&
            epoch_known(m->c->nodes[i], id) != epoch)
            return false;
    }
    return true;
}

static void
wait_moved(cluster *c, unsigned slot, const server *from, server *to)
{
    struct move m = {.c = c, .to = to};

    assert_ptr_equal(cluster_wait_other(c, slot, from), to);
    if (!wait_until(is_epoch_known, &m, CLUSTER_COME_MS))
        fail_msg("not all nodes know the epoch of the move");
}

/* The target first: then no node ever names one that has not got the slot. */
void cluster_move_end(cluster *c, unsigned slot, server *to)
{
    server *from = cluster_master_of(c, slot);

    set_slot(c, to, slot, "NODE", to);
    release_slot(c, from, slot, to);
    for (size_t i = 0; i < c->count; i++) {
        server *node = c->nodes[i];

        if (cluster_runs(c, node) && node != from && node != to &&
            cluster_is_master(node))
            set_slot(c, node, slot, "NODE", to);
    }
    wait_moved(c, slot, from, to);
}

void cluster_move(cluster *c, unsigned slot, server *to)
{
    cluster_move_begin(c, slot, to);
    while (cluster_move_keys(c, slot, to, KEYS_AT_ONCE) > 0) {
    }
    cluster_move_end(c, slot, to);
}

/* ---- all of a slot at a time ---- */

bool cluster_moves_whole(cluster *c)
{
    redisReply *reply =
        server_command(c->nodes[0], "CLUSTER GETSLOTMIGRATIONS");
    bool knows = reply->type == REDIS_REPLY_ARRAY;

    freeReplyObject(reply);
    return knows;
}

void cluster_move_whole(cluster *c, unsigned slot, server *to)
{
    server *from = cluster_master_of(c, slot);
    char *ok =
        server_string(from, "CLUSTER MIGRATESLOTS SLOTSRANGE %d %d NODE %s",
                      (int)slot, (int)slot, c->ids[cluster_index(c, to)]);

    assert_string_equal(ok, "OK");
    free(ok);
    wait_moved(c, slot, from, to);
}
