/* SPDX-License-Identifier: MIT */
#ifndef SIM_PLAY_SHRINK_H
#define SIM_PLAY_SHRINK_H

#include "play/run.h"

/*
 * Makes a plan that fails smaller, as long as it fails: fewer faults, actors
 * and clients, fewer rounds, fewer skills. Returns how many runs that took; 0:
 * it does not fail.
 */
unsigned sim_shrink(sim_plan *plan, sim_engine *engine);

/*
 * What was changed of the plan that the seed stands for, as text for
 * sim_plan_edit(): "3-" leaves item 3 out, "4:2/17" gives actor 4 two rounds
 * and the skills 17; with commas between.
 */
void sim_plan_print_edits(const sim_plan *plan, FILE *file);

/* Applies such a text. False: it is not understood. */
bool sim_plan_edit(sim_plan *plan, const char *text);

#endif /* SIM_PLAY_SHRINK_H */
