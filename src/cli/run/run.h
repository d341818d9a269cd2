/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_RUN_H
#define LK_CLI_RUN_H

#include <latchkey/latchkey.h>

#include <stdbool.h>
#include <stdint.h>

#include "cli/cli.h"
#include "cli/run/child.h"
#include "cli/run/env.h"
#include "cli/run/guard.h"
#include "cli/run/ready.h"
#include "cli/run/signals.h"
#include "cli/run/terminal.h"
#include "cli/subject.h"

/*
 * A command under a hold. Who starts what, and when:
 *
 *   tool      blocks signals, forks the guardian, opens the client
 *   tool      waits for the hold; tells the guardian its deadline
 *   tool      forks the child, which stands at the gate
 *   tool      tells the guardian the child; the guardian opens the gate
 *   child     execs the command
 *   tool      moves the guardian's deadline on with each renewal
 *   tool      reaps the child, ends what is left of its group, ends the
 *             guardian, releases the hold, exits as the child did
 *
 * So there is never a command that no guardian knows, and the command is gone
 * before somebody else can hold.
 */

/* What was said on the command line. */
typedef struct run_options {
    cli_kind_of kind;
    cli_kind_flags said;
    uint64_t count; /* of permits for one hold */
    bool is_try;
    int64_t wait_ms; /* LK_FOREVER */
    int64_t lease_ms;
    int64_t kill_after_ms;
    int64_t limit_ms;    /* of the command; 0: none */
    int64_t at_least_ms; /* it is held so long at least */
    const char *why;
    const char *line; /* for a shell */
    const char *on_lost;
    uint64_t status_fd; /* NO_STATUS_FD */
    uint64_t busy_code;
    uint64_t resize; /* no command: so many permits from now on; CLI_UNSAID */
    bool is_foreground;
    bool is_file;    /* NAME is a file, as for flock(1) */
    bool is_ignored; /* an option that means nothing here */
    run_ready ready; /* of a leader */
} run_options;

/* How it ended, for the exit code and --status-fd. */
typedef enum run_outcome {
    RUN_NOT_STARTED, /* an error before */
    RUN_NOT_OBTAINED,
    RUN_NOT_RUN, /* obtained, and the command cannot be run */
    RUN_ENDED    /* the command has ended */
} run_outcome;

typedef struct run {
    cli *c;
    run_options options;
    run_plan plan;
    run_env env;
    run_signals signals;
    run_guard guard;
    run_terminal terminal;
    run_child child;
    lk_client *client;
    char *const *names; /* borrowed of the command line */
    size_t name_count;
    char *name; /* owned: all of them, with blanks between */
    cli_subject subject;
    lk_hold *hold;

    run_outcome outcome;
    int status;          /* of the child, as waitpid() has it */
    bool is_lost;        /* the hold, while the command ran */
    bool is_unguarded;   /* there is no guardian, and it was said */
    bool is_overdue;     /* the child has been told to end, at limit_ns */
    bool is_told_to_end; /* the tool, by a signal */
    bool has_ended;      /* the child */
    bool is_over;        /* the child, and all of its group */
    int terminal_signal; /* that the terminal sent to the tool; 0: none */
    bool wants_terminal; /* it had it when it was stopped */
    int64_t told_ns;     /* the deadline that the guardian knows */
    int64_t seen_ns;     /* when the tool was last seen at work */
    int64_t still_ns;    /* the longest it stood still since it was told */
    int64_t drain_ns;    /* when what is left of the group is killed */
    int64_t looked_ns;   /* when what was killed was last looked for */
    int64_t limit_ns;    /* when the child's time is over; 0: never */
    int64_t begun_ns;
    int64_t held_ns; /* since when; 0: never */
} run;

/* A command that runs another one under a hold of that kind. */
int run_under(cli *c, int argc, char **argv, cli_kind_of kind);

/* Looks after the child until it and its group have ended. */
void run_watch(run *r);

/* Keeps the hold for as long as it was to last at least; where a signal has come,
   leaves the rest of that to its lease, and NULL for the hold. */
void run_keep_on(run *r);

/* Tells the guardian about the hold as it is. False: it is gone. */
bool run_tell_hold(run *r);

#endif /* LK_CLI_RUN_H */
