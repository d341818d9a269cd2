/* SPDX-License-Identifier: MIT */

#include "cli/eval.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/caller.h"
#include "cli/cli.h"
#include "cli/run/keeper.h"

enum { OUTER_MOST = 4096 }; /* bytes of the holds around one */

static pid_t shell;

void cli_eval_for(pid_t evaluating)
{
    shell = evaluating;
}

/* A command line that is wrong may not have said it yet. */
static pid_t shell_pid(void)
{
    return shell != 0 ? shell : cli_caller_shell(NULL, 0);
}

/* As one word of a shell. */
static void put_quoted(const char *text)
{
    (void)putchar('\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            (void)fputs("'\\''", stdout);
        else
            (void)putchar(*text);
    }
    (void)putchar('\'');
}

void cli_eval_export(const char *variable, const char *value)
{
    (void)printf("export %s=", variable);
    put_quoted(value);
    (void)fputs(";\n", stdout);
}

void cli_eval_unset(void)
{
    (void)fputs("unset LATCHKEY_HOLD LATCHKEY_KEEPER LATCHKEY_NAME "
                "LATCHKEY_FENCE;\n",
                stdout);
}

/* ---- holds within holds -------------------------------------------------- */

/*
 * LATCHKEY_OUTER is of one shell: its pid, and for each hold that it has around
 * LATCHKEY_HOLD, the innermost first, " <bytes>:<text>". A script inherits that of
 * the shell that calls it, whose holds are not its own. Returns what stands behind
 * the pid; NULL: this shell has set nothing.
 */
static const char *outer_holds(void)
{
    const char *text = getenv("LATCHKEY_OUTER");
    char *rest = NULL;

    if (text == NULL || strtol(text, &rest, 10) != (long)shell_pid())
        return NULL;
    return rest;
}

/* The size of the first of these holds, and of no more than so many bytes. A shell
   that takes names in a loop without going back would else have more than a program
   can be given. */
static size_t outer_size(const char *holds)
{
    const char *at = holds;

    while (*at == ' ') {
        char *end = NULL;
        const size_t size = strtoul(at, &end, 10);

        if (*end != ':' || strlen(end + 1) < size ||
            (size_t)(end + 1 - holds) + size > OUTER_MOST)
            break;
        at = end + 1 + size;
    }
    return (size_t)(at - holds);
}

/* `inner` NULL: none more. */
static void put_outer(const char *inner, const char *rest)
{
    char *value = NULL;
    const int most = (int)outer_size(rest);
    int size = inner != NULL
                   ? asprintf(&value, "%ld %zu:%s%.*s", (long)shell_pid(),
                              strlen(inner), inner, most, rest)
                   : asprintf(&value, "%ld%.*s", (long)shell_pid(), most, rest);

    if (size < 0)
        return;
    cli_eval_export("LATCHKEY_OUTER", value);
    explicit_bzero(value, (size_t)size);
    free(value);
}

static void disown_keepers(void)
{
    const char *before = getenv("LATCHKEY_KEEPER");
    char own[CLI_KEEPERS_SIZE];

    cli_keeper_own(own, before, shell_pid());
    if (own[0] != '\0')
        cli_eval_export("LATCHKEY_KEEPER", own);
    else
        (void)fputs("unset LATCHKEY_KEEPER;\n", stdout);
}

void cli_eval_disown(void)
{
    if (outer_holds() == NULL)
        (void)fputs("unset LATCHKEY_HOLD;\n", stdout);
    disown_keepers();
}

void cli_eval_enter(void)
{
    const char *hold = getenv("LATCHKEY_HOLD");
    const char *outer = outer_holds();
    const bool is_within = outer != NULL && hold != NULL && hold[0] != '\0';

    put_outer(is_within ? hold : NULL, outer != NULL ? outer : "");
}

void cli_eval_leave(void)
{
    const char *outer = outer_holds();
    const char *at = outer != NULL ? outer : "";
    char *end = NULL;
    const size_t size = strtoul(at, &end, 10);
    char *hold = NULL;

    (void)fputs("unset LATCHKEY_NAME LATCHKEY_FENCE;\n", stdout);
    if (size > 0 && *end == ':' && strlen(end + 1) >= size)
        hold = strndup(end + 1, size);
    if (hold == NULL) {
        (void)fputs("unset LATCHKEY_HOLD LATCHKEY_OUTER;\n", stdout);
        return;
    }
    cli_eval_export("LATCHKEY_HOLD", hold);
    put_outer(NULL, end + 1 + size);
    explicit_bzero(hold, size);
    free(hold);
}

/* ---- failures ------------------------------------------------------------ */

/* What this shell has around the one that failed, it has still. */
void cli_eval_failure(int code)
{
    (void)fputs("unset LATCHKEY_NAME LATCHKEY_FENCE;\n", stdout);
    cli_eval_disown();
    (void)printf("(exit %d)\n", code != 0 ? code : 1);
}

void cli_eval_status(int code)
{
    if (code != 0)
        (void)printf("(exit %d)\n", code);
}

/* The code that the shell's eval is to fail with; 0: it is not to. */
static int owed_code;
static void (*owed)(int code);

static void at_exit(void)
{
    if (owed_code != 0)
        owed(owed_code);
}

static void owe(void (*what)(int code))
{
    owed = what;
    if (atexit(at_exit) == 0)
        owed_code = CLI_USAGE;
}

void cli_eval_owe(void)
{
    owe(cli_eval_failure);
}

void cli_eval_owe_status(void)
{
    owe(cli_eval_status);
}

void cli_eval_begun(void)
{
    owed_code = 0;
}
