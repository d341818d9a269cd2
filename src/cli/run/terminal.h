/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_RUN_TERMINAL_H
#define LK_CLI_RUN_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * The terminal, and whose it is. A command in a process group of its own gets
 * the terminal's signals, and may read, while its group is in the foreground.
 *
 * It is put there at once if the tool was started by itself at a prompt: it
 * leads its own process group, which is in the foreground, and both standard
 * input and output are the terminal. Else, in a script or a pipeline, the
 * terminal is others' too: the command gets it when it asks, by being stopped
 * with SIGTTIN or SIGTTOU.
 */
typedef struct run_terminal {
    int fd;        /* -1: none that controls the tool */
    pid_t own;     /* the tool's process group */
    bool is_eager; /* put the command there at once */
    bool is_given; /* the command's group has been put there */
} run_terminal;

void run_terminal_find(run_terminal *terminal);

/* Whether the tool's own group is in the foreground. */
bool run_terminal_is_own(const run_terminal *terminal);

/* Puts a group there, if the tool's own is there now. */
void run_terminal_give(run_terminal *terminal, pid_t group);

/* Takes it back, if that group still has it. */
void run_terminal_take(run_terminal *terminal, pid_t group);

#endif /* LK_CLI_RUN_TERMINAL_H */
