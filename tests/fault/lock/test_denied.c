/* SPDX-License-Identifier: MIT */

/*
 * Rights that a user of the server lacks, one by one. Whatever is missing,
 * there is a clear status or a slower way, and never a lock without an end nor
 * a waiter that nobody wakes. No lock is immortal, no waiter forgotten: what a
 * script wrote before it was denied something is undone, and a PUBLISH or
 * NUMSUB that is denied is neither "nobody listens" nor "delivered".
 */

#include <latchkey/latchkey.h>

#include <string.h>

#include "support/check.h"
#include "support/scene.h"
#include "support/wait.h"

enum {
    INBOX = 1,
    LEASE_MS = 1500,
    LOOK_MS = 1000,
    SLACK_MS = 500,
    TIMEOUT_MS = 500
};

static const lk_acquire_options lease = {LK_ACQUIRE_OPTIONS_INIT,
                                         .lease_ms = LEASE_MS};

static const lk_client_options far_user = {LK_CLIENT_OPTIONS_INIT,
                                           .user = "far", .password = "word",
                                           .command_timeout_ms = TIMEOUT_MS};

static void may(scene *sc, const char *rights)
{
    redisReply *reply =
        server_command(sc->server, "ACL SETUSER far %s", rights);

    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

/* The far client, as a user with all rights but this one. */
static void far_without(scene *sc, const char *right)
{
    scene_command(sc, "ACL SETUSER far on >word ~* &* +@all");
    may(sc, right);
    scene_open_far(sc, &far_user);
}

/* The near client has the lock soon; it was left to its lease at the latest. */
static void near_gets_it(scene *sc)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(sc->near_lock,
                                  LEASE_MS + LOOK_MS + wait_scaled_ms(SLACK_MS),
                                  NULL, &hold),
                  LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(sc);
}

