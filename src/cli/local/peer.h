/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_PEER_H
#define LK_CLI_PEER_H

/*
 * What listens at an address where no Redis answers. It is asked over a
 * connection of its own, which takes four seconds at most.
 */

typedef enum cli_peer {
    CLI_PEER_UNKNOWN,
    CLI_PEER_AWAY,   /* no connection is to be had */
    CLI_PEER_SILENT, /* it takes a connection and does not answer */
    CLI_PEER_TLS,
    CLI_PEER_HTTP
} cli_peer;

/* What is known before. */
typedef enum cli_peer_hint {
    CLI_PEER_NOTHING, /* nor whether the name of its host can be looked up */
    CLI_PEER_TAKES,   /* it takes connections */
    CLI_PEER_ANSWERS  /* it says something, or closes */
} cli_peer_hint;

/* server: as lk_url_describe() writes it. A unix socket's is not known. */
cli_peer cli_peer_find(const char *server, cli_peer_hint hint);

#endif /* LK_CLI_PEER_H */
