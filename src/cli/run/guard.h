/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_RUN_GUARD_H
#define LK_CLI_RUN_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/run/env.h"

/*
 * The guardian: a small process that ends the command in time, whatever has
 * become of the server and of the tool.
 *
 * It is forked before there is anything to guard, in a process group of its
 * own and with every signal blocked, so that no signal to the tool's group
 * reaches it. The tool tells it the deadline of the hold and moves it on as
 * the lease is renewed. It acts when the deadline comes near, when the tool
 * says that the hold is lost, and when the tool is gone.
 *
 *             CHILD           deadline - notice, LOST, tool gone
 *   waiting --------> armed -------------------------------------> acted
 *                       |                                            |
 *                       | END                        deadline - margin, or
 *                       v                           kill_after since then
 *                     ended <---- nobody is left ---- killed <-------+
 *
 * To act is SIGTERM, SIGKILL or a command, by the policy; to kill is SIGKILL
 * again and again until nobody is left.
 */

typedef enum run_policy {
    RUN_TERM,
    RUN_KILL,
    RUN_WARN, /* never acts: the named exception */
    RUN_COMMAND
} run_policy;

typedef struct run_plan {
    run_policy policy;
    const char *command; /* of RUN_COMMAND, for a shell */
    int64_t lease_ns;
    int64_t kill_after_ns; /* from acting to killing, at most */
    int64_t notice_ns;     /* it acts so long before the deadline */
    int64_t margin_ns;     /* and kills so long before it */
    run_env *env;          /* of the command */
} run_plan;

/* Works out notice and margin of a lease, for the policy that is set. */
void run_plan_times(run_plan *plan, int64_t lease_ms, int64_t kill_after_ms);

/* The tool's side. */
typedef struct run_guard {
    pid_t pid;  /* 0: none */
    int socket; /* readable: it has acted, or is gone */
    int other;  /* its end, until it is started */
} run_guard;

/* Makes what it is told through: what is said before its start it knows from
   its first moment on, even if the tool is gone by then. False: errno tells. */
bool run_guard_open(run_guard *guard);

/*
 * Starts a guardian that was opened. gate: the end of a pipe to write to, which it takes; it
 * writes one byte there when it knows the child. -1: there is none, the child
 * runs already. False: errno tells.
 */
bool run_guard_start(run_guard *guard, const run_plan *plan, int gate);

/* Each answers false if the guardian is gone, or cannot be told. */
bool run_guard_hold(const run_guard *guard, int64_t deadline_ns,
                    const char *fence, const char *owner);
bool run_guard_child(const run_guard *guard, pid_t pid, bool is_group);
bool run_guard_lost(const run_guard *guard);

/* What its socket has to say. */
typedef enum run_news { RUN_NOTHING, RUN_ACTED, RUN_GONE } run_news;

run_news run_guard_read(const run_guard *guard);

/* Ends it and waits for its end: there is nothing more to guard. */
void run_guard_end(run_guard *guard);

#endif /* LK_CLI_RUN_GUARD_H */
