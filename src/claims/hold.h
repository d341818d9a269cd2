/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_HOLD_H
#define LK_CLAIMS_HOLD_H

#include <latchkey/hold.h>

#include <stdatomic.h>

#include "claims/claim.h"
#include "claims/hold_class.h"

/*
 * A handle on a claim that is held: one for each acquire, re-entries included.
 * It pins the claim's memory, so that a check needs neither lock nor lookup.
 */
struct lk_hold {
    const lk__hold_class *class; /* first, as in every hold */
    lk_client *client;
    lk__claim *claim; /* NULL until bound, and once ended */
    lk_hold *next;    /* of the same claim */
    uint64_t fence;
    uint64_t owner;            /* who acquired */
    struct lk__notice *notice; /* NULL: nobody wants to hear of its loss */
    struct lk__timed *timed;   /* NULL: it has no descriptor */
    atomic_uint refs; /* the user's, and a call's that waits for its callback */
    bool inner;       /* what is posted for it is */
    bool turned;      /* the kind's, for its shed */
};

/* What a handle has whose user wants to hear of its loss. */
typedef struct lk__notice {
    lk__post post;
    lk_hold *hold;
    lk_lost_cb cb; /* NULL: not any more */
    void *data;
    uint64_t before_ns; /* the end; 0: only of the loss */
    bool noticed;       /* it was posted for the present deadline */
} lk__notice;

/* What a handle has that has a descriptor: a timer of the kernel's. */
typedef struct lk__timed {
    lk_hold *hold;
    struct lk__timed *next, *prev; /* in the client */
    int fd;
} lk__timed;

extern const lk__hold_class lk__claim_hold_class;

/* A handle that is not bound yet; NULL: out of memory. */
lk_hold *lk__hold_new(lk_client *client);

/* Frees a handle that is not bound, unless a call still waits for its callback:
   then that does. Not inside the monitor. */
void lk__hold_discard(lk_hold *hold);

/*
 * Takes a callback that is due back, and waits for the end of one that runs in
 * another thread. False: that one has ended the hold, which stays readable until
 * the caller discards it, too. Inside the monitor.
 */
bool lk__hold_unpost(lk_hold *hold);

/* What a call answers then. */
lk_status lk__hold_ended(void);

/* Gives its claim back, if it has one still. Inside the monitor. */
void lk__hold_unclaim(lk_hold *hold);

/* Releases a bound one in the background: never waits, nor fails. Not inside the
   monitor. */
void lk__hold_drop(lk_hold *hold);

/* Inside the monitor. */
void lk__hold_bind(lk_hold *hold, lk__claim *claim, uint64_t owner);

/* Inside the monitor; it keeps its claim. */
void lk__hold_unbind(lk_hold *hold);

/* When the first notice is due; LK__NEVER: none. */
uint64_t lk__holds_notice_at(const lk__claim *claim);

/* Posts the notices that are due. */
void lk__holds_notice(lk__claim *claim, uint64_t now);

/* The deadline has moved; and with it the end of the lease. */
void lk__holds_moved(const lk__claim *claim);
void lk__holds_renewed(lk__claim *claim);

/* The same of all handles with a timer of the kernel's. */
void lk__holds_time(const lk_client *client);

/* Posts its callback, if it has one. */
void lk__hold_tell(lk_hold *hold);

/* The claim is lost: posts the callbacks, makes the descriptors readable. */
void lk__holds_tell_lost(lk__claim *claim);

const char *lk__loss_text(lk_loss loss);

/* Its descriptor is of no hold any more, and stays readable. Inside the monitor. */
void lk__hold_unlist(lk_hold *hold);

/* Frees what it was told by. */
void lk__hold_tell_no_more(lk_hold *hold);

/* See lk_hold_on_lost(), lk_hold_fd(), lk_hold_extend() and its async one. */
lk_status
lk__hold_on_lost(lk_hold *hold, uint64_t notice_ms, lk_lost_cb cb, void *data);
int lk__hold_fd(lk_hold *hold);
lk_status lk__hold_extend(lk_hold *hold, uint64_t lease_ms);
lk_status lk__hold_extend_async(lk_hold *hold, uint64_t lease_ms, lk_done_cb cb,
                                void *data);

#endif /* LK_CLAIMS_HOLD_H */
