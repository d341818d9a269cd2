/* SPDX-License-Identifier: MIT */

/*
 * A cancel ends several waits at once. The end of one may end another, where
 * there is no room for what it would ask for; on a virtual clock.
 */

#include "support/call.h"
#include "support/check.h"
#include "support/played.h"

enum { PENDING_MOST = 16 };

static call *wait_for(played *p, call *c, uint64_t lease_ms, lk_cancel *cancel)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = lease_ms, .cancel = cancel};

    assert_status(lk_lock_acquire_async(p->lock, LK_FOREVER, &options,
                                        call_on_acquire, c),
                  LK_OK);
    return c;
}

/* No answer comes any more, and no request can be sent. */
static void fill(played *p, call *calls)
{
    p->is_mute = true;
    while (lk_lock_is_locked_async(p->lock, call_on_locked, calls++) == LK_OK &&
           played_stats(p).pending < PENDING_MOST) {
    }
}

/*
 * The older wait is granted for 30 ms, and 50 ms later: it steps back behind the
 * younger one, which asks for more. The end of the younger has the older ask for
 * less, for which there is no room; and that one is fired as well.
 */
CHECK_TEST(one_that_ends_another_ends_it_once)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .max_pending = PENDING_MOST};
    played *p = played_new(1, &options);
    call old = {0}, young = {0}, others[PENDING_MOST] = {{0}};
    lk_cancel *cancel = NULL;

    assert_status(lk_cancel_new(&cancel, p->client), LK_OK);
    played_ways(p, 25, 25);
    wait_for(p, &old, 30, cancel);
    wait_for(p, &young, 30000, cancel);
    played_run_ms(p, 30);
    p->answers[PLAYED_ACQUIRE] = "*2\r\n:3\r\n:30000\r\n";
    played_run_ms(p, 60);
    fill(p, others);
    lk_cancel_fire(cancel);
    played_run_ms(p, 1);
    assert_int_equal(atomic_load(&young.ends), 1);
    assert_status(young.status, LK_ECANCELED);
    assert_int_equal(atomic_load(&old.ends), 1);
    assert_int_equal(played_stats(p).waiting, 0);
    lk_cancel_free(cancel);
    played_free(p);
}
