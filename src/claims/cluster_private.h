/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_CLUSTER_PRIVATE_H
#define LK_CLAIMS_CLUSTER_PRIVATE_H

#include "base/alarm.h"
#include "claims/cluster.h"
#include "claims/node.h"

/*
 * A cluster is written in four files: its nodes (cluster_nodes.c), where slots are
 * (cluster.c), what a node says instead of an answer (cluster_redirect.c), and whom
 * the masters name, and how far that is believed (cluster_belief.c). This is what
 * they tell each other.
 */

#define LK__CLUSTER_MS UINT64_C(1000000)

struct lk__cluster {
    lk_client *client;
    lk__node *nowhere;
    lk__node *owners[LK__SLOTS]; /* nowhere: nobody serves it */
    uint64_t changed_at[LK__SLOTS];
    uint64_t settled_at; /* when a slot went elsewhere last */
    lk__node *spare;     /* those that were let go, and that another may be */
    size_t nodes;        /* how many there are, nowhere and these among them */
    bool is_seen;        /* a master has said who serves what */
    bool is_unswept;     /* names may be where their slot is no more */
    bool is_uncompared;  /* views were compared with what was before */
    bool is_unheard;     /* a node is believed for longer, and its holds do not
                            know it */
    uint64_t heard_at;   /* when they were told last, */
    uint64_t told_until; /* and how long, at least */
    uint64_t round_at;   /* since when masters are asked, each once; */
    size_t turn;         /* and whom it began with */
    lk__scout scout;
    lk__alarm alarm;
    lk__view *latest; /* what masters said, the one that was asked last first */
};

/* Looks at everything by then. */
void lk__cluster_wake_by(lk__cluster *cluster, uint64_t at);

/* ---- cluster_nodes.c ---- */

/* It serves slots. */
bool lk__cluster_is_master(const lk__cluster *cluster, const lk__node *node);

/* How many do. */
size_t lk__cluster_masters(const lk__cluster *cluster);

/* The node there. NULL: no memory, or there are too many. */
lk__node *lk__cluster_at(lk__cluster *cluster, const lk__endpoint *endpoint);

/* Lets go of those that were of no use for a while. No node's event is under way,
   and nobody goes through them. */
void lk__cluster_let_go(lk__cluster *cluster);

void lk__cluster_spare_free(lk__cluster *cluster);

/* ---- cluster.c, cluster_belief.c ---- */

/* Asks all masters; those that were asked a moment ago are so in a moment. */
void lk__cluster_ask_anew(lk__cluster *cluster);

/* The slot is at this node from now on. */
void lk__cluster_give(lk__cluster *cluster, unsigned slot, lk__node *node);

/* Speed matters more than what another may believe. */
bool lk__cluster_is_fast(const lk__cluster *cluster);

/* Whether a master has been heard lately. */
bool lk__cluster_is_fresh(const lk__cluster *cluster, const lk__node *node);

/* The node has its first slot. */
void lk__cluster_begin(lk__cluster *cluster, lk__node *node);

/* This is what a master said last; or it is as if it had said nothing. */
void lk__cluster_note(lk__cluster *cluster, lk__view *view);
void lk__cluster_forget(lk__cluster *cluster, lk__view *view);

/* How far each is believed now, and what follows. */
void lk__cluster_judge(lk__cluster *cluster);

/* Where masters go on to disagree most of them are right. */
void lk__cluster_reconcile(lk__cluster *cluster);

#endif /* LK_CLAIMS_CLUSTER_PRIVATE_H */