/* Acquiring and waiting are refused by name, and leave nothing. */
static void is_refused(scene *sc)
{
    lk_hold *hold;
    lk_hold *none = NULL;

    assert_status(lk_lock_acquire(sc->far_lock, 0, &lease, &none), LK_EDENIED);
    scene_is_clean(sc);
    assert_status(lk_lock_acquire(sc->far_lock, 5000, &lease, &none),
                  LK_EDENIED);
    scene_is_clean(sc);
    hold = scene_hold(sc->near_lock, NULL);
    assert_true(lk_lock_acquire(sc->far_lock, 1000, &lease, &none) != LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    near_gets_it(sc);
}

/* It waits and is granted, at the latest when it looks. */
static void is_granted_in_time(scene *sc)
{
    lk_hold *hold = scene_hold(sc->near_lock, NULL);
    attempt *a = scene_attempt(sc, sc->far_lock, SCENE_MS, &lease);

    assert_false(attempt_has_ended(a, 200));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_true(attempt_has_ended(a, LOOK_MS + SLACK_MS));
    assert_status(lk_hold_release(attempt_hold(a)), LK_OK);
    near_gets_it(sc);
}

/* Its release is followed by the next waiter, at the latest when that looks. */
static void is_followed_in_time(scene *sc)
{
    lk_hold *hold = scene_hold(sc->far_lock, &lease);
    attempt *a = scene_attempt(sc, sc->near_lock, SCENE_MS, NULL);

    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    assert_status(lk_hold_release(hold), LK_OK);
    /* Nobody was passed over because the server would not say who listens. */
    assert_int_equal(server_integer(sc->server, SERVER_PARKED("job")), 0);
    assert_true(attempt_has_ended(a, LOOK_MS + SLACK_MS));
    assert_int_equal(scene_immortal_keys(sc), 0);
    assert_status(lk_hold_release(attempt_hold(a)), LK_OK);
    scene_is_clean(sc);
}

/* A right is taken away from a holder that others wait for. */
static void a_holder_loses(scene *sc, const char *right)
{
    lk_hold *hold;
    attempt *a;

    far_without(sc, "+info");
    hold = scene_hold(sc->far_lock, &lease);
    a = scene_attempt(sc, sc->near_lock, SCENE_MS, NULL);
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    may(sc, right);
    (void)lk_hold_release(hold);
    assert_true(attempt_has_ended(a, LEASE_MS + LOOK_MS + SLACK_MS));
    assert_int_equal(scene_immortal_keys(sc), 0);
    assert_status(lk_hold_release(attempt_hold(a)), LK_OK);
    scene_is_clean(sc);
}

/* ---- without a right from the start -------------------------------------- */

static void without_eval_everything_is_refused(void **state)
{
    far_without(*state, "-eval");
    is_refused(*state);
}

static void without_hset_an_acquire_is_refused(void **state)
{
    far_without(*state, "-hset");
    is_refused(*state);
}

static void without_pexpire_an_acquire_is_undone(void **state)
{
    far_without(*state, "-pexpire");
    is_refused(*state);
}

/* Each script runs once, in full; what is refused after that is said. */
static void without_evalsha_a_hold_ends_with_its_lease(void **state)
{
    scene *sc = *state;
    lk_hold *hold;
    lk_hold *none = NULL;

    far_without(sc, "-evalsha");
    hold = scene_hold(sc->far_lock, &lease);
    (void)lk_hold_release(hold);
    assert_status(lk_lock_acquire(sc->far_lock, 2000, &lease, &none),
                  LK_EDENIED);
    near_gets_it(sc);
}

static void without_info_the_client_is_refused(void **state)
{
    scene *sc = *state;
    attempt *a;

    scene_command(sc, "ACL SETUSER far on >word ~* &* +@all -info");
    assert_status(lk_client_open(&sc->far, proxy_url(sc->proxy), &far_user),
                  LK_OK);
    assert_status(lk_client_wait_ready(sc->far, 5000), LK_EDENIED);
    assert_status(lk_lock_new(&sc->far_lock, sc->far, "job", NULL), LK_OK);
    a = scene_attempt(sc, sc->far_lock, SCENE_MS, NULL);
    assert_status(attempt_status(a), LK_EDENIED);
    assert_in_range(attempt_took_ms(a), 0, wait_scaled_ms(SLACK_MS));
    scene_is_clean(sc);
}

static void without_publish_a_release_is_found_by_looking(void **state)
{
    far_without(*state, "-publish");
    is_granted_in_time(*state);
    is_followed_in_time(*state);
}

static void without_pubsub_a_release_is_found_by_looking(void **state)
{
    far_without(*state, "-pubsub");
    is_granted_in_time(*state);
    is_followed_in_time(*state);
}

static void without_subscribe_a_waiter_looks_for_itself(void **state)
{
    far_without(*state, "-subscribe");
    is_granted_in_time(*state);
    is_followed_in_time(*state);
}

static void without_channels_a_waiter_looks_for_itself(void **state)
{
    far_without(*state, "resetchannels");
    is_granted_in_time(*state);
    is_followed_in_time(*state);
}

static void without_client_commands_everything_works(void **state)
{
    far_without(*state, "-client");
    is_granted_in_time(*state);
    is_followed_in_time(*state);
}

/* ---- a right that is taken away ------------------------------------------ */

static void a_holder_may_lose_evalsha(void **state)
{
    a_holder_loses(*state, "-evalsha");
}

static void a_holder_may_lose_eval_and_evalsha(void **state)
{
    a_holder_loses(*state, "-@scripting");
}

static void a_holder_may_lose_hset(void **state)
{
    a_holder_loses(*state, "-hset");
}

static void a_holder_may_lose_pexpire(void **state)
{
    a_holder_loses(*state, "-pexpire");
}

static void a_holder_may_lose_publish(void **state)
{
    a_holder_loses(*state, "-publish");
}

static void a_holder_may_lose_pubsub(void **state)
{
    a_holder_loses(*state, "-pubsub");
}

static void a_holder_may_lose_its_keys(void **state)
{
    a_holder_loses(*state, "resetkeys");
}

/* Its connections are closed by the server, and it may not come back. */
static void a_holder_may_lose_its_user(void **state)
{
    a_holder_loses(*state, "off");
}

/*
 * No silent loss: a hold that may no longer be renewed is lost in time, and
 * said so.
 */
static void a_hold_that_may_not_be_renewed_is_lost_by_the_clock(void **state)
{
    scene *sc = *state;
    lk_client_options options = far_user;
    lk_hold *hold;
    attempt *a;

    options.watchdog_ms = LEASE_MS;
    scene_command(sc, "ACL SETUSER far on >word ~* &* +@all");
    scene_open_far(sc, &options);
    hold = scene_hold(sc->far_lock, NULL);
    a = scene_attempt(sc, sc->near_lock, SCENE_MS, NULL);
    may(sc, "-pexpire");
    assert_status(lk_hold_release(attempt_hold(a)), LK_OK);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_DENIED);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_non_null(strstr(lk_last_error(), "ACL LOG"));
    scene_is_clean(sc);
}

