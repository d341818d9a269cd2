/* SPDX-License-Identifier: MIT */
#include "support/descriptors.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "support/wait.h"

/* No allocation and no directory: a child of fork() counts, too. */
enum { DESCRIPTORS_MAX = 1024, DEADLINE_MS = 10000 };

/* Those whose flags, masked, have the value. */
static int count_flags(int mask, int value)
{
    int fd, flags, count = 0;

    for (fd = 0; fd < DESCRIPTORS_MAX; fd++) {
        flags = fcntl(fd, F_GETFD);
        if (flags >= 0 && (flags & mask) == value)
            count++;
    }
    return count;
}

int descriptors_count(void)
{
    return count_flags(0, 0);
}

int descriptors_inherited(void)
{
    return count_flags(FD_CLOEXEC, 0);
}

static bool is_fallen(void *data)
{
    return descriptors_count() <= *(const int *)data;
}

bool descriptors_fall_to(int count)
{
    return wait_until(is_fallen, &count, DEADLINE_MS);
}

int descriptors_connected_to(const char *path)
{
    struct sockaddr_un name;
    socklen_t size;
    int fd, count = 0;

    for (fd = 0; fd < DESCRIPTORS_MAX; fd++) {
        memset(&name, 0, sizeof(name));
        size = sizeof(name) - 1;
        if (getpeername(fd, (struct sockaddr *)&name, &size) == 0 &&
            name.sun_family == AF_UNIX && strcmp(name.sun_path, path) == 0)
            count++;
    }
    return count;
}
