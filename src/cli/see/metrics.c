/* SPDX-License-Identifier: MIT */

/* `latchkey metrics`: sums of all names, for Prometheus or as JSON. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/file.h"
#include "cli/see/export.h"
#include "cli/see/sums.h"

enum { EVERY_MS = 1000, LEAST_MS = 100 };

struct values {
    bool names;
    const char *file, *listen;
    int64_t every_ms;
};

static const cli_option options[] = {
    {CLI_FLAG, 0, "names", offsetof(struct values, names), NULL,
     "a series for each name as well", 0},
    {CLI_TEXT, 0, "textfile", offsetof(struct values, file), "PATH",
     "write to this file, in one step, for node_exporter", 0},
    {CLI_TEXT, 0, "listen", offsetof(struct values, listen), "[ADDR:]PORT",
     "serve http://ADDR:PORT/metrics; ADDR: 127.0.0.1", 0},
    {CLI_TIME, 0, "every", offsetof(struct values, every_ms), "TIME",
     "with --listen: how often it looks; 1", 0},
    {.kind = CLI_END},
};

/* stats NULL: see see_put_metrics(). */
static int write_metrics(const cli *c, const struct values *values,
                         const see_totals *stats, const see_rows *rows)
{
    char *text = NULL;
    size_t size;
    FILE *to = values->file != NULL ? open_memstream(&text, &size) : stdout;
    bool is_good = to != NULL;

    if (is_good)
        see_put_metrics(to, stats, values->names ? rows : NULL, SIZE_MAX);
    if (values->file != NULL)
        is_good =
            is_good && fclose(to) == 0 && cli_file_put(values->file, text);
    free(text);
    return is_good
               ? CLI_OK
               : cli_fail(c, CLI_LOST, "%s: %s", values->file, strerror(errno));
}

static int write_all(const cli *c, lk_client *client, const see_rows *rows,
                     const struct values *values)
{
    lk_health *health;
    lk_status status = lk_health_check(client, SEE_WAIT_MS, &health);
    see_totals stats;
    int code = CLI_OK;

    if (status != LK_OK)
        return cli_fail_call(c, status, "checking the server");
    stats = see_totals_of(rows, health);
    if (c->json)
        see_json_totals(&stats);
    else
        code = write_metrics(c, values, &stats, rows);
    lk_health_free(health);
    (void)see_missing(c, stats.missing);
    return code;
}

static int
look(cli *c, const lk_list_options *what, const struct values *values)
{
    lk_client *client;
    see_rows rows;
    int code = see_open(c, &client);

    if (code != 0)
        return code;
    code = see_rows_get(c, client, what, &rows);
    if (code == 0) {
        code = write_all(c, client, &rows, values);
        see_rows_free(&rows);
    }
    lk_client_free(client);
    return code;
}

static int
serve(cli *c, const lk_list_options *what, const struct values *values)
{
    see_export how = {.listen = values->listen,
                      .what = *what,
                      .names = values->names,
                      .every_ms =
                          values->every_ms != 0 ? values->every_ms : EVERY_MS};

    if (c->json || values->file != NULL)
        cli_usage(c, "--listen does not go with --json or --textfile");
    if (how.every_ms < LEAST_MS)
        cli_usage(c, "--every has to be 100 ms at least");
    return see_export_run(c, &how);
}

static int run(cli *c, int argc, char **argv)
{
    struct values values = {.names = false};
    lk_list_options what = {LK_LIST_OPTIONS_INIT};
    cli_args args;
    int code;

    cli_parse(c, argc, argv, &values, &args);
    if (args.operand_count == 1)
        what.pattern = args.operands[0];
    if (values.listen != NULL)
        return serve(c, &what, &values);
    if (values.every_ms != 0)
        cli_usage(c, "--every goes with --listen");
    code = look(c, &what, &values);
    /* Else who reads a file would take old numbers for present ones. What goes
       wrong here was told of already, by its first cause; a file that could not be
       written, CLI_LOST, as well. */
    if (code != CLI_OK && code != CLI_LOST && !c->json)
        (void)write_metrics(c, &values, NULL, NULL);
    return code;
}

const cli_command cli_command_metrics = {
    .name = "metrics",
    .group = CLI_OPERATE,
    .summary = "print the numbers of names, holders and waiters for Prometheus",
    .examples =
        "  latchkey metrics --listen 9400\n"
        "  latchkey metrics --textfile /var/lib/node_exporter/latchkey.prom",
    .usage = "[OPTION]... [PATTERN]",
    .about =
        "One look, written as Prometheus text, to standard output or to a\n"
        "file for node_exporter's textfile collector. PATTERN is as for\n"
        "`ls`. With --json it writes the same as JSON. Where the\n"
        "server cannot be looked at, latchkey_up 0 is all that is written,\n"
        "and the exit code is 69.\n"
        "\n"
        "With --listen it goes on until a signal ends it, looks every second,\n"
        "and serves what it saw, with histograms of the holds and waits that\n"
        "ended since it began; what begins and ends between two looks is not\n"
        "seen. It says where on standard output; port 0 takes a free one. "
        "Then\n"
        "--names is of the 1000 names with the most waiters. Whoever reaches\n"
        "the address can read it.",
    .options = options,
    .operands_max = 1,
    .run = run,
};
