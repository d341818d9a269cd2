/* SPDX-License-Identifier: MIT */
#ifndef LK_INSPECT_PROBE_H
#define LK_INSPECT_PROBE_H

#include "claims/cluster.h"
#include "claims/nap.h"
#include "engine/call.h"
#include "server/conn.h"

/*
 * A call that is made of any number of plain commands, several of them under
 * way at once. Nothing that it sends changes the server, so nothing is ever in
 * doubt: when the connection breaks it ends with LK_EOFFLINE, and whoever wants
 * to know asks again.
 *
 * It begins when the server can be asked, and ends when nothing is under way
 * any more, or when its time is over. It is made on the heap, as the first
 * member of a larger struct, and lives until the last request has come back.
 *
 * In a cluster a command goes to the master of its key, and follows its slot; or
 * to a master that is named. It waits for a master that is away as any question
 * does, for command_timeout_ms. After that it is missed: the probe ends with
 * LK_EOFFLINE, or, where the command can be missed, goes on and notes which
 * master it was.
 */
typedef struct lk__probe lk__probe;
struct lk__node;

/* One command under way; first member of a larger struct if need be. */
typedef struct lk__probing {
    lk__request request; /* first */
    lk__asking asking;   /* goes before it where its slot is half moved */
    struct lk__probing *next;
    lk__probe *probe;
    struct lk__node *node; /* that it is for; NULL: the one of its key */
    lk__arg *args; /* in a cluster: to be sent again; one block, owned */
    size_t count;
    unsigned turns; /* sent elsewhere, without a pause, */
    uint64_t until; /* and when it is missed; 0: it has not waited yet */
    bool broke;     /* it waits because its connection broke */
    bool asks;      /* it asks behind an ASKING */
    /* The answer, which may be an error of the server's. It may send more,
       this one again among it. */
    void (*take)(struct lk__probing *probing, const redisReply *reply);
    /* In a cluster: there is no answer. It may send more. NULL: the probe ends. */
    void (*miss)(struct lk__probing *probing);
    /* In a cluster: its node is another process now, perhaps, and it is sent by
       this, by lk__probe_send_to(). NULL: it is sent again as it was. */
    void (*again)(struct lk__probing *probing);
} lk__probing;

struct lk__probe {
    lk__call call; /* first */
    lk__alarm alarm;
    uint64_t until;       /* LK__NEVER: no limit */
    unsigned busy;        /* requests under way, or that wait */
    bool released;        /* nobody waits */
    lk__nap nap;          /* until those that wait are sent again, */
    lk__probing *waiting; /* and these */
    struct lk__missed *missed;
    /* Sends the first commands; inside the monitor, the server is there. */
    void (*begin)(lk__probe *probe);
    /* Of an async one: hands the result over; outside the monitor. */
    void (*deliver)(lk__probe *probe);
    /* Lets go of what the larger struct has. */
    void (*cleanup)(lk__probe *probe);
};

/*
 * Runs it: waits until the server can be asked, begins, and sleeps until it is
 * over. The caller then reads the result and lets go of it.
 */
lk_status lk__probe_run(lk__probe *probe, lk_client *client, int64_t wait_ms);

/* The same without waiting. Unless LK_OK, it was let go of. */
lk_status
lk__probe_run_async(lk__probe *probe, lk_client *client, int64_t wait_ms);

/* Lets go of it. Outside the monitor. */
void lk__probe_release(lk__probe *probe);

/* Sends a command about a key, which stands behind its name. What cannot be sent
   ends the probe. Inside the monitor. */
void lk__probe_send(lk__probe *probe, lk__probing *probing, size_t count,
                    const lk__arg *args);

/* Sends a command to a node. */
void lk__probe_send_to(lk__probe *probe, struct lk__node *node,
                       lk__probing *probing, size_t count, const lk__arg *args);

/* Hands what was queued to the servers now, and not when all answers that came
   are read: so both have something to do. */
void lk__probe_flush(lk__probe *probe);

/* Ends it early. What is under way then is not looked at. */
void lk__probe_end(lk__probe *probe, lk_status status, const char *words);

/* What is done when an answer was looked at: ends the probe if nothing is under
   way, and lets go of it if nobody waits. */
void lk__probe_settle(lk__probe *probe);

/* Lets go of the commands that wait to be sent again; of what is missing. */
void lk__probe_forget_waiting(lk__probe *probe);
void lk__probe_forget_missed(lk__probe *probe);

/* For how long, from now on, it goes after what can be missed, in ns: for
   command_timeout_ms, but the rest has as much time. */
uint64_t lk__probe_patience(const lk__probe *probe);

/* A master that has no slot any more is not missing: others have them. */
void lk__probe_sift_missed(lk__probe *probe);

/* ---- what is missing ---- */

/* Notes that a master was not asked, and why: words, or NULL for what it says of
   itself. Without one, that words are so. */
void lk__probe_note(lk__probe *probe, const struct lk__node *node,
                    const char *words);

/* Of one that is over: all that is missing, in words; free with lk__free(). ""
   if nothing; NULL: no memory. */
char *lk__probe_missing(const lk__probe *probe);

#endif /* LK_INSPECT_PROBE_H */
