/* SPDX-License-Identifier: MIT */

/* The arithmetic of validity. Pure, so that it can be proven by trial. */

#include "base/deadline.h"

#define NS_PER_MS UINT64_C(1000000)

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t ms_to_ns(uint64_t ms)
{
    return ms > UINT64_MAX / NS_PER_MS ? UINT64_MAX : ms * NS_PER_MS;
}

uint64_t lk__drift_ns(uint64_t lease_ms)
{
    uint64_t lease_ns = ms_to_ns(lease_ms);

    /* A hundredth, rounded up; nothing is lost where the lease saturates. */
    return lease_ns / 100 + (lease_ns % 100 != 0) + 2 * NS_PER_MS;
}

uint64_t lk__deadline_ns(uint64_t sent_ns, uint64_t lease_ms)
{
    uint64_t lease_ns = ms_to_ns(lease_ms);
    uint64_t drift_ns = lk__drift_ns(lease_ms);

    if (lease_ns <= drift_ns)
        return sent_ns;
    return add(sent_ns, lease_ns - drift_ns);
}

uint64_t lk__wait_until_ns(uint64_t now_ns, int64_t wait_ms)
{
    if (wait_ms < 0)
        return UINT64_MAX;
    return add(now_ns, ms_to_ns((uint64_t)wait_ms));
}

uint64_t lk__remaining_ms(uint64_t now_ns, uint64_t then_ns)
{
    return then_ns > now_ns ? (then_ns - now_ns) / NS_PER_MS : 0;
}
