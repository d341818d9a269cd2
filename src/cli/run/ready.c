/* SPDX-License-Identifier: MIT */

#include "cli/run/ready.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/file.h"

/* What systemd is told, as sd_notify(3) does it. Nobody else has set the variable,
   and systemd gets along without an answer. */
static void notify(const char *text)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t size = path != NULL ? strlen(path) : 0;
    int fd;

    if (size < 2 || size >= sizeof(to.sun_path) ||
        strchr("/@", path[0]) == NULL)
        return;
    memcpy(to.sun_path, path, size);
    if (path[0] == '@')
        to.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    (void)sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT,
                 (const struct sockaddr *)&to,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size));
    (void)close(fd);
}

static int listen_at(const cli *c, run_ready *ready)
{
    static const cli_http_page pages[] = {
        {"/", CLI_HTTP_TEXT, "text/plain; charset=utf-8", NULL},
        {.path = NULL},
    };
    cli_http_place place;

    if (!cli_http_place_read(ready->health, &place))
        cli_usage(c, "--health has to be [ADDR:]PORT, ADDR a numeric address");
    return cli_http_open(c, &place, pages, &ready->http);
}

int run_ready_open(const cli *c, run_ready *ready, const char *name)
{
    char text[512];

    ready->name = name;
    if (ready->file != NULL && unlink(ready->file) != 0 && errno != ENOENT)
        return cli_fail(c, CLI_CONFIG, "%s: %s", ready->file, strerror(errno));
    (void)snprintf(text, sizeof(text), "STATUS=waits for the lead of %s", name);
    notify(text);
    return ready->health != NULL ? listen_at(c, ready) : 0;
}

int run_ready_on(const cli *c, run_ready *ready, const char *fence)
{
    char text[512];
    char *body;

    if (ready->name == NULL)
        return 0;
    ready->is_on = true;
    (void)snprintf(text, sizeof(text), "%s\n", fence);
    if (ready->file != NULL && !cli_file_put(ready->file, text))
        return cli_fail(c, CLI_CONFIG, "%s: %s", ready->file, strerror(errno));
    body = ready->http != NULL ? strdup(text) : NULL;
    if (body != NULL)
        (void)cli_http_publish(ready->http, body, strlen(body));
    (void)snprintf(text, sizeof(text), "READY=1\nSTATUS=leads %s, term %s",
                   ready->name, fence);
    notify(text);
    return 0;
}

void run_ready_off(run_ready *ready)
{
    cli_http_close(ready->http);
    ready->http = NULL;
    if (!ready->is_on)
        return;
    ready->is_on = false;
    if (ready->file != NULL)
        (void)unlink(ready->file);
    notify("STOPPING=1\nSTATUS=does not lead any more");
}
