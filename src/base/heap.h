/* SPDX-License-Identifier: MIT */
#ifndef LK_BASE_HEAP_H
#define LK_BASE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Timers in the order of their times: a pairing heap whose links lie in the
 * timers, so that nothing here allocates or fails. Put a lk__timer into your
 * struct and find the struct from it. Zeroed memory is an empty heap and a
 * timer that is not set. Neither may be copied while in use.
 */
typedef struct lk__timer {
    uint64_t at; /* when it is due; read only */
    /* Private. */
    struct lk__timer *child; /* first of those that are due no sooner */
    struct lk__timer *next;  /* sibling to the right */
    struct lk__timer *prev; /* sibling to the left; parent for the first; itself
                                for the root; NULL: it is not set */
} lk__timer;

typedef struct lk__heap {
    lk__timer *first; /* due soonest; NULL: empty */
} lk__heap;

/* Sets the timer, or moves it if it is set already. */
void lk__timer_set(lk__heap *heap, lk__timer *timer, uint64_t at);

bool lk__timer_is_set(const lk__timer *timer);

/* Takes the timer out. Nothing happens if it is not set. */
void lk__timer_clear(lk__heap *heap, lk__timer *timer);

/* Returns the timer that is due soonest, still set; NULL: there is none. */
lk__timer *lk__heap_first(const lk__heap *heap);

/* Takes out and returns the soonest timer if it is due; NULL: none is. */
lk__timer *lk__heap_take_due(lk__heap *heap, uint64_t now);

#endif /* LK_BASE_HEAP_H */
