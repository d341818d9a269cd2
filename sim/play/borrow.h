/* SPDX-License-Identifier: MIT */
#ifndef SIM_PLAY_BORROW_H
#define SIM_PLAY_BORROW_H

#include "play/art.h"

/*
 * What an actor has exported, another client of its may borrow until somebody
 * imports it. Then it is told, within the lease, that the hold is lost. It goes
 * on renewing under the old fence until then, and gives back under the old fence
 * whenever it likes: nothing of it may reach the new owner's hold.
 *
 * Borrowers are not in the history.
 */

/* Borrows the actor's text there, for as long as it likes. */
void sim_borrow(sim_actor *actor, sim_client *client, const sim_art *art);

/* Somebody begins to import a text of the actor's; has imported this one. */
void sim_borrow_ends(sim_actor *actor);
void sim_borrow_ended(sim_actor *actor, const char *text);

/* Gives it back, if there is something. */
void sim_borrow_give_back(sim_actor *actor);

/* The client ends, or is dead. */
void sim_borrow_leave(sim_actor *actor, const sim_client *client);

/* Looks whether what is borrowed is believed still, and may be. */
void sim_borrow_judge(sim_run *run);

/* The lease that a text asks for, in ns. */
uint64_t sim_text_lease(const char *text);

#endif /* SIM_PLAY_BORROW_H */
