/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_RUN_LOSS_H
#define LK_CLI_RUN_LOSS_H

#include <latchkey/latchkey.h>

#include <stdint.h>

/*
 * Why a hold is lost; of one whose lease still runs, why it is not renewed:
 * LK_LOSS_DENIED, or LK_LOSS_NONE if that is not known. The server is asked for
 * the latter, in a quarter of a second at most, for a whole lease. It may give that,
 * as to a renewal; the hold is lost for its caller all the same. The client is one
 * that is dispatched by its caller.
 */
lk_loss run_loss_cause(lk_client *client, lk_hold *hold, int64_t lease_ms);

#endif /* LK_CLI_RUN_LOSS_H */
