/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_FAULT_RINGS_H
#define LK_SIM_FAULT_RINGS_H

#include <stdbool.h>

/*
 * fault --failovers N cluster|cluster-fast [DIRECTORY]
 *
 * The eight processes of crew.h want the names of play.h in a cluster of three
 * masters with a replica each. N masters are replaced, in turn by a kill, by a stop
 * until another one is elected, by cutting one off from all other nodes, which clients
 * reach as before, by CLUSTER FAILOVER, and, while it stands still, by a replica that
 * asks nobody. Before the first and the last
 * of these the replica is told nothing of some grants any more. Two processes stand
 * still through these and the stop. After each second one a slot in use moves to
 * another master, half of them by the master itself where it can (Valkey 9), and after
 * each fourth a master comes, gets two slots in use, and goes.
 *
 * Locks guard cells from their own slot and from another one, and some write into the
 * latter when they have given the lock back; see late.c.
 *
 * Nothing may be found in the histories, and no key may stay; with failover=fast two
 * may hold, and a fence be behind. Prints how long it takes until a client has
 * something that nobody had, of the slot in question.
 */

enum { RINGS_TIMES_MOST = 100 };

int rings_main(unsigned times, bool is_fast, const char *directory);

#endif /* LK_SIM_FAULT_RINGS_H */
