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
void server_stop(void);

const char *server_socket(void);
const char *server_url(void);

/* cpu may be ANY_CPU. */
void server_pin(int cpu);

/* Blocking connections for the bare side of a comparison, and for questions. */
redisContext *server_connect(void);
/* A command whose answer is not looked at; dies on an error. */
void server_do(redisContext *redis, const char *format, ...);

/* Processor time the server has used. */
uint64_t server_busy_ns(redisContext *redis);
/* How often scripts were called, in either way. */
uint64_t server_script_calls(redisContext *redis);

#endif /* LK_BENCH_SERVER_H */
