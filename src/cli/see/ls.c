/* SPDX-License-Identifier: MIT */

/* `latchkey ls`: the names in use. */

#include <stdio.h>

#include "cli/cli.h"
#include "cli/see/rows.h"

struct values {
    bool idle, ours, is_bare;
    int sort;
};

static const cli_option options[] = {
    {CLI_FLAG, 'a', "idle", offsetof(struct values, idle), NULL,
     "names as well that nobody holds or waits for", 0},
    {CLI_FLAG, 0, "ours", offsetof(struct values, ours), NULL,
     "only names that Latchkey has used", 0},
    {CLI_WORD, 0, "sort", offsetof(struct values, sort), "name|waiters|held",
     "in which order", 0},
    {CLI_FLAG, 0, "no-header", offsetof(struct values, is_bare), NULL,
     "no headline", 0},
    {CLI_WORD, 's', "sort", offsetof(struct values, sort), "name|waiters|held",
     NULL, 0},
    {CLI_FLAG, 'n', "no-header", offsetof(struct values, is_bare), NULL, NULL,
     0},
    {.kind = CLI_END},
};

static int
show(const cli *c, lk_client *client, const cli_args *args, const void *chosen)
{
    const struct values *values = chosen;
    const lk_list_options what = {LK_LIST_OPTIONS_INIT,
                                  .pattern = args->operand_count == 1
                                                 ? args->operands[0]
                                                 : NULL,
                                  .idle = values->idle, .ours = values->ours};
    see_rows rows;
    int code = see_rows_get(c, client, &what, &rows);

    if (code != 0)
        return code;
    see_rows_sort(&rows, (see_order)values->sort);
    return see_rows_show(c, client, &rows, !values->is_bare);
}

static int run(cli *c, int argc, char **argv)
{
    struct values values = {.sort = SEE_BY_NAME};
    cli_args args;

    cli_parse(c, argc, argv, &values, &args);
    return see_run(c, &args, &values, show);
}

const cli_command cli_command_ls = {
    .name = "ls",
    .group = CLI_SEE,
    .summary = "list the names in use, and who holds each",
    .examples = "  latchkey ls\n"
                "  latchkey ls 'deploy*' --json",
    .usage = "[OPTION]... [PATTERN]",
    .about =
        "PATTERN is of names, with * ? [a-z], as for Redis. Reads the key\n"
        "space in small steps, so that other clients do not notice. Of\n"
        "several holders one is shown. A name with blanks or control\n"
        "characters stands in quotes. On a terminal, or with COLUMNS set,\n"
        "what is long is shortened in its middle, and where that is not "
        "enough\n"
        "each name takes two lines; elsewhere nothing is shortened. Where\n"
        "sentinels name the master, the first line says where it is.",
    .options = options,
    .operands_max = 1,
    .run = run,
};
