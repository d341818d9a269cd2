/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_CLAIM_H
#define LK_CLAIMS_CLAIM_H

#include <latchkey/hold.h>

#include "base/table.h"
#include "claims/trust.h"
#include "claims/wait.h"
#include "engine/call.h"
#include "server/conn.h"

struct lk__keep_answer;
struct lk__place;
typedef struct lk__claim lk__claim;

/*
 * One attempt to get something and, if it succeeds, its life in Redis:
 *
 *   WANTED --> QUEUED --> HELD --> RELEASING --> DEAD
 *      |  \       |  \-> UNSURE     ^   |
 *      |   \------|--------^ HELD --/   +--> PASSING --> DEAD
 *      +--> LEAVING <-----/   \--> LOST
 *
 * A claim has a number of its own, never used again, so that a late reply or
 * a late request concerns nobody else. What is sent is decided by the state
 * alone: lk__claim_drive() sends what the state still wants, after a reply,
 * after a reconnect, after a timer. Nothing is re-sent by the transport.
 */
typedef enum lk__claim_state {
    LK__CLAIM_FOREIGN,   /* another client's, being taken over: sends nothing */
    LK__CLAIM_WANTED,    /* acquire is to be sent or under way */
    LK__CLAIM_QUEUED,    /* has a ticket at the server; looks again in time */
    LK__CLAIM_UNSURE,    /* granted, but late: asks before it is believed */
    LK__CLAIM_HELD,      /* valid until its deadline */
    LK__CLAIM_EXPORTED,  /* was held; another client's now: sends nothing */
    LK__CLAIM_LOST,      /* was held; the handles still have to be released */
    LK__CLAIM_RELEASING, /* release is to be sent or under way */
    LK__CLAIM_PASSING,   /* released; the server asks to go on handing over */
    LK__CLAIM_LEAVING,   /* is to leave the queue, or give back a grant */
    LK__CLAIM_DEAD
} lk__claim_state;

/* A caller who waits for the answer to a release. */
typedef struct lk__releaser {
    lk__call call;
    lk__alarm alarm;  /* an async one's time */
    lk__claim *claim; /* NULL once done */
    bool sent;        /* the request has been sent at least once */
    lk_done_cb cb;
    void *data;
} lk__releaser;

/* How a claim fares that is next, and to which nobody will hand over: it is
   told of each change, or looks often. */
typedef struct lk__contest {
    bool is_on;
    bool told;        /* the look under way is because of that */
    unsigned lost;    /* told so often in a row, it came too late */
    uint64_t since;   /* 0: it never was in one */
    uint64_t told_at; /* last; 0: never */
    uint64_t held_ns; /* from the one before to that */
} lk__contest;

/* What a claim that is not granted yet needs, in memory of its own. */
typedef struct lk__seeking {
    lk__claim *claim;
    lk__request look;                 /* acquire, re-check or confirm */
    lk__wait *first_seat, *last_seat; /* whom it seeks for, unless common */
    lk__spin spin;
    uint64_t spin_ms;  /* the present limit of a pause */
    uint64_t ticket;   /* 0: not known yet */
    uint64_t bound;    /* a grant cannot have been made before this time;
                           known with the ticket */
    unsigned refusals; /* in a row that may pass; see the node's refusal */
    unsigned looks;    /* sent so far, acquires included */
    lk__contest contest;
    lk__claim *next_back, *prev_back; /* in the client's pace, if held back */
} lk__seeking;

/* What one needs that is handed over locally, or shared: see claim_pass.c. */
typedef struct lk__passing {
    lk__claim *claim;
    lk__request ask;      /* who waits at the server */
    unsigned passes;      /* since the grant */
    uint64_t asked_at;    /* last; 0: never */
    uint64_t alone_until; /* so long nobody waits remotely, as far as known */
} lk__passing;

/* And one that is being released, or leaves. */
typedef struct lk__closing {
    lk__claim *claim;
    lk__request request; /* release, leave or pass */
    unsigned failures;   /* refusals in a row */
    lk__tempo tempo;     /* of passing on */
} lk__closing;

