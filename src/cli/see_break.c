/* SPDX-License-Identifier: MIT */

/* `latchkey break`: ends a hold that is somebody else's. */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/see.h"

struct values {
    bool yes, all, dry_run;
    const char *owner;
};

static const cli_option options[] = {
    {CLI_FLAG, 'y', "yes", offsetof(struct values, yes), NULL, "do not ask", 0},
    {CLI_TEXT, 'i', "if-owner", offsetof(struct values, owner), "ID",
     "only the hold of this owner, as `who` shows its id", 0},
    {CLI_FLAG, 0, "all", offsetof(struct values, all), NULL,
     "every hold, where several hold it", 0},
    {CLI_FLAG, 'n', "dry-run", offsetof(struct values, dry_run), NULL,
     "show it and end nothing", 0},
    {.kind = CLI_END},
};

/* One run: what was seen, and what is to be done about it. */
struct breaking {
    const cli *c;
    const struct values *values;
    lk_client *client;
    const char *name;
    lk_kind kind;
    const lk_info *info;
};

static bool is_meant(const struct breaking *b, const lk_party *party)
{
    return b->values->owner == NULL ||
           strcmp(b->values->owner, party->owner) == 0;
}

static size_t count_meant(const struct breaking *b)
{
    size_t count = 0;

    for (size_t i = 0; i < b->info->holder_count; i++)
        count += is_meant(b, b->info->holders[i]);
    return count;
}

/* A permit of a hold, or a hold beyond the 64 that are listed, may be named as
   well: then only the server knows. */
static int check(const struct breaking *b)
{
    size_t count = count_meant(b);

    if (b->kind == LK_KIND_LATCH || b->kind == LK_KIND_PLAIN_SEMAPHORE)
        return cli_fail(b->c, CLI_USAGE, "%s is a %s: nobody holds it", b->name,
                        lk_kind_text(b->kind));
    if (b->info->holder_count == 0)
        return cli_fail(b->c, CLI_BUSY, "nobody holds %s", b->name);
    if (count > 1 && !b->values->all)
        return cli_fail(b->c, CLI_USAGE,
                        "%zu hold %s: say which with --if-owner ID, or --all",
                        count, b->name);
    if (count == 0 && b->kind != LK_KIND_SEMAPHORE)
        return cli_fail(b->c, CLI_BUSY,
                        "%s does not hold %s; nothing was changed",
                        b->values->owner, b->name);
    return 0;
}

/* 0: go on. */
static int confirm(const struct breaking *b)
{
    char answer[16] = "";

    if (b->values->yes || b->values->dry_run)
        return 0;
    if (isatty(STDIN_FILENO) == 0)
        return cli_fail(b->c, CLI_USAGE,
                        "there is no terminal to ask on: say --yes");
    (void)fflush(stdout);
    (void)fprintf(stderr, "End it? Its work may be going on. [y/N] ");
    if (fgets(answer, sizeof(answer), stdin) == NULL ||
        (strcmp(answer, "y\n") != 0 && strcmp(answer, "yes\n") != 0))
        return cli_fail(b->c, CLI_BUSY, "nothing was changed");
    return 0;
}

static int end_one(const struct breaking *b, cli_json *json, const char *owner)
{
    lk_status status =
        b->values->dry_run ? LK_OK : lk_break(b->client, b->name, owner);

    if (status == LK_ENOTHELD && b->values->all)
        return 0; /* it went with another, or by itself */
    if (status == LK_ENOTHELD)
        return cli_fail(b->c, CLI_BUSY,
                        "%s does not hold %s any more; nothing was changed",
                        owner, b->name);
    if (status != LK_OK)
        return cli_fail_status(b->c, status, b->name);
    if (b->c->json)
        cli_json_text(json, NULL, owner);
    return 0;
}

static int end_all(const struct breaking *b, cli_json *json)
{
    int code = 0;

    if (b->values->owner != NULL)
        return end_one(b, json, b->values->owner);
    for (size_t i = 0; i < b->info->holder_count; i++) {
        int one = end_one(b, json, b->info->holders[i]->owner);

        if (one != 0)
            code = one; /* the others are ended nevertheless */
    }
    return code;
}

static void tell(const struct breaking *b)
{
    bool is_foreign = false;

    for (size_t i = 0; i < b->info->holder_count; i++)
        is_foreign |= is_meant(b, b->info->holders[i]) &&
                      see_is_foreign(b->kind, b->info->holders[i]);
    if (b->values->dry_run)
        cli_note(b->c, "nothing was changed");
    else if (is_foreign)
        cli_note(b->c, "ended; Redisson does not tell its holder");
    else
        cli_note(b->c, "ended; the holder is told, if it is there");
}

static int go(const struct breaking *b)
{
    cli_json json = {.to = stdout};
    int code;

    if (!b->c->json)
        see_put_info(b->c, stdout, b->name, b->kind, b->info, "");
    code = check(b);
    if (code == 0)
        code = confirm(b);
    if (code != 0)
        return code;
    if (b->c->json) {
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "name", b->name);
        cli_json_text(&json, "kind", lk_kind_text(b->kind));
        cli_json_bool(&json, "dry_run", b->values->dry_run);
        cli_json_open(&json, "ended", '[');
    }
    code = end_all(b, &json);
    if (b->c->json) {
        cli_json_close(&json, ']');
        cli_json_close(&json, '}');
        cli_json_line(&json);
    } else if (code == 0) {
        tell(b);
    }
    return code;
}

static int run(cli *c, int argc, char **argv)
{
    struct values values = {.owner = NULL};
    struct breaking b = {.c = c, .values = &values};
    lk_info *info;
    lk_status status;
    cli_args args;
    int code;

    cli_parse(c, argc, argv, &values, &args);
    if (values.all && values.owner != NULL)
        cli_usage(c, "--all and --if-owner contradict each other");
    code = see_open(c, &b.client);
    if (code != 0)
        return code;
    b.name = args.operands[0];
    status = lk_who(b.client, b.name, &b.kind, &info);
    if (status == LK_OK) {
        b.info = info;
        code = go(&b);
        lk_info_free(info);
    } else {
        code = cli_fail_status(c, status, b.name);
    }
    lk_client_free(b.client);
    return code;
}

const cli_command cli_command_break = {
    .name = "break",
    .summary = "end somebody else's hold, having shown it and asked",
    .usage = "[OPTION]... NAME",
    .about =
        "Shows who holds NAME, asks, and ends that hold; the next in line "
        "gets\n"
        "it, and a holder that is a Latchkey client is told. Whoever came to\n"
        "hold it meanwhile keeps it. The work that was done under the hold is\n"
        "not stopped by this: its next write is refused only by who checks\n"
        "the fence. Exit code 75: that owner does not hold it.",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
