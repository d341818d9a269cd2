/* SPDX-License-Identifier: MIT */

/* Which process called the tool; see caller.h. */

#include "cli/caller.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Room for a part, with its NUL; all of them leave some for why. */
enum { HOST_SIZE = 65, USER_SIZE = 33, PROGRAM_SIZE = 24, PROCESS_SIZE = 48 };

static void put_user(char text[USER_SIZE])
{
    char room[1024];
    struct passwd entry, *found = NULL;

    if (getpwuid_r(geteuid(), &entry, room, sizeof(room), &found) == 0 &&
        found != NULL)
        (void)snprintf(text, USER_SIZE, "%s", found->pw_name);
    else
        (void)snprintf(text, USER_SIZE, "user %u", (unsigned)geteuid());
}

/* " (bash)", or nothing if it is not known. */
static void put_program(char text[PROGRAM_SIZE], pid_t pid)
{
    char path[32];
    char name[17] = ""; /* the kernel keeps 15 bytes, and adds a newline */
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    file = fopen(path, "re");
    if (file != NULL && fgets(name, sizeof(name), file) == NULL)
        name[0] = '\0';
    if (file != NULL)
        (void)fclose(file);
    name[strcspn(name, "\n")] = '\0';
    text[0] = '\0';
    if (name[0] != '\0')
        (void)snprintf(text, PROGRAM_SIZE, " (%s)", name);
}

/* A caller outside of this process's namespace has no number here. */
static void put_process(char text[PROCESS_SIZE])
{
    char program[PROGRAM_SIZE];
    pid_t pid = getppid();

    text[0] = '\0';
    if (pid == 0)
        return;
    put_program(program, pid);
    (void)snprintf(text, PROCESS_SIZE, ", pid %d%s", (int)pid, program);
}

void cli_caller_reason(char text[CLI_CALLER_SIZE], const char *why)
{
    char host[HOST_SIZE] = "", user[USER_SIZE], process[PROCESS_SIZE];
    char caller[HOST_SIZE + USER_SIZE + PROCESS_SIZE + sizeof("by  on ")];
    size_t room, size = why != NULL ? strlen(why) : 0;

    (void)gethostname(host, sizeof(host) - 1);
    put_user(user);
    put_process(process);
    (void)snprintf(caller, sizeof(caller), "by %s on %s%s", user, host,
                   process);
    room = CLI_CALLER_SIZE - sizeof("; ") - strlen(caller);
    if (size > room)
        size = room;
    while (size > 0 && ((unsigned char)why[size] & 0xc0) == 0x80)
        size--; /* no character is cut */
    (void)snprintf(text, CLI_CALLER_SIZE, "%.*s%s%s", (int)size,
                   why != NULL ? why : "", size > 0 ? "; " : "", caller);
}
