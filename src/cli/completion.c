/* SPDX-License-Identifier: MIT */

/* `latchkey completion bash`: the files of completions/, which are in the tool. */

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/output.h"

extern const char cli_completion_bash[];
extern const char cli_completion_zsh[];
extern const char cli_completion_fish[];

static int run(cli *c, int argc, char **argv)
{
    static const struct {
        const char *shell, *text;
    } shells[] = {{"bash", cli_completion_bash},
                  {"zsh", cli_completion_zsh},
                  {"fish", cli_completion_fish}};
    cli_args args;

    cli_parse(c, argc, argv, NULL, &args);
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
        if (strcmp(args.operands[0], shells[i].shell) == 0) {
            (void)fputs(shells[i].text, stdout);
            return cli_finish(CLI_OK);
        }
    }
    cli_usage(c, "there is completion for bash, zsh and fish, not for '%s'",
              args.operands[0]);
}

const cli_command cli_command_completion = {
    .name = "completion",
    .group = CLI_SETUP,
    .summary = "print the completion for bash, zsh or fish",
    .examples = "  eval \"$(latchkey completion bash)\"          in ~/.bashrc\n"
                "  latchkey completion zsh >~/.zfunc/_latchkey",
    .usage = "bash|zsh|fish",
    .about =
        "The shell asks the tool what a word may become: commands, options\n"
        "and the names in use at the server, within 200 ms. For fish:\n"
        "\n"
        "  latchkey completion fish | source         in config.fish",
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
