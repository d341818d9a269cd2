/* SPDX-License-Identifier: MIT */

/* Which process called the tool; see caller.h. */

#include "cli/caller.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/proc.h"
#include "cli/utf8.h"

/* Room for a part, with its NUL; all of them leave some for why. */
enum { HOST_SIZE = 65, USER_SIZE = 33, PROCESS_SIZE = 48 };

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

void cli_caller_program(char text[CLI_PROGRAM_SIZE], pid_t pid)
{
    char path[32];
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    text[0] = '\0';
    file = fopen(path, "re");
    if (file != NULL && fgets(text, CLI_PROGRAM_SIZE, file) == NULL)
        text[0] = '\0';
    if (file != NULL)
        (void)fclose(file);
    text[strcspn(text, "\n")] = '\0';
    cli_utf8_finish(text); /* the kernel keeps 15 bytes */
}

/* ---- the shell --------------------------------------------------------------- */

/* Of proc(5), stat, flags: forked, and no program was started since. */
enum { FORKED_ONLY = 0x40 };

/* The parent of a process that is nothing but a fork of it; 0: it is not, or that
   is not known. */
static pid_t forked_by(pid_t pid)
{
    char text[CLI_PROC_SIZE];
    const char *at = cli_proc_field(pid, CLI_PROC_FLAGS, text);

    if (at == NULL || (strtoul(at, NULL, 10) & FORKED_ONLY) == 0)
        return 0;
    at = cli_proc_field(pid, CLI_PROC_PARENT, text);
    return at != NULL ? (pid_t)strtol(at, NULL, 10) : 0;
}

/* What a process writes to, "pipe:[4711]"; an empty text if it is no pipe. */
static void pipe_of(char text[64], pid_t pid)
{
    char path[32];
    ssize_t size;

    (void)snprintf(path, sizeof(path), "/proc/%d/fd/1", (int)pid);
    size = readlink(path, text, 63);
    text[size > 0 ? size : 0] = '\0';
    if (strncmp(text, "pipe:", strlen("pipe:")) != 0)
        text[0] = '\0';
}

static pid_t evaluating(void)
{
    char ours[64], theirs[64];
    pid_t pid = getppid();
    pid_t parent;

    pipe_of(ours, getpid());
    while (ours[0] != '\0' && (parent = forked_by(pid)) > 1) {
        pipe_of(theirs, pid);
        if (strcmp(ours, theirs) != 0)
            break;
        pid = parent;
    }
    return pid;
}

pid_t cli_caller_shell(const cli *c, uint64_t given)
{
    if (given == 1 || given > INT32_MAX ||
        (given != 0 && kill((pid_t)given, 0) != 0 && errno == ESRCH))
        cli_usage(c, "--pid %" PRIu64 ": there is no such process", given);
    return given != 0 ? (pid_t)given : evaluating();
}

/* ---- the reason -------------------------------------------------------------- */

/* ", pid 4121 (bash)", with no more than is known. */
static void put_process(char text[PROCESS_SIZE], pid_t pid)
{
    char program[CLI_PROGRAM_SIZE];
    bool is_known;

    text[0] = '\0';
    if (pid == 0)
        return;
    cli_caller_program(program, pid);
    is_known = program[0] != '\0';
    (void)snprintf(text, PROCESS_SIZE, ", pid %d%s%s%s", (int)pid,
                   is_known ? " (" : "", program, is_known ? ")" : "");
}

void cli_caller_reason(char text[CLI_CALLER_SIZE], const char *why,
                       pid_t caller)
{
    char host[HOST_SIZE] = "", user[USER_SIZE], process[PROCESS_SIZE];
    char words[HOST_SIZE + USER_SIZE + PROCESS_SIZE + sizeof("by  on ")];
    size_t room, size = why != NULL ? strlen(why) : 0;

    (void)gethostname(host, sizeof(host) - 1);
    put_user(user);
    put_process(process, caller);
    (void)snprintf(words, sizeof(words), "by %s on %s%s", user, host, process);
    room = CLI_CALLER_SIZE - sizeof("; ") - strlen(words);
    if (size > room)
        size = cli_utf8_cut(why, room);
    (void)snprintf(text, CLI_CALLER_SIZE, "%.*s%s%s", (int)size,
                   why != NULL ? why : "", size > 0 ? "; " : "", words);
}
