/* SPDX-License-Identifier: MIT */
#ifndef LK_ENGINE_WATCH_H
#define LK_ENGINE_WATCH_H

#include "engine/call.h"

/*
 * Waiting for a state of the client itself: that it is ready, that it is
 * closed. The condition is looked at whenever somebody leaves the monitor.
 */
typedef bool (*lk__condition)(const lk_client *client);

/*
 * Sleeps until the condition holds or the time has come; returns whether it
 * holds. Inside the monitor, which it leaves while it sleeps.
 */
bool lk__watch(lk_client *client, lk__condition condition, uint64_t until);

/* Calls finish inside the monitor, then cb on the loop or in dispatch. */
lk_status lk__watch_async(lk_client *client, lk__condition condition,
                          uint64_t until,
                          lk_status (*finish)(lk_client *client), lk_done_cb cb,
                          void *data);

/* Ends the watches whose condition holds. Inside the monitor. */
void lk__watches_look(lk_client *client);

#endif /* LK_ENGINE_WATCH_H */
