/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_SEE_EXPORT_H
#define LK_CLI_SEE_EXPORT_H

#include "cli/see/see.h"

/* `latchkey metrics --listen`. */
typedef struct see_export {
    const char *listen; /* as cli_http_place_read() has it */
    lk_list_options what;
    bool names; /* a series for each name */
    int64_t every_ms;
} see_export;

/* Runs until a signal. Returns the exit code, having complained. */
int see_export_run(cli *c, const see_export *how);

#endif /* LK_CLI_SEE_EXPORT_H */
