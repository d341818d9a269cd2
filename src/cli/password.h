/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_PASSWORD_H
#define LK_CLI_PASSWORD_H

#include <stdbool.h>

#include "cli/config.h"

struct cli;

/*
 * The server's password, where the URL has none, and that of the sentinels. The
 * first of these that says something counts:
 *
 *   LATCHKEY_PASSWORD, the setting password-file, REDISCLI_AUTH
 *   LATCHKEY_SENTINEL_PASSWORD, the setting sentinel-password-file
 *
 * A password file is a regular one of the user's or root's to which nobody else
 * has rights, with one line.
 */

typedef enum cli_password_kind {
    CLI_PASSWORD_SERVER,
    CLI_PASSWORD_SENTINELS,
    CLI_PASSWORDS
} cli_password_kind;

/*
 * Takes both variables out of the environment, so that no other program gets
 * them, and keeps them in c. What the kernel shows of the tool's environment is
 * overwritten. False: out of memory.
 */
bool cli_password_take(struct cli *c);

/* Finds it; text is NULL: there is none. 0, or the exit code having complained. */
int cli_password_find(const struct cli *c, cli_password_kind kind,
                      cli_value *ret_value);

#endif /* LK_CLI_PASSWORD_H */
