/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_NODE_H
#define LK_CLAIMS_NODE_H

#include "claims/closed.h"
#include "claims/due.h"
#include "claims/pace.h"
#include "claims/record.h"
#include "claims/replica.h"
#include "claims/road.h"
#include "claims/signal.h"
#include "claims/track.h"
#include "claims/trust.h"
#include "claims/under.h"
#include "claims/view.h"
#include "server/conn.h"
#include "server/endpoint.h"
#include "server/greet.h"

/*
 * One server: its connection for commands, its inbox, which scripts it has
 * seen, which process it is. A client has a list of them, and each name is at
 * one (place.h); a client of a single server has a list of one.
 *
 * The inbox is an exact subscription on a connection of its own, opened when
 * something first has to wait. Queueing needs both connections at the same
 * server process: lk__node_can_queue(). What would keep other requests waiting
 * has lanes of its own.
 */
typedef struct lk__node lk__node;
struct lk__group;

/*
 * How far what a server says may be believed. Of a single one, or with
 * failover=fast, for ever and at once; of a Sentinel group's master see group.h,
 * of a cluster's cluster.h.
 */
typedef struct lk__belief {
    uint64_t turn;  /* counts the servers, as far as they may be others */
    uint64_t until; /* so long is a hold believed that it has; LK__NEVER */
    uint64_t from;  /* from then on it may give new ones, and longer leases */
} lk__belief;

/* Whether a server has this command, and the user may use it, as a script has told
   since the connection for commands stands. */
typedef enum lk__delifeq {
    LK__DELIFEQ_UNKNOWN,
    LK__DELIFEQ_HAS,
    LK__DELIFEQ_NOT
} lk__delifeq;

struct lk__node {
    lk__node *next; /* in the client */
    struct lk_client *client;
    lk__address address;     /* where it is */
    struct lk__group *group; /* the sentinels that say so; NULL: the URL or a
                                cluster does */
    lk__belief belief;
    lk__trust trust; /* what holds are to be believed by that; none if it is for
                        ever */
    lk__endpoint
        endpoint;      /* in a cluster: where it is if it serves anything, */
    lk__view *view;    /* what it says of the others; NULL: nothing, */
    unsigned number;   /* by which views know it, */
    size_t slot_count; /* how many it serves, */
    uint64_t
        led_since; /* and since when without a break, as far as is known, */
    uint64_t heard_since; /* since when it is believed without a gap, */
    uint64_t asked_until; /* it is asked, though it may serve none, */
    uint64_t used_at;     /* when it was of use last, */
    bool gave;            /* and whether it gave when last looked at */
    lk__conn *conns; /* all to it, in the order in which they are flushed */
    lk__conn command, inbox;
    lk__greeting command_greeting, inbox_greeting;
    lk__signals signals;
    lk__replicas replicas;
    lk__road road;
    lk__tracking tracking;
    int64_t killed_id; /* the last one, to be killed before anything else */
    char killed_run_id[48];
    char served_run_id[48]; /* of the process that was last asked; "": of none,
                               or it is not known */
    char served_replid[48]; /* and of its data then */
    lk__delifeq delifeq;
    bool can_kill;     /* false: requests in doubt need tombstones */
    bool offline;      /* down for longer than offline_ms */
    bool refusing;     /* connected, but loading or read-only when last asked */
    char refusal[160]; /* what it said last that may pass; see reply.h */
    char denial[192];  /* how a renewal was denied last */
    lk__alarm offline_alarm;
    lk__alarm record_alarm;
    lk__request record_request, record_removal;
    char record[LK__RECORD_SIZE]; /* what never changes; see record.h */
    char *record_text;            /* what was written last; NULL: nothing */
    uint64_t record_at;           /* and when */
    lk__under under;
    lk__due due;       /* of the holds of its names */
    lk__pace pace;     /* of their acquires */
    lk__closed closed; /* of their holds */
    uint64_t *seen;    /* by script index: when it was sent in full; 0: not */
    char channel[96];  /* the inbox' name */
};

/* Of a single server, for ever. */
void lk__belief_init(lk__node *node);

/* Notes how long what it gave is believed, now that until is known, or its
   connection stands or is lost; and from when on it may give, of one that has
   begun only now. */
void lk__belief_stays(lk__node *node);
void lk__belief_born(lk__node *node);

/* The server is another one from now on, or may be. */
void lk__belief_turn(lk__node *node);

/* Whose connection it is; not of a sentinel's. */
lk__node *lk__node_of(const lk__conn *conn);

/* endpoint NULL: where the client's settings say. NULL: out of memory. */
lk__node *lk__node_new(struct lk_client *client, const lk__endpoint *endpoint);
void lk__node_free(lk__node *node);

