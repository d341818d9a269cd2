/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_ENDED_H
#define LK_CLI_ENDED_H

#include "cli/subject.h"

struct cli;

/*
 * Says what is known of a hold that the server does not keep for `text` any more:
 * whether an operator has ended it, and who holds the name now. It asks the
 * server, and says less where that does not answer. One that was revoked and stands
 * still is given back, if it is to be. noun: of its kind. Returns the exit code.
 */
int cli_ended_fail(const struct cli *c, lk_client *client, const char *noun,
                   const char *name, const char *text, bool gives_back);

#endif /* LK_CLI_ENDED_H */
