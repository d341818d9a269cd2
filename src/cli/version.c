/* SPDX-License-Identifier: MIT */

/* `latchkey --version`. */

#include <stdio.h>

#include "cli/cli.h"
#include "cli/json.h"

int cli_version(const cli *c)
{
    cli_json json = {.to = stdout};

    if (!c->json) {
        (void)printf("latchkey %s\n", lk_version());
        return CLI_OK;
    }
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "version", lk_version());
    cli_json_close(&json, '}');
    return CLI_OK;
}
