/* SPDX-License-Identifier: MIT */

/*
 * Others at the lock's key: an operator, another library, a full memory. What
 * the holder is told, at its next renewal at the latest, is what happened.
 */

#include <latchkey/latchkey.h>

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/scene.h"
#include "support/wait.h"

enum { RENEWAL_MS = 400, WATCHDOG_MS = 3 * RENEWAL_MS, SLACK_MS = 300 };

static lk_hold *far_holds(scene *sc)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = WATCHDOG_MS};

    scene_far(sc, &options);
    return scene_hold(sc->far_lock, NULL);
}

static void is_told(lk_hold *hold, lk_loss loss)
{
    uint64_t since = wait_now_ms();

    assert_true(wait_until(hold_is_lost, hold, SCENE_MS));
    assert_in_range(wait_now_ms() - since, 0,
                    wait_allowed_ms(RENEWAL_MS + wait_scaled_ms(SLACK_MS)));
    assert_int_equal(lk_hold_loss(hold), loss);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* No silent loss. */
static void a_deleted_key_is_a_loss(void **state)
{
    scene *sc = *state;
    lk_hold *hold = far_holds(sc);

    scene_command(sc, "DEL job");
    is_told(hold, LK_LOSS_DELETED);
    scene_is_clean(sc);
}

/* No silent loss; and the one that took it is left alone. */
static void a_key_with_another_owner_is_a_loss(void **state)
{
    scene *sc = *state;
    lk_hold *hold = far_holds(sc);

    scene_command(sc, "DEL job");
    scene_command(sc, "HSET job somebody:1 1");
    scene_command(sc, "PEXPIRE job 60000");
    is_told(hold, LK_LOSS_TAKEN);
    assert_int_equal(server_integer(sc->server, "HEXISTS job somebody:1"), 1);
    assert_true(server_integer(sc->server, "PTTL job") > 50000);
}

/*
 * No silent loss; what stands there is not ours to touch, so it stays as it is.
 */
static void a_key_of_another_type_is_a_loss_and_is_not_touched(void **state)
{
    scene *sc = *state;
    lk_hold *hold = far_holds(sc);
    char *text;
    lk_hold *none = NULL;

    scene_command(sc, "SET job text");
    is_told(hold, LK_LOSS_TAKEN);
    assert_status(lk_lock_acquire(sc->near_lock, 0, NULL, &none), LK_ETYPE);
    text = server_string(sc->server, "GET job");
    assert_string_equal(text, "text");
    free(text);
    assert_int_equal(server_integer(sc->server, "PTTL job"), -1);
}

/* No immortal lock: a hold without an end gets one again, and stays a hold. */
static void a_persisted_key_gets_its_end_back(void **state)
{
    scene *sc = *state;
    lk_hold *hold = far_holds(sc);

    scene_command(sc, "PERSIST job");
    assert_true(scene_reaches(sc, "PTTL job", 1));
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(sc);
}

/* The same for a holder that does not renew: its release removes the key. */
static void a_persisted_key_goes_with_the_release_of_its_lost_hold(void **state)
{
    scene *sc = *state;
    const lk_acquire_options lease = {LK_ACQUIRE_OPTIONS_INIT, .lease_ms = 300};
    lk_hold *hold;

    scene_far(sc, NULL);
    hold = scene_hold(sc->far_lock, &lease);
    scene_command(sc, "PERSIST job");
    assert_true(wait_until(hold_is_lost, hold, SCENE_MS));
    assert_status(lk_hold_release(hold), LK_ELOST);
    scene_is_clean(sc);
}

/*
 * No silent loss: all data gone; the waiter behind gets the lock, the holder is
 * told.
 */
static void
flushing_the_server_loses_the_hold_and_serves_the_waiter(void **state)
{
    scene *sc = *state;
    lk_hold *hold = far_holds(sc);
    uint64_t fence = lk_hold_fence(hold);
    attempt *a = scene_attempt(sc, sc->near_lock, SCENE_MS, NULL);

    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    scene_command(sc, "FLUSHALL");
    assert_true(wait_until(hold_is_lost, hold, SCENE_MS));
    assert_status(lk_hold_release(hold), LK_ELOST);
    hold = attempt_hold(a);
    assert_true(lk_hold_fence(hold) > fence);
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(sc);
}

/* ---- a full server ------------------------------------------------------- */

/* A full server: it refuses acquires and nothing else. */
static void a_full_server_refuses_an_acquire_by_name(void **state)
{
    scene *sc = *state;
    lk_hold *none = NULL;

    scene_far(sc, NULL);
    scene_command(sc, "CONFIG SET maxmemory 1");
    assert_status(lk_lock_acquire(sc->far_lock, 0, NULL, &none), LK_ESERVERMEM);
    assert_status(lk_lock_acquire(sc->far_lock, 1000, NULL, &none),
                  LK_ESERVERMEM);
    assert_int_equal(server_integer(sc->server, "EXISTS job"), 0);
    scene_command(sc, "CONFIG SET maxmemory 0");
    assert_status(lk_hold_release(scene_hold(sc->far_lock, NULL)), LK_OK);
    scene_is_clean(sc);
}

/*
 * A full server: the first write of each of these is one that cannot be
 * refused.
 */
static void a_full_server_renews_releases_and_hands_over(void **state)
{
    scene *sc = *state;
    lk_hold *hold = far_holds(sc);
    attempt *a = scene_attempt(sc, sc->near_lock, SCENE_MS, NULL);

    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    scene_command(sc, "CONFIG SET maxmemory 1");
    scene_renews(sc->far, 6); /* two leases long */
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    hold = attempt_hold(a);
    assert_int_equal(scene_stats(sc->near).grants, 1);
    /* Its first renewal gives it the full lease. */
    assert_true(scene_reaches(sc, "PTTL job", 20000));
    assert_status(lk_hold_release(hold), LK_OK);
    scene_command(sc, "CONFIG SET maxmemory 0");
    scene_is_clean(sc);
}

/* A full server: a waiter that gives up leaves the queue of a full server. */
static void a_waiter_leaves_the_queue_of_a_full_server(void **state)
{
    scene *sc = *state;
    lk_hold *hold = far_holds(sc);
    attempt *a = scene_attempt(sc, sc->near_lock, 700, NULL);

    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    scene_command(sc, "CONFIG SET maxmemory 1");
    assert_status(attempt_status(a), LK_ETIMEDOUT);
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 0));
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(sc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(a_deleted_key_is_a_loss),
        SCENE_TEST(a_key_with_another_owner_is_a_loss),
        SCENE_TEST(a_key_of_another_type_is_a_loss_and_is_not_touched),
        SCENE_TEST(a_persisted_key_gets_its_end_back),
        SCENE_TEST(a_persisted_key_goes_with_the_release_of_its_lost_hold),
        SCENE_TEST(flushing_the_server_loses_the_hold_and_serves_the_waiter),
        SCENE_TEST(a_full_server_refuses_an_acquire_by_name),
        SCENE_TEST(a_full_server_renews_releases_and_hands_over),
        SCENE_TEST(a_waiter_leaves_the_queue_of_a_full_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
