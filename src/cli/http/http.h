/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_HTTP_H
#define LK_CLI_HTTP_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A small HTTP server, read-only, on a thread of its own: `metrics --listen` and
 * `serve`. It answers GET and HEAD of a few paths with what was last published
 * for them, and looks at nothing itself: a reader that is slow, or one of many,
 * costs the thread that looks at the Redis server nothing.
 *
 * Bounds: CLI_HTTP_CONNECTIONS at a time, CLI_HTTP_STREAMS of these streams of
 * events; a connection is cut after 10 s at most whose request is not there
 * as a whole, that has not taken its answer or an event, or that is gone; a request
 * has a head of a few KiB. On a loopback address only requests are answered whose
 * Host is that of this machine: a page elsewhere whose name leads here sees
 * nothing.
 */

enum { CLI_HTTP_CONNECTIONS = 32, CLI_HTTP_STREAMS = 12 };

struct cli;

/* Where it listens. */
typedef struct cli_http_place {
    char address[64]; /* numeric, as inet_pton() reads it; without brackets */
    unsigned short port; /* 0: one that is free */
    bool is_local;       /* a loopback address */
} cli_http_place;

/* Reads [ADDR:]PORT, an IPv6 address in brackets; 127.0.0.1 if none is said,
   and for localhost. False: it is neither. */
bool cli_http_place_read(const char *text, cli_http_place *ret_place);

/* Whether a Host header names this machine's loopback, or the address on which the
   tool listens. NULL: there is none. */
bool cli_http_host_is_local(const char *host, const char *address);

typedef enum cli_http_kind {
    CLI_HTTP_TEXT,  /* what was published last */
    CLI_HTTP_PAGE,  /* a page that never changes. Each @NONCE@ in it becomes the
                       word of its Content-Security-Policy */
    CLI_HTTP_EVENTS /* a stream: each that is published, the newest at once */
} cli_http_kind;

typedef struct cli_http_page {
    const char *path;
    cli_http_kind kind;
    const char *type; /* Content-Type */
    const char *text; /* of a CLI_HTTP_PAGE; borrowed */
} cli_http_page;

typedef struct cli_http cli_http;

/*
 * Begins to listen. pages are borrowed and end with a path of NULL; no more than
 * one of them is published for. 0, or the exit code having complained, also
 * where the tool was built without an HTTP server, or its library is missing.
 * The thread has the caller's signal mask.
 */
int cli_http_open(const struct cli *c, const cli_http_place *place,
                  const cli_http_page *pages, cli_http **ret_http);

/* Which port it is. */
unsigned short cli_http_port(const cli_http *http);

/* What is answered from now on. Takes text, which came from malloc(). Before
   the first time a CLI_HTTP_TEXT is 503. False: no memory; text is freed. */
bool cli_http_publish(cli_http *http, char *text, size_t size);

/* Ends all connections. NULL is allowed. */
void cli_http_close(cli_http *http);

#endif /* LK_CLI_HTTP_H */
