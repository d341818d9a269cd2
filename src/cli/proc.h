/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_PROC_H
#define LK_CLI_PROC_H

#include <sys/types.h>

/* What /proc says of a process, as proc(5) numbers the fields of its stat. */
enum {
    CLI_PROC_STATE = 3,
    CLI_PROC_PARENT = 4,
    CLI_PROC_GROUP = 5,
    CLI_PROC_FLAGS = 9,
    CLI_PROC_THREADS = 20,
    CLI_PROC_STARTED = 22
};

enum { CLI_PROC_SIZE = 1024 };

/*
 * Where a field from the state on begins in the line, which is read into text.
 * NULL: there is no such process, or it is not to be seen, for which errno says why.
 */
const char *cli_proc_field(pid_t pid, int field, char text[CLI_PROC_SIZE]);

/* The field that comes so many behind one. NULL: there is none. */
const char *cli_proc_skip(const char *field, int count);

#endif /* LK_CLI_PROC_H */
