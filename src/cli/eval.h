/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_EVAL_H
#define LK_CLI_EVAL_H

#include <sys/types.h>

/*
 * Lines for `eval "$(latchkey ...)"` of a shell.
 */

/* Which one it is; without that, the one that calls. */
void cli_eval_for(pid_t evaluating);

/* export VARIABLE='value' */
void cli_eval_export(const char *variable, const char *value);

/* Forgets what acquire and hold have set. */
void cli_eval_unset(void);

/* Forgets what the shell has inherited and has not taken itself: the hold and the
   keepers of the one that called it are not its to give back. */
void cli_eval_disown(void);

/*
 * The shell that has called the tool takes a hold within the one that LATCHKEY_HOLD
 * is, if that is its own: it is kept in LATCHKEY_OUTER. cli_eval_leave() takes it
 * out of there again, and forgets the hold that was given back.
 */
void cli_eval_enter(void);
void cli_eval_leave(void);

/*
 * Lets the eval fail with that code, 1 for 0: nothing at all would be a success
 * of it, and the script would go on without the lock.
 */
void cli_eval_failure(int code);

/* The status of the eval is that of the tool; what is held may still be. */
void cli_eval_status(int code);

/* The same with CLI_USAGE if the tool ends before cli_eval_begun(): a command
   line that is wrong ends it while it is read. */
void cli_eval_owe(void);
void cli_eval_owe_status(void);
void cli_eval_begun(void);

#endif /* LK_CLI_EVAL_H */
