/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_INFO_H
#define LK_CLAIMS_INFO_H

#include <latchkey/hold.h>

#include "claims/place.h"

/*
 * Asks who holds a place and who waits for it: one script, then the records of
 * the clients behind them. It takes at most command_timeout_ms, and is a part of
 * a call that ends by until. Inside the monitor.
 */
lk_status lk__info_ask(lk__place *place, uint64_t until, lk_info **ret_info);
lk_status
lk__info_ask_async(lk__place *place, uint64_t until, lk_info_cb cb, void *data);

#endif /* LK_CLAIMS_INFO_H */
