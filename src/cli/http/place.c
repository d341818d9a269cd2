/* SPDX-License-Identifier: MIT */

/* Where to listen, and which names this machine has for itself. */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/http/http.h"

/* One to five digits. */
static bool port_read(const char *text, unsigned short *ret_port)
{
    size_t digits = strspn(text, "0123456789");
    unsigned long port;

    if (digits == 0 || digits > 5 || text[digits] != '\0')
        return false;
    port = strtoul(text, NULL, 10);
    *ret_port = (unsigned short)port;
    return port <= UINT16_MAX;
}

/* False: it is no address. */
static bool address_judge(cli_http_place *place)
{
    struct in_addr four;
    struct in6_addr six;

    if (inet_pton(AF_INET, place->address, &four) == 1)
        place->is_local = ntohl(four.s_addr) >> 24 == IN_LOOPBACKNET;
    else if (inet_pton(AF_INET6, place->address, &six) == 1)
        place->is_local = IN6_IS_ADDR_LOOPBACK(&six);
    else
        return false;
    return true;
}

bool cli_http_place_read(const char *text, cli_http_place *ret_place)
{
    const char *colon = strrchr(text, ':');
    cli_http_place place = {.address = "127.0.0.1"};
    size_t size = colon != NULL ? (size_t)(colon - text) : 0;

    if (!port_read(colon != NULL ? colon + 1 : text, &place.port) ||
        (colon != NULL && size == 0) || size >= sizeof(place.address))
        return false;
    if (size > 2 && text[0] == '[' && text[size - 1] == ']')
        (void)snprintf(place.address, sizeof(place.address), "%.*s",
                       (int)(size - 2), text + 1);
    else if (memchr(text, ':', size) != NULL)
        return false;
    else if (size > 0 && (size != 9 || strncmp(text, "localhost", size) != 0))
        (void)snprintf(place.address, sizeof(place.address), "%.*s", (int)size,
                       text);
    if (!address_judge(&place))
        return false;
    *ret_place = place;
    return true;
}

/* The port of a Host is the tool's or that of a tunnel to it: any. */
static bool is_port_or_end(const char *text)
{
    unsigned short port;

    return text[0] == '\0' || (text[0] == ':' && port_read(text + 1, &port));
}

bool cli_http_host_is_local(const char *host, const char *address)
{
    const char *const names[] = {"localhost", "127.0.0.1", "[::1]", address};

    for (size_t i = 0; host != NULL && i < sizeof(names) / sizeof(names[0]);
         i++) {
        size_t size = strlen(names[i]);

        if (strncasecmp(host, names[i], size) == 0 &&
            is_port_or_end(host + size))
            return true;
    }
    return false;
}
