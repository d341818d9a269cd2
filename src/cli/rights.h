/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_RIGHTS_H
#define LK_CLI_RIGHTS_H

#include <stdbool.h>

struct cli;

/*
 * The rights of an ACL user that a program needs at the server. What each
 * primitive needs is made at build time of its scripts and kinds, by
 * tools/rights.awk. In a pattern % stands for what all names begin with, $ for the
 * tenant of the clients.
 */
typedef struct cli_rights {
    const char *primitive; /* NULL ends the list */
    const char *const *commands, *const *keys, *const *channels;
} cli_rights;

extern const cli_rights cli_rights_of[];

/* The commands that all need as well in a cluster, and the channels of those whose
   waiters are told anything; NULL ends them. */
extern const char *const cli_rights_cluster[];
extern const char *const cli_rights_cluster_channels[];

/* What a client needs at sentinels; NULL ends them. */
extern const char *const cli_rights_sentinels[];
extern const char *const cli_rights_sentinel_channels[];

/* A command that no program needs: what is lost without it. */
typedef struct cli_help {
    const char *command; /* NULL ends the list */
    const char *without;
} cli_help;

extern const cli_help cli_rights_helpful[];

/* Whose rights: what their names begin with, and their tenant; "" for none;
   whether the server is a node of a cluster, and whether sentinels name it. */
typedef struct cli_scope {
    const char *prefix, *tenant;
    bool is_cluster, has_sentinels;
} cli_scope;

/*
 * Prints the rights to names of that scope, of one primitive or, NULL, of all.
 * Returns the exit code. Asks no server.
 */
int cli_rights_put(const struct cli *c, const cli_scope *scope,
                   const char *primitive);

/* Whether such a primitive needs the command, as "pubsub|numsub", at a server or at
   the nodes of a cluster; or works better with it. Of one that does not exist nothing is needed. */
bool cli_rights_need(const char *primitive, const char *command,
                     bool is_cluster);
bool cli_rights_help(const char *command);

/* Ends the program unless it is a primitive. */
void cli_rights_check(const struct cli *c, const char *primitive);

#endif /* LK_CLI_RIGHTS_H */
