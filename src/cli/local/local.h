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
 * One user has one of them on one machine, whatever the environment is like:
 * else two who share it hold a name at once. So it lives in a directory named
 * after the running kernel, the boot id, in ~/.local/state/latchkey, or where the
 * setting `server-directory` says; ~ is the home of the user database.
 *
 *   $XDG_RUNTIME_DIR  is not set by cron, su, and ssh without PAM; its directory
 *                     goes when the user logs out, and the server does not
 *   /tmp, /var/tmp    are others for a service with PrivateTmp=; anybody can
 *                     take the place before the user does
 *   /dev/shm          is cleared of the user's files at logout (RemoveIPC=)
 *   $HOME             is another one under sudo, and in many a crontab
 *   the machine id    may be the same on machines that share the home
 *
 * A user without a home of their own, and a service that does not see it
 * (ProtectHome=, DynamicUser=), is refused: that is better than a second server.
 *
 * A directory in which somebody else could put a server is refused as well:
 * whoever has the socket has the locks. A lock on a file keeps two from starting
 * it.
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

typedef enum cli_place {
    CLI_PLACE_MISSING, /* nobody else is in the way */
    CLI_PLACE_OURS,    /* the user's alone, as is the way to it */
    CLI_PLACE_BAD
} cli_place;

/* Looks at the directory. culprit: the part of its path that is missing or bad. */
cli_place cli_local_look(const cli_local *local, char culprit[CLI_LOCAL_PATH]);

/* Makes the directory if it is missing. 0, or has complained. */
int cli_local_make(const struct cli *c, const cli_local *local);

/* Where it lives. Makes nothing. 0, or has complained. */
int cli_local_find(const struct cli *c, cli_local *ret_local);

/* Its URL; owned by the caller. NULL: no memory. */
char *cli_local_url(const cli_local *local);

/* Joins or starts it. 0, or has complained. ret_started: it was not there. */
int cli_local_start(const struct cli *c, const cli_local *local,
                    bool *ret_started);

/* The process that listens there; 0: nobody does; -1: it is another user's. */
pid_t cli_local_pid(const cli_local *local);

/* What is to be started. */
typedef struct cli_program {
    const char *name;
    bool is_default; /* whatever name a server has here will do */
} cli_program;

/* Becomes that server. arguments begin with a free place, for the name by which
   the server is called. Returns only if it cannot: errno says why. */
void cli_program_exec(const cli_program *program, const char **arguments);

/* Ends it, and with it all that is held there. 0, or has complained. */
int cli_local_stop(const struct cli *c, const cli_local *local);

#endif /* LK_CLI_LOCAL_H */
