/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_RUN_GROUP_H
#define LK_CLI_RUN_GROUP_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Whether a process group that was sent SIGKILL is dead as far as it can be:
 * none of its processes lives, and what is left of it waits for parents that
 * may never ask, such as a daemon that began in the group and has left it.
 * kill() cannot tell these from the living. What has not been killed might
 * fork behind the look's back. False also if the kernel does not show it.
 */
bool run_group_is_dead(pid_t group);

#endif /* LK_CLI_RUN_GROUP_H */
