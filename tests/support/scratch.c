/* SPDX-License-Identifier: MIT */
#include "support/scratch.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

struct scratch {
    char path[64];
    pid_t keeper;
    int tell; /* a socket; the keeper reads its other end */
};

void scratch_child(pid_t parent, int first)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    (void)close_range((unsigned)first, ~0U, 0);
}

/* ---- the keeper ---- */

/*
 * Waits for a byte or for the end of the stream. A byte is needed, since other
 * children of the program may still hold copies of its other end.
 */
static void keeper_run(const char *path, int told)
{
    char byte;

    (void)setsid(); /* out of reach of a terminal's signals */
    if (dup2(told, 0) < 0)
        _exit(127);
    (void)close_range(1, ~0U, 0);
    (void)recv(0, &byte, 1, 0);
    (void)execlp("rm", "rm", "-rf", "--", path, (char *)NULL);
    _exit(127);
}

static bool keeper_start(scratch *s)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    s->keeper = fork();
    if (s->keeper == 0)
        keeper_run(s->path, ends[0]);
    (void)close(ends[0]);
    if (s->keeper < 0)
        (void)close(ends[1]);
    s->tell = ends[1];
    return s->keeper > 0;
}

/* ---- the directory ---- */

static scratch *scratch_in(const char *place)
{
    scratch *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    (void)snprintf(s->path, sizeof(s->path), "%s/latchkey-test-XXXXXX", place);
    if (mkdtemp(s->path) == NULL) {
        free(s);
        return NULL;
    }
    if (!keeper_start(s)) {
        (void)rmdir(s->path);
        free(s);
        return NULL;
    }
    return s;
}

scratch *scratch_new(void)
{
    return scratch_in("/tmp");
}

/* A container gives it 64 MB at times: what grows would fill that. */
static bool has_room(const char *place)
{
    enum { ROOM_MB = 1024 };
    struct statvfs is;

    return statvfs(place, &is) == 0 &&
           ((uint64_t)is.f_bavail * is.f_frsize) >> 20 >= ROOM_MB;
}

scratch *scratch_new_in_memory(void)
{
    static const char place[] = "/dev/shm";
    scratch *s = has_room(place) ? scratch_in(place) : NULL;

    return s != NULL ? s : scratch_new();
}

void scratch_free(scratch *s)
{
    if (s == NULL)
        return;
    (void)send(s->tell, "", 1, MSG_NOSIGNAL);
    (void)close(s->tell);
    (void)waitpid(s->keeper, NULL, 0);
    free(s);
}

const char *scratch_path(const scratch *s)
{
    return s->path;
}
