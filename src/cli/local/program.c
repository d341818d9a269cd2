/* SPDX-License-Identifier: MIT */

/* The program of a server. */

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "cli/local/local.h"

/* A server's program checks files, too: it goes by the name that it is called by.
   Debian's redis-tools has it under that name alone; redis-server adds a service. */
static const struct {
    const char *file, *name;
} others[] = {
    {"valkey-server", "valkey-server"},
    {"redis-check-rdb", "redis-server"},
    {"valkey-check-rdb", "valkey-server"},
};

static void execute(const char *file, const char *name, const char **arguments)
{
    arguments[0] = name;
    (void)execvp(file, (char *const *)(uintptr_t)arguments);
}

void cli_program_exec(const cli_program *program, const char **arguments)
{
    execute(program->name, program->name, arguments);
    if (errno != ENOENT || !program->is_default)
        return;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        execute(others[i].file, others[i].name, arguments);
    errno = ENOENT;
}
