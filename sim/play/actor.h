/* SPDX-License-Identifier: MIT */
#ifndef SIM_PLAY_ACTOR_H
#define SIM_PLAY_ACTOR_H

#include "play/run.h"

/*
 * An actor asks, has, and gives back, again and again, by async calls alone;
 * only an import sleeps. What it does between is drawn from its own
 * randomness, so that it does the same whatever else is left out of the run.
 */

void sim_actor_init(sim_actor *actor, sim_run *run, const sim_item *item);

/* For errands: a call begins, that waits for so long; it has ended, and true: its
   end is of no use any more; the round is over; the story. */
void sim_actor_calls(sim_actor *actor, int64_t wait_ms);
bool sim_actor_called(sim_actor *actor, const char *call, lk_status status);
void sim_actor_rests(sim_actor *actor);

/* A blocking call begins in that client, and has ended. All that happens meanwhile
   happens within it, so it does not return before those that began later. */
void sim_actor_sleeps(sim_actor *actor, sim_client *client);
void sim_actor_wakes(sim_actor *actor);

/* It does that after a while, as if it held something. */
void sim_actor_goes_on(sim_actor *actor, void (*next)(sim_actor *actor));
void sim_actor_says(const sim_actor *actor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Its client is open: it begins. */
void sim_actor_begin(sim_actor *actor);

/* Whether its wait has a ticket of the server's queue. */
bool sim_actor_is_queued(const sim_actor *actor);

/* The client ends, or is dead: the actor does nothing more in it. What it holds
   there is given back for its memory. */
void sim_actor_leave(sim_actor *actor, const sim_client *client);

#endif /* SIM_PLAY_ACTOR_H */
