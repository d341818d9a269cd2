/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_FAULT_FAILOVERS_H
#define LK_SIM_FAULT_FAILOVERS_H

/*
 * fault --failovers N [safe|fast|safe-min|fast-min|restarts|cluster|
 *     cluster-fast] [DIRECTORY]
 *
 * The eight processes of crew.h want the names of play.h, and those of them that
 * sentinels can have at their master, while that changes: N times by SENTINEL
 * FAILOVER, N times by a kill, after which the killed one comes back empty, and N
 * times by a stop of five seconds. Two processes stand still through the first
 * two. Three hear no sentinel from the beginning of each on, until the old master
 * is a replica, or, after a stop, has gone on for some grants. It takes writes
 * meanwhile, and they may believe it for a while. -min: the servers have
 * min-replicas-to-write 1. restarts: N times the master restarts at once and empty,
 * and nothing else happens. N 0: 2, or 20 where LK_LONG is in the environment.
 * cluster: see rings.h; there N 0 is 10.
 *
 * Prints how long it takes from a kill until a client has something that nobody had,
 * and how many overlaps the histories show and how long the longest was; there may be
 * none, nor a fence that is behind another, but with fast. Nor may there be a loss
 * that is not told in time, a call that does not end, or a key that stays. Exit status
 * as of the program.
 */
int failovers_main(int count, char **arguments);

#endif /* LK_SIM_FAULT_FAILOVERS_H */
