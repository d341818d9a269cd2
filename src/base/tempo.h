/* SPDX-License-Identifier: MIT */
#ifndef LK_BASE_TEMPO_H
#define LK_BASE_TEMPO_H

#include <stdint.h>

/*
 * How fast a question is asked again when all that its answer says is to ask
 * once more. A server in order says so a few times in a row, and is asked at
 * once. One that goes on with it is asked ever more slowly, four times a second
 * at last. Begin with zeros.
 */
typedef struct lk__tempo {
    unsigned count; /* of such answers, with no pause of a second between */
    uint64_t last;  /* when the last one came */
    uint64_t until; /* nothing is asked before that; 0: no such time */
} lk__tempo;

/* Such an answer has come. */
void lk__tempo_again(lk__tempo *tempo, uint64_t now);

/*
 * What anybody may cause: ten times at once, and then ten times a second. Counts this
 * time, and returns when it may be: now, or later. Begin with 0.
 */
uint64_t lk__tempo_hint(uint64_t *next, uint64_t now);

#endif /* LK_BASE_TEMPO_H */
