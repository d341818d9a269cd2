/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_SEE_SPANS_H
#define LK_CLI_SEE_SPANS_H

#include "cli/see/sums.h"

/*
 * How long holds and waits took, from one look to the next. Zero at the start.
 * One that was in the last look and is not in this one has ended between the
 * two: in the middle, as far as anybody knows. One that began and ended between
 * two looks is not seen at all.
 */
typedef struct see_span {
    char *name, *owner;
    uint64_t fence; /* 0 of a wait */
    lk_kind kind;
    uint64_t since_ms; /* on the looks' clock */
} see_span;

typedef struct see_spans {
    see_span *items; /* in order once they were taken up */
    size_t count, room;
    uint64_t looked_ms;
} see_spans;

/* Notes what a look saw of a party. False: no memory. */
bool see_spans_add(see_spans *seen, const char *name, lk_kind kind,
                   const lk_party *party, uint64_t now_ms);

/* Upper ends of what is counted, in seconds; the last one is without an end. */
enum { SEE_TIMES = 12 };
extern const double see_times_ends[SEE_TIMES - 1];

/* Counts of times, by kind. */
typedef struct see_times {
    uint64_t counts[SEE_KINDS][SEE_TIMES]; /* each only of its own step */
    double sums[SEE_KINDS];                /* in seconds */
} see_times;

/*
 * Takes up what a look saw in the place of what there was, and counts what has
 * ended since. blind: names that were not looked at this time, in order; of
 * these nothing is known, and nothing is counted.
 */
void see_spans_turn(see_spans *spans, see_spans *seen, uint64_t now_ms,
                    const char *const *blind, size_t blind_count,
                    see_times *times);

void see_spans_done(see_spans *spans);

/* Writes a histogram as Prometheus has it. */
void see_put_times(FILE *to, const see_times *times, const char *metric,
                   const char *help);

#endif /* LK_CLI_SEE_SPANS_H */
