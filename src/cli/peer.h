/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_PEER_H
#define LK_CLI_PEER_H

#include <stdbool.h>

/*
 * What listens at an address where no Redis answers. It is asked over a
 * connection of its own, which takes a second or two at most.
 */

typedef enum cli_peer {
    CLI_PEER_UNKNOWN,
    CLI_PEER_AWAY,   /* no connection is to be had */
    CLI_PEER_SILENT, /* it takes a connection and does not answer */
    CLI_PEER_TLS,
    CLI_PEER_HTTP
} cli_peer;

/* server: as lk_url_describe() writes it. A unix socket's is not known, nor that
   of a host with a name, if names may not be looked up. */
cli_peer cli_peer_find(const char *server, bool may_look_up);

#endif /* LK_CLI_PEER_H */
