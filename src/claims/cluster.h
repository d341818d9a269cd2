/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_CLUSTER_H
#define LK_CLAIMS_CLUSTER_H

#include <stdbool.h>

#include <hiredis/hiredis.h>

#include "claims/scout.h"
#include "claims/view.h"

struct lk__node;
struct lk__question;

/*
 * A Redis Cluster: its masters are the client's nodes, and each slot is at one
 * of them. A majority of the masters, each in its turn, is asked every second who
 * serves which slot, and every two seconds while the client holds nothing and waits
 * for nothing: no belief needs more. All of them are when a majority may not be
 * enough, and sooner when one is away or sends a request elsewhere. A slot goes
 * where a master has learned that it is now, or where the node that had it sends
 * a request; if the masters go on to disagree, where most of them say.
 *
 * The client's first node is nowhere: it has no address, and the names of slots
 * that nobody serves are at it, for as long as their waits last.
 *
 * How far a master is believed: as in a Sentinel group (naming.h), with the
 * masters in the place of the sentinels. A master that was cut off takes writes
 * for some seconds on, while a replica of it has been elected.
 *
 * Of N masters a client believes one for LK__BELIEF_MS after it asked those of a
 * majority that name it: N/2 others at least, beside the one itself. From a
 * master that took slots over it takes nothing new until LK__BELIEF_MS after it
 * heard N - N/2 others name that one, which is one more than N/2 where N is odd.
 * There are N - 1 others, so one of them is among both. It names the old master
 * before it names the new one. So whoever still believes the old one asked it
 * before the new one's client did, and ceases to before that one takes anything.
 * An answer counts only if it was asked for since the new master was first seen.
 *
 * One that is alone has no others, and is judged by itself. A master that says
 * nothing for MISSED_MS, or at whose address nobody is for LK__BELIEF_MS, counts as
 * one that names it, else a cluster that lacks a master for good would never grant
 * again; time in which nobody was heard, as the client stood still, does not count.
 * A majority that speaks is needed all the same. A client that finds nobody there knows
 * that nobody hears it, and what it has said is believed by none LK__BELIEF_MS
 * later; to get no answer may be so for this client alone. Where it is there again
 * before anything is taken it has its say. To name nobody is not to name the new
 * one.
 *
 * A master of which it is not known for how long it has been one is a new one too:
 * it may have been elected just now. One that has never followed another, and runs
 * for longer than LK__BELIEF_MS, is not. Whoever was not heard of for so long is a
 * new one again.
 *
 * A slot that is moved by its owner needs none of that: the owner itself sends
 * requests elsewhere from then on. So what counts is that a node gets its first
 * slots; a master that has some gets more by a move alone, unless an operator
 * gives it slots of one that is lost: then for LK__BELIEF_MS two clients may
 * believe that they hold a name of these.
 *
 * Every function takes NULL: no cluster.
 */
typedef struct lk__cluster lk__cluster;

/* Gives the client its cluster, if the URL names one; its first node is there.
   False: out of memory. */
bool lk__cluster_new(struct lk_client *client);
void lk__cluster_free(lk__cluster *cluster);
void lk__cluster_start(lk__cluster *cluster);
void lk__cluster_stop(lk__cluster *cluster);
void lk__cluster_flush(lk__cluster *cluster);

/* The client was at rest, and holds or waits now. */
void lk__cluster_rouse(lk__cluster *cluster);

/* Where a slot is. Without a cluster: the client's only node. */
struct lk__node *
lk__cluster_node(const struct lk_client *client, unsigned slot);

/* That of the slot of a key. */
struct lk__node *lk__cluster_node_of(const struct lk_client *client,
                                     const char *key, size_t size);

/* The masters, one after the other: the one behind this, NULL: the first; NULL:
   there is none. Without a cluster: the client's only node. */
struct lk__node *
lk__cluster_next(const struct lk_client *client, const struct lk__node *node);

/* A node that can be asked what concerns no name, and says why none can. */
struct lk__node *lk__cluster_lead(const struct lk_client *client);

/*
 * A node's answer to a request about this slot. If that sends the request
 * elsewhere, the slot goes there. LK_OK: it is an answer, or one that may pass.
 * LK_EOFFLINE: the request was not done, and goes elsewhere now. LK_EINDOUBT: it
 * may have been done in part, or by a node that the slot has left.
 */
lk_status lk__cluster_heard(struct lk_client *client, unsigned slot,
                            const lk__request *request,
                            const redisReply *reply);

/*
 * The slot is half moved, and what this request was about is at another node
 * already: that one, if it can be asked now. NULL: the answer does not say so. It
 * may be asked only about one key, of a script that touches no other: what it
 * does not know it would make again.
 */
struct lk__node *lk__cluster_asks(struct lk_client *client, unsigned slot,
                                  const lk__request *request,
                                  const redisReply *reply);

/* An ASKING, and whether an access rule refused it, with the server's words. */
typedef struct lk__asking {
    lk__request request;
    bool is_denied;
    char words[192];
} lk__asking;

/* Says ASKING there; the very next request must be the one that is meant. */
lk_status lk__cluster_asking(struct lk__node *node, lk__asking *asking);

/* Sends a question there. */
lk_status lk__cluster_ask(struct lk__node *node, lk__asking *asking,
                          lk__request *request,
                          const struct lk__question *question);

/* The node is ready or down. */
void lk__cluster_look(struct lk__node *node);

/* For people. */
typedef struct lk__cluster_facts {
    size_t masters, ready, heard; /* that serve slots, and of them */
    size_t unserved;              /* slots */
} lk__cluster_facts;

/* False: there is no cluster. */
bool lk__cluster_see(const lk__cluster *cluster, lk__cluster_facts *ret_facts);

#endif /* LK_CLAIMS_CLUSTER_H */
