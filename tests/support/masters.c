/* SPDX-License-Identifier: MIT */
#include "support/masters.h"

#include <stdio.h>

#include "support/check.h"

played *masters_new(size_t masters, const lk_client_options *options)
{
    played *p = played_new_cluster(3, options, masters, NULL);

    played_run_ms(p, BELIEF_MS + 2 * ROUND_MS);
    return p;
}

lk_hold *masters_take(played *p)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(p->lock, LONG_MS, NULL, &hold), LK_OK);
    return hold;
}

uint64_t masters_take_ms(played *p)
{
    uint64_t began = played_now_ms(p);
    lk_hold *hold = masters_take(p);

    began = played_now_ms(p) - began;
    assert_status(lk_hold_release(hold), LK_OK);
    return began;
}

const char *masters_at_slot(char text[64], const char *word, size_t node)
{
    (void)snprintf(text, 64, "-%s %u n%zu:6379\r\n", word, played_slot(), node);
    return text;
}
