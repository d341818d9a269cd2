/* SPDX-License-Identifier: MIT */
#ifndef LK_INSPECT_FIND_H
#define LK_INSPECT_FIND_H

#include <latchkey/inspect.h>

/* Called outside the monitor, as callbacks are; the words are noted. */
typedef void (*lk__find_cb)(lk_status status, lk_kind kind, uint64_t until,
                            void *data);

/*
 * Asks what a name is, by one round trip. Checks the name. *ret_until is when
 * command_timeout_ms are over, for what else the call has to ask.
 * LK_OK: it is known, in use or not; LK_ENOTHELD: it is not.
 */
lk_status lk__find(lk_client *client, const char *name, lk_kind *ret_kind,
                   uint64_t *ret_until);
lk_status
lk__find_async(lk_client *client, const char *name, lk__find_cb cb, void *data);

#endif /* LK_INSPECT_FIND_H */
