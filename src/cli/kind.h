/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_KIND_H
#define LK_CLI_KIND_H

#include "cli/cli.h"
#include "cli/subject.h"

/* "plain lock" and the like; "" for none. */
const char *cli_kind_noun(lk_kind kind);

/*
 * LK_ETYPE: complains of a name that is in use as another kind than wanted, and
 * says as which, as far as the server tells, and what to write. Returns the exit
 * code.
 */
int cli_fail_kind(const cli *c, lk_client *client, const char *name,
                  cli_kind_of wanted);

#endif /* LK_CLI_KIND_H */
