/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_GUARDIAN_H
#define LK_TESTS_SUPPORT_GUARDIAN_H

#include <stdbool.h>
#include <sys/types.h>

#include "support/tool.h"

/*
 * Commands that the tool runs under the lock "n", and the guardians beside them.
 */

/* A command that says what it is, and ends by SIGTERM only with the time to say so. */
#define GUARDIAN_TELLS                                                         \
    "trap 'echo told; exit 9' TERM; echo tool=$PPID; echo child=$$; "          \
    "while :; do sleep 0.05; done"

/* A command and its own child; nothing but SIGKILL ends them. */
#define GUARDIAN_DEAF                                                          \
    "trap '' TERM INT HUP; "                                                   \
    "sh -c 'trap \"\" TERM INT HUP; echo grand=$$; while :; do sleep 1; "      \
    "done' & echo child=$$; while :; do sleep 0.05; done"

/* The guardian of a tool that runs a command; it must be there. */
pid_t guardian_of(const tool *t);

/* Waits until another one than first guards. */
void guardian_wait_replaced(const tool *t, pid_t first);

/* Waits until the tool has noted that its command has ended, and then ended the
   guardian. */
void guardian_wait_ended(tool *t);

/* Whether the server still keeps the lock. */
bool guardian_is_kept(void);

#endif /* LK_TESTS_SUPPORT_GUARDIAN_H */
