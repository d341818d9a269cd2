/* SPDX-License-Identifier: MIT */

/* `latchkey who`: who holds a name and who waits for it. */

#include <stdio.h>

#include "cli/cli.h"
#include "cli/see.h"

static int show(const cli *c, lk_client *client, const char *name)
{
    lk_kind kind;
    lk_info *info;
    lk_status status = lk_who(client, name, &kind, &info);

    if (status != LK_OK)
        return cli_fail_status(c, status, name);
    if (c->json) {
        cli_json json = {.to = stdout};

        cli_json_open(&json, NULL, '{');
        see_json_info(&json, name, kind, info);
        cli_json_close(&json, '}');
        cli_json_line(&json);
    } else {
        see_put_info(c, stdout, name, kind, info);
    }
    lk_info_free(info);
    return CLI_OK;
}

static int run(cli *c, int argc, char **argv)
{
    lk_client *client;
    cli_args args;
    int code;

    cli_parse(c, argc, argv, NULL, &args);
    code = see_open(c, &client);
    if (code != 0)
        return code;
    code = show(c, client, args.operands[0]);
    lk_client_free(client);
    return code;
}

const cli_command cli_command_who = {
    .name = "who",
    .summary = "show who holds a name and who waits for it",
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
