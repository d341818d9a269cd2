/* SPDX-License-Identifier: MIT */

/* Ending a hold that is somebody else's, and not ending it by mistake. */

#include <string.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

enum { SOON_MS = 3000 };

static lk_lock *lock_of_new_client(locking *f)
{
    return locking_new(f, lk_lock);
}

/* A thread of a client of its own, which is the count-th in the queue. */
static taker *queue_up(locking *f, long long count)
{
    taker *t = locking_take(f, lock_of_new_client(f), LK_FOREVER, NULL);

    locking_wait_queued(f, "n", count);
    return t;
}

LOCKS_TEST(a_free_lock_cannot_be_released_by_force)
{
    assert_status(lk_lock_force_release(lock_of_new_client(f)), LK_ENOTHELD);
}

LOCKS_TEST(a_forced_release_frees_the_lock)
{
    lk_hold *hold = locking_hold(lock_of_new_client(f));
    lk_lock *forcing = lock_of_new_client(f);

    assert_status(lk_lock_force_release(forcing), LK_OK);
    assert_false(locking_exists(f, "n"));
    assert_status(lk_lock_force_release(forcing), LK_ENOTHELD);
    assert_status(lk_hold_release(locking_hold(forcing)), LK_OK);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

LOCKS_TEST(the_holder_is_told_of_a_forced_release)
{
    lk_hold *hold = locking_hold(locking_calm(f, lk_lock));
    uint64_t begin = wait_now_ms();

    assert_status(lk_lock_force_release(lock_of_new_client(f)), LK_OK);
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(wait_scaled_ms(500)));
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_REVOKED);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_non_null(strstr(lk_last_error(), "an operator ended it"));
}

/* Whether or not the message meets an inbox that does not stand yet. */
LOCKS_TEST(a_holder_that_has_just_begun_is_told_as_well)
{
    enum { ROUNDS = 20 };
    lk_lock *forcing = lock_of_new_client(f);

    for (int i = 0; i < ROUNDS; i++) {
        lk_client *client = NULL;
        lk_lock *lock = NULL;
        lk_hold *hold;

        assert_status(lk_client_open(&client, server_url(f->server), NULL),
                      LK_OK);
        assert_status(lk_lock_new(&lock, client, "n", NULL), LK_OK);
        hold = locking_hold(lock);
        assert_status(lk_lock_force_release(forcing), LK_OK);
        assert_true(wait_until(hold_is_lost, hold, SOON_MS));
        assert_in_range(lk_hold_loss(hold), LK_LOSS_DELETED, LK_LOSS_REVOKED);
        assert_status(lk_hold_release(hold), LK_ELOST);
        lk_lock_free(lock);
        lk_client_free(client);
    }
}

/* What it was handed it renews soon; the answer comes another way than the message,
   and could overtake it. */
LOCKS_TEST(a_holder_that_was_handed_the_lock_is_told_too)
{
    lk_hold *hold = locking_hold(lock_of_new_client(f));
    taker *t = queue_up(f, 1);

    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_soon(locking_stats(f->clients[1]).renewals > 0, SOON_MS);
    locking_wait_calm(f->clients[1]);
    assert_status(lk_lock_force_release(f->handles[0]), LK_OK);
    assert_true(wait_until(hold_is_lost, t->hold, SOON_MS));
    assert_int_equal(lk_hold_loss(t->hold), LK_LOSS_REVOKED);
    assert_status(taker_release(t), LK_ELOST);
}

LOCKS_TEST(a_forced_release_hands_over_to_the_next_waiter)
{
    lk_hold *hold = locking_hold(lock_of_new_client(f));
    taker *t = queue_up(f, 1);

    locking_wait_calm(f->clients[1]); /* it has heard that it is queued */
    assert_status(lk_lock_force_release(f->handles[0]), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_int_equal(locking_stats(f->clients[1]).grants, 1);
    assert_true(lk_hold_fence(t->hold) > lk_hold_fence(hold));
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_status(lk_hold_check(t->hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
}

/* A release that comes late, of what was taken by force, frees nothing. */
LOCKS_TEST(the_holder_cannot_release_what_was_taken)
{
    lk_hold *hold = locking_hold(lock_of_new_client(f));
    lk_lock *forcing = lock_of_new_client(f);
    lk_hold *next;

    assert_status(lk_lock_force_release(forcing), LK_OK);
    next = locking_hold(forcing);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_true(locking_exists(f, "n"));
    assert_status(lk_hold_check(next), LK_OK);
    assert_status(lk_hold_release(next), LK_OK);
}

/* Nobody told the first holder: the server refuses its release. */
LOCKS_TEST(a_release_frees_only_what_is_the_holders)
{
    lk_hold *hold = locking_hold(locking_calm(f, lk_lock));
    lk_hold *next;

    assert_int_equal(server_integer(f->server, "DEL n"), 1);
    next = locking_hold(lock_of_new_client(f));
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_true(locking_exists(f, "n"));
    assert_status(lk_hold_extend(next, 60000), LK_OK);
    assert_status(lk_hold_release(next), LK_OK);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
