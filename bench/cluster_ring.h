/* SPDX-License-Identifier: MIT */
#ifndef LK_BENCH_CLUSTER_RING_H
#define LK_BENCH_CLUSTER_RING_H

#include <stdint.h>

#include <hiredis/hiredis.h>

/*
 * A private cluster of masters without replicas, which share all slots, on free
 * ports of 127.0.0.1. It ends with the process that started it, or when it is
 * stopped. One at a time. What must not fail ends the process.
 */

enum { RING_MOST = 8 };

void ring_start(unsigned masters);
void ring_stop(void);

/* "redis+cluster://..." of all masters. */
const char *ring_url(void);

/* A connection to a master, the caller's. */
redisContext *ring_connect(unsigned master);

/* What a master has done and has, of INFO. Memory in bytes. */
typedef struct ring_look {
    uint64_t at;
    uint64_t scripts, script_us; /* calls of EVALSHA and EVAL */
    uint64_t maps, map_us;       /* CLUSTER SLOTS */
    uint64_t sent;               /* bytes to clients and other nodes */
    uint64_t busy_ns;            /* processor time */
    uint64_t memory, keys, clients;
    uint64_t bus_messages; /* PUBLISH that went to the other nodes */
} ring_look;

ring_look ring_see(unsigned master);

/* What the masters have done between two looks, and have at the second. */
ring_look ring_between(const ring_look *a, const ring_look *b);

#endif /* LK_BENCH_CLUSTER_RING_H */
