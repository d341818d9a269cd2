/* SPDX-License-Identifier: MIT */
#ifndef SIM_PLAY_ACTOR_H
#define SIM_PLAY_ACTOR_H

#include "play/art.h"
#include "play/run.h"

/* A call may end so much later than it has to, by its client's clock: the time
   of an answer. What a stop of the process adds is counted apart. */
enum { SIM_LATE_MS = 100 };

/*
 * An actor asks, has, and gives back, again and again, by async calls alone;
 * only an import sleeps. What it does between is drawn from its own
 * randomness, so that it does the same whatever else is left out of the run.
 */

void sim_actor_init(sim_actor *actor, sim_run *run, const sim_item *item);

/* Its primitive, and whether its plan lets it do that. */
const sim_art *sim_actor_art(const sim_actor *actor);
bool sim_actor_can(const sim_actor *actor, sim_skill skill);

/* It does that in so many nanoseconds. */
void sim_actor_later(sim_actor *actor, uint64_t ns,
                     void (*next)(sim_actor *actor));

/* A while of most ms milliseconds, mostly shorter, now and then none at all; in
   nanoseconds. */
uint64_t sim_actor_while(sim_actor *actor, uint64_t ms);

/* The same after a call that may have slept, and after a while of most ms
   milliseconds; if the client in which it is died meanwhile, the round is over. */
void sim_actor_wakes_to(sim_actor *actor, uint64_t ms,
                        void (*next)(sim_actor *actor));

/* It takes its next step with what it holds, or gives it back. */
void sim_actor_holds_on(sim_actor *actor);

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
