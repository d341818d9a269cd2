/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_FLOW_H
#define LK_TESTS_SUPPORT_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One direction of one connection of the proxy: what came from the source and
 * what has gone to the target. It knows no lock; the proxy guards it. Both
 * descriptors are the proxy's and do not block.
 */

typedef enum flow_state {
    FLOW_PASSES = 0,
    FLOW_STALLS,  /* reads nothing, gives nothing */
    FLOW_HOLDS,   /* reads and keeps */
    FLOW_SWALLOWS /* reads and throws away */
} flow_state;

typedef struct flow_chunk flow_chunk;

/* All zero but cut_left is a flow at its beginning. */
typedef struct flow {
    flow_state state;
    unsigned delay_ms;
    int64_t cut_left; /* bytes until the cut; negative: none */
    flow_chunk *first;
    flow_chunk *last;
    size_t queued; /* bytes in the chunks */
    uint64_t received;
    uint64_t delivered;
    uint64_t end_due;    /* when the source's end may be passed on */
    bool has_lost;       /* bytes of the middle of the stream */
    bool is_source_done; /* nothing more will come */
    bool is_target_gone; /* what comes is thrown away */
    bool is_ended;       /* FLOW_ENDED was said, which happens once */
} flow;

/* What the connection must do after flow_give(). */
typedef enum flow_verdict {
    FLOW_GOES_ON = 0,
    FLOW_CUT,  /* close both sides */
    FLOW_ENDED /* all was given and the source is done */
} flow_verdict;

/* Tells whether it waits for bytes of its source. */
bool flow_wants_source(const flow *f);
/* Takes what there is, at most once. */
void flow_take(flow *f, int source, uint64_t now);
/* Gives what is due. */
flow_verdict flow_give(flow *f, int target, uint64_t now);
/* When it has something to give, perhaps in the past; UINT64_MAX: nothing. */
uint64_t flow_due(const flow *f);
/* What it keeps of a delay is due now. */
void flow_hasten(flow *f);
/* Throws away what it keeps. */
void flow_clear(flow *f);

#endif /* LK_TESTS_SUPPORT_FLOW_H */
