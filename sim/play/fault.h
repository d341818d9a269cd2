/* SPDX-License-Identifier: MIT */
#ifndef SIM_PLAY_FAULT_H
#define SIM_PLAY_FAULT_H

#include "play/run.h"

/* One fault of a run. */
struct sim_fault {
    sim_run *run;
    const sim_fault_plan *plan;
    sim_event event; /* its begin, then its end */
    bool begun;
    sim_event calm; /* what it has left is over */
    sim_snapshot *snapshot;
};

/*
 * One sort of fault. Outside of the model, which docs/guarantees.md tells,
 * exclusion may break; what holds then is that nothing is lost in silence, and
 * that fences grow.
 */
typedef struct sim_fault_class {
    const char *word;
    bool outside;
    bool restarts;        /* another process of the server comes */
    bool of_client;       /* else of the server, and so of everybody */
    unsigned weight;      /* how often it is drawn */
    uint64_t least, most; /* milliseconds that it lasts */
    void (*happen)(sim_run *run, sim_fault *fault);
    void (*end)(sim_run *run, sim_fault *fault); /* NULL: by itself, or never */
} sim_fault_class;

extern const sim_fault_class sim_fault_classes[];
extern const unsigned sim_fault_class_count;

unsigned sim_fault_class_find(const char *word);

void sim_fault_init(sim_fault *fault, sim_run *run, const sim_item *item);
void sim_fault_done(sim_fault *fault);

#endif /* SIM_PLAY_FAULT_H */
