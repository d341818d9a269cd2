/* SPDX-License-Identifier: MIT */

/* `latchkey who`: who holds a name and who waits for it. */

#include <inttypes.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/see/see.h"

/* What a semaphore or a latch is set to. */
typedef struct numbers {
    bool has_permits, has_value;
    uint64_t permits; /* all of a semaphore */
    int64_t value;    /* permits that are free; what a latch waits for */
} numbers;

static void ask_semaphore(numbers *n, lk_client *client, const char *name)
{
    lk_semaphore *semaphore = NULL;

    n->has_permits =
        lk_semaphore_new(&semaphore, client, name, NULL) == LK_OK &&
        lk_semaphore_count(semaphore, &n->permits, &n->value) == LK_OK;
    n->has_value = n->has_permits;
    lk_semaphore_free(semaphore);
}

static void ask_plain(numbers *n, lk_client *client, const char *name)
{
    lk_plain_semaphore *semaphore = NULL;

    n->has_value = lk_plain_semaphore_new(&semaphore, client, name) == LK_OK &&
                   lk_plain_semaphore_count(semaphore, &n->value) == LK_OK;
    lk_plain_semaphore_free(semaphore);
}

static void ask_latch(numbers *n, lk_client *client, const char *name)
{
    lk_latch *latch = NULL;
    uint64_t count = 0;

    n->has_value = lk_latch_new(&latch, client, name, NULL) == LK_OK &&
                   lk_latch_count(latch, &count) == LK_OK;
    n->value = (int64_t)count;
    lk_latch_free(latch);
}

/* What cannot be had is left out. */
static numbers numbers_of(lk_client *client, const char *name, lk_kind kind)
{
    numbers n = {.has_value = false};

    if (kind == LK_KIND_SEMAPHORE)
        ask_semaphore(&n, client, name);
    else if (kind == LK_KIND_PLAIN_SEMAPHORE)
        ask_plain(&n, client, name);
    else if (kind == LK_KIND_LATCH)
        ask_latch(&n, client, name);
    return n;
}

static void put_document(lk_client *client, const char *name, lk_kind kind,
                         const lk_info *info, const numbers *n)
{
    cli_json json = {.to = stdout};

    cli_json_open(&json, NULL, '{');
    see_json_info(&json, name, kind, info);
    cli_json_known(&json, "permits", n->has_permits, (int64_t)n->permits);
    cli_json_known(&json, "value", n->has_value, n->value);
    see_json_master(&json, client);
    cli_json_close(&json, '}');
}

static void put_page(const cli *c, const char *name, lk_kind kind,
                     const lk_info *info, const numbers *n)
{
    char more[96] = "";

    if (n->has_permits && n->value < 0)
        (void)snprintf(more, sizeof(more),
                       ", none of %" PRIu64 " permits free, %" PRIu64
                       " too many are taken",
                       n->permits, UINT64_C(0) - (uint64_t)n->value);
    else if (n->has_permits)
        (void)snprintf(more, sizeof(more),
                       ", %" PRId64 " of %" PRIu64 " permits free", n->value,
                       n->permits);
    else if (n->has_value)
        (void)snprintf(more, sizeof(more), ", %" PRId64 " %s", n->value,
                       kind == LK_KIND_LATCH ? "left" : "free");
    see_put_info(c, stdout, name, kind, info, more);
}

static int
show(const cli *c, lk_client *client, const cli_args *args, const void *values)
{
    const char *name = args->operands[0];
    lk_kind kind;
    lk_info *info;
    lk_status status = lk_who(client, name, &kind, &info);
    numbers n;

    (void)values;
    if (status != LK_OK)
        return cli_fail_call(c, status, name);
    n = numbers_of(client, name, kind);
    if (c->json) {
        put_document(client, name, kind, info, &n);
    } else {
        put_page(c, name, kind, info, &n);
        see_put_master(c, stdout, "  ", client);
    }
    lk_info_free(info);
    return CLI_OK;
}

static int run(cli *c, int argc, char **argv)
{
    cli_args args;

    cli_parse(c, argc, argv, NULL, &args);
    return see_run(c, &args, NULL, show);
}

const cli_command cli_command_who = {
    .name = "who",
    .group = CLI_SEE,
    .summary = "show who holds a name, and who waits for it",
    .examples = "  latchkey who deploy\n"
                "  latchkey who deploy --json",
    .usage = "NAME",
    .about =
        "Finds out by itself what the name is: a lock, a read-write lock,\n"
        "a semaphore or a latch. The first 64 waiters are shown, first in\n"
        "line first. Holders that are Redisson's are named as such.\n"
        "Exit code 75: nothing is known under this name.",
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
