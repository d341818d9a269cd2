/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_RIGHTS_H
#define LK_CLI_RIGHTS_H

struct cli;

/*
 * The rights of an ACL user that a program needs at the server. What each
 * primitive needs is made at build time of its scripts and kinds, by
 * tools/rights.awk. In a pattern % stands for what all names begin with.
 */
typedef struct cli_rights {
    const char *primitive; /* NULL ends the list */
    const char *const *commands, *const *keys, *const *channels;
} cli_rights;

extern const cli_rights cli_rights_of[];

/* A command that no program needs: what is lost without it. */
typedef struct cli_help {
    const char *command; /* NULL ends the list */
    const char *without;
} cli_help;

extern const cli_help cli_rights_helpful[];

/*
 * Prints the rights to names that begin so, of one primitive or, NULL, of all.
 * Returns the exit code. Asks no server.
 */
int cli_rights_put(const struct cli *c, const char *prefix,
                   const char *primitive);

#endif /* LK_CLI_RIGHTS_H */
