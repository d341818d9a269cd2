/* SPDX-License-Identifier: MIT */
#ifndef SIM_PLAY_CLIENT_H
#define SIM_PLAY_CLIENT_H

#include "play/run.h"

/* A client's life: it is opened when its time comes, and ends by death or by
   shutdown. */
void sim_client_init(sim_client *client, sim_run *run, const sim_item *item,
                     unsigned number);

/* Its process vanishes now. half_open: the server is not told. */
void sim_client_kill(sim_client *client, bool half_open);

/* Begins to end it in good order. */
void sim_client_shut(sim_client *client);

/* Gives its memory back, once it is shut. */
void sim_client_done(sim_client *client);

#endif /* SIM_PLAY_CLIENT_H */
