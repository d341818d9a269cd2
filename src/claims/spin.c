/* SPDX-License-Identifier: MIT */

#include "claims/spin.h"

#include "base/error.h"

enum { FIRST_MS = 1, MOST_MS = 128, MAX_MS = 60000 };

static lk_status pauses_check(const lk__spin *spin)
{
    if (spin->first_ms > spin->most_ms || spin->most_ms > MAX_MS)
        return lk__fail(LK_EINVAL,
                        "spin_first_ms has to be at most spin_most_ms, and "
                        "that at most %d",
                        MAX_MS);
    return LK_OK;
}

lk_status lk__spin_take(lk__spin *ret_spin, uint64_t strategy,
                        uint64_t first_ms, uint64_t most_ms)
{
    const lk__spin none = {0, 0};

    *ret_spin = none;
    if (strategy > LK_SPIN)
        return lk__fail(LK_EINVAL, "the strategy is not known");
    if (strategy == LK_QUEUE) {
        if (first_ms != 0 || most_ms != 0)
            return lk__fail(LK_EINVAL, "pauses are for LK_SPIN");
        return LK_OK;
    }
    ret_spin->first_ms = first_ms != 0 ? first_ms : FIRST_MS;
    ret_spin->most_ms = most_ms != 0 ? most_ms : MOST_MS;
    return pauses_check(ret_spin);
}
