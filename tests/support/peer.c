/* SPDX-License-Identifier: MIT */

#include "support/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/check.h"
#include "support/wait.h"

enum { SOON_MS = 5000, QUIET_MS = 30 };

int peer_connect_tcp(uint16_t port)
{
    struct sockaddr_in name = {.sin_family = AF_INET,
                               .sin_port = htons(port),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error;

    if (fd >= 0 && connect(fd, (struct sockaddr *)&name, sizeof(name)) == 0)
        return fd;
    error = errno;
    if (fd >= 0)
        (void)close(fd);
    errno = error;
    return -1;
}

void peer_say(int fd, const char *text)
{
    size_t size = strlen(text);

    assert_int_equal(send(fd, text, size, MSG_NOSIGNAL), size);
}

bool peer_is_quiet(int fd)
{
    return poll(&(struct pollfd){fd, POLLIN, 0}, 1, QUIET_MS) == 0;
}

ssize_t peer_hear(int fd, char *bytes, size_t size)
{
    int ms = (int)wait_limit_ms(SOON_MS);

    assert_int_equal(poll(&(struct pollfd){fd, POLLIN, 0}, 1, ms), 1);
    return recv(fd, bytes, size, MSG_DONTWAIT);
}

void peer_assert_hears(int fd, const char *expected)
{
    char heard[64] = "";
    size_t size = 0;

    while (size < strlen(expected)) {
        ssize_t n = peer_hear(fd, heard + size, strlen(expected) - size);

        assert_true(n > 0);
        size += (size_t)n;
    }
    assert_string_equal(heard, expected);
}

void peer_assert_over(int fd)
{
    char byte;

    assert_true(peer_hear(fd, &byte, 1) <= 0);
}
