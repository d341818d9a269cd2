/* SPDX-License-Identifier: MIT */
#ifndef SIM_PLAY_FORGE_H
#define SIM_PLAY_FORGE_H

#include "play/run.h"

/* Has somebody who may publish say a message that nobody should believe: one
   that was said before, as it was or changed, or a grant that fits a waiter but
   for one word. */
void sim_forge(sim_run *run, sim_host *host, uint64_t random);

#endif /* SIM_PLAY_FORGE_H */
