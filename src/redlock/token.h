/* SPDX-License-Identifier: MIT */
#ifndef LK_REDLOCK_TOKEN_H
#define LK_REDLOCK_TOKEN_H

#include <latchkey/redlock.h>

#include "base/guest.h"
#include "claims/ask.h"
#include "claims/hold_class.h"
#include "redlock/task.h"
#include "redlock/validity.h"

/*
 * A token: one attempt, and if it succeeds, the hold. It has a vote for each
 * client. A new one is made for each attempt, since a late delete of an old
 * one must not hit what came after.
 *
 * The order of locks. Each client is a monitor of its own. The token's mutex
 * is a leaf: it may be taken within any monitor, and whoever has it enters
 * none. Nobody is ever within two monitors. Therefore:
 *
 *   - What happens to a vote (an answer, an alarm, the shutdown of its client)
 *     happens within its client's monitor, changes the token under the mutex,
 *     and touches no other client: whatever follows is posted to this client's
 *     loop, user's callbacks and tasks alike.
 *   - What concerns all votes (begin, extend, release) is done outside every
 *     monitor, which enters them one after the other.
 */
typedef struct lk__token lk__token;
typedef struct lk__vote lk__vote;

/* One request about a token to one server. */
typedef struct lk__errand lk__errand;

/* What became of the release of a vote. */
typedef enum lk__vote_end {
    LK__VOTE_STANDS,   /* not asked to end, or no answer yet */
    LK__VOTE_FREE,     /* the server never had the token, or has not now */
    LK__VOTE_WAS_GONE, /* it was not there any more when the release came */
} lk__vote_end;

struct lk__vote {
    lk__token *token;
    lk_client *client;

    /* Within the client's monitor. */
    bool is_open;
    bool is_renewing;    /* a renewal is under way */
    lk__guest guest;     /* told of the client's shutdown */
    lk__alarm alarm;     /* the next renewal, the notice or the deadline */
    uint64_t renew_at;   /* LK__NEVER: not to be renewed */
    lk__errand *acquire; /* not answered yet; NULL: it was, or was dropped */
    lk__errand *release; /* made beforehand, so that it cannot fail; NULL: sent
                            or not needed */

    /* Under the token's mutex. */
    bool may_stand; /* the acquire was sent, and not answered with a no */
    bool is_away;   /* its server is, and was so for offline_ms */
    bool is_gone; /* it never has a vote: its client is shut down, or its server
                       has one by another client */
    bool is_slow; /* it let others wait for long before it was asked */
    lk__vote_end end;
    lk_redlock_answer answer;
    lk_status status;
    char words[sizeof(((lk_redlock_outcome *)0)->words)];
    char server[48];  /* the process that answered; "": unknown */
    uint64_t until;   /* it surely keeps the token for so long; 0: no vote */
    uint64_t seen_at; /* when a request was sent that it answered with yes */
    lk_loss loss;     /* why there is no vote any more */
};

typedef enum lk__token_phase {
    LK__TOKEN_SEEKING,
    LK__TOKEN_HELD, /* or lost; see lost_at */
    LK__TOKEN_CLOSED
} lk__token_phase;

struct lk__token {
    const lk__hold_class *class; /* first: it is an lk_hold */
    atomic_uint refs;            /* the memory's: keepers, errands */
    atomic_uint keepers;         /* of the clients: handle, tasks */
    size_t count;
    char *name;
    char id[33];
    uint64_t lease_ms;
    bool renews;
    uint64_t quarantine_ns; /* a younger server has no vote */
    uint64_t longest_lease_ms;
    uint64_t node_timeout_ns;
    uint64_t begun_at; /* before the first request was sent */
    atomic_uint_fast64_t deadline;
    atomic_uint_fast64_t lost_at; /* 0: not lost */
    atomic_int loss;

    pthread_mutex_t mutex; /* the leaf; what follows is under it */
    lk__token_phase phase;
    lk__task *first_task; /* that wait for a change */
    lk_loss last_loss;    /* of the vote that left last */
    int fd;               /* a timer of the kernel's, or -1 */
    lk_lost_cb cb;
    void *data;
    uint64_t notice_ns;
    bool noticed;
    lk__post post;
    lk_client *posted_on; /* where post is queued or runs; NULL: nowhere */
    bool post_again;      /* something happened while it runs */

    lk__vote votes[];
};

/* What a new token is to be. */
typedef struct lk__token_plan {
    size_t count;
    lk_client *const *clients;
    const char *name;
    uint64_t lease_ms;
    bool renews;
    uint64_t longest_lease_ms;
    uint64_t quarantine_ms;
    uint64_t node_timeout_ms;
} lk__token_plan;

/* One keeper: the caller. NULL: out of memory. */
lk__token *lk__token_new(const lk__token_plan *plan);

/* A keeper more, and one less, which may free it: outside every monitor. */
lk__token *lk__token_keep(lk__token *token);
void lk__token_drop(lk__token *token);

/* The memory alone. */
void lk__token_ref(lk__token *token);
void lk__token_unref(lk__token *token);

uint64_t lk__token_now(const lk__token *token);

/* Why it is lost where its deadline has passed. */
lk_loss lk__token_time_loss(const lk__token *token);

/* ---- under the mutex ---- */

/* What an attempt has come to; is_over: nobody is waited for any more. */
lk__tally lk__token_judge(lk__token *token, bool is_over);

/* Until when it is valid by the votes of those servers alone that agreed to a
   request sent since then; 0: too few did. */
uint64_t lk__token_until_since(const lk__token *token, uint64_t since);

/* The votes have changed, or time has passed. Within the monitor of client. */
void lk__token_look(lk__token *token, lk_client *client);

/* Ends it: no callback, no descriptor, no renewal any more. */
void lk__token_shut(lk__token *token);

void lk__token_task_add(lk__token *token, lk__task *task);
void lk__token_task_remove(lk__token *token, lk__task *task);

/* When an alarm has to look at it next. */
uint64_t lk__token_next_look(const lk__token *token);

/* Posts the callback, if there is one. Within the monitor of client. */
void lk__token_post(lk__token *token, lk_client *client);

void lk__token_fd_arm(const lk__token *token);

/* ---- votes; each enters the monitor of the vote's client ---- */

/* Asks the server for the token. */
void lk__vote_begin(lk__vote *vote);

/* Has the server lengthen the lease. LK_OK: it was asked. */
lk_status lk__vote_extend(lk__vote *vote, uint64_t lease_ms);

/* Looks again when its alarm is due. */
void lk__vote_rearm(lk__vote *vote);

/* Ends its part; has the server delete what it may have. */
void lk__vote_close(lk__vote *vote);

/* Makes what lk__vote_begin() and lk__vote_close() send. Inside no monitor.
   LK_OK, LK_ENOMEM. */
lk_status lk__vote_prepare(lk__vote *vote);

/* Of a token that was never begun. */
void lk__vote_discard(lk__vote *vote);

extern const lk__hold_class lk__token_hold_class;

#endif /* LK_REDLOCK_TOKEN_H */
