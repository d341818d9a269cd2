/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_FAULT_CREW_H
#define LK_SIM_FAULT_CREW_H

#include <sys/types.h>

#include "fault/play.h"
#include "support/cluster.h"
#include "support/proxy.h"
#include "support/sentinels.h"

/*
 * A Sentinel group or a cluster, three servers for the lock over several, and eight
 * processes that want the names of play.h. Two of them can be made to stand still.
 * Three more reach the sentinels, and only those, through a network of their own that
 * can be cut: they do not hear of a failover, while the old master still answers
 * them.
 */

enum { CREW = 8, CREW_STILL = 2, CREW_DEAF = 3, CREW_URL = 256 };

typedef struct crew {
    const char *directory; /* of the histories; borrowed */
    sentinels *group;      /* or */
    cluster *ring;         /* the other one is NULL */
    char url[CREW_URL];
    server *nodes[PLAY_REDLOCK];
    proxy *roads[SENTINELS];
    play_shared *shared;
    history_log *log;
    pid_t pids[CREW];
    unsigned broken; /* processes that did not come to a good end */
} crew;

/* All but the processes. False: stderr tells why. */
bool crew_open(crew *c, const sentinels_options *options);
/* The same over a cluster of three masters with a replica each, of which one can be
   cut off unless LK_TEST_TLS is set. */
bool crew_open_ring(crew *c);
/* The processes; more: the URL's options. */
bool crew_hire(crew *c, const char *more);
/* Has the processes come to their end, which they are given time for. */
void crew_finish(crew *c);
void crew_close(crew *c);

/* They know nothing of a failover while they stand still. When they go on they
   have to know what they hold no more. */
void crew_stand_still(crew *c);
void crew_go_on(crew *c);

/* No answer of a sentinel comes through, nor a new connection. */
void crew_deafen(crew *c);
void crew_heal(crew *c);

#endif /* LK_SIM_FAULT_CREW_H */
