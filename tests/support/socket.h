/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_SOCKET_H
#define LK_TESTS_SUPPORT_SOCKET_H

#include <stdint.h>

/*
 * Stream sockets for tests. All are closed on exec and do not block. Each
 * returns a descriptor, or -1 with errno set.
 */

/* A socket file that is in the way is removed. */
int socket_listen_unix(const char *path);
/* On 127.0.0.1. A port of 0 is replaced by the free one that was taken. */
int socket_listen_tcp(uint16_t *port);
/* Fails at once when nobody listens or too many wait to be accepted. */
int socket_connect_unix(const char *path);
/* To 127.0.0.1. */
int socket_connect_tcp(uint16_t port);

/* A port of 127.0.0.1 that was free a moment ago; 0 on failure. */
uint16_t socket_free_port(void);
/* The same, and the port so far above it was free as well. */
uint16_t socket_free_port_pair(uint16_t above);

/* Takes a port for as long as the descriptor is open: nobody is given it, but a
   server that asks for this one, with SO_REUSEADDR, has it, now and again. */
int socket_reserve_tcp(uint16_t port);

#endif /* LK_TESTS_SUPPORT_SOCKET_H */
