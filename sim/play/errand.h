/* SPDX-License-Identifier: MIT */
#ifndef SIM_PLAY_ERRAND_H
#define SIM_PLAY_ERRAND_H

#include "play/run.h"

/* The rounds of actors that hold nothing: one call, or one and what follows from
   it. What they are answered goes into the history, which judges it. */
void sim_errand_latch(sim_actor *actor);
void sim_errand_barrier(sim_actor *actor);
void sim_errand_plain(sim_actor *actor);

/* Of latches whose time is over before anybody has counted enough: none opens. */
void sim_errand_timed(sim_actor *actor);

/* Terms of an election, as somebody sees them that does not campaign. */
void sim_errand_observer(sim_actor *actor);

/* The same, judged by what is known of values; see known.h. */
void sim_errand_cell(sim_actor *actor);
void sim_errand_flight(sim_actor *actor);

/* What has landed can be had for so long, and a dead leader is waited for. */
enum { SIM_FLIGHT_TTL_MS = 700, SIM_FLIGHT_LEASE_MS = 400 };

/* As long as nothing happens to it: its network lets it have each answer in a
   command's time; and renew in time, too. */
bool sim_flight_is_answered(const sim_actor *actor);
bool sim_flight_is_calm(const sim_actor *actor);

/* It computes no more: its client ends. */
void sim_flight_leave(sim_actor *actor);

#endif /* SIM_PLAY_ERRAND_H */
