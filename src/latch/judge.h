/* SPDX-License-Identifier: MIT */
#ifndef LK_LATCH_JUDGE_H
#define LK_LATCH_JUDGE_H

#include "claims/wait.h"

/*
 * What the server says of a latch, and what that means for one wait. Numbers
 * are generations as in lua/latch/generation.lua: even for one that was armed, odd
 * for the gap before the next.
 *
 * A wait has a mark: what the first answer to a look said that was sent after
 * the wait had begun. It is for the generation of this number or any later one
 * that the wait waits; 0: no answer yet.
 */
typedef struct lk__latch_facts {
    bool open;       /* now */
    uint64_t gen;    /* the present generation, or gap; 0: not told */
    uint64_t opened; /* the last one that opened; 0: none known */
    uint64_t gone;   /* the last that was deleted or whose time ended */
} lk__latch_facts;

/* Nothing that has such a number ever opens. */
bool lk__latch_is_gap(uint64_t number);

/* Judges; notes the mark of a wait that goes on, if gen is told. */
lk__verdict lk__latch_judge_facts(uint64_t *mark, const lk__latch_facts *facts);

/* Judges by the reply of an acquire or a touch, a redisReply. */
lk__verdict lk__latch_judge(uint64_t *mark, const void *reply);

#endif /* LK_LATCH_JUDGE_H */
