/* SPDX-License-Identifier: MIT */

#include "cli/foreign.h"

#include <string.h>

static const cli_foreign foreigners[] = {
    {"n", "sem", "how many may hold it at once is --sem N here"},
    {"try", "wait", "how long to wait is -w TIME here"},
    {"name", "why", "what others are shown is --why TEXT here"},
    {"ttl", "lease", "it is --lease TIME here"},
    {"shell", "command", "a shell runs the command only with -c: leave it out"},
    {"child-exit-code", NULL,
     "the exit code is the command's own here: leave it out"},
    {"pass-stdin", NULL,
     "the command has the standard input here: leave it out"},
    {"http-addr", "url", "the server is --url URL here, or LATCHKEY_URL"},
    {"endpoints", "url", "the server is --url URL here, or LATCHKEY_URL"},
    {"token", NULL, "the password is in LATCHKEY_PASSWORD here, or in the URL"},
};

const cli_foreign *cli_foreign_find(const char *name, size_t size)
{
    for (size_t i = 0; i < sizeof(foreigners) / sizeof(foreigners[0]); i++) {
        if (strlen(foreigners[i].name) == size &&
            strncmp(foreigners[i].name, name, size) == 0)
            return &foreigners[i];
    }
    return NULL;
}

bool cli_foreign_is_unlock(const char *command, const char *url)
{
    return strcmp(command, "lock") == 0 && url[0] != '\0' &&
           strpbrk(url, ":/") == NULL && strcmp(url, "none") != 0;
}
