/* SPDX-License-Identifier: MIT */
#include "support/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    BACKLOG = 128,
    KIND = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
    PAIR_TRIES = 1000
};

/* Always -1; errno stays. */
static int give_up(int fd)
{
    int error = errno;

    if (fd >= 0)
        (void)close(fd);
    errno = error;
    return -1;
}

static struct sockaddr_un unix_name(const char *path)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};

    strncpy(name.sun_path, path, sizeof(name.sun_path) - 1);
    return name;
}

int socket_listen_unix(const char *path)
{
    struct sockaddr_un name = unix_name(path);
    int fd = socket(AF_UNIX, KIND, 0);

    (void)unlink(path);
    if (fd < 0 || bind(fd, (struct sockaddr *)&name, sizeof(name)) != 0 ||
        listen(fd, BACKLOG) != 0)
        return give_up(fd);
    return fd;
}

int socket_connect_unix(const char *path)
{
    struct sockaddr_un name = unix_name(path);
    int fd = socket(AF_UNIX, KIND, 0);

    if (fd < 0 || connect(fd, (struct sockaddr *)&name, sizeof(name)) != 0)
        return give_up(fd);
    return fd;
}

static struct sockaddr_in tcp_name(uint16_t port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons(port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

int socket_connect_tcp(uint16_t port)
{
    struct sockaddr_in name = tcp_name(port);
    int fd = socket(AF_INET, KIND, 0);

    if (fd < 0 || (connect(fd, (struct sockaddr *)&name, sizeof(name)) != 0 &&
                   errno != EINPROGRESS))
        return give_up(fd);
    return fd;
}

int socket_reserve_tcp(uint16_t port)
{
    struct sockaddr_in name = tcp_name(port);
    int fd = socket(AF_INET, KIND, 0);

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(fd, (struct sockaddr *)&name, sizeof(name)) != 0)
        return give_up(fd);
    return fd;
}

int socket_listen_tcp(uint16_t *port)
{
    struct sockaddr_in name = tcp_name(*port);
    socklen_t size = sizeof(name);
    int fd = socket_reserve_tcp(*port);

    if (fd < 0)
        return -1;
    if (getsockname(fd, (struct sockaddr *)&name, &size) != 0 ||
        listen(fd, BACKLOG) != 0)
        return give_up(fd);
    if (*port == 0)
        *port = ntohs(name.sin_port);
    return fd;
}

uint16_t socket_free_port(void)
{
    uint16_t port = 0;
    int fd = socket_listen_tcp(&port);

    if (fd >= 0)
        (void)close(fd);
    return port;
}

static bool is_free(uint16_t port)
{
    int fd = socket_listen_tcp(&port);

    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

uint16_t socket_free_port_pair(uint16_t above)
{
    for (int i = 0; i < PAIR_TRIES; i++) {
        uint16_t port = socket_free_port();

        if (port != 0 && port <= UINT16_MAX - above &&
            is_free((uint16_t)(port + above)))
            return port;
    }
    return 0;
}
