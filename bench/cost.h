/* SPDX-License-Identifier: MIT */
#ifndef LK_BENCH_COST_H
#define LK_BENCH_COST_H

#include <stdint.h>

#include "subject.h"

/* What the measurements of the primitives have in common. */

/* ---- one thread that acquires and releases what nobody else wants ---- */

typedef struct cycle {
    double per_s;
    double server_us; /* processor time of the server for one */
    double commands;
} cycle;

cycle cycle_measure(subject_kind kind, uint64_t ns);

/* ---- processes that all want one name ---- */

typedef struct crowd {
    double per_s;
    double server_us;
    double commands;          /* calls of scripts for a hold */
    double smallest, largest; /* share of a process, 1 being the mean */
} crowd;

crowd crowd_measure(subject_kind kind, unsigned processes, unsigned threads,
                    uint64_t ns);

/* ---- processes that wait for a fair lock that is held all the time ---- */

typedef struct queue_cost {
    double server_percent; /* of one processor */
    double looks;          /* calls of scripts in a second */
} queue_cost;

queue_cost queue_measure(unsigned processes, unsigned waits, uint64_t ns);

#endif /* LK_BENCH_COST_H */
