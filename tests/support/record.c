/* SPDX-License-Identifier: MIT */
#include "support/record.h"

#include <time.h>

enum { BUSY = 8, STAY_EVERY = 16, STAY_NS = 1000000 };

/* inside goes 0, arrived, busy, arrived, 0, each step by the same owner. */
static uint64_t arrived(unsigned owner)
{
    return ((uint64_t)owner + 1) << 8;
}

static uint64_t busy(unsigned owner)
{
    return arrived(owner) | BUSY;
}

/* A step that finds something else counts and is made nevertheless. */
static bool step(record *r, uint64_t from, uint64_t to)
{
    uint64_t found = atomic_exchange(&r->inside, to);

    if (found == from)
        return true;
    (void)atomic_fetch_add(&r->overlaps, 1);
    return false;
}

static bool check_fence(record *r, uint64_t fence)
{
    uint64_t last = atomic_load(&r->last_fence);

    while (fence > last)
        if (atomic_compare_exchange_weak(&r->last_fence, &last, fence))
            return true;
    (void)atomic_fetch_add(&r->fence_errors, 1);
    return false;
}

bool record_enter(record *r, unsigned owner, uint64_t fence)
{
    bool is_alone = step(r, 0, arrived(owner));
    bool is_higher = check_fence(r, fence);

    (void)atomic_fetch_add(&r->grants, 1);
    is_alone = step(r, arrived(owner), busy(owner)) && is_alone;
    return is_alone && is_higher;
}

void record_stay(uint64_t turn)
{
    const struct timespec moment = {.tv_nsec = STAY_NS};

    if (turn % STAY_EVERY == 0)
        (void)nanosleep(&moment, NULL);
}

bool record_leave(record *r, unsigned owner)
{
    bool is_alone = step(r, busy(owner), arrived(owner));

    return step(r, arrived(owner), 0) && is_alone;
}

bool record_abandon(record *r, unsigned owner)
{
    uint64_t found = busy(owner);

    if (atomic_compare_exchange_strong(&r->inside, &found, 0))
        return true;
    found = arrived(owner);
    return atomic_compare_exchange_strong(&r->inside, &found, 0);
}

uint64_t record_violations(record *r)
{
    return atomic_load(&r->overlaps) + atomic_load(&r->fence_errors);
}
