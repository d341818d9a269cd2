/* SPDX-License-Identifier: MIT */

#include "cli/foreign.h"

#include <string.h>

#include "cli/word.h"

#define PASSWORD                                                               \
    "a user stands in the URL here, redis://USER:@HOST, and the password in "  \
    "LATCHKEY_PASSWORD or a file that LATCHKEY_PASSWORD_FILE names"

#define PERIOD                                                                 \
    "once in each period, on whichever host is first, is --at-least TIME, of " \
    "a TIME shorter than the period"

#define LISTEN "where it listens is --listen [ADDR:]PORT here"

static const cli_foreign foreigners[] = {
    {"n", "permits", "how many may hold it at once is -p N here"},
    {"n", "nonblock",
     "how many may hold it at once is `latchkey semaphore -p N` here"},
    {"limit", "permits", "how many may hold it at once is -p N here"},
    {"limit", "nonblock",
     "how many may hold it at once is `latchkey semaphore -p N` here"},
    {"nowait", "nonblock", "not to wait is --nonblock here"},
    {"no-wait", "nonblock", "not to wait is --nonblock here"},
    {"nowait", "wait", "not to wait is --wait 0 here"},
    {"no-wait", "wait", "not to wait is --wait 0 here"},
    {"try", "wait", "how long to wait is -w TIME here"},
    {"name", "why", "what others are shown is --why TEXT here"},
    {"ttl", "lease", "it is --lease TIME here"},
    {"session-ttl", "lease", "it is --lease TIME here"},
    {"lock-delay", NULL,
     "after a crash others get NAME when its lease has ended: leave it out"},
    {"datacenter", "url", "the URL says where the server is: leave it out"},
    {"shell", "command", "a shell runs the command only with -c: leave it out"},
    {"child-exit-code", NULL,
     "the exit code is the command's own here: leave it out"},
    {"pass-stdin", NULL,
     "the command has the standard input here: leave it out"},
    {"http-addr", "url", "the server is --url URL here, or LATCHKEY_URL"},
    {"endpoints", "url", "the server is --url URL here, or LATCHKEY_URL"},
    {"monitor-retry", NULL,
     "an outage is ridden out while the lease lasts: leave it out"},
    {"token", NULL, PASSWORD},
    {"user", NULL, PASSWORD},
    {"password", NULL, PASSWORD},
    {"cacert", NULL, "its file is named by LATCHKEY_TLS_CA_FILE here"},
    {"cert", NULL, "its file is named by LATCHKEY_TLS_CERT_FILE here"},
    {"key", NULL, "its file is named by LATCHKEY_TLS_KEY_FILE here"},
    {"port", "listen", LISTEN},
    {"bind", "listen", LISTEN},
    {"addr", "listen", LISTEN},
    {"every", "at-least", PERIOD},
    {"once", "at-least", PERIOD},
    {"watch", "no-header",
     "`latchkey top` draws the list again, `latchkey watch` tells of one name"},
    {"fd", NULL,
     "a shell holds NAME by lines=$(latchkey hold NAME) && eval \"$lines\" || "
     "exit"},
    {"fcntl", NULL, "no file is locked here: leave it out"},
};

const cli_foreign *
cli_foreign_find(const char *name, size_t size, const cli_foreign *before)
{
    const size_t count = sizeof(foreigners) / sizeof(foreigners[0]);
    size_t i = before == NULL ? 0 : (size_t)(before - foreigners) + 1;

    for (; i < count; i++) {
        if (strlen(foreigners[i].name) == size &&
            strncmp(foreigners[i].name, name, size) == 0)
            return &foreigners[i];
    }
    return NULL;
}

bool cli_foreign_is_for_shell(const char *program)
{
    static const char words[] = "cd|export|unset|source|ulimit|umask|eval|exec|"
                                "alias|set|trap";

    return strchr(program, ' ') != NULL || cli_word_find(words, program) >= 0;
}

bool cli_foreign_is_listen(const char *command, const cli_option *option)
{
    return strcmp(command, "leader") == 0 && option->letter == 'l';
}

bool cli_foreign_is_unlock(const char *command, const char *url)
{
    return strcmp(command, "lock") == 0 && url[0] != '\0' &&
           strpbrk(url, ":/") == NULL && strcmp(url, "none") != 0;
}
