/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_SCRATCH_H
#define LK_TESTS_SUPPORT_SCRATCH_H

#include <sys/types.h>

/*
 * A fresh directory, mode 0700, for sockets and logs of one test program. A
 * keeper process removes it: when it is told to, or when the program died,
 * whatever killed it. It holds no descriptor of the program.
 */

typedef struct scratch scratch;

/* NULL when it cannot be had, errno tells why. */
scratch *scratch_new(void);

/* The same, in memory if the machine has such a place with room: for files that are
   written through to the disk. */
scratch *scratch_new_in_memory(void);

/* Removes the directory with all that is in it. NULL is allowed. */
void scratch_free(scratch *s);

/* Absolute, under 64 bytes, so that a socket's name fits behind it. */
const char *scratch_path(const scratch *s);

/*
 * For a child between fork() and exec(): has it killed when the thread that
 * forked it ends, and closes every descriptor from first on. parent is what
 * getpid() said before the fork.
 */
void scratch_child(pid_t parent, int first);

#endif /* LK_TESTS_SUPPORT_SCRATCH_H */
