/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_SPIN_H
#define LK_CLAIMS_SPIN_H

#include <latchkey/hold.h>

/* How to seek without a queue: tries again after a random time below a limit
   that doubles from first to most. Zero: queues. */
typedef struct lk__spin {
    uint32_t first_ms, most_ms;
} lk__spin;

/* Checks what the options of a lock say of it, and fills in the defaults.
   LK_EINVAL: a strategy that is not known, or pauses that make no sense. */
lk_status lk__spin_take(lk__spin *ret_spin, uint64_t strategy,
                        uint64_t first_ms, uint64_t most_ms);

#endif /* LK_CLAIMS_SPIN_H */
