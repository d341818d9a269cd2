/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_KEEPER_H
#define LK_CLI_KEEPER_H

#include <stddef.h>

struct cli;

/*
 * The keeper that `latchkey hold` leaves behind: a process that holds a name
 * for a shell. LATCHKEY_KEEPER names it by its pid and when it was started, so
 * that no other process is taken for it.
 */

/* Names the process that calls. */
void cli_keeper_name(char *text, size_t size);

/* Has it give the name back and waits for that. Returns the exit code. */
int cli_keeper_end(const struct cli *c, const char *text);

#endif /* LK_CLI_KEEPER_H */