/* What few claims have, in memory of its own. */
typedef struct lk__extra {
    lk__terms terms;
    char *beside;         /* the other claim of its owner's; NULL: none */
    char *reason;         /* NULL: none */
    uint64_t replicas;    /* that are known to have it, */
    uint64_t replicas_by; /* by a count on this connection of the lane */
} lk__extra;

/* A client may have very many: what most do not need is made when it is needed. */
struct lk__claim {
    lk__claim *next, *prev; /* in the place; held ones come first */
    lk__entry entry;        /* by its number */
    struct lk__place *place;
    unsigned refs; /* alive, each handle, each request and batch under way */
    uint8_t state; /* an lk__claim_state */
    uint8_t line;  /* an lk__line */
    bool watchdog; /* its lease is renewed; read without the monitor */
    _Atomic bool is_denied; /* its last renewal was; read so, too */
    unsigned renew_failures;
    _Atomic uint8_t loss; /* an lk_loss; set before lost_at; read so, too */

    bool was_held : 1; /* or is; such ones come first */

    /* Wanted and queued. */
    bool is_near : 1;   /* its member says that its messages come by the place's
                           own channel; said by its first acquire for good */
    bool queueable : 1; /* the acquire under way asks for a ticket */
    bool unqueued : 1;  /* it cannot, but would; see the place's count */
    bool in_doubt : 1;  /* an acquire may have run, unanswered */
    bool doubted : 1;   /* one was, at any time */
    bool opened : 1;    /* told to look, while a look was under way */
    bool signaled : 1;  /* has popped a signal, and not been answered since */
    bool held_back : 1; /* stays in the client's pace */

    /* Held. */
    bool confirmed : 1;  /* it has its own lease, not that of a pushed grant */
    bool renewing : 1;   /* in a batch that is due or under way */
    bool is_mixed : 1;   /* its lease may be in other keys than its mode says */
    bool is_apart : 1;   /* it has its own to its end, as the server said */
    bool is_due : 1;     /* on the list of its node */
    bool late : 1;       /* and counted as such */
    bool unanswered : 1; /* the last renewal had no answer */

    /* Being released. */
    bool valid_at_release : 1;
    bool release_unanswered : 1; /* a release before this one may have run */

    uint64_t nonce;  /* known to the server and to this client alone */
    lk__alarm alarm; /* next look; or next of renewal, notice, deadline */

    /* Each only while it is needed; else NULL. */
    lk__seeking *seek;
    lk__passing *pass;
    lk__closing *close;
    lk__extra *extra; /* to its end, once it is there */

    /* Held. */
    uint64_t fence;       /* of the grant; what the server knows it by */
    uint64_t local_fence; /* of the present local owner: fence to top_fence */
    uint64_t top_fence;   /* the highest that is reserved */
    uint64_t lease_ms;
    uint64_t granted_at;
    uint64_t server_until; /* the latest time to which it may be kept there */
    uint64_t asked_ms;     /* the longest lease the server was asked for */
    _Atomic uint64_t leased_until; /* as far as its lease goes; read without the
                                      monitor, as the next four */
    /* As far as its server was believed when it was heard to know it, and is in
       this reign, if that lasts; NULL: it is under none. */
    _Atomic uint64_t believed_until;
    lk__trust *_Atomic trust;
    _Atomic uint64_t reign;
    _Atomic uint64_t lost_at; /* 0: not lost */
    uint64_t turn;            /* the server that knew it last; see node.h */
    union {
        uint64_t renew_at;   /* HELD; LK__NEVER: not to be renewed */
        uint64_t give_up_at; /* RELEASING to LEAVING: then it is gone anyway */
    };
    uint64_t kept_at; /* when its record was made to last, while the inbox stood
                         that stands now, or one before; 0: it is not */
    lk__claim *next_due, *prev_due;
    uint64_t late_at;    /* not renewed by then, it is late; 0: it is not due */
    lk_hold *first_hold; /* handles on it */
    lk__releaser *releaser; /* being released; NULL: nobody waits for that */
};

/* Its id, "<client>:<number>", as it stands in Redis. It lasts until
   LK__QUESTION_IDS more were asked for. Inside the monitor. */
