/* SPDX-License-Identifier: MIT */

#include "claims/spin.h"

#include "base/error.h"

enum { FIRST_MS = 1, MOST_MS = 128, MAX_MS = 60000 };

lk_status lk__spin_take(lk__spin *ret_spin, uint64_t strategy,
                        uint64_t first_ms, uint64_t most_ms)
{
    uint64_t first = first_ms != 0 ? first_ms : FIRST_MS;
    uint64_t most = most_ms != 0 ? most_ms : MOST_MS;

    *ret_spin = (lk__spin){0, 0};
    if (strategy > LK_SPIN)
        return lk__fail(LK_EINVAL, "the strategy is not known");
    if (strategy == LK_QUEUE) {
        if (first_ms != 0 || most_ms != 0)
            return lk__fail(LK_EINVAL, "pauses are for LK_SPIN");
        return LK_OK;
    }
    if (first > most || most > MAX_MS)
        return lk__fail(LK_EINVAL,
                        "spin_first_ms has to be at most spin_most_ms, and "
                        "that at most %d",
                        MAX_MS);
    *ret_spin = (lk__spin){(uint32_t)first, (uint32_t)most};
    return LK_OK;
}
