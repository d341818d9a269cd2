/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_RUN_SIGNALS_H
#define LK_CLI_RUN_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/*
 * Signals as something to poll. All that can be caught are blocked, but for
 * those that tell of a defect, and read from a descriptor.
 */
typedef struct run_signals {
    int fd;
    sigset_t before; /* the mask as the tool found it */
    sigset_t taken;
} run_signals;

/* False: errno tells. Before the first thread is made. */
bool run_signals_take(run_signals *signals);

/* One signal. ret_is_kernel: the terminal or the kernel sent it, not a
   process. 0: there is none. */
int run_signals_read(const run_signals *signals, bool *ret_is_kernel);

/* Whether the tool, while it only waits, ends with that signal. */
bool run_signal_ends(int number);

/* Ends the tool as the signal would have; returns if it would not have. */
void run_signals_die(int number);

#endif /* LK_CLI_RUN_SIGNALS_H */