const char *lk__claim_id(const lk__claim *claim);

/* What it asks for beyond a lease: nothing, where it has no extra. */
const lk__terms *lk__claim_terms(const lk__claim *claim);

/* Its extra, which is made if there is none; NULL: out of memory. */
lk__extra *lk__claim_extra(lk__claim *claim);

/* Its nonce, as it stands in Redis. */
enum { LK__NONCE_SIZE = 17 };
const char *lk__claim_nonce(const lk__claim *claim, char text[LK__NONCE_SIZE]);

/* A new claim of this place, WANTED, with the lease that the wait wants; NULL: out
   of memory. */
lk__claim *lk__claim_new(struct lk__place *place, const struct lk__wait *wait);

lk__claim *lk__claim_ref(lk__claim *claim);
void lk__claim_unref(lk__claim *claim);

/* Finds a claim of this client by its number. */
lk__claim *lk__claim_find(const lk_client *client, uint64_t number);

/* Sends what the state wants and the connection can take. */
void lk__claim_drive(lk__claim *claim);

/* Nobody wants it any more: leaves the queue, gives back a late grant. */
void lk__claim_leave(lk__claim *claim);

/*
 * Hands a HELD claim whose last handle has ended to the next local wait,
 * without a word to the server. False: it has to be released there.
 */
bool lk__claim_pass(lk__claim *claim);

/* Somebody waits locally for a HELD claim: sees to it that passing it on can
   be decided at the release. */
void lk__claim_prepare_pass(lk__claim *claim, uint64_t now);

/* Tells whether the claim may go to this wait when it is released. */
bool lk__claim_suits(const lk__claim *claim, const struct lk__wait *wait,
                     uint64_t now);

/* Tells whether a wait may share this claim, which it then does; sees to it
   that the server is asked whether that will do next time as well. */
bool lk__claim_may_join(lk__claim *claim, const struct lk__wait *wait);

/* An acquire, a look or a confirm is under way. */
bool lk__claim_is_looking(const lk__claim *claim);

/* WANTED, QUEUED or UNSURE. */
bool lk__claim_is_seeking(const lk__claim *claim);

/* Valid, and this owner has a handle on it. */
bool lk__claim_is_owned_by(const lk__claim *claim, uint64_t owner);

/* Has a QUEUED claim look now, by itself. */
void lk__claim_look_now(lk__claim *claim);

/* The same, since an answer says no more than that it should: more slowly, if
   that goes on. */
void lk__claim_ask_again(lk__claim *claim);

/* The same, and once more if a look is under way. */
void lk__claim_look_again(lk__claim *claim);

/* The same, since a message that anybody may have sent says so: more slowly, if that
   goes on. */
void lk__claim_hinted(lk__claim *claim);

/* The server was heard to say "still queued, ticket k" to what was sent then. */
void lk__claim_still_queued(lk__claim *claim, uint64_t sent_at);

/* The server said that what a holdless claim waits for has happened. */
void lk__claim_settle(lk__claim *claim);

/* Begins to release it; the releaser may be NULL. HELD or LOST. */
void lk__claim_release(lk__claim *claim, lk__releaser *releaser);

/* The last handle of a LOST claim has ended: releases what the server may keep
   for it still. One that was revoked it does keep, until then. */
void lk__claim_end_lost(lk__claim *claim);

/* The releaser's time is over; the claim goes on being released. */
void lk__releaser_end(lk__releaser *releaser);

/* Loses a HELD claim whose deadline has passed, before its alarm does so. */
bool lk__claim_expire(lk__claim *claim);

/* It is no longer held: tells everybody who has a handle. HELD only. */
void lk__claim_lose(lk__claim *claim, lk_loss loss);

/* Its renewal was denied, in the server's words. */
void lk__claim_denied(lk__claim *claim, const char *words);

/* What a script's code for "not the holder" says of the loss. */
lk_loss lk__claim_loss_of(int64_t code);

/* Has a HELD claim looked after at once, by a renewal that is sent from now on. */
void lk__claim_renew_soon(lk__claim *claim);

