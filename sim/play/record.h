/* SPDX-License-Identifier: MIT */
#ifndef SIM_PLAY_RECORD_H
#define SIM_PLAY_RECORD_H

#include "check/check.h"
#include "play/run.h"

/*
 * The run's history, handed to the checker of histories as it happens; what that
 * finds is a violation. Times are true times; a dead client says nothing.
 */

void sim_record_begin(sim_run *run);
void sim_record_end(sim_run *run);

/* A call begins, in a client; hold: of which it is, or NULL. The answer to its
   wait is due by then; 0: at no time. Returns the call's id. */
uint64_t sim_record_invoke(const sim_actor *actor, sim_client *client,
                           history_call call, const sim_grip *hold,
                           uint64_t deadline, uint64_t lease_ms);

/* It has ended. hold: what was had, or what it was of; NULL: none. */
void sim_record_return(const sim_actor *actor, sim_client *client,
                       history_call call, uint64_t operation, lk_status status,
                       const sim_grip *hold, uint64_t lease_ms);

/* The same of what is no hold: an actor's call of a latch or a plain semaphore.
   Returns the call's id. */
uint64_t sim_record_ask(const sim_actor *actor, history_call call,
                        uint64_t count, uint64_t deadline);
void sim_record_answer(const sim_actor *actor, history_call call,
                       uint64_t operation, lk_status status, uint64_t count);

/* What was written with a fence: accepted, or not. */
void sim_record_written(const sim_actor *actor, const sim_change *write,
                        uint64_t operation, lk_status status);

/* A look at a hold said that it is valid. */
void sim_record_checked(const sim_grip *grip);

/* Its holder was told of its loss. */
void sim_record_lost(const sim_grip *grip);

/* Its wait stands in the server's queue. */
void sim_record_queued(const sim_actor *actor);

void sim_record_died(sim_client *client);

/* Something is done to a client, or with NULL to all; or that is over. rules:
   what is not claimed meanwhile. */
void sim_record_fault(sim_run *run, const sim_client *client, unsigned rules,
                      bool over);

#endif /* SIM_PLAY_RECORD_H */
