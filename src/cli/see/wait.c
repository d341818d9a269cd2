/* SPDX-License-Identifier: MIT */

/*
 * `latchkey wait`: waits until nobody holds a name, and holds nothing. It
 * looks: it stands in no queue, and works for every kind of lock.
 */

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/connect.h"
#include "cli/output.h"
#include "cli/see/see.h"

enum { LEAST_MS = 50, AGAIN = -1 };

struct values {
    bool is_try;
    int64_t wait_ms, every_ms;
    uint64_t busy_code;
};

static const cli_option options[] = {
    {CLI_FLAG, 'n', "nonblock", offsetof(struct values, is_try), NULL,
     "only look", 0},
    {CLI_TIME, 'w', "wait", offsetof(struct values, wait_ms), "TIME",
     "wait for TIME at most", 0},
    {CLI_TIME, 'd', "every", offsetof(struct values, every_ms), "TIME",
     "how often it looks; 0.25", 0},
    {CLI_COUNT, 'E', "conflict-exit-code", offsetof(struct values, busy_code),
     "CODE", "exit code if it is still held; 75", 0},
    {CLI_FLAG, 0, "nb", offsetof(struct values, is_try), NULL, NULL, 0},
    {CLI_TIME, 0, "timeout", offsetof(struct values, wait_ms), "TIME", NULL, 0},
    {.kind = CLI_END},
};

struct waiting {
    const cli *c;
    const char *name;
    char shown[128];               /* the name, for terminals */
    bool is_away;                  /* the server, at the last look */
    char seen[SEE_HELD_SIZE + 16]; /* who held it then; empty: not known */
    char said[SEE_HELD_SIZE + 16]; /* who was spoken of last */
};

/* Says it once for each holder, and for each outage. */
static void say(struct waiting *w, const char *what)
{
    if (strcmp(w->said, what) != 0)
        cli_note(w->c, "waiting for %s: %s", w->shown, what);
    (void)snprintf(w->said, sizeof(w->said), "%s", what);
}

/* What a look says: the exit code, or AGAIN. */
static int
judge(struct waiting *w, lk_status status, lk_kind kind, const lk_info *info)
{
    char held[SEE_HELD_SIZE];

    w->is_away = status == LK_EOFFLINE || status == LK_ETIMEDOUT ||
                 status == LK_ELOADING;
    if (w->is_away)
        return AGAIN;
    if (status != LK_OK && status != LK_ENOTHELD)
        return cli_fail_status(w->c, status, w->name);
    if (kind == LK_KIND_LATCH)
        return cli_fail(w->c, CLI_USAGE,
                        "'%s' is a latch\n  `latchkey latch wait` waits until "
                        "it opens",
                        w->shown);
    if (kind == LK_KIND_PLAIN_SEMAPHORE)
        return cli_fail(w->c, CLI_USAGE,
                        "'%s' is a plain semaphore: nobody knows who has its "
                        "permits",
                        w->shown);
    if (status == LK_ENOTHELD || info->holder_count == 0)
        return CLI_OK;
    see_held_words(held, info, ", revoked");
    (void)snprintf(w->seen, sizeof(w->seen), "held by %s", held);
    return AGAIN;
}

static int look(struct waiting *w, lk_client *client)
{
    lk_info *info = NULL;
    lk_kind kind = LK_KIND_NONE;
    lk_status status = lk_who(client, w->name, &kind, &info);
    int code = judge(w, status, kind, info);

    if (status == LK_OK)
        lk_info_free(info);
    return code;
}

static int still_held(const struct waiting *w, const struct values *values)
{
    if (w->is_away)
        return cli_fail_status(w->c, LK_EOFFLINE, w->name);
    cli_note(w->c, "'%s' is not free: %s", w->shown, w->seen);
    return (int)values->busy_code;
}

static int
wait_free(struct waiting *w, lk_client *client, const struct values *values)
{
    int64_t begun = cli_now_ns();

    for (;;) {
        int64_t pause = values->every_ms;
        int64_t left;
        int code = look(w, client);

        left = values->wait_ms - (cli_now_ns() - begun) / CLI_NS_PER_MS;
        if (code != AGAIN)
            return code;
        if (values->wait_ms != LK_FOREVER && left <= 0)
            return still_held(w, values);
        say(w, w->is_away ? "the server cannot be reached; waiting for it"
                          : w->seen);
        if (values->wait_ms != LK_FOREVER && left < pause)
            pause = left;
        cli_pass_ms((uint64_t)pause);
    }
}

static int reach(cli *c, const struct values *values, lk_client **ret_client)
{
    lk_status status;
    int code = cli_client_open(c, NULL, ret_client);

    if (code != 0)
        return code;
    status =
        lk_client_wait_ready(*ret_client, cli_connect_ms(c, values->wait_ms));
    if (status == LK_OK)
        return 0;
    code = cli_fail_call(c, status, "");
    lk_client_free(*ret_client);
    return code;
}

static int run(cli *c, int argc, char **argv)
{
    struct values values = {.wait_ms = LK_FOREVER,
                            .every_ms = 250,
                            .busy_code = CLI_BUSY};
    struct waiting w = {.c = c};
    lk_client *client;
    cli_args args;
    int code;

    cli_parse(c, argc, argv, &values, &args);
    if (values.is_try && values.wait_ms != LK_FOREVER)
        cli_usage(c, "either -n or -w TIME");
    if (values.every_ms < LEAST_MS)
        cli_usage(c, "--every has to be 50 ms at least");
    if (values.busy_code > 255)
        cli_usage(c, "-E has to be 0 to 255");
    if (values.is_try)
        values.wait_ms = 0;
    w.name = args.operands[0];
    (void)cli_clean(w.shown, sizeof(w.shown), w.name);
    code = reach(c, &values, &client);
    if (code != 0)
        return code;
    code = wait_free(&w, client, &values);
    lk_client_free(client);
    return code;
}

const cli_command cli_command_wait = {
    .name = "wait",
    .group = CLI_SCRIPT,
    .summary = "wait until nobody holds a name",
    .examples = "  latchkey wait backup && ./restart-server\n"
                "  latchkey wait -w 10m backup      75 if it is still held",
    .usage = "[OPTION]... NAME",
    .about =
        "Looks four times a second until nobody holds NAME, of whatever\n"
        "kind; of a semaphore until all permits are back. It holds nothing\n"
        "and keeps nobody out: somebody may hold NAME again when it ends. A\n"
        "name that goes from one holder to the next is not free in between.\n"
        "\n"
        "  latchkey wait -w 10m backup && poweroff\n"
        "\n"
        "Exit code 75: it is still held.",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
