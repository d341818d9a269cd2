/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_CLUSTER_H
#define LK_TESTS_SUPPORT_CLUSTER_H

#include "support/bus.h"
#include "support/node.h"
#include "support/scratch.h"

/*
 * A Redis Cluster: masters that share all slots in equal ranges, and as many
 * replicas for each, on free ports of 127.0.0.1. A node that does not answer for
 * two seconds has failed, or for five where there is no replica to be elected. Any
 * number of clusters run side by side. They end with the thread that started them,
 * as every server here.
 */

enum {
    CLUSTER_NODES = 12,
    CLUSTER_ID = 40,
    CLUSTER_TIMEOUT_MS = 2000,
    CLUSTER_LONG_TIMEOUT_MS = 5000
};

typedef struct cluster {
    server *nodes[CLUSTER_NODES]; /* first the masters, in the order of their
                                     slots, then a replica of each, and so on */
    char ids[CLUSTER_NODES][CLUSTER_ID + 1];
    uint64_t elected_at[CLUSTER_NODES]; /* in ms; 0: never */
    size_t masters, count;              /* at the start; all nodes */
    unsigned timeout_ms;                /* of a node that does not answer */
    bool is_tls; /* clients and nodes speak TLS, on the port of that */
    bus *bus;    /* by which the nodes reach each other; NULL: directly */
    uint16_t bus_ports[CLUSTER_NODES]; /* that they announce there */
    scratch *memory; /* has what the nodes know of the cluster: they stand still
                        while that is written to a disk, on a busy one for longer
                        than their timeout, and the others elect a replica */
    const server *alone; /* it is cut off from all others; NULL: none is */
} cluster;

/*
 * Returns when all nodes know the masters of all slots, and the replicas follow.
 * NULL: it does not come to that, which stderr tells. With LK_TEST_TLS it is one of
 * TLS, see server.h.
 */
cluster *cluster_start(size_t masters, size_t replicas);
/* A cluster of TLS in any case. */
cluster *cluster_start_tls(size_t masters, size_t replicas);
/* A cluster in which a master can be cut off from the other nodes, without TLS. */
cluster *cluster_start_apart(size_t masters, size_t replicas);
/* NULL is allowed. */
void cluster_stop(cluster *c);

/* Writes a URL of it for clients, which names its first three nodes. */
void cluster_url(const cluster *c, char *url, size_t size);

/* All functions below fail the test where they cannot do it. A node runs if it
   is neither killed nor frozen nor cut off. */

/* Waits until all nodes that run agree about all slots, and serve them or follow
   their master. */
void cluster_wait_whole(cluster *c);

/* Whom the first node that runs names. */
server *cluster_master_of(cluster *c, unsigned slot);

/* A replica of this master that runs. */
server *cluster_replica_of(cluster *c, const server *master);

/*
 * Waits until a replica of this master can be elected. One that was elected less
 * than eight seconds ago would count the same votes again and become a master that
 * nobody believes; cluster_kill() and cluster_failover() wait so themselves.
 */
void cluster_rest(cluster *c, const server *master);
void cluster_kill(cluster *c, server *master);
/* Whether cluster_rest() would return at once. */
bool cluster_is_rested(cluster *c, const server *master);

/* Waits until all nodes that run name another than this for the slot: that one,
   which takes writes. */
server *cluster_wait_other(cluster *c, unsigned slot, const server *than);

/* Has a replica that runs take the place of this master, and returns it when
   all nodes that run name it. The one before follows it, if it runs. */
server *cluster_failover(cluster *c, server *master);
/* The same without asking anybody: the master may be frozen or dead. */
server *cluster_takeover(cluster *c, server *master);

/*
 * The steps of moving a slot, from its master to another: from the first one on
 * the slot is half moved. The second returns how many keys it moved, most at
 * most. The third needs all of them moved, and returns when all nodes name the
 * new master. The fourth does all three.
 */
void cluster_move_begin(cluster *c, unsigned slot, server *to);
size_t cluster_move_keys(cluster *c, unsigned slot, server *to, size_t most);
void cluster_move_end(cluster *c, unsigned slot, server *to);
void cluster_move(cluster *c, unsigned slot, server *to);

/* Whether its masters move slots themselves, all keys of one at a time (Valkey 9);
   and has the master do so, until all nodes name the new one. */
bool cluster_moves_whole(cluster *c);
void cluster_move_whole(cluster *c, unsigned slot, server *to);

/* ---- nodes that come and go, cluster_nodes.c ---- */

/*
 * Cuts a master off from all other nodes, its replicas included. Clients reach it, and
 * it serves them for about the time that a node has to answer. The others elect another
 * one meanwhile. Joining ends that, and returns when the cluster is whole. The cluster
 * is of cluster_start_apart().
 */
void cluster_isolate(cluster *c, server *master);
void cluster_join(cluster *c);

/* A new master that serves no slot yet; the last one in nodes. All run. */
server *cluster_add(cluster *c);

/* Takes a node out that serves no slot, and stops it; those behind it in nodes
   move up. All run. */
void cluster_remove(cluster *c, server *node);

#endif /* LK_TESTS_SUPPORT_CLUSTER_H */
