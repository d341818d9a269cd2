/* SPDX-License-Identifier: MIT */
#ifndef LK_BENCH_CLUSTER_WALK_H
#define LK_BENCH_CLUSTER_WALK_H

/*
 * A cluster that runs, with so many names: what another client of its masters
 * notices while a process lists all names again and again. In turns: alone, beside
 * a process that only computes, and beside the lists, so that a busy minute falls
 * on all, and what the processors cost is told apart from what the masters do.
 */
void walk_show(unsigned masters, unsigned names);

#endif /* LK_BENCH_CLUSTER_WALK_H */
