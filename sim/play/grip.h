/* SPDX-License-Identifier: MIT */
#ifndef SIM_PLAY_GRIP_H
#define SIM_PLAY_GRIP_H

#include "play/run.h"

/* What an actor holds: up to SIM_GRIPS holds, each in a grip. */

/* The first and the last of its holds; NULL: it has none. */
sim_grip *sim_grip_first(sim_actor *actor);
sim_grip *sim_grip_last(sim_actor *actor);

/* Whether the last one is upgradeable, not lost, and of the owner that asks: an
   import has another. */
bool sim_grip_is_base(sim_actor *actor);

/* It got one, in that client. lease_ms: what it was asked for; 0: it has
   another's. */
void sim_grip_new(sim_actor *actor, sim_client *client, lk_hold *hold,
                  uint64_t owner, uint64_t lease_ms);

/* Nobody is to have what it asked for longer than it asked. An actor that enters
   again has the first hold's lease, and an import the export's. */
void sim_grip_judge_lease(sim_actor *actor, const lk_hold *hold);

/* A holder that has long lost it was told so. */
void sim_grip_judge_loss(const sim_grip *grip);

#endif /* SIM_PLAY_GRIP_H */
