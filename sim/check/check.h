/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_CHECK_CHECK_H
#define LK_SIM_CHECK_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "check/history.h"

/*
 * Tells whether a history keeps what the library promises.
 *
 * A hold is believed from the return of its acquire until the first of: its
 * release begins, its holder is told of its loss, or the last deadline that it
 * had is over. A check that said OK at some time proves that it was believed
 * until then. An outcome that is not known claims nothing.
 *
 * An extension that is under way may have been made, and so may one whose
 * outcome is not known: its holder may then believe for as long as was asked
 * for, counted from the end of the call at the latest, and the server may keep
 * the hold for as long. That it was made is known of one that answered OK
 * alone.
 *
 * Events are fed in the order of their times. What is kept is what is under
 * way: open calls and holds, names and processes.
 */

/* What must hold. Bits, also of the count of a HISTORY_FAULT. */
typedef enum checker_rule {
    CHECKER_EXCLUSION = 1 << 0, /* who may hold together; permits */
    CHECKER_FENCES = 1 << 1,    /* they grow; a late one is refused */
    CHECKER_ORDER = 1 << 2,    /* nobody is overtaken, where that is promised */
    CHECKER_COUNTS = 1 << 3,   /* latches and permits add up */
    CHECKER_LEASES = 1 << 4,   /* none lasts longer than it was named */
    CHECKER_LOSS = 1 << 5,     /* the owner of a lost hold is told */
    CHECKER_LIVENESS = 1 << 6, /* what is free is had, what is open is passed */
    CHECKER_DEADLINES = 1 << 7, /* calls return in time */
    CHECKER_REST = 1 << 8,      /* nothing is left */
    CHECKER_FORM = 1 << 9,      /* the history is one */
    CHECKER_ALL = (1 << 10) - 1,
    /* What holds whatever the server forgets, though not if its clock goes
       back as well. */
    CHECKER_OUTSIDE =
        CHECKER_FENCES | CHECKER_LOSS | CHECKER_DEADLINES | CHECKER_FORM
} checker_rule;

typedef struct checker_options {
    unsigned rules;      /* checker_rule; 0: CHECKER_ALL */
    uint64_t late_ns;    /* so much later than its deadline may a call return,
                            and look at the clock after it was written down */
    uint64_t told_ns;    /* and a loss be told */
    uint64_t granted_ns; /* within so long somebody who waits has what is free,
                            or has passed a latch that is open */
    uint64_t answer_ns;  /* an answer is under way for less than that: a shorter
                            lease may be over before anybody hears of it */
    uint64_t permits;    /* of each semaphore, where no HISTORY_RESIZE says */
} checker_options;

enum { CHECKER_EVENTS = 3, CHECKER_WORDS = 200, CHECKER_LISTED = 100 };

typedef struct checker_violation {
    checker_rule rule;
    const char *name; /* "two owners"; static */
    char words[CHECKER_WORDS];
    history_event events[CHECKER_EVENTS]; /* those that make it, by time */
    size_t event_count;
} checker_violation;

typedef struct checker checker;

/* NULL: no memory. */
checker *checker_new(const checker_options *options);
void checker_free(checker *c);

/* False: no memory; nothing that follows means anything. */
bool checker_feed(checker *c, const history_event *event);

/* A key was found after everybody had ended, and it has no TTL. */
void checker_left(checker *c, const char *key);

/* No event comes any more; the history went on until at. */
void checker_end(checker *c, uint64_t at);

/* Violations so far, the first CHECKER_LISTED of them; total: all of them.
   They are the checker's, and stay where they are. */
const checker_violation *
checker_violations(const checker *c, size_t *ret_listed, uint64_t *ret_total);

/* The longest that two holds were believed together that exclude each other. */
uint64_t checker_together_ns(const checker *c);

#endif /* LK_SIM_CHECK_CHECK_H */
