/* SPDX-License-Identifier: MIT */

/* Hosts and ports that servers tell of others. */

#include "server/endpoint.h"

#include <string.h>
#include <strings.h>

bool lk__is_host(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] <= ' ' || bytes[i] > '~')
            return false;
    }
    return size > 0 && size < sizeof(((lk__endpoint *)NULL)->host) &&
           bytes[0] != '.' && bytes[0] != '%';
}

bool lk__endpoint_note(lk__endpoint *ret_endpoint, const char *host,
                       size_t size, uint64_t port, const char *asked)
{
    if (size == 0 || (size == 1 && host[0] == '?')) {
        host = asked;
        size = strlen(asked);
    }
    if (!lk__is_host(host, size) || port == 0 || port > UINT16_MAX)
        return false;
    memcpy(ret_endpoint->host, host, size);
    ret_endpoint->host[size] = '\0';
    ret_endpoint->port = (uint16_t)port;
    return true;
}

bool lk__endpoint_same(const lk__endpoint *a, const lk__endpoint *b)
{
    return a->port == b->port && strcasecmp(a->host, b->host) == 0;
}
