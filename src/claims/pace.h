/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_PACE_H
#define LK_CLAIMS_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct lk__claim;
struct lk__node;

/*
 * How fast new acquires leave: a client must not take more than a server can
 * keep alive for it. While a renewal is late, and while more commands are under
 * way than the server answers within a twelfth of the watchdog's lease, or of
 * LK__BELIEF_MS in a cluster, claims that were not asked for yet stay here, in the
 * order in which they came; the time limits of their waits run on.
 *
 * A renewal is late when an eighth of the time from when it was due to the
 * deadline has passed without an answer: of an ordinary hold more than half of
 * the lease is left then. One that is refused is not late: the server answered.
 */
typedef struct lk__pace {
    struct lk__claim *first, *last; /* held back */
    struct lk__claim *let;          /* is let go now */
    uint64_t late;                  /* holds whose renewal is late */
    uint64_t told_at;               /* when the log was last told */
    bool told;                      /* that acquires are held back */
} lk__pace;

/* Whether this WANTED claim has to stay; it seeks again when it may go. */
bool lk__pace_holds_back(struct lk__claim *claim);

/* Lets those go that may. */
void lk__pace_go(struct lk__node *node);

/* The claim does not want to be asked for any more. */
void lk__pace_drop(struct lk__claim *claim);

/* A claim that is held is to be renewed: notes by when that has to be done. */
void lk__pace_due(struct lk__claim *claim);

/* Notes that it is late, if it is so. */
void lk__pace_look(struct lk__claim *claim, uint64_t now);

/* It was renewed or refused, or is held no more. */
void lk__pace_done(struct lk__claim *claim);

#endif /* LK_CLAIMS_PACE_H */
