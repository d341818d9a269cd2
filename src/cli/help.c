/* SPDX-License-Identifier: MIT */

/* `latchkey help`: everything it says is made from the tables. */

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output.h"

enum { COLUMN = 28 }; /* where the words begin behind an option */

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
        (void)printf("  %s\n%*s%s\n", text, COLUMN, "", option->help);
    else
        (void)printf("  %-*s%s\n", COLUMN - 2, text, option->help);
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
    (void)fputs(
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
        "  127  the command is not there\n",
        stdout);
}

int cli_help_all(cli *c)
{
    (void)c;
    (void)fputs("Distributed locks and their kin over Redis.\n\n"
                "usage: latchkey [OPTION]... COMMAND ...\n\n",
                stdout);
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (!cli_commands[i]->is_hidden)
            (void)printf("  %-14s%s\n", cli_commands[i]->name,
                         cli_commands[i]->summary);
    }
    (void)fputs("\nEvery command takes:\n", stdout);
    put_options(cli_global_options);
    (void)fputs(
        "  -h, --help                what a command does\n"
        "  -V, --version             the version, as `version` shows it\n\n"
        "The server: --url, else LATCHKEY_URL, REDIS_URL,\n"
        "~/.config/latchkey/config, /etc/latchkey/config; else a\n"
        "private one, `local:`. Its password: in the URL, else\n"
        "LATCHKEY_PASSWORD, the file that LATCHKEY_PASSWORD_FILE or\n"
        "`password-file` names, REDISCLI_AUTH.\n\n",
        stdout);
    put_exits();
    return cli_finish(CLI_OK);
}

int cli_help_command(const cli_command *command)
{
    (void)printf("latchkey %s: %s\n\nusage: latchkey %s %s\n", command->name,
                 command->summary, command->name, command->usage);
    if (command->aliases != NULL)
        (void)printf("also called: %s\n", command->aliases);
    if (command->about != NULL)
        (void)printf("\n%s\n", command->about);
    if (command->options != NULL) {
        (void)fputs("\nOptions:\n", stdout);
        put_options(command->options);
    }
    (void)fputs("\nOptions of every command:\n", stdout);
    put_options(cli_global_options);
    if (command->takes_rest) {
        (void)fputc('\n', stdout);
        put_exits();
    }
    return cli_finish(CLI_OK);
}

static int run(cli *c, int argc, char **argv)
{
    const cli_command *command;
    cli_args args;

    cli_parse(c, argc, argv, NULL, &args);
    if (args.operand_count == 0)
        return cli_help_all(c);
    command = cli_command_find(args.operands[0]);
    if (command == NULL)
        return cli_fail(c, CLI_USAGE, "there is no command '%s'",
                        args.operands[0]);
    return cli_help_command(command);
}

const cli_command cli_command_help = {
    .name = "help",
    .summary = "what a command does",
    .usage = "[COMMAND]",
    .operands_max = 1,
    .run = run,
};
