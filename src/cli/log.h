/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_LOG_H
#define LK_CLI_LOG_H

#include "cli/cli.h"
#include "cli/json.h"

/*
 * One line of --log-format json on standard error: between begin and end its members
 * are written to json. docs/cli-json.md describes them.
 */
typedef struct cli_log {
    cli_json json;
    char *text;
    size_t size;
} cli_log;

/* level: "error", "warning" or "note". False: no memory; there is nothing to end. */
bool cli_log_begin(cli_log *log, const cli *c, const char *level);
void cli_log_end(cli_log *log);

#endif /* LK_CLI_LOG_H */
