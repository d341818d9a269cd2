/* SPDX-License-Identifier: MIT */
#ifndef LK_CORE_WATCHDOG_H
#define LK_CORE_WATCHDOG_H

#include "core/claim.h"

/*
 * The watchdog renews holds in bulk. When a claim falls due it is put on a
 * list; leaving the monitor sends the list in batches, many in flight. The
 * answer names only the lost. What is not answered is tried again until the
 * deadline.
 */

/* When a claim that was granted or renewed at this time is due again. */
uint64_t lk__watchdog_next(const lk__claim *claim, uint64_t at);

/* Puts a HELD claim on the list. */
void lk__watchdog_due(lk__claim *claim);

/* Sends what is due. */
void lk__watchdog_flush(lk_client *client);

#endif /* LK_CORE_WATCHDOG_H */
