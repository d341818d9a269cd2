/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_VIEW_H
#define LK_CLAIMS_VIEW_H

#include "server/conn.h"
#include "server/slots.h"

struct lk__node;

/* As many nodes as a client has at most, those that went among them. */
enum {
    LK__NODES_MOST = LK__MASTERS_MOST + 24,
    LK__NODES_BYTES = LK__NODES_MOST / 8 /* a bit each */
};

/* What one master of a cluster says of it. */
typedef struct lk__view {
    lk__request request;    /* first */
    struct lk__node *node;  /* whose view it is */
    struct lk__view *next;  /* of those that said something, the one that was */
    struct lk__view *prev;  /* asked last comes first */
    lk__slots *slots;       /* what it said last; NULL: nothing yet */
    struct lk__node **whom; /* the nodes that these are */
    uint64_t asked_at; /* when that question was sent; 0: none was answered */
    uint64_t due_at;   /* the next question */
    uint64_t compared_at; /* it was asked then what was compared; 0: nothing */
    /* By the number of a node: it does not name that one for a slot of its own;
       see lk__view_compare(). */
    unsigned char denies[LK__NODES_BYTES];
} lk__view;

/* NULL: no memory. */
lk__view *lk__view_new(struct lk__node *node);
/* NULL is allowed. */
void lk__view_free(lk__view *view);

/* Whom it names; NULL: nobody, or it has said nothing. */
struct lk__node *lk__view_owner(const lk__view *view, unsigned slot);

/* Takes what it says now, and whom that means; both are owned. */
void lk__view_take(lk__view *view, lk__slots *slots, struct lk__node **whom,
                   uint64_t asked_at);

/* Whether this node is among those whom it names. */
bool lk__view_names(const lk__view *view, const struct lk__node *node);

/* As if it had said nothing yet. */
void lk__view_forget(lk__view *view);

/* Compares it with what is believed, for each slot. Of one that went elsewhere
   after it was asked it says nothing, and to name nobody is not to name another;
   unless whoever has it now is not elected yet: that one it has to name. */
void lk__view_compare(lk__view *view, struct lk__node *const *owners,
                      const uint64_t *changed_at);

/* Whether it does not name this node for a slot of its own. */
bool lk__view_denies(const lk__view *view, const struct lk__node *node);

/* Whether it does so for any. */
bool lk__view_disagrees(const lk__view *view);

#endif /* LK_CLAIMS_VIEW_H */
