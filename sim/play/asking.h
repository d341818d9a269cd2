/* SPDX-License-Identifier: MIT */
#ifndef SIM_PLAY_ASKING_H
#define SIM_PLAY_ASKING_H

#include "play/run.h"

/* How an actor asks for what it wants to hold. */

/* Draws what it wants next. */
void sim_actor_draws(sim_actor *actor);

/* Asks for it; what becomes of it goes on by itself. */
void sim_actor_asks(sim_actor *actor);

#endif /* SIM_PLAY_ASKING_H */
