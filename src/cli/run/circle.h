/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_RUN_CIRCLE_H
#define LK_CLI_RUN_CIRCLE_H

#include "cli/see/graph.h"

/*
 * Whether a wait of a command that runs under a hold is a part of a circle: the
 * holder of what it waits for waits for what it holds, perhaps over others. Each
 * of them then waits until its time is over, or for ever.
 *
 * It looks at who waits for whom as `why` does, with calls that do not wait, and
 * believes in a circle that is there, with the same holders, for longer than
 * what a waiter told of itself lives on.
 *
 * Zero at the start, and not freed: an answer may still come.
 */
typedef struct run_circle {
    see_graph graph, before;
    lk_client *client;
    const char *name; /* that is waited for */
    bool is_asking;
    int64_t since_ns; /* it has been seen since; 0: it is not there */
    bool is_found;    /* graph has it; nothing is asked any more */
} run_circle;

/* Begins to look, unless it looks, or has found one. */
void run_circle_look(run_circle *circle, lk_client *client, const char *name);

/* Writes the sentence about one that was found: "a circle: ...". */
void run_circle_put(FILE *to, const run_circle *circle);

#endif /* LK_CLI_RUN_CIRCLE_H */
