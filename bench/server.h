/* SPDX-License-Identifier: MIT */
#ifndef LK_BENCH_SERVER_H
#define LK_BENCH_SERVER_H

#include <stdint.h>

#include <hiredis/hiredis.h>

/*
 * One private redis-server on a unix socket in a directory of its own. It
 * ends with the process that started it.
 */

void server_start(void);

const char *server_url(void);

/* cpu may be ANY_CPU. */
void server_pin(int cpu);

/* Blocking connections for the bare side of a comparison, and for questions. */
redisContext *server_connect(void);
/* A command whose answer is not looked at; dies on an error. */
void server_do(redisContext *redis, const char *format, ...);

/* Processor time the server has used. */
uint64_t server_busy_ns(redisContext *redis);
/* How often it was taken from its processor before it had finished. */
uint64_t server_preempted(void);
/* Scripts called, in either way, and the time the server spent in them. */
typedef struct script_stats {
    uint64_t calls, us;
} script_stats;

script_stats server_scripts(redisContext *redis);

#endif /* LK_BENCH_SERVER_H */
