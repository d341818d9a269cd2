/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_PASSWORD_H
#define LK_CLI_PASSWORD_H

#include <stdbool.h>

#include "cli/config.h"

struct cli;

/*
 * The server's password, where the URL has none. The first of these that says
 * something counts:
 *
 *   LATCHKEY_PASSWORD, the setting password-file, REDISCLI_AUTH
 *
 * A password file is a regular one of the user's or root's to which nobody else
 * has rights, with one line.
 */

/*
 * Takes LATCHKEY_PASSWORD out of the environment, so that no other program gets
 * it, and keeps it in c. What the kernel shows of the tool's environment is
 * overwritten. False: out of memory.
 */
bool cli_password_take(struct cli *c);

/* Finds it; text is NULL: there is none. 0, or the exit code having complained. */
int cli_password_find(const struct cli *c, cli_value *ret_value);

#endif /* LK_CLI_PASSWORD_H */
