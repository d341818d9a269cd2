/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_WAIT_H
#define LK_CLAIMS_WAIT_H

#include <latchkey/hold.h>

#include "base/tempo.h"
#include "claims/replica.h"
#include "claims/spin.h"
#include "engine/call.h"

struct lk__place;
struct lk__claim;

/* How the waits of a place come by claims. */
typedef enum lk__line {
    LK__LINE_COMMON, /* one claim at a time seeks, for the first in line */
    LK__LINE_OWN,    /* each has a claim of its own */
    LK__LINE_SHARED, /* one claim seeks for all, and all get a hold of it */
    LK__LINE_KIND    /* none: their kind tends them, and ends them */
} lk__line;

/* What is decided about a wait of a shared claim. */
typedef enum lk__verdict {
    LK__VERDICT_WAIT,
    LK__VERDICT_OK,
    LK__VERDICT_GONE
} lk__verdict;

/* A claim's id is no longer, with its NUL. */
enum { LK__CLAIM_ID_SIZE = 64 };

/* What a primitive asks for beyond the lease; its scripts know the meaning. */
typedef struct lk__terms {
    const char *mode; /* a letter; static */
    uint64_t need;
    uint64_t number;
    const char *text; /* static; NULL: none */
} lk__terms;

/*
 * One caller's wish to acquire something. It stands in its place's line from
 * lk__wait_begin() to its end, and ends once: with a grant, an error, a cancel,
 * or by its time. A blocking caller's own thread watches the time, so that it
 * returns in time however busy the loop is; for an async one an alarm does.
 */
typedef struct lk__wait {
    struct lk__wait *next, *prev;         /* in the place's line */
    struct lk__wait *next_all, *prev_all; /* in the client's list */
    lk__call call;
    struct lk__place *place;
    lk__line line;
    lk__terms terms;
    char beside[LK__CLAIM_ID_SIZE]; /* its owner's other claim; "": none */
    lk__spin spin;
    struct lk__claim *claim; /* that seeks for it, counted; NULL: the front */
    struct lk__wait *next_seat, *prev_seat; /* on the same claim */
    unsigned seat_look; /* how many looks that had sent by then */
    uint64_t mark;      /* the kind's, for its judge */
    void *own;          /* the kind's, for what became of it; the caller's */
    uint64_t owner;     /* who acts */
    uint64_t lease_ms;
    bool watchdog; /* the lease is the client's, to be renewed */
    bool try_only; /* answers busy instead of waiting */
    bool yields;   /* a try that leaves the others their turn */
    char *reason;  /* NULL: none */
    const lk_cancel *cancel;
    uint64_t until; /* when it ends by itself */
    lk__alarm alarm;
    lk_hold *hold;  /* made beforehand, so that a grant cannot fail; NULL: of a
                      holdless kind */
    lk__need *need; /* replicas must have it, too; NULL: none need */
    lk_acquire_cb cb;
    lk_done_cb done; /* instead of it, of a holdless kind */
    void *data;
    lk__tempo tempo; /* of what its claims ask while it is their head */
    uint64_t hints;  /* that it was given; see tempo.h */
} lk__wait;

/* Stands in line. It may be done at once. Inside the monitor. */
void lk__wait_begin(lk__wait *wait);

/* Those behind it in its place's line come before it now. */
void lk__wait_step_back(lk__wait *wait);

/*
 * Ends it; it is out of every list afterwards. words are for lk_last_error();
 * NULL: the status' own text. Inside the monitor.
 */
void lk__wait_end(lk__wait *wait, lk_status status, const char *words);

/* Ends a wait that has not begun with one more handle of a valid claim. */
void lk__wait_join(lk__wait *wait, struct lk__claim *claim);

/* The meet of kinds that are re-entered: an owner that holds gets another
   handle of the same claim. Inside the monitor. */
bool lk__wait_reenter(lk__wait *wait);

/* For so long replicas are waited for unless the options say. */
enum { LK__REPLICA_MS = 1000 };

/* Copies and checks the options of an acquire. */
lk_status lk__acquire_options_take(const struct lk__place *place,
                                   const lk_acquire_options *given,
                                   lk_acquire_options *ret_options);

/* What an acquire asks for. */
typedef struct lk__wish {
    struct lk__place *place;
    int64_t wait_ms;
    uint64_t default_lease_ms; /* 0: the watchdog's */
    uint64_t renewed_ms;       /* the watchdog's; 0: the client's */
    uint64_t mark;             /* the wait's at first, for the kind's judge */
    const lk_acquire_options *options;
    lk__line line;
    lk__terms terms;
    lk__spin spin;
    void *own; /* see lk__wait */
} lk__wish;

/* The blocking acquire of every primitive, and the async one. */
lk_status lk__wait_acquire(const lk__wish *wish, lk_hold **ret_hold);
lk_status
lk__wait_acquire_async(const lk__wish *wish, lk_acquire_cb cb, void *data);

/* The same for a holdless kind, where an owner or a lease is LK_EINVAL. */
lk_status lk__wait_for(const lk__wish *wish);
lk_status lk__wait_for_async(const lk__wish *wish, lk_done_cb cb, void *data);

/* Ends every wait of the client with one status. Inside the monitor. */
void lk__waits_end(lk_client *client, lk_status status, const char *words);

/* Ends the waits for a name of this node, which is away: those without a limit only
   if that does not pass by itself. Inside the monitor. */
void lk__waits_give_up(struct lk__node *node);

/* Whether somebody waits with a limit for a name of this node. Inside the monitor. */
bool lk__waits_have_limits(const struct lk__node *node);

/* Ends the waits whose cancel token was fired. Inside the monitor. */
void lk__waits_cancel(lk_client *client);

#endif /* LK_CLAIMS_WAIT_H */
