/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_SEE_GRAPH_H
#define LK_CLI_SEE_GRAPH_H

#include "cli/see/see.h"

/*
 * Who waits for whom: names, their holders, and the names that these wait for.
 */

enum { SEE_GRAPH_MOST = 256 }; /* names that are followed */

typedef struct see_node {
    char *name;
    lk_kind kind;
    lk_info *info;    /* NULL: nothing is known under the name */
    lk_status status; /* what the look at it returned */
    char *unread;     /* why it cannot be read, in words; NULL: it can */
    bool is_stuck;    /* each of its holders waits for a name that is stuck */
} see_node;

/* Zero at the start. */
typedef struct see_graph {
    see_node *nodes; /* the first is the one that was asked about */
    size_t count, room;
    size_t asked;  /* of the nodes, in their order */
    bool is_cut;   /* there were more names than are followed */
    char *missing; /* as a listing says it; NULL: nothing */
} see_graph;

/*
 * Asks about a name, unless it was, and about all that its holders wait for, and
 * so on. Then tells which are stuck. A name that cannot be read is no error: others
 * wrote it. LK_OK, or what a look returned that is not about one name.
 */
lk_status
see_graph_follow(see_graph *graph, lk_client *client, const char *name);

/*
 * The same for those who ask themselves: adds a name; says which one is to be
 * asked about next, NULL once it is known which are stuck; and takes what
 * lk_who() answered of that one. info is then the graph's.
 */
lk_status see_graph_add(see_graph *graph, const char *name);
const char *see_graph_next(see_graph *graph);
lk_status
see_graph_take(see_graph *graph, lk_status status, lk_kind kind, lk_info *info);

/* The node of a name; NULL: it was not asked about. */
const see_node *see_graph_find(const see_graph *graph, const char *name);

/* Whether both are stuck on the same holders: then it was no passing state. */
bool see_graph_is_still_stuck(const see_graph *before, const see_graph *after,
                              const char *name);

void see_graph_done(see_graph *graph);

#endif /* LK_CLI_SEE_GRAPH_H */
