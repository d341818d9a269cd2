/* SPDX-License-Identifier: MIT */

#include "cli/run/loss.h"

#include <poll.h>
#include <stdbool.h>

#include "cli/clock.h"

enum { ASK_MS = 250 };

/* Static, since the answer may still come when nobody waits for it. */
static struct {
    bool is_due;
    lk_status status;
} answer;

static void on_answer(lk_status status, void *data)
{
    (void)data;
    answer.is_due = false;
    answer.status = status;
}

/* For a whole lease, as a renewal is: for one that the name outlives as it is the
   server needs no right to lengthen it, and would not say that it lacks one. */
static lk_status ask(lk_client *client, lk_hold *hold, int64_t lease_ms)
{
    const int64_t until = cli_now_ns() + ASK_MS * CLI_NS_PER_MS;
    struct pollfd fd = {.fd = lk_client_fd(client), .events = POLLIN};
    lk_status status =
        lk_hold_extend_async(hold, (uint64_t)lease_ms, on_answer, NULL);

    if (status != LK_OK)
        return status;
    answer.is_due = true;
    while (answer.is_due) {
        int64_t left_ms = (until - cli_now_ns()) / CLI_NS_PER_MS;

        if (left_ms <= 0)
            return LK_ETIMEDOUT;
        (void)poll(&fd, 1, (int)left_ms);
        status = lk_client_dispatch(client);
        if (status != LK_OK)
            return status;
    }
    return answer.status;
}

lk_loss run_loss_cause(lk_client *client, lk_hold *hold, int64_t lease_ms)
{
    if (lk_hold_check(hold) == LK_OK &&
        ask(client, hold, lease_ms) == LK_EDENIED)
        return LK_LOSS_DENIED;
    return lk_hold_loss(hold);
}
