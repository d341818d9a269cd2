/* SPDX-License-Identifier: MIT */

#include "cli/eval.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"

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

void cli_eval_failure(int code)
{
    cli_eval_unset();
    (void)printf("(exit %d)\n", code != 0 ? code : 1);
}

/* The code that the shell's eval is to fail with; 0: it is not to. */
static int owed_code;

static void at_exit(void)
{
    if (owed_code != 0)
        cli_eval_failure(owed_code);
}

void cli_eval_owe(void)
{
    if (atexit(at_exit) == 0)
        owed_code = CLI_USAGE;
}

void cli_eval_begun(void)
{
    owed_code = 0;
}
