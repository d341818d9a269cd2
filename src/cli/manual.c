/* SPDX-License-Identifier: MIT */

/*
 * The man pages, made of the tables of the tool, so that none can lack a command
 * or an option.
 *
 * `latchkey __manual` names the pages of the commands, a line each.
 * `latchkey __manual COMMAND` is the page of one of them.
 * `latchkey __manual FILE` is the overview. FILE is its source, with lines in
 * which @COMMANDS@, @OPTIONS@ and @SETTINGS@ stand for what the tables say, and
 * @VERSION@ for the version.
 */

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/config.h"
#include "cli/output.h"

enum { LINE_SIZE = 256 }; /* of a line of what a command says of itself */

/* ---- text --------------------------------------------------------------- */

/* A dash is one that can be copied, and no line begins with a request. */
static void put_text(const char *text)
{
    bool at_start = true;

    for (; *text != '\0'; text++) {
        if (at_start && (*text == '.' || *text == '\''))
            (void)fputs("\\&", stdout);
        if (*text == '-')
            (void)fputs("\\-", stdout);
        else if (*text == '\\')
            (void)fputs("\\e", stdout);
        else
            (void)fputc(*text, stdout);
        at_start = *text == '\n';
    }
}

static void put_bold(const char *before, const char *text)
{
    (void)fputs("\\fB", stdout);
    put_text(before);
    put_text(text);
    (void)fputs("\\fR", stdout);
}

/* One line: indented ones are shown as they are. */
static void put_line(const char *line, bool *is_example)
{
    const bool is_indented = line[0] == ' ';

    if (is_indented != *is_example)
        (void)puts(is_indented ? ".RS\n.nf" : ".fi\n.RE");
    *is_example = is_indented;
    if (line[0] == '\0')
        (void)fputs(".sp", stdout);
    put_text(line + strspn(line, " "));
    (void)fputc('\n', stdout);
}

static void put_about(const char *about)
{
    bool is_example = false;
    char line[LINE_SIZE];

    for (; about != NULL; about = strchr(about, '\n')) {
        about += *about == '\n';
        (void)snprintf(line, sizeof(line), "%.*s", (int)strcspn(about, "\n"),
                       about);
        put_line(line, &is_example);
    }
    if (is_example)
        (void)puts(".fi\n.RE");
}

/* ---- tables ------------------------------------------------------------- */

static void put_option(const cli_option *option)
{
    char letter[2] = {option->letter, '\0'};

    (void)puts(".TP");
    if (option->letter != 0)
        put_bold("-", letter);
    if (option->letter != 0 && option->name != NULL)
        (void)fputs(", ", stdout);
    if (option->name != NULL)
        put_bold("--", option->name);
    if (cli_option_takes_value(option)) {
        (void)fputs(" \\fI", stdout);
        put_text(option->value);
        (void)fputs("\\fR", stdout);
    }
    (void)fputc('\n', stdout);
    put_text(option->help);
    (void)fputc('\n', stdout);
}

static void put_options(const cli_option *option)
{
    for (; option != NULL && option->kind != CLI_END; option++) {
        if (cli_option_is_shown(option))
            put_option(option);
    }
}

static void put_commands(void)
{
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (cli_commands[i]->group == CLI_HIDDEN)
            continue;
        (void)puts(".TP");
        put_bold("latchkey-", cli_commands[i]->name);
        (void)puts("(1)");
        put_text(cli_commands[i]->summary);
        (void)fputc('\n', stdout);
    }
}

/* What may be said beside the command line. */
static void put_settings(void)
{
    for (const cli_setting *s = cli_settings; s->key != NULL; s++) {
        (void)puts(".TP");
        put_bold("", s->key);
        (void)fputc('\n', stdout);
        put_text(s->help);
        for (int i = 0; i < 2 && s->variables[i] != NULL; i++) {
            (void)fputs(i == 0 ? "; variable " : ", ", stdout);
            put_bold("", s->variables[i]);
        }
        if (s->initial != NULL) {
            (void)fputs("; else ", stdout);
            put_bold("", s->initial);
        }
        (void)fputc('\n', stdout);
    }
}

