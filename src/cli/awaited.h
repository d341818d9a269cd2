/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_AWAITED_H
#define LK_CLI_AWAITED_H

#include <latchkey/latchkey.h>

#include <stdint.h>

struct cli;

/*
 * Says on standard error what a wait for a latch waits for: how many are missing,
 * soon after its begin and at each change. One at a time.
 */

/*
 * all: of a barrier, so many are to meet; 0: it is a latch. All that is given has to
 * be there until cli_awaited_end(), the latch until the client has ended. With
 * --quiet nothing is done.
 */
void cli_awaited_begin(const struct cli *c, lk_latch *latch, const char *name,
                       uint64_t all);

/* Says nothing any more. Without a begin it does nothing. */
void cli_awaited_end(void);

#endif /* LK_CLI_AWAITED_H */
