/* SPDX-License-Identifier: MIT */

/* `latchkey help`: everything it says is made from the tables. */

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output.h"

enum {
    MADE_FOR = 80, /* columns; on fewer the words are filled in again */
    COMMANDS = 16, /* where the words begin behind a command */
    COLUMN = 28    /* and behind an option */
};

/* Columns of a narrow terminal; CLI_UNBOUND: as it is made. */
static int narrow(void)
{
    int columns = cli_columns_bound(stdout);

    return columns < MADE_FOR ? columns : CLI_UNBOUND;
}

/* What stands behind the column at, to the end of the line. */
static void put_behind(const char *words, int at)
{
    if (narrow() == CLI_UNBOUND)
        (void)printf("%s\n", words);
    else
        cli_put_filled(stdout, words, at, narrow());
}

/* Where the last column of a line begins, of which several blanks tell; 0: it
   has one column alone, or no room for that one. */
static int last_column(const char *line, int columns)
{
    enum { LEAST = 6, ROOM = 16 };
    int at = 0;

    for (int i = 2; line[i - 1] != '\0' && line[i] != '\0'; i++) {
        if (line[i] != ' ' && line[i - 1] == ' ' && line[i - 2] == ' ')
            at = i;
    }
    return at >= LEAST && at + ROOM <= columns ? at : 0;
}

/* A line that begins with a blank: an example, or a row of a table. */
static void put_example(const char *line, int columns)
{
    int at = last_column(line, columns);

    if (at > 0) {
        (void)printf("%.*s", at, line);
        cli_put_filled(stdout, line + at, at, columns);
        return;
    }
    cli_put_wrapped(stdout, line, columns);
    (void)putchar('\n');
}

/* Text that has lines already. Those that begin with a blank stay lines; others
   make paragraphs. */
static void put_text(const char *text)
{
    while (*text != '\0') {
        size_t size = strcspn(text, "\n");
        char part[4096];

        while (size > 0 && text[0] != ' ' && text[size] == '\n' &&
               strchr(" \n", text[size + 1]) == NULL)
            size += 1 + strcspn(text + size + 1, "\n");
        (void)snprintf(part, sizeof(part), "%.*s", (int)size, text);
        if (narrow() == CLI_UNBOUND)
            (void)printf("%s\n", part);
        else if (text[0] == ' ')
            put_example(part, narrow());
        else
            cli_put_filled(stdout, part, 0, narrow());
        text += size + (text[size] == '\n');
    }
}

static void put_option(const cli_option *option)
{
    char text[64];
    bool has_value = cli_option_takes_value(option);
    int used = 0;

    if (option->letter != 0)
        used = snprintf(text, sizeof(text), "-%c%s", option->letter,
                        option->name != NULL ? ", " : "");
    else
        used = snprintf(text, sizeof(text), "    ");
    if (option->name != NULL)
        (void)snprintf(text + used, sizeof(text) - (size_t)used, "--%s%s%s",
                       option->name, has_value ? " " : "",
                       has_value ? option->value : "");
    if (strlen(text) + 3 > COLUMN)
        (void)printf("  %s\n%*s", text, COLUMN, "");
    else
        (void)printf("  %-*s", COLUMN - 2, text);
    put_behind(option->help, COLUMN);
}

static void put_options(const cli_option *option)
{
    for (; option != NULL && option->kind != CLI_END; option++) {
        if (cli_option_is_shown(option))
            put_option(option);
    }
}

static void put_exits(void)
{
    put_text(
        "Exit codes:\n"
        "  a command that was run keeps its own; 128+n: ended by signal n\n"
        "   64  the command line is not understood\n"
        "   69  the server cannot be reached, or cannot serve\n"
        "   70  an internal error\n"
        "   74  lost while it ran; or output could not be written\n"
        "   75  not obtained (-E changes it); not there\n"
        "   77  the server refuses login or access\n"
        "   78  the URL or the configuration is wrong\n"
        "  124  --time-limit has ended the command\n"
        "  126  the command cannot be run\n"
        "  127  the command is not there\n");
}

static void put_commands(void)
{
    static const char *const titles[CLI_GROUPS] = {[CLI_RUN] = "Run a command",
                                                   [CLI_SCRIPT] = "In a script",
                                                   [CLI_SEE] = "See",
                                                   [CLI_OPERATE] = "Operate",
                                                   [CLI_SETUP] = "Set up"};

    put_text("Latchkey shares locks, semaphores and latches between hosts, "
             "through Redis.\n\n"
             "usage: latchkey COMMAND [OPTION]... NAME ...\n");
    for (int group = CLI_RUN; group < CLI_GROUPS; group++) {
        (void)printf("\n%s:\n", titles[group]);
        for (size_t i = 0; cli_commands[i] != NULL; i++) {
            if ((int)cli_commands[i]->group != group)
                continue;
            (void)printf("  %-*s", COMMANDS - 2, cli_commands[i]->name);
            put_behind(cli_commands[i]->summary, COMMANDS);
        }
    }
}

int cli_help_short(void)
{
    put_commands();
    put_text("\n`latchkey help COMMAND` explains one, `latchkey help` has the "
             "options of all.\n");
    return cli_finish(CLI_USAGE);
}

int cli_help_all(void)
{
    put_commands();
    put_text("\nEvery command takes:\n");
    put_options(cli_global_options);
    put_text(
        "  -h, --help                explain a command\n"
        "  -V, --version             the version, in the place of a command\n\n"
        "The server: --url, otherwise LATCHKEY_URL, REDIS_URL,\n"
        "~/.config/latchkey/config, /etc/latchkey/config; otherwise a\n"
        "private one, `local:`. Its password: in the URL, otherwise\n"
        "LATCHKEY_PASSWORD, the file that LATCHKEY_PASSWORD_FILE or\n"
        "`password-file` names, REDISCLI_AUTH.\n\n");
    put_exits();
    return cli_finish(CLI_OK);
}

int cli_help_command(const cli_command *command)
{
    char head[512];

    (void)snprintf(head, sizeof(head), "latchkey %s: %s\n\n", command->name,
                   command->summary);
    put_text(head);
    if (command->examples != NULL) {
        put_text(command->examples);
        put_text("\n");
    }
    (void)snprintf(head, sizeof(head), "usage: latchkey %s%s%s\n",
                   command->name, command->usage[0] != '\0' ? " " : "",
                   command->usage);
    put_text(head);
    if (command->about != NULL) {
        put_text("\n");
        put_text(command->about);
    }
    if (command->options != NULL) {
        put_text("\nOptions:\n");
        put_options(command->options);
    }
    put_text("\nOptions of every command, and exit codes: `latchkey help`.\n");
    return cli_finish(CLI_OK);
}

static int run(cli *c, int argc, char **argv)
{
    const cli_command *command;
    cli_args args;

    cli_parse(c, argc, argv, NULL, &args);
    if (args.operand_count == 0)
        return cli_help_all();
    command = cli_command_find(args.operands[0]);
    if (command == NULL)
        return cli_fail(c, CLI_USAGE, "there is no command '%s'",
                        args.operands[0]);
    return cli_help_command(command);
}

const cli_command cli_command_help = {
    .name = "help",
    .group = CLI_SETUP,
    .summary = "explain a command",
    .examples = "  latchkey help lock\n"
                "  latchkey help                    all commands, options and "
                "exit codes",
    .usage = "[COMMAND]",
    .operands_max = 1,
    .run = run,
};
