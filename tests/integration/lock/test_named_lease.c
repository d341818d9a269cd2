/* SPDX-License-Identifier: MIT */

/*
 * No hold lasts for longer than it was asked for, be it that the claim began as
 * another wait's, or that another handle had it extended: neither as its owner
 * believes, nor at the server, should the client die.
 */

#include <latchkey/latchkey.h>

#include "support/check.h"
#include "support/rwlocking.h"
#include "support/wait.h"

enum { LONG_MS = 60000, SHORT_MS = 20000 };

/* ---- the wait before was canceled ------------------------------------------- */

/* A wait without a lease of its own, and one with a short one behind it. */
static taker *
wait_behind_a_canceled_one(locking *f, lk_lock *lock, lk_client *client)
{
    lk_acquire_options first = {LK_ACQUIRE_OPTIONS_INIT};
    const lk_acquire_options second = {LK_ACQUIRE_OPTIONS_INIT,
                                       .lease_ms = wait_lease_ms()};
    taker *given_up, *stays;

    assert_status(lk_cancel_new(&first.cancel, client), LK_OK);
    given_up = locking_take(f, lock, LK_FOREVER, &first);
    locking_wait_queued(f, "n", 1);
    stays = locking_take(f, lock, LK_FOREVER, &second);
    locking_wait_waiting(client, 2);
    lk_cancel_fire(first.cancel);
    assert_status(taker_join(given_up), LK_ECANCELED);
    lk_cancel_free(first.cancel);
    return stays;
}

LOCKS_TEST(a_hold_has_its_own_lease_and_not_a_canceled_waits)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_hold *before = locking_hold(locking_new(f, lk_lock));
    taker *t =
        wait_behind_a_canceled_one(f, locking_lock(f, client, "n"), client);

    assert_status(lk_hold_release(before), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_true(lk_hold_remaining_ms(t->hold) <= wait_lease_ms());
    assert_true(locking_pttl(f, "n") <= (long long)wait_lease_ms());
}

/* It asked while the server stood still: the answer would have been a hold with
   the lease of the one that is gone. */
LOCKS_TEST(nor_has_it_if_the_server_answers_late)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_acquire_options first = {LK_ACQUIRE_OPTIONS_INIT};
    const lk_acquire_options second = {LK_ACQUIRE_OPTIONS_INIT,
                                       .lease_ms = SHORT_MS};
    taker *given_up, *stays;

    assert_status(lk_cancel_new(&first.cancel, client), LK_OK);
    server_freeze(f->server);
    given_up = locking_take(f, lock, LK_FOREVER, &first);
    locking_wait_waiting(client, 1);
    stays = locking_take(f, lock, LK_FOREVER, &second);
    locking_wait_waiting(client, 2);
    lk_cancel_fire(first.cancel);
    assert_status(taker_join(given_up), LK_ECANCELED);
    lk_cancel_free(first.cancel);
    server_thaw(f->server);
    assert_status(taker_join(stays), LK_OK);
    assert_in_range(lk_hold_remaining_ms(stays->hold), 1, SHORT_MS);
    assert_in_range(locking_pttl(f, "n"), 1, SHORT_MS);
    assert_status(taker_release(stays), LK_OK);
}

/* ---- another handle was extended ------------------------------------------------ */

static lk_client *open_watchdog(locking *f)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = SHORT_MS};

    return locking_open_calm(f, &options);
}

LOCKS_TEST(what_was_extended_is_not_passed_on_as_that)
{
    lk_client *client = open_watchdog(f);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_hold *hold = locking_hold(lock);
    taker *t = locking_take(f, lock, LK_FOREVER, NULL);

    locking_wait_waiting(client, 1);
    assert_status(lk_hold_extend(hold, LONG_MS), LK_OK);
    assert_in_range(lk_hold_remaining_ms(hold), SHORT_MS, LONG_MS);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_in_range(lk_hold_remaining_ms(t->hold), 1, SHORT_MS);
    assert_in_range(locking_pttl(f, "n"), 1, SHORT_MS);
    assert_status(taker_release(t), LK_OK);
}

LOCKS_TEST(what_was_extended_is_not_joined)
{
    lk_rwlock *lock = locking_of(f, lk_rwlock, open_watchdog(f));
    lk_hold *first = rwlocking_hold(f, lock, KIND_READ), *second;

    assert_status(lk_hold_extend(first, LONG_MS), LK_OK);
    second = rwlocking_hold(f, lock, KIND_READ);
    assert_in_range(lk_hold_remaining_ms(second), 1, SHORT_MS);
    assert_status(lk_hold_release(first), LK_OK);
    assert_in_range(locking_pttl(f, "n"), 1, SHORT_MS);
    assert_status(lk_hold_release(second), LK_OK);
    locking_wait_clean(f, "n");
}

CHECK_GROUP(locking_start_server, locking_stop_server)
