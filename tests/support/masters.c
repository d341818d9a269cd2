/* SPDX-License-Identifier: MIT */
#include "support/masters.h"

#include <stdio.h>

#include "support/check.h"

played *masters;

void masters_begin(size_t count, const lk_client_options *options)
{
    masters = played_new_cluster(3, options, count, NULL);
    played_run_ms(masters, BELIEF_MS + 2 * ROUND_MS);
}

int masters_setup(void **state)
{
    (void)state;
    masters_begin(MASTERS, NULL);
    return 0;
}

int masters_end(void **state)
{
    (void)state;
    played_free(masters);
    masters = NULL;
    return 0;
}

lk_hold *masters_take(void)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(masters->lock, LONG_MS, NULL, &hold), LK_OK);
    return hold;
}

uint64_t masters_take_ms(void)
{
    uint64_t began = played_now_ms(masters);
    lk_hold *hold = masters_take();

    began = played_now_ms(masters) - began;
    assert_status(lk_hold_release(hold), LK_OK);
    return began;
}

const char *masters_at_slot(char text[64], const char *word, size_t node)
{
    (void)snprintf(text, 64, "-%s %u n%zu:6379\r\n", word, played_slot(), node);
    return text;
}
