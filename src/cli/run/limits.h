/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_RUN_LIMITS_H
#define LK_CLI_RUN_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

struct cli;

/*
 * Lease and wait of what the tool is to hold, where the command line does not say
 * them: the settings `lease` and `wait`, and for the lease then the URL.
 */

enum { RUN_UNSAID_MS = -1 };

/* Whether a lease that is renewed may be so long: 1 s to 24 h. */
bool run_lease_is_good(int64_t lease_ms);

/* In the place of RUN_UNSAID_MS. 0, or has complained. */
int run_lease_settle(struct cli *c, int64_t *lease_ms);

/* In the place of LK_FOREVER; it stays if nothing is set. 0, or has complained. */
int run_wait_settle(const struct cli *c, int64_t *wait_ms);

#endif /* LK_CLI_RUN_LIMITS_H */
