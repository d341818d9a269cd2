/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_KEEPER_H
#define LK_CLI_KEEPER_H

#include <latchkey/latchkey.h>

#include <stdbool.h>
#include <sys/types.h>

struct cli;

/*
 * The keeper that `latchkey hold` leaves behind: a process that holds a name
 * for a shell. LATCHKEY_KEEPER names it by its pid and when it was started, so
 * that no other process is taken for it, and by the shell's pid; several of one
 * shell in turn, with blanks between.
 */

/* A shell may have as many as there is room for; one has 60 bytes at most. */
enum { CLI_KEEPERS_SIZE = 1024 };

/*
 * Names the process that calls, a keeper for this shell, behind those of before
 * that are still there for the same one: a script that another one has called
 * inherits the keepers of that, and they are not its to end. The newest are left
 * out where they have no room.
 */
void cli_keeper_names(char text[CLI_KEEPERS_SIZE], const char *before,
                      pid_t shell);

/* Those of before alone: an empty text if this shell has none. */
void cli_keeper_own(char text[CLI_KEEPERS_SIZE], const char *before,
                    pid_t shell);

/*
 * Has the last one of these give its name back, waits for that, and says what has
 * come of it unless all is well; if it has ended, no other one is touched, since
 * the name that is meant is lost. rest: gets the names of those before it. Returns
 * the exit code.
 */
int cli_keeper_end(const struct cli *c, const char *text,
                   char rest[CLI_KEEPERS_SIZE]);

/* The processes that wait for the end of a release, by descriptors; as many as
   there is room for. */
typedef struct cli_askers {
    int fds[16];
    size_t count;
    bool is_asked; /* there may be more than there is room for */
} cli_askers;

/* Of the keeper: reads the signals that have come to a descriptor, and adds those
   that ask. True: it is to end. */
bool cli_keeper_is_told(int signals, cli_askers *askers);

/* Answers them how the release has ended, and why the hold was lost before. The
   last thing that a keeper does. */
void cli_keeper_answer(const cli_askers *askers, lk_status status,
                       lk_loss loss);

#endif /* LK_CLI_KEEPER_H */
