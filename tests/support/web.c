/* SPDX-License-Identifier: MIT */

#include "support/web.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/check.h"
#include "support/wait.h"

enum { SAY_MS = 30000 };

uint16_t web_port(tool *t)
{
    const char *at;

    tool_wait_out(t, "\n", SAY_MS);
    at = strstr(tool_out(t), "http://127.0.0.1:");
    assert_non_null(at);
    return (uint16_t)strtoul(at + strlen("http://127.0.0.1:"), NULL, 10);
}

int web_send(uint16_t port, const char *text)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    if (text[0] != '\0')
        assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL),
                         strlen(text));
    return fd;
}

/* More of it. 0: the end. */
static size_t more(int fd, char **text, size_t size, unsigned deadline_ms)
{
    enum { PIECE = 65536 };
    struct pollfd in = {.fd = fd, .events = POLLIN};
    ssize_t got;

    *text = realloc(*text, size + PIECE + 1);
    assert_non_null(*text);
    assert_int_equal(poll(&in, 1, (int)wait_scaled_ms(deadline_ms)), 1);
    got = read(fd, *text + size, PIECE);
    if (got < 0)
        got = 0; /* cut */
    (*text)[size + (size_t)got] = '\0';
    return (size_t)got;
}

char *web_ask(uint16_t port, const char *request)
{
    int fd = web_send(port, request);
    char *text = NULL;
    size_t size = 0, got;

    while ((got = more(fd, &text, size, SAY_MS)) > 0)
        size += got;
    (void)close(fd);
    if (size > 0)
        return text;
    free(text);
    return NULL;
}

char *web_get(uint16_t port, const char *path)
{
    char request[256];

    (void)snprintf(request, sizeof(request),
                   "GET %s HTTP/1.1\r\nHost: localhost:%u\r\n"
                   "Connection: close\r\n\r\n",
                   path, port);
    return web_ask(port, request);
}

struct wish {
    uint16_t port;
    const char *path, *text;
};

static bool is_there(void *data)
{
    const struct wish *wish = data;
    char *text = web_get(wish->port, wish->path);
    bool found = text != NULL && strstr(text, wish->text) != NULL;

    free(text);
    return found;
}

void web_wait(uint16_t port, const char *path, const char *text,
              unsigned deadline_ms)
{
    struct wish wish = {port, path, text};

    if (!wait_until(is_there, &wish, deadline_ms))
        fail_msg("%s never had: %s", path, text);
}

char *web_read(int fd, const char *wanted, unsigned deadline_ms)
{
    const uint64_t until = wait_now_ms() + wait_scaled_ms(deadline_ms);
    char *text = NULL;
    size_t size = 0, got;

    do {
        got = more(fd, &text, size, deadline_ms);
        if (got == 0 || wait_now_ms() > until)
            fail_msg("ended, or time did, before: %s", wanted);
        size += got;
    } while (strstr(text, wanted) == NULL);
    return text;
}

void web_wait_read(int fd, const char *wanted, unsigned deadline_ms)
{
    free(web_read(fd, wanted, deadline_ms));
}

/* Takes away what stands between the chunks of a body, in which there is no line
   break of HTTP's. */
static void join_chunks(char *text)
{
    char *at = strstr(text, "\r\n\r\n");

    while (at != NULL && (at = strstr(at + 1, "\r\n")) != NULL) {
        size_t digits = strspn(at + 2, "0123456789abcdefABCDEF");

        if (digits > 0 && strncmp(at + 2 + digits, "\r\n", 2) == 0)
            memmove(at, at + digits + 4, strlen(at + digits + 4) + 1);
    }
}

char *web_event(uint16_t port)
{
    int fd = web_send(port, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    char *text = web_read(fd, "}\n\n", SAY_MS);

    *strstr(text, "}\n\n") = '\0';
    join_chunks(text);
    (void)close(fd);
    return text;
}
