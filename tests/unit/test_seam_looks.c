/* SPDX-License-Identifier: MIT */

/* How often a waiter looks, on a virtual clock. */

#include "support/call.h"
#include "support/check.h"
#include "support/played.h"

/* Queued, and again at every look: others hold it and will not hand it over. */
static const char queued_behind_others[] = "*4\r\n:0\r\n:30000\r\n:7\r\n:1\r\n";
static const char still_behind_others[] =
    "*6\r\n:0\r\n:30000\r\n:7\r\n:1\r\n:0\r\n:0\r\n";

/* How often it looks in so many virtual milliseconds. */
static unsigned looks_in(played *p, uint64_t ms)
{
    unsigned before = p->counts[PLAYED_RECHECK];

    played_run_ms(p, ms);
    return p->counts[PLAYED_RECHECK] - before;
}

/*
 * A name that goes from hand to hand among others is seldom seen free: it is
 * asked for in quick succession. One that is kept need not be. A trip to the
 * server and back takes 2 ms more.
 */
static void a_name_held_by_others_is_asked_for_ever_less_often(void **state)
{
    played *p = played_new(1, NULL);
    call c = {0};
    lk_hold *hold = NULL;

    (void)state;
    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
    played_run_ms(p, 100); /* until the inbox stands */
    assert_status(lk_hold_release(hold), LK_OK);
    p->is_held = true;
    p->answers[PLAYED_ACQUIRE] = queued_behind_others;
    p->answers[PLAYED_RECHECK] = still_behind_others;
    assert_status(lk_lock_acquire_async(p->lock, LK_FOREVER, NULL,
                                        call_on_acquire, &c),
                  LK_OK);
    assert_in_range(looks_in(p, 300), 300 / 3 - 5, 300 / 3);
    (void)looks_in(p, 20000);
    assert_in_range(looks_in(p, 700), 700 / 7 - 5, 700 / 7);
    p->is_held = false;
    p->answers[PLAYED_RECHECK] = NULL;
    played_run_ms(p, 10);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
    played_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_held_by_others_is_asked_for_ever_less_often),
    };

    return cmocka_run_group_tests_name("seam_looks", tests, NULL, NULL);
}
