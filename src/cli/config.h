/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_CONFIG_H
#define LK_CLI_CONFIG_H

#include <stddef.h>

struct cli;

/*
 * What may be said beside the command line. For each setting the first of
 * these that says something counts:
 *
 *   its option, its environment variables in order, the user's file, the
 *   system's file, the default
 *
 * The files are $XDG_CONFIG_HOME/latchkey/config (else ~/.config/...) and
 * /etc/latchkey/config; LATCHKEY_CONFIG names one file in the place of both.
 * A line is `key = value`, empty, or begins with #.
 *
 * Whoever can write to a file chooses the server: it has to be a regular one of
 * the user's or root's to which nobody else may write. One that is not, that
 * says what is not understood, or that LATCHKEY_CONFIG names and is not there,
 * is an error even where something before it counts: to pass over it could mean
 * another server than was meant. So is a variable that is set and empty. One
 * that the user may not read is an error where a setting would come from it.
 */

typedef struct cli_setting {
    const char *key;
    const char *option;
    const char *variables[2]; /* NULL: none */
    const char *initial;
    const char *help;
} cli_setting;

/* Ended by key NULL. */
extern const cli_setting cli_settings[];

/* What a setting is, and who says so. Both are owned. */
typedef struct cli_value {
    char *text;
    char *from; /* "LATCHKEY_URL", "/etc/latchkey/config:3", "default" */
} cli_value;

/*
 * Finds a setting. given: what its option said, NULL if nothing. 0, or
 * CLI_CONFIG, CLI_USAGE or CLI_INTERNAL having complained; then ret_value is
 * empty.
 */
int cli_setting_find(const struct cli *c, const char *key, const char *given,
                     cli_value *ret_value);

/* Wipes and frees: a URL may hold a password. */
void cli_value_done(cli_value *value);

#endif /* LK_CLI_CONFIG_H */
