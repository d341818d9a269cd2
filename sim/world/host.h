/* SPDX-License-Identifier: MIT */
#ifndef SIM_WORLD_HOST_H
#define SIM_WORLD_HOST_H

#include "server/server.h"
#include "world/stream.h"

enum { SIM_HEARD = 32 };

/* A message that was published, as a subscriber got it. */
typedef struct sim_message {
    char channel[96];
    char text[512];
} sim_message;

/* The machine of a server: its clock, whether it runs, and its streams' ends.
   It is called h<number>. */
typedef struct sim_host {
    sim_peer peer; /* first */
    char name[8];
    sim_clock clock; /* wall clock */
    sim_server *server;
    sim_event tick;               /* of what waits in it */
    bool down;                    /* connections are refused */
    sim_message heard[SIM_HEARD]; /* the last ones */
    unsigned heard_count;
    bool deaf;         /* what is said now nobody says again */
    unsigned denied;   /* so many commands are */
    bool killed_other; /* by its id, a client ended a connection of another */
    sim_session *stranger; /* a connection of somebody else; NULL: none yet */
} sim_host;

void sim_host_init(sim_host *host, sim_schedule *schedule, sim_engine *engine,
                   unsigned number, uint64_t seed);
void sim_host_done(sim_host *host);

/* Something was done to the server: what waits in it is looked at again. */
void sim_host_touched(sim_host *host);

/* Stops the server's process for so long. */
void sim_host_stop(sim_host *host, uint64_t ns);

/* Publishes a message as somebody else who may. What is heard of it others say
   again, unless the host is deaf. */
void sim_host_publish(sim_host *host, const char *channel, const char *text);

#endif /* SIM_WORLD_HOST_H */
