/* SPDX-License-Identifier: MIT */

#include "cli/run/keeper.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "cli/cli.h"

enum { END_MS = 15000, STARTED_FIELD = 22 };

/* When a process was started, in ticks since the machine was; 0: it is gone. */
static uint64_t started(pid_t pid)
{
    char path[64];
    char line[1024];
    const char *at;
    size_t size = 0;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    file = fopen(path, "re");
    if (file == NULL)
        return 0;
    size = fread(line, 1, sizeof(line) - 1, file);
    (void)fclose(file);
    line[size] = '\0';
    /* Behind the program's name, which may have anything in it. */
    at = strrchr(line, ')');
    for (int field = 2; at != NULL && field < STARTED_FIELD; field++)
        at = strchr(at + 1, ' ');
    return at != NULL ? strtoull(at, NULL, 10) : 0;
}

/* Whether the process of a descriptor has ended, reaped or not. */
static bool has_ended(int fd, int wait_ms)
{
    struct pollfd ended = {.fd = fd, .events = POLLIN};

    return poll(&ended, 1, wait_ms) == 1;
}

/* A descriptor of the keeper; -1: it is gone. */
static int find(const char *text)
{
    char *rest = NULL;
    pid_t pid = (pid_t)strtol(text, &rest, 10);
    uint64_t since = *rest == ':' ? strtoull(rest + 1, NULL, 10) : 0;
    int fd;

    if (pid <= 1 || since == 0)
        return -1;
    /* First the descriptor: what it is of does not change any more. */
    fd = pidfd_open(pid, 0);
    if (fd >= 0 && (started(pid) != since || has_ended(fd, 0))) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

/* The shell's pid of an entry; 0: it has none. */
static pid_t shell_of(const char *text)
{
    size_t size = strcspn(text, " ");
    const char *at = memrchr(text, ':', size);

    return at != NULL ? (pid_t)strtol(at + 1, NULL, 10) : 0;
}

void cli_keeper_names(char text[CLI_KEEPERS_SIZE], const char *before,
                      pid_t shell)
{
    enum { OWN = 64 };
    size_t used = 0;
    int fd;

    text[0] = '\0';
    while (before != NULL && *before != '\0') {
        size_t size = strcspn(before, " ");

        fd = shell_of(before) == shell ? find(before) : -1;
        if (fd >= 0 && used + size + OWN < CLI_KEEPERS_SIZE) {
            memcpy(text + used, before, size);
            used += size;
            text[used++] = ' ';
        }
        if (fd >= 0)
            (void)close(fd);
        before += size + strspn(before + size, " ");
    }
    (void)snprintf(text + used, CLI_KEEPERS_SIZE - used, "%ld:%" PRIu64 ":%ld",
                   (long)getpid(), started(getpid()), (long)shell);
}

/* The last one, which is cut off; -1: it has ended. */
static int find_last(char names[CLI_KEEPERS_SIZE])
{
    char *last = strrchr(names, ' ');
    int fd = find(last != NULL ? last + 1 : names);

    if (last == NULL)
        last = names;
    *last = '\0';
    return fd;
}

int cli_keeper_end(const cli *c, const char *text, char rest[CLI_KEEPERS_SIZE])
{
    bool is_told;
    int fd;

    (void)snprintf(rest, CLI_KEEPERS_SIZE, "%s", text);
    fd = find_last(rest);
    if (fd < 0)
        return cli_fail(c, CLI_LOST,
                        "it is not held any more: its keeper has ended");
    is_told =
        pidfd_send_signal(fd, SIGTERM, NULL, 0) == 0 && has_ended(fd, END_MS);
    (void)close(fd);
    if (is_told)
        return CLI_OK;
    return cli_fail(c, CLI_UNAVAILABLE,
                    "the keeper does not end; the name is free when its lease "
                    "has ended");
}