/* The caller is told why at once, and the hold ends as soon as it may: neither the
   time of the command nor the lease, both an hour here, says when. */
static void a_release_that_is_denied_is_told_and_done_later(void **state)
{
    scene *sc = *state;
    const lk_acquire_options hour = {LK_ACQUIRE_OPTIONS_INIT,
                                     .lease_ms = 3600000};
    lk_client_options options = far_user;
    lk_hold *hold;

    options.command_timeout_ms = 3600000;
    scene_command(sc, "ACL SETUSER far on >word ~* &* +@all");
    scene_open_far(sc, &options);
    hold = scene_hold(sc->far_lock, &hour);
    may(sc, "-hdel");
    assert_status(lk_hold_release(hold), LK_EDENIED);
    assert_non_null(strstr(lk_last_error(), "ACL LOG"));
    assert_int_equal(server_integer(sc->server, "EXISTS job"), 1);
    may(sc, "+hdel");
    assert_true(scene_becomes(sc, "EXISTS job", 0));
    scene_is_clean(sc);
}

/* A grant that came late is found by looking. Where its lease may not be
   lengthened it is lost in time, without many questions. */
static void a_late_grant_that_may_not_be_kept_is_lost(void **state)
{
    scene *sc = *state;
    lk_client_options options = far_user;
    uint64_t commands;
    lk_hold *hold;
    attempt *a;

    options.command_timeout_ms = 20000;
    scene_command(sc, "ACL SETUSER far on >word ~* &* +@all");
    scene_open_far(sc, &options);
    assert_status(lk_hold_release(scene_hold(sc->far_lock, NULL)), LK_OK);
    assert_true(scene_connects(sc->far, 2));
    hold = scene_hold(sc->near_lock, NULL);
    proxy_hold(sc->proxy, PROXY_ALL, PROXY_REPLIES);
    a = scene_attempt(sc, sc->far_lock, SCENE_MS, NULL);
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    may(sc, "-pexpire");
    assert_status(lk_hold_release(hold), LK_OK);
    scene_pass_ms(1700); /* more than half of the claim lease */
    proxy_release(sc->proxy, INBOX, PROXY_REPLIES);
    commands = scene_stats(sc->far).commands;
    proxy_release(sc->proxy, PROXY_ALL, PROXY_REPLIES);
    hold = attempt_hold(a);
    assert_true(wait_until(hold_is_lost, hold, SCENE_MS));
    assert_in_range(scene_stats(sc->far).commands - commands, 1, 500);
    assert_status(lk_hold_release(hold), LK_ELOST);
    near_gets_it(sc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(without_eval_everything_is_refused),
        SCENE_TEST(without_hset_an_acquire_is_refused),
        SCENE_TEST(without_pexpire_an_acquire_is_undone),
        SCENE_TEST(without_evalsha_a_hold_ends_with_its_lease),
        SCENE_TEST(without_info_the_client_is_refused),
        SCENE_TEST(without_publish_a_release_is_found_by_looking),
        SCENE_TEST(without_pubsub_a_release_is_found_by_looking),
        SCENE_TEST(without_subscribe_a_waiter_looks_for_itself),
        SCENE_TEST(without_channels_a_waiter_looks_for_itself),
        SCENE_TEST(without_client_commands_everything_works),
        SCENE_TEST(a_holder_may_lose_evalsha),
        SCENE_TEST(a_holder_may_lose_eval_and_evalsha),
        SCENE_TEST(a_holder_may_lose_hset),
        SCENE_TEST(a_holder_may_lose_pexpire),
        SCENE_TEST(a_holder_may_lose_publish),
        SCENE_TEST(a_holder_may_lose_pubsub),
        SCENE_TEST(a_holder_may_lose_its_keys),
        SCENE_TEST(a_holder_may_lose_its_user),
        SCENE_TEST(a_hold_that_may_not_be_renewed_is_lost_by_the_clock),
        SCENE_TEST(a_release_that_is_denied_is_told_and_done_later),
        SCENE_TEST(a_late_grant_that_may_not_be_kept_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
