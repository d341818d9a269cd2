/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_PLAYED_CLUSTER_H
#define LK_TESTS_SUPPORT_PLAYED_CLUSTER_H

#include "base/slot.h"
#include "support/played.h"

/*
 * The cluster that a played client talks to: nodes n0, n1 and so on, each with a
 * map of its own, all with the one model of locks. The test says what each of them
 * names, and when.
 */

enum {
    PLAYED_SPARE = 8, /* nodes that are no masters at the beginning */
    PLAYED_PART = 32, /* slots, of which one node names one master */
    PLAYED_PARTS = LK__SLOTS / PLAYED_PART,
    PLAYED_NOBODY = 0xffff
};

typedef struct played_node {
    uint16_t named[PLAYED_PARTS]; /* a node's number */
    const char *says;   /* to each script; NULL: what the model answers */
    int connect_answer; /* see fake_server */
    bool is_mute;
    bool loads;       /* scripts and pings are refused for that, */
    bool is_replica;  /* or scripts for this; it says so of itself */
    bool hides_map;   /* it refuses to say its map */
    bool is_young;    /* it has followed another once */
    bool has_shards;  /* sharded channels, for who greets it from now on */
    unsigned data;    /* which of them it has */
    uint64_t slow_ms; /* so late come what it says, maps, and ends of these */
    fake_link *script_link; /* on which the last one came */
    unsigned connects, maps, scripts, askings, unsubscribed; /* what came */
    unsigned waits;
} played_node;

/* Opens a client of these hosts, with commas; NULL: n0, n1, n2. They share the
   slots, all name each other, and each has followed another once. "n" is at n0. */
played *played_new_cluster(uint64_t seed, const lk_client_options *options,
                           size_t masters, const char *hosts);

/* From now on this node names another where it named that one. */
void played_name(played *p, size_t node, size_t before, size_t now);
/* The same of all nodes. */
void played_replace(played *p, size_t before, size_t now);

/* The slot of "n". */
unsigned played_slot(void);

/* A lock of another name each time, at the node that n0 names for it now. */
lk_lock *played_lock_at(played *p, size_t node);

/* A node is gone: its streams break, and nobody takes new ones. */
void played_kill(played *p, size_t node);

/* For played.c. */
struct played_node *played_nodes_new(size_t masters, size_t count);
int played_node_connect(played *p, const fake_link *link);
/* False: as any server would answer. */
bool played_node_command(played *p, fake_link *link, int argc,
                         const char **argv);

#endif /* LK_TESTS_SUPPORT_PLAYED_CLUSTER_H */
