/* SPDX-License-Identifier: MIT */
#ifndef LK_CORE_ASK_H
#define LK_CORE_ASK_H

#include "core/conn.h"
#include "core/place.h"

/*
 * One question to the server and its answer, within command_timeout_ms,
 * reconnecting included. Called inside the monitor, which it leaves while it
 * sleeps and has entered again when it returns.
 *
 * take reads the answer inside the monitor and says what to return; it is not
 * called when the caller has stopped waiting. Words of a refusal are in
 * lk_last_error().
 *
 * LK_EOFFLINE and the like: nothing was sent. LK_EINDOUBT: it was sent and not
 * answered in time. A question that only reads is asked again instead.
 */
typedef lk_status (*lk__take)(void *data, const lk__request *request,
                              const redisReply *reply);

lk_status lk__ask_script(lk__place *place, const lk__script *script,
                         const char *owner, size_t count, const lk__arg *args,
                         lk__take take, void *data);

lk_status lk__ask_command(struct lk_client *client, size_t count,
                          const lk__arg *args, lk__take take, void *data);

#endif /* LK_CORE_ASK_H */
