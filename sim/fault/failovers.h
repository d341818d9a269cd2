/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_FAULT_FAILOVERS_H
#define LK_SIM_FAULT_FAILOVERS_H

/*
 * fault --failovers N [safe|fast|safe-min|fast-min] [DIRECTORY]
 *
 * Eight processes want the names of play.h, and those of them that sentinels can
 * have at their master, while that changes: N times by SENTINEL FAILOVER and N
 * times by a kill, after which the killed one comes back empty. Half of the
 * processes stand still through each of them. -min: the servers
 * have min-replicas-to-write 1. N 0: 2, or 20 where LK_LONG is in the environment.
 *
 * Prints how long it takes from a kill to the next grant, and how many overlaps
 * the histories show; with safe there may be none. Nor may there be a loss that
 * is not told in time, a stale write that a cell accepts, a call that does not
 * end, or a key that stays. Exit status as of the program.
 */
int failovers_main(int count, char **arguments);

#endif /* LK_SIM_FAULT_FAILOVERS_H */
