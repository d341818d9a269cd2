/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_FAULT_NEMESIS_H
#define LK_SIM_FAULT_NEMESIS_H

#include "fault/stage.h"

/*
 * What is done to a stage, drawn from its seed: to a process, to a network, to
 * the server, to the servers of the lock over several, each by itself. Every
 * fault is written into the history, and ends.
 */

enum { NEMESIS_CLASSES = 34 };

typedef struct nemesis_count {
    const char *name;
    uint64_t times;
} nemesis_count;

/* Until then; all faults are over when it returns. False: the stage is broken.
   counts: added to. */
bool nemesis_play(stage *s, uint64_t until, nemesis_count *counts);

/* Their names, in the order of counts. */
void nemesis_names(nemesis_count *counts);

#endif /* LK_SIM_FAULT_NEMESIS_H */
