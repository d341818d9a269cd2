/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_COMMANDS_H
#define LK_CLI_COMMANDS_H

#include "cli/cli.h"

/*
 * The commands, one line each, in the order of the help. X(name) stands for
 * `const cli_command cli_command_name` in a file of its own.
 */
#define CLI_COMMAND_MAP(X)                                                     \
    X(lock)                                                                    \
    X(read)                                                                    \
    X(write)                                                                   \
    X(semaphore)                                                               \
    X(leader)                                                                  \
    X(flock)                                                                   \
    X(flight)                                                                  \
    X(wait)                                                                    \
    X(latch)                                                                   \
    X(barrier)                                                                 \
    X(hold)                                                                    \
    X(acquire)                                                                 \
    X(renew)                                                                   \
    X(release)                                                                 \
    X(demo)                                                                    \
    X(server)                                                                  \
    X(config)                                                                  \
    X(ls)                                                                      \
    X(who)                                                                     \
    X(why)                                                                     \
    X(top)                                                                     \
    X(watch)                                                                   \
    X(serve)                                                                   \
    X(break)                                                                   \
    X(log)                                                                     \
    X(forget)                                                                  \
    X(metrics)                                                                 \
    X(doctor)                                                                  \
    X(completion)                                                              \
    X(help)                                                                    \
    X(manual)                                                                  \
    X(complete)

#define X(name) extern const cli_command cli_command_##name;
CLI_COMMAND_MAP(X)
#undef X

#endif /* LK_CLI_COMMANDS_H */
