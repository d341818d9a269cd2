/* SPDX-License-Identifier: MIT */
#ifndef SIM_PLAY_JUDGE_H
#define SIM_PLAY_JUDGE_H

#include "play/run.h"

/*
 * Whether what is held at one moment may be held together. A hold counts as
 * long as its holder would believe in it if it looked: lk_hold_check() answers
 * LK_OK by its process' clock, though the process may be stopped; it has not
 * begun to give it back; it lives.
 */

/* A hold was had. */
void sim_judge_granted(sim_grip *grip);

/* Its holder does not count on it any more. */
void sim_judge_ended(sim_grip *grip);

/* Looks at all that is believed under a name, or under every one. */
void sim_judge_name(sim_run *run, sim_name *name);
void sim_judge_all(sim_run *run);

/* An answer, with what the call was. */
void sim_judge_status(sim_actor *actor, const char *call, lk_status status);

/* Whether its holder would believe in it. */
bool sim_grip_is_valid(const sim_grip *grip);

#endif /* SIM_PLAY_JUDGE_H */
