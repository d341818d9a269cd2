/* SPDX-License-Identifier: MIT */
#ifndef SIM_PLAY_HANDING_H
#define SIM_PLAY_HANDING_H

#include "play/run.h"

/* How an actor hands its hold on to another client. */

/* Exports, and imports after a while. False: it keeps its hold. */
bool sim_actor_exports(sim_actor *actor);

/* The same text once more, elsewhere: it has to be worth nothing. */
void sim_actor_imports_again(sim_actor *actor);

#endif /* SIM_PLAY_HANDING_H */
