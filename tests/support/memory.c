/* SPDX-License-Identifier: MIT */
#include "support/memory.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/mem.h"
#include "support/check.h"

static atomic_int calls;   /* since memory_fails_at() */
static atomic_int fail_at; /* 0: none */
static atomic_bool is_for_good, is_paused;

static bool fails(void)
{
    int call;
    int at = atomic_load(&fail_at);

    if (atomic_load(&is_paused))
        return false;
    call = atomic_fetch_add(&calls, 1) + 1;
    return call == at || (at > 0 && call > at && atomic_load(&is_for_good));
}

static void arm(int n, bool for_good)
{
    atomic_store(&fail_at, 0);
    atomic_store(&is_for_good, for_good);
    atomic_store(&calls, 0);
    lk__mem_fail(fails);
    atomic_store(&fail_at, n);
}

void memory_fails_at(int n)
{
    arm(n, false);
}

void memory_fails_from(int n)
{
    arm(n, true);
}

int memory_lasts(void)
{
    return atomic_exchange(&fail_at, 0);
}

void memory_pause(bool on)
{
    atomic_store(&is_paused, on);
}

bool memory_was_short(int n)
{
    return atomic_load(&calls) >= n && n < MEMORY_MOST;
}

void memory_fails_each(const char *word, lk_status (*work)(void *data),
                       void (*between)(void *data, lk_status status),
                       void *data)
{
    int failures = 0;
    int n = 0;

    do {
        lk_status status;

        memory_fails_at(++n);
        status = work(data);
        (void)memory_lasts();
        if (status != LK_OK && status != LK_ENOMEM)
            fail_msg("%s, %d: %s (%s)", word, n, lk_status_name(status),
                     lk_last_error());
        failures += status == LK_ENOMEM;
        if (between != NULL)
            between(data, status);
    } while (memory_was_short(n));
    assert_in_range(n, 2, MEMORY_MOST - 1);
    if (failures == 0)
        fail_msg("%s never lacks memory", word);
}
