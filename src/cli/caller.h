/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_CALLER_H
#define LK_CLI_CALLER_H

#include <stdint.h>
#include <sys/types.h>

#include "cli/cli.h"

/* As many bytes of a reason as the library keeps, and the NUL. */
enum { CLI_CALLER_SIZE = 201 };

/* The kernel keeps 15 bytes; a newline of its own, and the NUL. */
enum { CLI_PROGRAM_SIZE = 17 };

/*
 * Writes the reason of a hold that the tool took for another process: why, which
 * may be NULL, and for which one, "by ann on web-3, pid 4121 (bash)". Where there
 * is no room for both, why is shortened. A caller outside of this process's
 * namespace has no number here, 0, and is left out.
 */
void cli_caller_reason(char text[CLI_CALLER_SIZE], const char *why,
                       pid_t caller);

/*
 * The shell that evaluates what the tool writes: the given one; 0: the caller. A
 * shell forks for $(...), and may call the tool from there: what it has forked so,
 * and writes where the tool writes, is passed over. No such process: cli_usage(),
 * which alone needs c.
 */
pid_t cli_caller_shell(const cli *c, uint64_t given);

/* Writes the name of a process's program; an empty one if it is not known. */
void cli_caller_program(char text[CLI_PROGRAM_SIZE], pid_t pid);

#endif /* LK_CLI_CALLER_H */
