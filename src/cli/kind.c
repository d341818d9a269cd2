/* SPDX-License-Identifier: MIT */

/* A name that is in use as something else. */

#include "cli/kind.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/output.h"

const char *cli_kind_noun(lk_kind kind)
{
    static const char *const nouns[] = {[LK_KIND_NONE] = "",
                                        [LK_KIND_LOCK] = "plain lock",
                                        [LK_KIND_RWLOCK] = "read-write lock",
                                        [LK_KIND_SEMAPHORE] = "semaphore",
                                        [LK_KIND_PLAIN_SEMAPHORE] =
                                            "plain semaphore",
                                        [LK_KIND_LATCH] = "latch"};

    return nouns[kind];
}

/* Whether the command takes whatever kind its options say. */
static bool takes_kinds(const cli *c)
{
    static const char *const names[] = {"lock", "hold", "acquire"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(c->command->name, names[i]) == 0)
            return true;
    }
    return false;
}

/* What to write with a command that takes all kinds. NULL: nothing does. */
static const char *option_advice(lk_kind kind, cli_kind_of wanted)
{
    switch (kind) {
    case LK_KIND_LOCK:
        return wanted == CLI_SEMAPHORE ? "leave out -p"
               : wanted == CLI_WRITE   ? "leave out -x"
                                       : "leave out -s";
    case LK_KIND_RWLOCK:
        return "say -s to read, -x to write";
    case LK_KIND_SEMAPHORE:
        return "that is `latchkey semaphore`, or -p N of hold and acquire";
    case LK_KIND_NONE:
    case LK_KIND_PLAIN_SEMAPHORE:
    case LK_KIND_LATCH:
        break;
    }
    return NULL;
}

/* Which command is for a kind. NULL: none. */
static const char *command_advice(lk_kind kind)
{
    switch (kind) {
    case LK_KIND_LOCK:
        return "that is for `latchkey lock`";
    case LK_KIND_RWLOCK:
        return "that is for `latchkey read` and `latchkey write`";
    case LK_KIND_SEMAPHORE:
        return "that is for `latchkey semaphore`";
    case LK_KIND_LATCH:
        return "that is for `latchkey latch`";
    case LK_KIND_NONE:
    case LK_KIND_PLAIN_SEMAPHORE:
        break;
    }
    return NULL;
}

int cli_fail_kind(const cli *c, lk_client *client, const char *name,
                  cli_kind_of wanted)
{
    const int code = cli_status_exit(LK_ETYPE);
    const char *advice;
    lk_kind kind = LK_KIND_NONE;
    lk_info *info = NULL;
    char clean[128];

    (void)cli_clean(clean, sizeof(clean), name);
    if (lk_who(client, name, &kind, &info) == LK_OK)
        lk_info_free(info);
    if (kind == LK_KIND_NONE)
        return cli_fail(c, code,
                        "'%s' is something else at the server\n"
                        "  use another name",
                        clean);
    advice =
        takes_kinds(c) ? option_advice(kind, wanted) : command_advice(kind);
    return cli_fail(c, code,
                    "'%s' is in use as a %s\n  %s%suse another name; `latchkey "
                    "forget` frees this one once nobody uses it",
                    clean, cli_kind_noun(kind), advice != NULL ? advice : "",
                    advice != NULL ? ", or " : "");
}
