/* SPDX-License-Identifier: MIT */

/*
 * Others at the lock's key: an operator, another library, a full memory. What
 * the holder is told, at its next renewal at the latest, is what happened.
 */

#include <latchkey/latchkey.h>

#include <stdlib.h>

#include "support/check.h"
#include "support/scene.h"
#include "support/wait.h"

enum { SLACK_MS = 300 };

/* Between renewals: a third of the lease. */
static unsigned renewal_ms(void)
{
    return wait_lease_ms() / 3;
}

static lk_hold *far_holds(locking *f)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms =
                                           UINT64_C(3) * renewal_ms()};

    scene_far(f, &options);
    return scene_hold(f->far.lock, NULL);
}

static void is_told(lk_hold *hold, lk_loss loss)
{
    uint64_t since = wait_now_ms();

    assert_true(wait_until(hold_is_lost, hold, SCENE_MS));
    assert_in_range(wait_now_ms() - since, 0,
                    wait_allowed_ms(renewal_ms() + wait_scaled_ms(SLACK_MS)));
    assert_int_equal(lk_hold_loss(hold), loss);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* No silent loss. */
SCENE_TEST(a_deleted_key_is_a_loss)
{
    lk_hold *hold = far_holds(f);

    scene_command(f, "DEL job");
    is_told(hold, LK_LOSS_DELETED);
    scene_is_clean(f);
}

/* No silent loss; and the one that took it is left alone. */
SCENE_TEST(a_key_with_another_owner_is_a_loss)
{
    lk_hold *hold = far_holds(f);

    scene_command(f, "DEL job");
    scene_command(f, "HSET job somebody:1 1");
    scene_command(f, "PEXPIRE job 60000");
    is_told(hold, LK_LOSS_TAKEN);
    assert_int_equal(server_integer(f->server, "HEXISTS job somebody:1"), 1);
    assert_true(server_integer(f->server, "PTTL job") > 50000);
}

/*
 * No silent loss; what stands there is not ours to touch, so it stays as it is.
 */
SCENE_TEST(a_key_of_another_type_is_a_loss_and_is_not_touched)
{
    lk_hold *hold = far_holds(f);
    char *text;
    lk_hold *none = NULL;

    scene_command(f, "SET job text");
    is_told(hold, LK_LOSS_TAKEN);
    assert_status(lk_lock_acquire(f->near.lock, 0, NULL, &none), LK_ETYPE);
    text = server_string(f->server, "GET job");
    assert_string_equal(text, "text");
    free(text);
    assert_int_equal(server_integer(f->server, "PTTL job"), -1);
}

/* No immortal lock: a hold without an end gets one again, and stays a hold. */
SCENE_TEST(a_persisted_key_gets_its_end_back)
{
    lk_hold *hold = far_holds(f);

    scene_command(f, "PERSIST job");
    assert_true(scene_reaches(f, "PTTL job", 1));
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(f);
}

/* The same for a holder that does not renew: its release removes the key. */
SCENE_TEST(a_persisted_key_goes_with_the_release_of_its_lost_hold)
{
    const lk_acquire_options lease = {LK_ACQUIRE_OPTIONS_INIT, .lease_ms = 300};
    lk_hold *hold;

    scene_far(f, NULL);
    hold = scene_hold(f->far.lock, &lease);
    scene_command(f, "PERSIST job");
    assert_true(wait_until(hold_is_lost, hold, SCENE_MS));
    assert_status(lk_hold_release(hold), LK_ELOST);
    scene_is_clean(f);
}

/* ---- a full server ------------------------------------------------------- */

/* A full server: a waiter that gives up leaves the queue of a full server. */
SCENE_TEST(a_waiter_leaves_the_queue_of_a_full_server)
{
    lk_hold *hold = far_holds(f);
    taker *a = locking_take(f, f->near.lock, 700, NULL);

    assert_true(scene_becomes(f, SERVER_WAITERS("job"), 1));
    scene_command(f, "CONFIG SET maxmemory 1");
    assert_status(taker_join(a), LK_ETIMEDOUT);
    assert_true(scene_becomes(f, SERVER_WAITERS("job"), 0));
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(f);
}
