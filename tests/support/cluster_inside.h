/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_CLUSTER_INSIDE_H
#define LK_TESTS_SUPPORT_CLUSTER_INSIDE_H

#include "support/cluster.h"

/*
 * The inside of a cluster of tests: cluster.c starts one and has masters replaced,
 * cluster_move.c moves slots, cluster_nodes.c has nodes come and go.
 */

enum { CLUSTER_COME_MS = 120000 };

/* It is neither killed nor frozen nor cut off. */
bool cluster_runs(const cluster *c, const server *node);

bool cluster_is_master(server *node);
bool cluster_is_replica_of(const cluster *c, server *node,
                           const server *master);

/* The port that nodes and clients are reached at. */
unsigned cluster_port(const cluster *c, const server *node);

/* Its place in nodes. */
size_t cluster_index(const cluster *c, const server *node);

/* Starts the node of this place, which knows no other. False: stderr tells why. */
bool cluster_node_run(cluster *c, size_t i);

/* Has a node do what is answered by a status. False: stderr tells why. */
bool cluster_told(server *node, const char *command);

/* Has the node of one place meet that of another. */
bool cluster_meet(cluster *c, size_t who, size_t i);

/* Whether all know all others, and the master of each slot; data is the cluster. */
bool cluster_all_known(void *data);

/* Waits until they do. False: it does not come to that. */
bool cluster_wait_known(cluster *c);

/* Whether all that run agree that a node serves no slot. */
bool cluster_is_idle(const cluster *c, const server *node);

#endif /* LK_TESTS_SUPPORT_CLUSTER_INSIDE_H */