/* ---- the page of a command ---------------------------------------------- */

static void put_title(const char *name)
{
    (void)fputs(".TH LATCHKEY\\-", stdout);
    for (; *name != '\0'; name++)
        (void)fputc(toupper((unsigned char)*name), stdout);
    (void)printf(" 1 \"\" \"latchkey %s\" \"User Commands\"\n", lk_version());
}

static void put_synopsis(const cli_command *command)
{
    (void)fputs(".SH NAME\nlatchkey\\-", stdout);
    put_text(command->name);
    (void)fputs(" \\- ", stdout);
    put_text(command->summary);
    (void)fputs("\n.SH SYNOPSIS\n", stdout);
    put_bold("latchkey ", command->name);
    (void)fputc(' ', stdout);
    put_text(command->usage);
    (void)fputc('\n', stdout);
}

static void put_description(const cli_command *command)
{
    (void)puts(".SH DESCRIPTION");
    if (command->about != NULL) {
        put_about(command->about);
    } else {
        (void)fputc(toupper((unsigned char)command->summary[0]), stdout);
        put_text(command->summary + 1);
        (void)puts(".");
    }
}

static void put_page(const cli_command *command)
{
    put_title(command->name);
    put_synopsis(command);
    put_description(command);
    (void)puts(".SH OPTIONS");
    put_options(command->options);
    if (command->options != NULL)
        (void)puts(".SS Options of every command");
    put_options(cli_global_options);
    (void)puts(".SH EXAMPLES");
    put_about(command->examples);
    (void)puts(".SH SEE ALSO\n"
               ".BR latchkey (1)\n"
               "has the exit codes, the environment, the files, and examples");
}

static void put_names(void)
{
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        const cli_command *command = cli_commands[i];

        if (command->group == CLI_HIDDEN)
            continue;
        (void)puts(command->name);
    }
}

/* ---- the overview ------------------------------------------------------- */

static void put_source_line(const char *line)
{
    const char *version = strstr(line, "@VERSION@");

    if (strcmp(line, "@COMMANDS@\n") == 0)
        put_commands();
    else if (strcmp(line, "@OPTIONS@\n") == 0)
        put_options(cli_global_options);
    else if (strcmp(line, "@SETTINGS@\n") == 0)
        put_settings();
    else if (version != NULL)
        (void)printf("%.*s%s%s", (int)(version - line), line, lk_version(),
                     version + strlen("@VERSION@"));
    else
        (void)fputs(line, stdout);
}

static int put_overview(const cli *c, const char *path)
{
    FILE *source = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    int code = CLI_OK;

    if (source == NULL)
        return cli_fail(c, CLI_USAGE, "%s: %s", path, strerror(errno));
    while (getline(&line, &room, source) > 0)
        put_source_line(line);
    if (feof(source) == 0)
        code = cli_fail(c, CLI_INTERNAL, "%s: not read to its end", path);
    free(line);
    (void)fclose(source);
    return code;
}

static int run(cli *c, int argc, char **argv)
{
    const cli_command *command;
    cli_args args;

    cli_parse(c, argc, argv, NULL, &args);
    if (args.operand_count == 0) {
        put_names();
        return cli_finish(CLI_OK);
    }
    command = cli_command_find(args.operands[0]);
    if (command == NULL)
        return cli_finish(put_overview(c, args.operands[0]));
    put_page(command);
    return cli_finish(CLI_OK);
}

const cli_command cli_command_manual = {
    .name = "__manual",
    .summary = "the man pages, made of a source and the tables",
    .usage = "[COMMAND|FILE]",
    .operands_max = 1,
    .run = run,
};
