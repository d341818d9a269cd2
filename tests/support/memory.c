/* SPDX-License-Identifier: MIT */
#include "support/memory.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/mem.h"

static atomic_int calls;   /* since memory_fails_at() */
static atomic_int fail_at; /* 0: none */
static atomic_bool is_for_good;

static bool fails(void)
{
    int call = atomic_fetch_add(&calls, 1) + 1;
    int at = atomic_load(&fail_at);

    return call == at || (at > 0 && call > at && atomic_load(&is_for_good));
}

static void fail(int n, bool for_good)
{
    atomic_store(&fail_at, 0);
    atomic_store(&is_for_good, for_good);
    atomic_store(&calls, 0);
    lk__mem_fail(fails);
    atomic_store(&fail_at, n);
}

void memory_fails_at(int n)
{
    fail(n, false);
}

void memory_fails_from(int n)
{
    fail(n, true);
}

int memory_lasts(void)
{
    return atomic_exchange(&fail_at, 0);
}

bool memory_was_short(int n)
{
    return atomic_load(&calls) >= n && n < MEMORY_MOST;
}
