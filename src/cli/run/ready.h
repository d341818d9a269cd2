/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_RUN_READY_H
#define LK_CLI_RUN_READY_H

#include <stdbool.h>

#include "cli/http/http.h"

struct cli;

/*
 * What tells others that this process leads: a file, a port, systemd. It is so from
 * when the command begins until the lead is lost or given up, whichever is first.
 */
typedef struct run_ready {
    const char *file;   /* NULL: none */
    const char *health; /* [ADDR:]PORT; NULL: none */
    const char *name;   /* borrowed, from run_ready_open() on */
    cli_http *http;
    bool is_on;
} run_ready;

/* Listens, and tells systemd that it waits. 0, or the exit code having
   complained. */
int run_ready_open(const struct cli *c, run_ready *ready, const char *name);

/* The process leads. 0, or the exit code having complained. */
int run_ready_on(const struct cli *c, run_ready *ready, const char *fence);

/* The process does not lead any more. A second call does nothing. */
void run_ready_off(run_ready *ready);

#endif /* LK_CLI_RUN_READY_H */
