/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_CONNECT_H
#define LK_CLI_CONNECT_H

#include <latchkey/client.h>

struct cli;

/*
 * Finds the server's URL, see config.h. 0, or the exit code having complained.
 * The URL and where it came from are then in c, which owns them. Talks to
 * nobody: a private server is not started yet.
 */
int cli_url(struct cli *c);

/*
 * Opens a client of that server, and starts it if it is the private one. Talks to nobody yet; the first call that does
 * tells whether the server is there. more: options of the command, or NULL;
 * --verbose adds the log. 0, or the exit code having complained.
 *
 *   lk_client *client;
 *   int code = cli_client_open(c, NULL, &client);
 *   if (code != 0)
 *       return code;
 */
int cli_client_open(struct cli *c, const lk_client_options *more,
                    lk_client **ret_client);

#endif /* LK_CLI_CONNECT_H */
