/* SPDX-License-Identifier: MIT */

/* `latchkey server`: the private server, seen and stopped. */

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "cli/local/local.h"

static void show(const cli *c, const cli_local *local, pid_t pid)
{
    if (c->json) {
        cli_json json = {.to = stdout};

        cli_json_open(&json, NULL, '{');
        cli_json_bool(&json, "running", pid > 0);
        cli_json_text(&json, "socket", local->socket);
        cli_json_known(&json, "pid", pid > 0, pid);
        cli_json_close(&json, '}');
    } else if (pid > 0) {
        (void)printf("running: process %d at unix:%s\n", (int)pid,
                     local->socket);
    } else {
        (void)printf("not running\n");
    }
}

static int status(const cli *c, const cli_local *local)
{
    pid_t pid = cli_local_pid(local);

    show(c, local, pid);
    return pid > 0 ? CLI_OK : CLI_BUSY;
}

static int start(const cli *c, const cli_local *local)
{
    bool is_new;
    int code = cli_local_start(c, local, &is_new);

    if (code == 0)
        show(c, local, cli_local_pid(local));
    return code;
}

static int run(cli *c, int argc, char **argv)
{
    cli_local local;
    cli_args args;
    const char *what;
    int code;

    cli_parse(c, argc, argv, NULL, &args);
    what = args.operand_count > 0 ? args.operands[0] : "status";
    code = cli_local_find(c, &local);
    if (code != 0)
        return code;
    if (strcmp(what, "status") == 0)
        return status(c, &local);
    if (strcmp(what, "start") == 0)
        return start(c, &local);
    if (strcmp(what, "stop") == 0)
        return cli_local_stop(c, &local);
    cli_usage(c, "'%s' is neither status, start nor stop", what);
}

const cli_command cli_command_server = {
    .name = "server",
    .group = CLI_SETUP,
    .summary = "start, stop or check the private server of this user",
    .examples = "  latchkey server status           75 if it does not run\n"
                "  latchkey server stop",
    .usage = "[status|start|stop]",
    .about =
        "The private server is what `--url local:` means, and what is used\n"
        "when no server is configured at all: a redis-server on a unix socket\n"
        "that only this user on this machine can open, the same one from "
        "cron,\n"
        "su, ssh and a service: below ~/.local/state/latchkey, or where the\n"
        "setting server-directory says. It is started by the\n"
        "first command that needs it, keeps everything in memory, and runs\n"
        "until it is stopped. `status` exits with 75 if it does not run.",
    .operands_max = 1,
    .run = run,
};
