/* SPDX-License-Identifier: MIT */
#ifndef LK_SERVER_REDIRECT_H
#define LK_SERVER_REDIRECT_H

#include <hiredis/hiredis.h>

#include "base/slot.h"
#include "server/endpoint.h"

/* What a node of a cluster says in place of an answer. Nothing was done, but for
   LK__REDIRECT_FOREIGN. */
typedef enum lk__redirect_kind {
    LK__REDIRECT_NONE,       /* something else, or no error */
    LK__REDIRECT_MOVED,      /* the slot is served there from now on */
    LK__REDIRECT_ASK,        /* this one request goes there, behind an ASKING */
    LK__REDIRECT_TRYAGAIN,   /* the slot moves, and some of its keys have */
    LK__REDIRECT_DOWN,       /* it serves nobody now, or not this slot */
    LK__REDIRECT_MASTERDOWN, /* a replica that has lost its master */
    LK__REDIRECT_CROSSSLOT,  /* the keys are of several slots */
    LK__REDIRECT_FOREIGN,    /* a script touched a key that is not there; what
                                it did before has been done */
    LK__REDIRECT_BAD /* to nowhere, or of a slot that was not asked for */
} lk__redirect_kind;

typedef struct lk__redirect {
    lk__redirect_kind kind;
    unsigned slot; /* of MOVED and ASK, and where to */
    lk__endpoint to;
} lk__redirect;

/*
 * Reads an answer. slot: of the request; LK__SLOTS: it has none. asked: the host
 * at which the node was reached, which is what it means where it names none.
 */
void lk__redirect_read(lk__redirect *ret_redirect, const redisReply *reply,
                       unsigned slot, const char *asked);

#endif /* LK_SERVER_REDIRECT_H */
