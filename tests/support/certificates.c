/* SPDX-License-Identifier: MIT */
#include "support/certificates.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/paths.h"
#include "support/scratch.h"

static scratch *home;

static void drop(void)
{
    scratch_free(home);
    home = NULL;
}

static int make(void)
{
    pid_t pid = fork();
    int status = -1;

    if (pid == 0) {
        (void)execl(LK_SOURCE_DIR "/tests/support/make-certificates.sh",
                    "make-certificates.sh", scratch_path(home), (char *)NULL);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -1;
    return status;
}

const char *certificates_folder(void)
{
    if (home != NULL)
        return scratch_path(home);
    home = scratch_new();
    if (home != NULL && make() != 0) {
        (void)fputs("certificates: openssl has failed\n", stderr);
        drop();
    }
    if (home != NULL)
        (void)atexit(drop);
    return home != NULL ? scratch_path(home) : NULL;
}

const char *certificates_path(char path[128], const char *file)
{
    (void)snprintf(path, 128, "%s/%s", certificates_folder(), file);
    return path;
}
