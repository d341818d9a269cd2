/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_ASK_H
#define LK_CLAIMS_ASK_H

#include "claims/place.h"
#include "claims/question.h"
#include "claims/refusal.h"
#include "engine/call.h"
#include "server/conn.h"

/*
 * A question to the server and its answer, within command_timeout_ms,
 * reconnecting included: for what is not the life of a claim.
 *
 * It is made on the heap, as the first member of a larger struct if need be,
 * because a request of it may be under way when nobody waits any more. An
 * answer may lead to the next question. One that only reads is asked again
 * when its answer was lost; any other then ends in doubt: with LK_EINDOUBT, or
 * if its caller must not repeat it with LK_EPENDING. One that the server refuses
 * for a reason that may pass is asked again in any case.
 *
 * One that repeats can be asked any number of times, because the server knows
 * it by a number of its own. One that persists as well, once sent, is asked
 * until it is answered, ten minutes long, even though its call ended with
 * LK_EPENDING in the meantime; the shutdown ends it. That is for what must
 * count once and what nobody says again. What a caller in doubt says again, as
 * a delete, must not persist: done late, it would undo what came after.
 *
 * One that is owed takes back what another request may have done or may yet
 * do, or ends what it did. It goes on like one that persists, though it was
 * never sent, and though the server is away when it begins.
 */
typedef struct lk__ask lk__ask;

struct lk__ask {
    lk__request request; /* first */
    lk__call call;
    lk__ask *next, *prev; /* in the client, while listed */
    lk__place *place;     /* pinned; NULL: of no place, but perhaps of a key */
    const lk__script *script; /* NULL: a plain command */
    lk__arg *args;            /* a copy, the bytes behind it; keys first */
    size_t key_count, count;
    bool reads;      /* changes nothing at the server, or nothing if repeated */
    bool repeats;    /* known by a number: may be asked again in its call */
    bool persists;   /* repeats, and goes on when its call has ended in doubt */
    lk_status doubt; /* with which that ends: LK_EINDOUBT, or LK_EPENDING: done
                        twice it is not what it is once */
    bool takes;      /* a hold, or a longer lease: not asked while nothing is
                       to be believed that is given */
    bool renews;     /* a lease; repeats, and goes over the renewals' road */
    bool deletes;  /* its script deletes its key if that has its first argument:
                       where the node has DELIFEQ, that is sent, and the script
                       only if it is refused. An integer is its answer */
    bool is_short; /* it was sent so last */
    lk__conn *over;            /* where it was sent last */
    const struct lk__node *at; /* where that was tried last; for comparing */
    uint64_t owed_ms;  /* persists for so long, sent or not; 0: is not owed */
    unsigned sends;    /* how often it has been under way */
    unsigned refusals; /* in a row that may pass; see the node's refusal */
    bool doubted; /* one of these was not answered, and may have been done */
    uint64_t first_sent_at;
    bool listed;       /* in the client: not answered, nor given up */
    bool released;     /* nobody waits; goes with its last request */
    bool replying;     /* on_reply runs, which lets go of it at its end */
    bool pauses;       /* it asks nothing: its call ends with LK_OK in time */
    bool is_settled;   /* what it was for is done: see lk__ask_go_on() */
    lk_status settled; /* its call's status then */
    uint64_t until;    /* when its call ends by itself */
    const char *words; /* take's, with its status; NULL: the status' own */
    lk__found found;   /* take's, with a status that is about the name */
    lk__tempo tempo;   /* of questions that answers ask for */
    lk__alarm alarm;
    /* Reads the answer; sets *ret_more if it has set the next question. */
    lk_status (*take)(lk__ask *ask, const redisReply *reply, bool *ret_more);
    /* Its call has ended, within the monitor; NULL: nobody wants to know. It ends
       no other question, for all of them may be gone through just then. */
    void (*ended)(lk__ask *ask);
    /* Lets go of what the larger struct has; NULL: nothing. */
    void (*cleanup)(lk__ask *ask);
};

/* Allocates size bytes, zeroed, with a question at their begin. */
lk__ask *lk__ask_new(size_t size, lk_client *client, lk__place *place,
                     void (*deliver)(lk__call *call));

/* One block: the arguments, and behind them their bytes. Free with lk__free().
   NULL: no memory. */
lk__arg *lk__args_copy(size_t count, const lk__arg *args);

/* Sets what is asked. Bytes are copied. LK_OK or LK_ENOMEM, also where the
   question is NULL. */
lk_status lk__ask_question(lk__ask *ask, const lk__question *question);

lk_status lk__ask_command(lk__ask *ask, size_t count, const lk__arg *args);

/* For take(): what it was for is done, and its call has this status, whatever becomes
   of the question that is asked now for the sake of others. NULL: that cannot be
   asked. Returns what take() is to return, and sets its *ret_more. */
lk_status lk__ask_go_on(lk__ask *ask, lk_status status,
                        const lk__question *question, bool *ret_more);

/* Asks. The call's end may come from within. Inside the monitor. */
void lk__ask_begin(lk__ask *ask);
/* The same as a part of a call that ends by then. */
void lk__ask_begin_by(lk__ask *ask, uint64_t until);

/* Asks nothing: the call ends with LK_OK after so long, or before that as any
   question does. Inside the monitor. */
void lk__ask_pause(lk__ask *ask, uint64_t ns);

/* Sleeps until a blocking question is answered. Inside the monitor. */
lk_status lk__ask_sleep(lk__ask *ask);

/* Lets go of the question; its memory goes when it can. Inside the monitor. */
void lk__ask_release(lk__ask *ask);

/* Nobody wants the answer any more, and it is not sent again, whatever comes of
   the request under way. One that was let go of may be gone afterwards. */
void lk__ask_drop(lk__ask *ask);

/* For the deliver of an async one: finds it, and lets go of it at the end. */
lk__ask *lk__ask_of_call(lk__call *call);
void lk__ask_finish(lk__ask *ask);

/* Names are at other nodes now: what is not under way is asked there. */
void lk__asks_moved(lk_client *client);

/* What a node tells its questions. */
void lk__asks_on_ready(struct lk__node *node);

/* Ends every question to this node, NULL: of the client, but those that persist
   and were sent: their calls end in doubt, and they go on. So does a renewal that is under way on a
   road of its own, unless the client is shut down. */
void lk__asks_leave_doubtful(lk_client *client, const struct lk__node *node,
                             lk_status status, const char *words);

/* Ends every one. */
void lk__asks_end(lk_client *client, lk_status status, const char *words);

#endif /* LK_CLAIMS_ASK_H */