/*
 * Ends it, but leaves its memory, in which another may begin or which is freed: a
 * thread that reads for itself may yet look there whether the stream is the one it
 * had. Nothing else knows it any more. Of a cluster's.
 */
void lk__node_let_go(lk__node *node);
/* False: out of memory; it stays as it was. */
bool lk__node_begin_anew(lk__node *node, const lk__endpoint *endpoint);

void lk__node_start(lk__node *node);

/* Ends both connections. Nothing in flight remains. */
void lk__node_stop(lk__node *node);

bool lk__node_is_ready(const lk__node *node);

/* It is where its endpoint says: connects, if it has not; or is there no more:
   leaves it, and what is under way fails. Of a cluster's. */
void lk__node_arrive(lk__node *node);
void lk__node_leave(lk__node *node, const char *words);

/* Whoever waits for it has offline_ms again. */
void lk__node_wait_anew(lk__node *node);

/* It may give new holds again: what had to wait for that, and leases that were
   not to get longer. */
void lk__node_give_again(lk__node *node);

/* Nobody whose wait has a limit waits for this server any longer, and if the reason
   does not pass by itself nobody does: its command connection says why. */
void lk__node_give_up(lk__node *node);

/* It is not ready, and has been so for offline_ms. */
bool lk__node_is_away(const lk__node *node);

/* It is away for a reason that does not pass by itself: nobody waits for it. */
bool lk__node_is_vain(const lk__node *node);

/* Why a call ended whose server did not serve then, and may later. */
bool lk__status_is_outage(lk_status status);

/* Somebody waits with a limit: if it is away, for command_timeout_ms more. */
void lk__node_wait_more(lk__node *node);

/* What it gives may be believed now: without that nothing new is taken from it,
   and no lease gets longer. */
bool lk__node_gives(const lk__node *node);

/* Why it gives nothing, where it is ready; NULL: that is not so. */
const char *lk__node_why_not(const lk__node *node);

/* The inbox stands, at the server process that runs the scripts. */
bool lk__node_can_queue(const lk__node *node);

/* It has sharded channels, in a cluster. */
bool lk__node_has_shards(const lk__node *node);

/* When the inbox was ready that stands now: it has heard all since; 0: none. */
uint64_t lk__node_inbox_at(const lk__node *node);

/* Opens the inbox, if that was not done. */
void lk__node_want_inbox(lk__node *node);

/* It does what it is asked: the next outage begins again. */
void lk__node_serves(lk__node *node);

/* Hands what is queued on its connections to the streams. */
void lk__node_flush(lk__node *node);

/* Requests that were queued and not answered. */
size_t lk__node_pending(const lk__node *node);

/* ---- node_words.c ---- */

/* Where it is, as in a URL, without what is secret there; what is long is cut. */
enum { LK__NODE_ADDRESS = 120 };
void lk__node_address(const lk__node *node, char text[LK__NODE_ADDRESS]);

/* Whose connection is down for this reason, by the text's address; else the
   client's first. */
const lk__node *
lk__node_that_said(const struct lk_client *client, const char *words);

/*
 * What a call that ends has to say: words, or if these are NULL the status' own
 * text. If it ends because the server is not reached, or in time while that is
 * so, then which server it is and why as well; if of access denied the server
 * does not say to what, then where it does. The text is cut to the size.
 */
void lk__node_words(const lk__node *node, lk_status status, const char *words,
                    char *text, size_t size);

/* ---- node_call.c ---- */

/* Queues a plain command. */
lk_status lk__node_command(lk__node *node, lk__request *request, size_t count,
                           const lk__arg *args);

/*
 * Queues a call of a script on a connection to this server, which is ready: by
 * its hash if the server has seen it, else in full. After LK_OK and a reply that
 * lk__reply_is_noscript(), the server has forgotten it and did nothing: call
 * again if it is still wanted.
 */
lk_status lk__node_call(lk__conn *conn, lk__request *request,
                        const lk__script *script, size_t key_count,
                        const lk__arg *keys, size_t arg_count,
                        const lk__arg *args);

/* Whether a refusal may pass, or would be of another node: it was not done, and
   whoever has time left asks again. */
bool lk__node_passes(const lk__request *request, const redisReply *reply);

/*
 * Looks at an error that any request to a node may get: a forgotten script is
 * noted, a server that cannot serve now (loading, read-only) is left and tried
 * again, a script's answer that is no answer of a script breaks the connection
 * that it came over. Returns LK_OK for a reply that is no error.
 */
lk_status lk__node_check(const lk__request *request, const redisReply *reply);

#endif /* LK_CLAIMS_NODE_H */
