/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_CLAIM_PRIVATE_H
#define LK_CLAIMS_CLAIM_PRIVATE_H

#include "claims/claim.h"
#include "claims/place.h"
#include "claims/protocol.h"

/*
 * A claim is written in files, one per stretch of its life: seeking
 * (claim_seek.c, and what is answered then: claim_answer.c), holding
 * (claim_hold.c, claim_pass.c), closing (claim_close.c). This is what they tell
 * each other.
 */

#define LK__MS UINT64_C(1000000)

/* A claim with a number that was drawn before, which never seeks. NULL: out of
   memory. */
lk__claim *lk__claim_new_numbered(lk__place *place, uint64_t number);

/* Of one that is HELD now, frees what it needed till then, unless an answer is still
   under way: then that does. */
void lk__claim_end_seeking(lk__claim *claim);

/* Puts a claim that is held from now on before those that seek. */
void lk__claim_held_first(lk__claim *claim);

/* Sends the acquire, re-check or confirm that the state asks for. */
void lk__claim_seek(lk__claim *claim);

/* A signal that it has in its hands goes to somebody else. */
void lk__claim_pass_signal(lk__claim *claim);

/* What an acquire or a look was answered, and a confirm; or why not. Of a claim
   that seeks. */
void lk__claim_take_answer(lk__claim *claim, const redisReply *reply);
void lk__claim_take_confirmation(lk__claim *claim, const redisReply *reply);
void lk__claim_refused(lk__claim *claim, lk_status status,
                       const redisReply *reply);

/* What the server may have of it is given back, and its wait ends so; with LK_OK
   another one takes its place. words: the server's, or NULL. */
void lk__claim_give_up(lk__claim *claim, lk_status status, const char *words);

/* It looks again, or tries, after so long. */
void lk__claim_look_after(lk__claim *claim, uint64_t ms);

/* It tries again and again, and never queues. */
bool lk__claim_is_spinning(const lk__claim *claim);

/* Sends the release, leave or pass that the state asks for. */
void lk__claim_close(lk__claim *claim);

typedef enum lk__grant_how {
    LK__GRANT_ANSWERED, /* for its lease */
    LK__GRANT_FOUND, /* answered, for less than its lease: it is kept at once */
    LK__GRANT_PUSHED /* for the claim lease: it is kept soon */
} lk__grant_how;

/*
 * The claim, whose fences are set, owns the name and is believed until the
 * deadline: HELD, or given back if nobody wants it.
 */
void lk__claim_hold(lk__claim *claim, uint64_t deadline, lk__grant_how how);

/* Notes the fence of a grant and the range that came with it. */
void lk__claim_set_fence(lk__claim *claim, uint64_t fence, uint64_t top_fence);

/* The alarm of a HELD, and of a WANTED or QUEUED claim. */
void lk__claim_on_hold_alarm(lk__claim *claim);
void lk__claim_on_seek_alarm(lk__claim *claim);

/* Keeps the claim's memory while a request is under way, or not any more. NULL,
   a question that could not be written, is LK_ENOMEM. */
lk_status lk__claim_send(lk__claim *claim, lk__request *request,
                         const lk__question *question);
void lk__claim_answered(lk__claim *claim);

#endif /* LK_CLAIMS_CLAIM_PRIVATE_H */
