/* SPDX-License-Identifier: MIT */
#ifndef SIM_PLAY_CLIENT_H
#define SIM_PLAY_CLIENT_H

#include "play/run.h"

/* The item's clients, one for each server, at the end of the run's. A client's
   life: it is opened when its time comes, and ends by death or by shutdown. */
void sim_clients_add(sim_run *run, const sim_item *item);

/* The client of the same process that talks to this server. */
sim_client *sim_client_to(sim_client *client, unsigned host);

/* Whether it runs just now, and is to. */
bool sim_client_is_there(const sim_client *client);

/* How long they have stood still, all in all; and until when, the last. */
uint64_t sim_client_stood_ns(const sim_client *client);
uint64_t sim_client_stood_to(const sim_client *client);

/* Its process vanishes now, with all its clients. half_open: the server is not told. */
void sim_client_kill(sim_client *client, bool half_open);

/* Begins to end this one in good order. */
void sim_client_shut(sim_client *client);

/* Gives its memory back, once it is shut. */
void sim_client_done(sim_client *client);

#endif /* SIM_PLAY_CLIENT_H */
