/* SPDX-License-Identifier: MIT */

/* Connections that are slow, or gone; see guests.h. */

#include "cli/http/guests.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/socket.h>

#include "cli/clock.h"

enum { GONE_MS = 6000 };

/* Of NULL: room for one. */
static struct cli_guest *find(cli_guests *guests, const void *connection)
{
    for (size_t i = 0; i < CLI_HTTP_CONNECTIONS; i++) {
        if (guests->all[i].connection == connection)
            return &guests->all[i];
    }
    return NULL;
}

void cli_guests_enter(cli_guests *guests, const void *connection, int fd)
{
    static const unsigned gone_ms = GONE_MS;
    struct cli_guest *guest = find(guests, NULL);

    if (guest == NULL)
        return;
    *guest = (struct cli_guest){connection, fd, cli_now_ns()};
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &gone_ms,
                     sizeof(gone_ms));
}

void cli_guests_leave(cli_guests *guests, const void *connection)
{
    struct cli_guest *guest = find(guests, connection);

    if (guest != NULL)
        guest->connection = NULL;
}

static void since(cli_guests *guests, const void *connection, int64_t at)
{
    struct cli_guest *guest = find(guests, connection);

    if (guest != NULL)
        guest->since = at;
}

void cli_guests_begin(cli_guests *guests, const void *connection)
{
    since(guests, connection, cli_now_ns());
}

void cli_guests_rest(cli_guests *guests, const void *connection)
{
    since(guests, connection, INT64_MAX);
}

void cli_guests_cut(const cli_guests *guests)
{
    int64_t late =
        cli_now_ns() - INT64_C(1000) * CLI_HTTP_LATE_S * CLI_NS_PER_MS;

    for (size_t i = 0; i < CLI_HTTP_CONNECTIONS; i++) {
        const struct cli_guest *guest = &guests->all[i];

        if (guest->connection != NULL && guest->since <= late)
            (void)shutdown(guest->fd, SHUT_RDWR);
    }
}
