/* SPDX-License-Identifier: MIT */
#ifndef LK_SERVER_ENDPOINT_H
#define LK_SERVER_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a server is, as another server says. */
typedef struct lk__endpoint {
    char host[256]; /* a name or a number; IPv6 without brackets */
    uint16_t port;  /* never 0 */
} lk__endpoint;

/* Whether these bytes can be a host. What it would be for TLS to prove a name
   that begins with a dot: any that ends so. */
bool lk__is_host(const char *bytes, size_t size);

/*
 * Notes a host and a port. A server that does not know the host says nothing or
 * "?", and means the one that it is reached at: asked. False: they are none.
 */
bool lk__endpoint_note(lk__endpoint *ret_endpoint, const char *host,
                       size_t size, uint64_t port, const char *asked);

bool lk__endpoint_same(const lk__endpoint *a, const lk__endpoint *b);

#endif /* LK_SERVER_ENDPOINT_H */
