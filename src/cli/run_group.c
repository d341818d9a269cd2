/* SPDX-License-Identifier: MIT */

#include "cli/run_group.h"

#include <dirent.h>
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
    if (file == NULL)
        return MEMBER_NOT;
    size = fread(line, 1, sizeof(line) - 1, file);
    line[size] = '\0';
    (void)fclose(file);
    return member_of(line, group);
}

bool run_group_is_dead(pid_t group)
{
    DIR *processes = opendir("/proc");
    const struct dirent *entry;
    member worst = MEMBER_NOT;

    if (processes == NULL)
        return false;
    while (worst != MEMBER_ALIVE && (entry = readdir(processes)) != NULL) {
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') {
            member one = look_at(entry->d_name, group);

            if (one > worst)
                worst = one;
        }
    }
    (void)closedir(processes);
    return worst == MEMBER_DEAD;
}
