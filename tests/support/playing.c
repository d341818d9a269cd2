/* SPDX-License-Identifier: MIT */
#include "support/playing.h"

#include <string.h>

#include "support/check.h"

int playing_setup(void **state)
{
    *state = played_new(1, NULL);
    return 0;
}

played *playing_calm(void)
{
    played *p = played_new(1, NULL);
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
    played_run_ms(p, 100);
    assert_status(lk_hold_release(hold), LK_OK);
    playing_count_anew(p);
    return p;
}

int playing_calm_setup(void **state)
{
    *state = playing_calm();
    return 0;
}

int playing_waited_setup(void **state)
{
    played *p = played_new(1, NULL);
    lk_hold *hold = NULL;

    p->is_held = true;
    assert_status(lk_lock_acquire(p->lock, 50, NULL, &hold), LK_ETIMEDOUT);
    p->is_held = false;
    *state = p;
    return 0;
}

int playing_teardown(void **state)
{
    played_free(*state);
    return 0;
}

void playing_count_anew(played *p)
{
    (void)memset(p->counts, 0, sizeof(p->counts));
}
