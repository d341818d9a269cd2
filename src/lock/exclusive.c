/* SPDX-License-Identifier: MIT */

/* Redisson's hash `N` with one field, the owner's, and what Latchkey's clients
   need of each other beside it. */

#include "lock/exclusive.h"

#include "claims/protocol.h"
#include "lock_table.h"

static const char *guard(const lk__claim *claim)
{
    (void)claim;
    return "";
}

#define LOCK_FAMILY                                                            \
    .family = "lock", .protocol = &lk__protocol_lock,                          \
    .meet = lk__wait_reenter, .guard = guard, .key_count = LK__LOCK_KEYS,      \
    .keys = lk__lock_keys, .channel = "redisson_lock__channel"

const lk__kind lk__kind_lock = {LOCK_FAMILY, .word = "lock", .mode = "l",
                                .passes = true};

const lk__kind lk__kind_fairlock = {LOCK_FAMILY, .word = "fairlock",
                                    .mode = "f"};
