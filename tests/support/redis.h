/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_REDIS_H
#define LK_TESTS_SUPPORT_REDIS_H

#include <stdarg.h>
#include <stdbool.h>

#include <hiredis/hiredis.h>

/*
 * One kept connection to a Redis server, for what a test wants to see or
 * change behind the library's back. It connects on first use and again when
 * the server was started again, or when a forked child uses it, which gets a
 * connection of its own. Threads may share it; commands run one by one.
 *
 * A connection that cannot be had or breaks under a command, or an answer
 * later than 10 s (scaled) fails the running test; in a forked child it aborts
 * the child. Formats are hiredis's: %s, %b (pointer and size_t), %d, %lld.
 */

typedef struct redis redis;

/* path is a unix socket, copied. NULL when out of memory. */
redis *redis_new(const char *path);
void redis_free(redis *r);

/* Before a connection that is not there ends the test: what else is known. */
void redis_on_break(redis *r, void (*tell)(void *data), void *data);

/* Closes the connection; the next command opens another. */
void redis_drop(redis *r);

/* The reply; NULL: there is none, and the connection is closed. Fails no test. */
redisReply *redis_vask(redis *r, const char *format, va_list args);

/* Tells whether the server answers PING now. Fails no test. */
bool redis_ping(redis *r);

/* The reply, never NULL, error replies too; freed by freeReplyObject(). */
redisReply *redis_vcommand(redis *r, const char *format, va_list args);
/* Any other kind of reply fails the test. */
long long redis_vinteger(redis *r, const char *format, va_list args);
/* A string or a status, freed by free(), NULL for nil. Else as above. */
char *redis_vstring(redis *r, const char *format, va_list args);

#endif /* LK_TESTS_SUPPORT_REDIS_H */
