/* SPDX-License-Identifier: MIT */
#ifndef SIM_PLAY_HOLDING_H
#define SIM_PLAY_HOLDING_H

#include "play/run.h"

/* What an actor may do with what it holds; each does nothing if it may not. */

void sim_actor_extends(sim_actor *actor);

/* Asks once more for what it has, or for the other mode. False: it does not. */
bool sim_actor_reenters(sim_actor *actor);

void sim_actor_downgrades(sim_actor *actor);

/* Has somebody's hold end, whoever's. */
void sim_actor_revokes(sim_actor *actor);
void sim_actor_forces(sim_actor *actor);

/* Writes what its fence guards. It may give back what it holds before that is
   answered. */
void sim_actor_writes(sim_actor *actor);

#endif /* SIM_PLAY_HOLDING_H */
