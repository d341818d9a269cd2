/* SPDX-License-Identifier: MIT */
#ifndef LK_CORE_INFO_H
#define LK_CORE_INFO_H

#include <latchkey/hold.h>

#include "core/place.h"

/*
 * Asks who holds a place and who waits for it: one script, then the records of
 * the clients behind them. Inside the monitor.
 */
lk_status lk__info_ask(lk__place *place, lk_info **ret_info);
lk_status lk__info_ask_async(lk__place *place, lk_info_cb cb, void *data);

#endif /* LK_CORE_INFO_H */
