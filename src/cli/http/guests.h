/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_HTTP_GUESTS_H
#define LK_CLI_HTTP_GUESTS_H

#include <stdint.h>

#include "cli/http/http.h"

/*
 * The connections of the HTTP server, and how long each is at what has to end: the
 * head of a request, an answer, an event. Each of these has CLI_HTTP_LATE_S. The
 * caller has a lock on all of it.
 */

enum { CLI_HTTP_LATE_S = 8 };

typedef struct cli_guests {
    struct cli_guest {
        const void *connection; /* NULL: there is none */
        int fd;
        int64_t since; /* INT64_MAX: it has nothing to do */
    } all[CLI_HTTP_CONNECTIONS];
} cli_guests;

/* One comes, and goes, before its descriptor is closed. No more come than there is
   room for. One that the system cannot send to for six seconds is cut by it. */
void cli_guests_enter(cli_guests *guests, const void *connection, int fd);
void cli_guests_leave(cli_guests *guests, const void *connection);

/* It begins something else; or has nothing to do. */
void cli_guests_begin(cli_guests *guests, const void *connection);
void cli_guests_rest(cli_guests *guests, const void *connection);

/* Shuts down those that are late. */
void cli_guests_cut(const cli_guests *guests);

#endif /* LK_CLI_HTTP_GUESTS_H */
