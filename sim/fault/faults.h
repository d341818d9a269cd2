/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_FAULT_FAULTS_H
#define LK_SIM_FAULT_FAULTS_H

#include "fault/nemesis.h"

/*
 * The inside of the nemesis: faults.c knows what may be done, nemesis.c when.
 * The tracks go on at once, in each of them one fault after the other.
 */

typedef enum fault_track {
    PROCESSES,
    NETWORKS,
    SERVER,
    NODES,
    TRACKS
} fault_track;

typedef struct nemesis nemesis;
typedef struct fault fault;

typedef struct fault_class {
    const char *name;
    fault_track track;
    unsigned rules; /* that it breaks, besides being a disturbance */
    /* NULL: it is over at once. */
    void (*begin)(nemesis *n, fault *f);
    void (*end)(nemesis *n, fault *f);
} fault_class;

/* One that is under way in its track. */
struct fault {
    const fault_class *class; /* NULL: none */
    unsigned target;
    uint64_t next_at; /* its end, or the next one's begin */
    uint32_t process; /* that it is done to; 0: all */
    uint64_t key;
    bool gone; /* its process has been killed meanwhile */
};

struct nemesis {
    stage *stage;
    play_random random;
    fault faults[TRACKS];
    nemesis_count *counts;
    bool clock_went_back, data_lost, broken;
    uint64_t node_forgot_at;
};

extern const fault_class fault_classes[NEMESIS_CLASSES];

/* A fence goes back where the data are lost and the clock is behind: that is
   where its promise ends, and what is not done in one round. */
bool fault_is_too_much(const nemesis *n, const fault_class *class);

/* What it is done to is no more: nothing of it is written but the death. */
bool fault_is_death(const fault_class *class);

/* Ends it, and writes that down. */
void fault_end(nemesis *n, fault *f);

#endif /* LK_SIM_FAULT_FAULTS_H */
