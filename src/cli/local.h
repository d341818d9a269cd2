/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_LOCAL_H
#define LK_CLI_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct cli;

/*
 * The private server, `local:`: a redis-server of one user on one machine, on
 * a unix socket that nobody else can open, without persistence or eviction.
 * Whoever first needs it starts it, it then runs until it is stopped.
 *
 * It lives in $XDG_RUNTIME_DIR/latchkey, or in /tmp/latchkey-<uid>. A directory
 * that somebody else owns or may write to is refused: whoever has the socket
 * has the locks. A lock on a file keeps two from starting it.
 *
 * It is never a substitute for a server that is configured: two machines would
 * each believe that they hold the lock.
 */

/* Bytes of a socket's path with its end: of sockaddr_un. */
enum { CLI_LOCAL_PATH = 108, CLI_LOCAL_DIRECTORY = 96 };

typedef struct cli_local {
    char directory[CLI_LOCAL_DIRECTORY];
    char socket[CLI_LOCAL_PATH];
} cli_local;

/* Where it lives. Makes nothing. 0, or has complained. */
int cli_local_find(const struct cli *c, cli_local *ret_local);

/* Its URL; owned by the caller. NULL: no memory. */
char *cli_local_url(const cli_local *local);

/* Joins or starts it. 0, or has complained. ret_started: it was not there. */
int cli_local_start(const struct cli *c, const cli_local *local,
                    bool *ret_started);

/* The process that listens there; 0: nobody does; -1: it is another user's. */
pid_t cli_local_pid(const cli_local *local);

/* Ends it, and with it all that is held there. 0, or has complained. */
int cli_local_stop(const struct cli *c, const cli_local *local);

#endif /* LK_CLI_LOCAL_H */
