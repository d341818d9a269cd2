/* SPDX-License-Identifier: MIT */

/* `latchkey forget`: removes what is kept of a name that nobody uses. */

#include <stdio.h>

#include "cli/cli.h"
#include "cli/see/see.h"

static void put_done(const cli *c, const char *name, lk_kind kind)
{
    cli_json json = {.to = stdout};

    if (!c->json) {
        cli_note(c, "forgotten");
        return;
    }
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "name", name);
    cli_json_text(&json, "kind", lk_kind_text(kind));
    cli_json_close(&json, '}');
}

/* A name that stays is shown, as it was just before. */
static int forget(const cli *c, lk_client *client, const char *name,
                  lk_kind kind, const lk_info *info)
{
    lk_status status = lk_forget(client, name);

    if (status == LK_OK) {
        put_done(c, name, kind);
        return 0;
    }
    if (status == LK_EBUSY && !c->json)
        see_put_info(c, stdout, name, kind, info, "");
    return cli_fail_call(c, status, name);
}

static int
show(const cli *c, lk_client *client, const cli_args *args, const void *values)
{
    const char *name = args->operands[0];
    lk_info *info;
    lk_kind kind;
    lk_status status = lk_who(client, name, &kind, &info);
    int code;

    (void)values;
    if (status != LK_OK)
        return cli_fail_call(c, status, name);
    code = forget(c, client, name, kind, info);
    lk_info_free(info);
    return code;
}

static int run(cli *c, int argc, char **argv)
{
    cli_args args;

    cli_parse(c, argc, argv, NULL, &args);
    return see_run(c, &args, NULL, show);
}

const cli_command cli_command_forget = {
    .name = "forget",
    .group = CLI_OPERATE,
    .summary = "delete what the server keeps of a name that nobody uses",
    .examples = "  latchkey forget encoders\n"
                "  latchkey ls --idle               what there is to forget",
    .usage = "[OPTION]... NAME",
    .about =
        "The server remembers for up to a week what NAME was used as, and "
        "another\n"
        "kind may be refused. `forget` removes that, the number of permits of\n"
        "a semaphore and the count of a latch as well.\n"
        "\n"
        "It changes nothing while somebody holds NAME or waits for it, or did\n"
        "a moment ago, nor while a plain semaphore is set: it shows who has "
        "it\n"
        "then. A latch may be armed, if nobody waits. The last fence stays "
        "for\n"
        "an hour, so that fences do not go back; later they grow only because\n"
        "the server's clock does.\n"
        "Exit code 75: it is in use, or nothing is kept of it.",
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
