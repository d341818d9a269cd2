/* SPDX-License-Identifier: MIT */

/*
 * A client that ends its own hold as an operator does, on a virtual clock, and is not
 * told of that by the server: it knows it all the same.
 */

#include <stdio.h>

#include "support/call.h"
#include "support/check.h"
#include "support/playing.h"

static lk_hold *take(played *p)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
    played_run_ms(p, 100);
    return hold;
}

/* Whoever waits in the same client is not handed what has ended. */
PLAYED_TEST(a_hold_that_its_client_forces_is_lost_at_once)
{
    lk_hold *hold = take(p);
    call next = {.hold = NULL};

    assert_status(lk_lock_force_release(p->lock), LK_OK);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_REVOKED);
    p->answers[PLAYED_ACQUIRE] = PLAYED_QUEUED("30000", "1", "0");
    assert_status(lk_lock_acquire_async(p->lock, 50, NULL, call_on_acquire,
                                        &next),
                  LK_OK);
    played_run_ms(p, 5);
    assert_status(lk_hold_release(hold), LK_ELOST);
    played_run_ms(p, 100);
    assert_status(call_wait(&next, NULL), LK_ETIMEDOUT);
}

/* It is one lock, whichever way it is asked for. */
PLAYED_TEST(a_hold_is_lost_that_is_forced_as_a_fair_locks)
{
    lk_hold *hold = take(p);
    lk_fairlock *fairlock = NULL;

    assert_status(lk_fairlock_new(&fairlock, p->client, "n", NULL), LK_OK);
    assert_status(lk_fairlock_force_release(fairlock), LK_OK);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_REVOKED);
    assert_status(lk_hold_release(hold), LK_ELOST);
    lk_fairlock_free(fairlock);
}

/* It is granted at the server behind that, and its answer comes before. */
PLAYED_TEST(a_hold_that_came_behind_that_stays)
{
    call forced = {.hold = NULL}, next = {.hold = NULL};

    assert_status(lk_hold_release(take(p)), LK_OK);
    p->is_held = true;
    assert_status(lk_lock_acquire_async(p->lock, LK_FOREVER, NULL,
                                        call_on_acquire, &next),
                  LK_OK);
    played_run_ms(p, 5);
    assert_int_equal(p->waiter_count, 1);
    played_ways(p, 1, 20);
    assert_status(lk_lock_force_release_async(p->lock, call_on_done, &forced),
                  LK_OK);
    played_run_ms(p, 5);
    played_ways(p, 1, 1);
    (void)snprintf(p->owner, sizeof(p->owner), "%s", p->waiters[0].owner);
    (void)snprintf(p->nonce, sizeof(p->nonce), "%s", p->waiters[0].nonce);
    played_grant(p, p->waiters[0].ticket, 5000, 3000);
    played_run_ms(p, 5);
    assert_status(call_wait(&next, NULL), LK_OK);
    assert_int_equal(atomic_load(&forced.ends), 0);
    played_run_ms(p, 30);
    assert_status(call_wait(&forced, NULL), LK_OK);
    assert_status(lk_hold_check(next.hold), LK_OK);
    assert_status(lk_hold_release(next.hold), LK_OK);
}

PLAYED_TEST(a_hold_that_may_go_on_is_looked_at)
{
    lk_hold *hold = take(p);

    p->counts[PLAYED_CONFIRM] = 0;
    assert_status(lk_lock_force_release_of(p->lock, "another:1"), LK_OK);
    played_run_ms(p, 5);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_int_equal(p->counts[PLAYED_CONFIRM], 1);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* Whether it was ended is not known, and nobody told of it: the server is asked as
   soon as it can be. */
PLAYED_TEST(a_hold_whose_end_is_in_doubt_is_looked_at)
{
    lk_hold *hold = take(p);

    p->answers[PLAYED_FORCE] = played_silence;
    p->answers[PLAYED_RENEW] = "*2\r\n:1\r\n*2\r\n:1\r\n:4\r\n";
    assert_status(lk_lock_force_release(p->lock), LK_EPENDING);
    played_run_ms(p, 10);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_REVOKED);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

PLAYED_TEST(a_hold_that_its_client_revokes_is_lost_within_a_trip)
{
    lk_hold *hold = take(p);
    int64_t left_ms = 0;

    p->answers[PLAYED_REVOKE] = "*3\r\n:1\r\n:30000\r\n:1\r\n";
    p->answers[PLAYED_CONFIRM] = PLAYED_LOST("4");
    assert_status(lk_lock_revoke(p->lock, "another:1", &left_ms), LK_OK);
    played_run_ms(p, 5);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_REVOKED);
    assert_status(lk_hold_release(hold), LK_ELOST);
}
