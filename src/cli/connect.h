/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_CONNECT_H
#define LK_CLI_CONNECT_H

#include <latchkey/client.h>

#include <stdint.h>

struct cli;

/* Outages that a wait of the tool rides out, unless the URL says how long: its
   own limit ends it. */
enum { CLI_PATIENCE_MS = 86400000 };

/*
 * Finds the server's URL, see config.h. 0, or the exit code having complained.
 * The URL and where it came from are then in c, which owns them. Talks to
 * nobody: a private server is not started yet.
 */
int cli_url(struct cli *c);

/*
 * Opens a client of that server, and starts it if it is the private one. Talks
 * to nobody yet; the first call that does tells whether the server is there.
 * more: options of the command, or NULL; its name and offline_ms are defaults,
 * which the URL beats. --verbose adds the log. 0, or the exit code having
 * complained.
 *
 *   lk_client *client;
 *   int code = cli_client_open(c, NULL, &client);
 *   if (code != 0)
 *       return code;
 */
int cli_client_open(struct cli *c, const lk_client_options *more,
                    lk_client **ret_client);

/*
 * The same of a URL that cli_url() has found, and without starting the private
 * server.
 */
int cli_client_of_url(struct cli *c, const lk_client_options *more,
                      lk_client **ret_client);

/*
 * What the URL says as one of its options, in the spelling of lk_url_describe();
 * NULL: it does not say it. Of a URL that cli_url() has found. The text is
 * there until the next call.
 */
const char *cli_url_option(const struct cli *c, const char *key);

/* The same of a time, in milliseconds; 0: it does not say it. */
int64_t cli_url_ms(const struct cli *c, const char *key);

/*
 * How long a wait, LK_FOREVER for one without limit, tries to reach a server
 * at its start: what the URL says as offline_ms, else 5 s; 3 s without
 * waiting. A short wait is no reason not to try: 1 s at least.
 */
int64_t cli_connect_ms(const struct cli *c, int64_t wait_ms);

/*
 * What a wait that ended says: where it ended because no server was there that
 * is LK_EOFFLINE, or why it refuses, with lk_last_error().
 */
lk_status cli_client_judge(lk_client *client, lk_status status);

/* The server's URL without a password; "the server" if there is none yet. */
const char *cli_server_words(const struct cli *c, char *text, size_t size);

/* Writes what a client is called for a program, for people who ask who holds:
   its name without the path, in letters that CLIENT SETNAME takes. */
void cli_client_name(char *text, size_t size, const char *path);

#endif /* LK_CLI_CONNECT_H */
