/* SPDX-License-Identifier: MIT */

#include "cli/local/peer.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_MS = 2000, HOST_SIZE = 256, PORT_SIZE = 8 };

/* The least that a TLS server answers, if only with an alert. Nothing is kept
   secret by it, so that its random number need not be one. */
static const char hello[] =
    "\26\3\1\0\61"            /* a record: a handshake of 49 bytes */
    "\1\0\0\55\3\3"           /* a ClientHello of 45 bytes, TLS 1.2 */
    "0123456789abcdef"        /* the random number */
    "0123456789abcdef"        /* its other half */
    "\0"                      /* no session */
    "\0\6\300\57\300\53\0\57" /* three ciphers */
    "\1\0";                   /* no compression, no extensions */

static const char question[] = "GET / HTTP/1.0\r\n\r\n";

/* Of "redis://user:***@host:port/0", where the host may stand in brackets. */
static bool
address_read(const char *server, char host[HOST_SIZE], char port[PORT_SIZE])
{
    const char *at = strstr(server, "://");
    const char *end, *user;

    if (at == NULL || strncmp(server, "redis://", 8) != 0)
        return false;
    at += 3;
    end = at + strcspn(at, "/");
    user = memrchr(at, '@', (size_t)(end - at));
    if (user != NULL)
        at = user + 1;
    return (*at == '[' ? sscanf(at, "[%255[^]]]:%7[0-9]", host, port)
                       : sscanf(at, "%255[^:]:%7[0-9]", host, port)) == 2;
}

static bool is_ready(int fd, short events)
{
    struct pollfd one = {.fd = fd, .events = events};

    return poll(&one, 1, PATIENCE_MS) == 1;
}

static bool is_connected(int fd, const struct addrinfo *to)
{
    int error = 0;
    socklen_t size = sizeof(error);

    if (connect(fd, to->ai_addr, to->ai_addrlen) == 0)
        return true;
    return errno == EINPROGRESS && is_ready(fd, POLLOUT) &&
           getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 &&
           error == 0;
}

/* Returns a descriptor, or -1. */
static int reach(const struct addrinfo *to)
{
    int fd = -1;

    for (; to != NULL && fd < 0; to = to->ai_next) {
        fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    0);
        if (fd >= 0 && !is_connected(fd, to)) {
            (void)close(fd);
            fd = -1;
        }
    }
    return fd;
}

static cli_peer peer_of(const unsigned char *answer, ssize_t size)
{
    if (size >= 2 && (answer[0] == 21 || answer[0] == 22) && answer[1] == 3)
        return CLI_PEER_TLS;
    if (size >= 5 && memcmp(answer, "HTTP/", 5) == 0)
        return CLI_PEER_HTTP;
    return CLI_PEER_UNKNOWN;
}

/* Says something, and looks at how the answer begins. */
static cli_peer ask(const struct addrinfo *to, const void *words, size_t size)
{
    unsigned char answer[16];
    cli_peer peer = CLI_PEER_SILENT;
    int fd = reach(to);

    if (fd < 0)
        return CLI_PEER_AWAY;
    if (send(fd, words, size, MSG_NOSIGNAL) == (ssize_t)size &&
        is_ready(fd, POLLIN))
        peer = peer_of(answer, recv(fd, answer, sizeof(answer), 0));
    (void)close(fd);
    return peer;
}

cli_peer cli_peer_find(const char *server, cli_peer_hint hint)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = hint == CLI_PEER_NOTHING
                                                   ? AI_NUMERICHOST
                                                   : 0};
    struct addrinfo *found = NULL;
    char host[HOST_SIZE];
    char port[PORT_SIZE];
    cli_peer peer;

    if (!address_read(server, host, port) ||
        getaddrinfo(host, port, &hints, &found) != 0)
        return CLI_PEER_UNKNOWN;
    peer = ask(found, hello, sizeof(hello) - 1);
    if (hint == CLI_PEER_ANSWERS && peer != CLI_PEER_TLS) {
        cli_peer second = ask(found, question, sizeof(question) - 1);

        peer = second == CLI_PEER_HTTP ? second : peer;
    }
    freeaddrinfo(found);
    return peer;
}
