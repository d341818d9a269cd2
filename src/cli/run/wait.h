/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_RUN_WAIT_H
#define LK_CLI_RUN_WAIT_H

#include <latchkey/latchkey.h>

#include <stdint.h>

#include "cli/run/signals.h"
#include "cli/subject.h"

struct cli;

/*
 * Waiting for a hold, and telling on standard error for whom: on a terminal
 * one line that is drawn again, else a line at the start and whenever another
 * one holds it or the position changes.
 *
 * A server that cannot be reached at the start ends it with LK_EOFFLINE. Later
 * it is waited for as well, if the client has CLI_PATIENCE_MS.
 */
typedef struct run_wait {
    const struct cli *c;
    lk_client *client; /* opened with .dispatch */
    const cli_subject *subject;
    const run_signals *signals; /* NULL: none are taken */
    int64_t wait_ms;            /* as the library's */
    const char *reason;         /* NULL: none */
    uint64_t lease_ms;          /* of a hold that is not renewed; 0: renewed */
} run_wait;

/*
 * Waits. Returns the status and, with LK_OK, the hold. LK_ECANCELED: a signal
 * that ends the tool has come, ret_signal. LK_EALREADY: a tool that this process
 * runs under holds it, so that it would wait without end. The client is shut
 * down then, and nothing is held.
 */
lk_status
run_wait_acquire(const run_wait *wait, lk_hold **ret_hold, int *ret_signal);

/*
 * A hold that was handed over has a short lease until it is first renewed: gives
 * it the whole one, before anybody counts on it. 0, or has complained; the hold
 * stays the caller's.
 */
int run_wait_lengthen(const run_wait *wait, lk_hold *hold, int64_t lease_ms);

/*
 * Complains about a wait that ended so: who holds it, if somebody does.
 * Returns the exit code; CLI_BUSY: it is not obtained.
 */
int run_wait_fail(const run_wait *wait, lk_status status);

#endif /* LK_CLI_RUN_WAIT_H */
