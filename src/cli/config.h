/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_CONFIG_H
#define LK_CLI_CONFIG_H

#include <stddef.h>

struct cli;

/*
 * What may be said beside the command line. For each setting the first of
 * these that says something counts:
 *
 *   its option, its environment variables in order, the profile that is chosen
 *   in the user's file and in the system's, the head of the user's file and of
 *   the system's, the default
 *
 * The files are $XDG_CONFIG_HOME/latchkey/config (else ~/.config/...) and
 * /etc/latchkey/config; LATCHKEY_CONFIG names one file in the place of both.
 * A line is `key = value`, empty, or begins with #; or it is [profile NAME],
 * and those behind it are of this profile. --profile chooses one, else
 * LATCHKEY_PROFILE; none of that name is an error.
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

/* Bytes of a profile's name, and of the names of all that are told of. */
enum { CLI_PROFILE_SIZE = 64, CLI_PROFILES_SIZE = 1024 };

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

/* Which profile is chosen, NULL: none, and who says so. Both are borrowed. 0, or
   CLI_USAGE having complained. */
int cli_profile(const struct cli *c, const char **ret_name,
                const char **ret_from);

/* The profiles that the files have, as "a|b". 0, or has complained. */
int cli_profiles(const struct cli *c, char names[CLI_PROFILES_SIZE]);

/* Puts copies of both in the place of what value holds. 0, or has complained. */
int cli_value_set(const struct cli *c, cli_value *value, const char *text,
                  const char *from);

/*
 * What a variable says; name may be NULL. NULL: it is not set. 0, or CLI_USAGE
 * having complained: an empty one is an error. Most often it was made of another
 * one that is not set, and to pass over it could mean another server than was
 * meant.
 */
int cli_variable(const struct cli *c, const char *name, const char **ret_value);

/* Wipes and frees: a URL may hold a password. */
void cli_value_done(cli_value *value);

/* `config url`: the server's URL in one spelling, without its password, and on a
   terminal what it means. Returns an exit code. */
int cli_url_show(struct cli *c);

#endif /* LK_CLI_CONFIG_H */
