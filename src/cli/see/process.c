/* SPDX-License-Identifier: MIT */

/* What this host can see of the process of a holder. */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/see/see.h"

/* Its state as proc(5) has it; 0: there is none, or it is not to be seen. */
static char state_of(pid_t pid)
{
    char path[64], line[1024];
    const char *at;
    size_t size;
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
    return at != NULL && at[1] == ' ' ? at[2] : 0;
}

static bool is_of_this_host(const lk_party *party)
{
    char host[256] = "";

    return party->pid > 1 && party->pid <= INT32_MAX &&
           gethostname(host, sizeof(host) - 1) == 0 &&
           strcmp(party->host, host) == 0;
}

see_life see_life_of(const lk_party *party)
{
    char state;

    if (!is_of_this_host(party))
        return SEE_UNSEEN;
    if (kill((pid_t)party->pid, 0) != 0 && errno == ESRCH)
        return SEE_GONE;
    state = state_of((pid_t)party->pid);
    if (state == 'Z' || state == 'X')
        return SEE_GONE;
    return state == 'T' || state == 't' ? SEE_STOPPED : SEE_UNSEEN;
}
