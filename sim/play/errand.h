/* SPDX-License-Identifier: MIT */
#ifndef SIM_PLAY_ERRAND_H
#define SIM_PLAY_ERRAND_H

#include "play/run.h"

/* The rounds of actors that hold nothing: one call, or one and what follows from
   it. What they are answered goes into the history, which judges it. */
void sim_errand_latch(sim_actor *actor);
void sim_errand_plain(sim_actor *actor);

#endif /* SIM_PLAY_ERRAND_H */
