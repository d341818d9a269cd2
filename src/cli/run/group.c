/* SPDX-License-Identifier: MIT */

#include "cli/run/group.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "cli/proc.h"

typedef enum member { MEMBER_NOT, MEMBER_DEAD, MEMBER_ALIVE } member;

/* What it is, from its state on. */
static member member_of(const char *state, pid_t group)
{
    const char *at = cli_proc_skip(state, CLI_PROC_GROUP - CLI_PROC_STATE);

    if (at == NULL || strtol(at, NULL, 10) != (long)group)
        return MEMBER_NOT;
    at = cli_proc_skip(at, CLI_PROC_THREADS - CLI_PROC_GROUP);
    /* The first thread of a process can be dead while others still end. */
    if ((*state == 'Z' || *state == 'X') &&
        (at == NULL || strtol(at, NULL, 10) <= 1))
        return MEMBER_DEAD;
    return MEMBER_ALIVE;
}

static member look_at(const char *process, pid_t group)
{
    char text[CLI_PROC_SIZE];
    const char *state;

    errno = 0;
    state =
        cli_proc_field((pid_t)strtol(process, NULL, 10), CLI_PROC_STATE, text);
    if (state != NULL)
        return member_of(state, group);
    /* Without memory or descriptors it cannot be looked at, and may live. */
    return errno == ENOMEM || errno == EMFILE || errno == ENFILE ? MEMBER_ALIVE
                                                                 : MEMBER_NOT;
}

/* The next one in /proc. NULL: it was the last, or, with errno, not told. */
static const char *next_process(DIR *processes)
{
    const struct dirent *entry;

    do {
        errno = 0;
        entry = readdir(processes);
    } while (entry != NULL &&
             (entry->d_name[0] < '1' || entry->d_name[0] > '9'));
    return entry != NULL ? entry->d_name : NULL;
}

bool run_group_is_dead(pid_t group)
{
    DIR *processes = opendir("/proc");
    const char *process = NULL;
    member worst = MEMBER_NOT;
    bool is_all;

    if (processes == NULL)
        return false;
    while (worst != MEMBER_ALIVE &&
           (process = next_process(processes)) != NULL) {
        member one = look_at(process, group);

        if (one > worst)
            worst = one;
    }
    is_all = process == NULL && errno == 0;
    (void)closedir(processes);
    return is_all && worst == MEMBER_DEAD;
}
