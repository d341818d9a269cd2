/* SPDX-License-Identifier: MIT */

#include "cli/run/group.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum member { MEMBER_NOT, MEMBER_DEAD, MEMBER_ALIVE } member;

/* Field number of proc(5), of those behind the name; "" if there is none. */
static const char *field(const char *at, int number)
{
    for (int i = 3; i < number; i++) {
        at += strspn(at, " ");
        at += strcspn(at, " ");
    }
    return at + strspn(at, " ");
}

/* Reads a line such as `7 (a) b) Z 1 5 ...`: the name may hold anything. */
static member member_of(const char *line, pid_t group)
{
    enum { STATE = 3, GROUP = 5, THREADS = 20 };
    const char *behind = strrchr(line, ')');
    char state;

    if (behind == NULL ||
        strtol(field(behind + 1, GROUP), NULL, 10) != (long)group)
        return MEMBER_NOT;
    state = *field(behind + 1, STATE);
    /* The first thread of a process can be dead while others still end. */
    if ((state == 'Z' || state == 'X') &&
        strtol(field(behind + 1, THREADS), NULL, 10) <= 1)
        return MEMBER_DEAD;
    return MEMBER_ALIVE;
}

static member look_at(const char *process, pid_t group)
{
    char path[300];
    char line[512];
    size_t size;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%s/stat", process);
    file = fopen(path, "re");
    /* Without memory or descriptors it cannot be looked at, and may live. */
    if (file == NULL)
        return errno == ENOMEM || errno == EMFILE || errno == ENFILE
                   ? MEMBER_ALIVE
                   : MEMBER_NOT;
    size = fread(line, 1, sizeof(line) - 1, file);
    line[size] = '\0';
    (void)fclose(file);
    return member_of(line, group);
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
