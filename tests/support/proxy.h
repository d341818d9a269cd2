/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_PROXY_H
#define LK_TESTS_SUPPORT_PROXY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A network that can be broken: it listens, and carries the bytes of every
 * connection to a server's unix socket and back, in a thread of its own.
 *
 * Faults are set for one connection, by its number in order of acceptance from
 * 0, or for PROXY_ALL. A connection that does not exist yet may be named:
 * the fault then waits for it. PROXY_ALL means those to come, too. All
 * functions may be called from any thread. What they ask for is in effect
 * when they return.
 *
 * The end of a stream is carried like its bytes: behind them, and not at all
 * while the direction is stalled, held or swallowed. So the server may keep a
 * connection whose client is long gone, and the other way round.
 */

typedef struct proxy proxy;

typedef enum proxy_way {
    PROXY_REQUESTS = 0, /* from the client to the server */
    PROXY_REPLIES = 1   /* from the server to the client */
} proxy_way;

enum {
    PROXY_ALL = -1,
    PROXY_CONNECTIONS = 4096 /* over its life; further ones are refused */
};

/* Listens on a unix socket of its own. NULL on failure, stderr tells why. */
proxy *proxy_start(const char *server_socket);
/* Listens on a free TCP port of 127.0.0.1. */
proxy *proxy_start_tcp(const char *server_socket);
/* The same, and carries to a port of 127.0.0.1 in place of a unix socket. */
proxy *proxy_start_to(uint16_t server_port);
/* Closes every connection. NULL is allowed. */
void proxy_stop(proxy *p);

/* "unix:<path>" or "redis://127.0.0.1:<port>". */
const char *proxy_url(const proxy *p);
const char *proxy_socket(const proxy *p); /* path; "" for TCP */
uint16_t proxy_port(const proxy *p);      /* 0 for a unix socket */

/* ---- faults ---- */

/* Bytes that come from now on are carried ms later. 0: at once. */
void proxy_delay(proxy *p, int which, proxy_way way, unsigned ms);
/* What has come until now passes at once, and no byte of what comes after it. */
void proxy_hasten(proxy *p, int which, proxy_way way);

/*
 * Four states of a direction; each replaces the one before, and passing is
 * the first. Bytes on their way are kept by all but proxy_swallow().
 */
/* Reads nothing more: the sender's buffers fill. */
void proxy_stall(proxy *p, int which, proxy_way way);
/* Takes everything from the sender and keeps it, also beyond its end. */
void proxy_hold(proxy *p, int which, proxy_way way);
/* Takes everything and throws it away. */
void proxy_swallow(proxy *p, int which, proxy_way way);
/* Delivers what is kept, at once, and carries on. */
void proxy_release(proxy *p, int which, proxy_way way);

/*
 * Lets so many bytes pass and closes the connection on both sides as soon as
 * the last is delivered; with 0, when the next byte comes. They are counted
 * from now; on a connection to come, from its beginning. Negative: no cut.
 */
void proxy_cut(proxy *p, int which, proxy_way way, int64_t bytes);

/*
 * Requests pass and are executed; no byte of a reply arrives any more. With
 * then_close the connection ends when the next reply would have begun.
 */
void proxy_drop_replies(proxy *p, int which, bool then_close);

/* Closes open connections on both sides at once; over TCP with a reset. */
void proxy_reset(proxy *p, int which);

/* New connections are refused: nobody listens. */
void proxy_refuse(proxy *p, bool is_on);

/* Ends every fault on every connection, and refusal, in one step. Kept bytes
   pass. A connection that has lost bytes is reset: no TCP would go on with it. */
void proxy_heal(proxy *p);

/* ---- what happened ---- */

/* Connections accepted so far: the number of the next one. */
int proxy_accepted(proxy *p);
/* Connections that are not closed. */
int proxy_open(proxy *p);
/* Bytes taken from the sender, swallowed and kept ones too. */
uint64_t proxy_received(proxy *p, int which, proxy_way way);
/* Bytes given to the receiver. */
uint64_t proxy_delivered(proxy *p, int which, proxy_way way);

/* Wait until there are so many; false when deadline_ms, scaled, passed. */
bool proxy_wait_accepted(proxy *p, int connections, unsigned deadline_ms);
bool proxy_wait_open(proxy *p, int connections, unsigned deadline_ms);
bool proxy_wait_received(proxy *p, int which, proxy_way way, uint64_t bytes,
                         unsigned deadline_ms);

#endif /* LK_TESTS_SUPPORT_PROXY_H */
