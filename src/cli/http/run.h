/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_HTTP_RUN_H
#define LK_CLI_HTTP_RUN_H

#include <stdint.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/http/http.h"

/*
 * A command that listens: it looks, publishes what it saw, waits, and looks
 * again, until a signal ends it.
 */
typedef struct cli_http_run {
    cli_http_place place;
    const cli_http_page *pages; /* see cli_http_open() */
    const char *path;           /* of the page that a user is told of */
    int64_t every_ms; /* longer where a look takes more than half of it */
    void (*look)(FILE *to, void *data); /* writes what is published */
    void *data;
} cli_http_run;

/*
 * Says on standard output where it listens, and runs. SIGINT ends it with
 * CLI_OK, SIGTERM and SIGHUP as signals do. The calling thread has these
 * blocked from then on. Returns the exit code.
 */
int cli_http_run_until_signal(const cli *c, const cli_http_run *run);

#endif /* LK_CLI_HTTP_RUN_H */