/* What was sent then has kept it whole, while this inbox stood; 0: none. */
void lk__claim_kept(lk__claim *claim, uint64_t sent_at, uint64_t inbox_at);

/* The server is asked to keep it for so long: it may do so, unanswered. */
void lk__claim_asked(lk__claim *claim, uint64_t now, uint64_t lease_ms);

/* The node's server has answered that it knows a HELD claim: this one is believed
   for it from now on, unless its deadline has passed already. */
void lk__claim_confirm(lk__claim *claim);

/* A reign of its node begins: a HELD claim that the process knew last, and that is
   valid, is under it. Or it ends, or the claim leaves the node: it is valid as far
   as that went. */
void lk__claim_believe(lk__claim *claim);
void lk__claim_believe_no_more(lk__claim *claim);

/* The end of its lease, or of belief in its server, whichever is first. Needs no
   monitor. */
uint64_t lk__claim_deadline(const lk__claim *claim);

/* The server has lengthened the lease of a HELD claim: confirms it, and moves
   the deadline on if the server may do that now. */
void lk__claim_prolong(lk__claim *claim, uint64_t deadline);

/* For how long a keep that was sent then keeps a HELD claim, of the lease that it
   asked for. Less than that: nobody believes in it for longer from now on. */
uint64_t lk__claim_kept_ms(lk__claim *claim,
                           const struct lk__keep_answer *answer,
                           uint64_t sent_at, uint64_t asked_ms);

/* Makes a FOREIGN claim HELD by this handle: one that was held before, by
   another client. Its id and fence are set. */
void lk__claim_hold_imported(lk__claim *claim, lk_hold *hold, uint64_t owner,
                             uint64_t deadline);

/* A grant was pushed to the inbox for it. */
void lk__claim_grant(lk__claim *claim, uint64_t ticket, uint64_t fence,
                     uint64_t top_fence, uint64_t lease_ms);

/* A signal of this place was popped that nobody here uses: pushes it again if
   the name is still free. */
void lk__claim_signal(struct lk__place *place);

/* More may come in than the server let in at once, and nobody here waits who would
   look again: goes on handing over, unless something does so already. */
void lk__claim_hand_on(struct lk__place *place);

/* A WANTED claim has a signal in its hands: it tries, or if it may not try now,
   passes it on. */
void lk__claim_signaled(lk__claim *claim);

/* Releases what the server believes a claim of ours holds, unknown here. */
void lk__claim_give_back(struct lk__place *place, uint64_t number,
                         uint64_t fence);

/* There was room when this was sent: it looks as soon as an answer that may be
   older has come; a millisecond later if others may take it as well. */
void lk__claim_opened(lk__claim *claim);

/* QUEUED and in a contest: the key has changed, so it looks. */
void lk__claim_told(lk__claim *claim);

/* Sets the alarm of a HELD claim to what comes next. */
void lk__claim_arm(lk__claim *claim);

/*
 * A HELD claim without handles is another client's from now on. It is known
 * until its lease has ended: a grant of it that is still on its way would else
 * be that of an unknown claim, and be given back.
 */
void lk__claim_export(lk__claim *claim);

/* The client is shut down: a HELD claim is released and told as lost. */
void lk__claim_shut(lk__claim *claim);

/* Ends it without another word to the server. */
void lk__claim_kill(lk__claim *claim);

/* The same for the last end: whoever waits for its release is told. */
void lk__claim_abandon(lk__claim *claim);

bool lk__claim_is_valid(const lk__claim *claim);

/* The same for a caller that has read the clock. */
bool lk__claim_is_valid_at(const lk__claim *claim, uint64_t now);

/*
 * Of one that was granted, while somebody has a reference, without the monitor:
 * whether it is lost or its deadline has passed, and if so why and when. They
 * do not know of a release.
 */
bool lk__claim_is_over(const lk__claim *claim, uint64_t now);
lk_loss lk__claim_loss(const lk__claim *claim);
uint64_t lk__claim_over_at(const lk__claim *claim);

#endif /* LK_CLAIMS_CLAIM_H */
