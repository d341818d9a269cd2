/* SPDX-License-Identifier: MIT */
#include "support/latching.h"

#include "support/check.h"

lk_latch *latching_latch_for(locking *f, lk_client *client, uint64_t ttl_ms)
{
    const lk_latch_options options = {LK_LATCH_OPTIONS_INIT, .ttl_ms = ttl_ms};
    lk_latch *latch = NULL;

    assert_status(lk_latch_new(&latch, client, "n", &options), LK_OK);
    return locking_keep(f, kinds[KIND_LATCH], client, latch);
}

uint64_t latching_count(lk_latch *latch)
{
    uint64_t count = UINT64_MAX;

    assert_status(lk_latch_count(latch, &count), LK_OK);
    return count;
}

void latching_arm(lk_latch *latch, uint64_t count)
{
    assert_status(lk_latch_try_set_count(latch, count), LK_OK);
}

void latching_down(lk_latch *latch, uint64_t count)
{
    assert_status(lk_latch_count_down(latch, count), LK_OK);
}

void latching_wait_listed(locking *f, long long count)
{
    locking_wait_integer(f, count, SERVER_WAITERS("n"), "");
}
