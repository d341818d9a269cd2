/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_DUE_H
#define LK_CLAIMS_DUE_H

#include "claims/claim.h"

struct lk__node;

/* The holds of a node's names that are to be renewed now, and how many batches of
   them may be under way. */
typedef struct lk__due {
    lk__claim *first, *last; /* the first has been due for the longest */
    size_t count;
    unsigned batches;
    uint64_t room;    /* for so many, as far as the server keeps up */
    uint64_t took_ns; /* the last batch that was answered */
} lk__due;

/* Puts one at the end; the reference is the list's. */
void lk__due_add(lk__due *due, lk__claim *claim);

/* Takes one off the list; its reference goes along. */
void lk__due_take(lk__due *due, lk__claim *claim);

/* The same without renewing it. */
void lk__due_drop(lk__due *due, lk__claim *claim);

/* A batch was answered, after so long. */
void lk__due_note(struct lk__node *node, uint64_t took_ns);

/* How many batches may be under way now. Something is due. */
uint64_t lk__due_most(const struct lk__node *node);

#endif /* LK_CLAIMS_DUE_H */
