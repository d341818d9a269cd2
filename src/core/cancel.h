/* SPDX-License-Identifier: MIT */
#ifndef LK_CORE_CANCEL_H
#define LK_CORE_CANCEL_H

#include <latchkey/client.h>

/* NULL: never fired. */
bool lk__cancel_is_fired(const lk_cancel *cancel);

lk_client *lk__cancel_client(const lk_cancel *cancel);

#endif /* LK_CORE_CANCEL_H */
