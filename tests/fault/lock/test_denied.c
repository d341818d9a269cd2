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

static lk_acquire_options lease;
static lk_client_options far_user;

static int start(void **state)
{
    lease = (lk_acquire_options){LK_ACQUIRE_OPTIONS_INIT,
                                 .lease_ms = wait_limit_ms(LEASE_MS)};
    far_user =
        (lk_client_options){LK_CLIENT_OPTIONS_INIT, .user = "far",
                            .password = "word",
                            .command_timeout_ms = wait_limit_ms(TIMEOUT_MS)};
    return scene_setup(state);
}

#define DENIED_TEST(name)                                                      \
    CHECK_TEST_OF(name, locking *f, start, locking_teardown)

static unsigned limit_ms(uint64_t ms)
{
    return (unsigned)(ms + wait_limit_ms(LOOK_MS + SLACK_MS));
}

static void may(locking *f, const char *rights)
{
    redisReply *reply = server_command(f->server, "ACL SETUSER far %s", rights);

    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

/* The far client, as a user with all rights but this one. */
static void far_without(locking *f, const char *right)
{
    scene_command(f, "ACL SETUSER far on >word ~* &* +@all");
    may(f, right);
    scene_open_far(f, &far_user);
}

/* The near client has the lock soon; it was left to its lease at the latest. */
static void near_gets_it(locking *f)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(f->near.lock, limit_ms(lease.lease_ms), NULL,
                                  &hold),
                  LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(f);
}

/* Acquiring and waiting are refused by name, and leave nothing. */
static void is_refused(locking *f)
{
    lk_hold *hold;
    lk_hold *none = NULL;

    assert_status(lk_lock_acquire(f->far.lock, 0, &lease, &none), LK_EDENIED);
    scene_is_clean(f);
    assert_status(lk_lock_acquire(f->far.lock, (int64_t)wait_limit_ms(5000),
                                  &lease, &none),
                  LK_EDENIED);
    scene_is_clean(f);
    hold = scene_hold(f->near.lock, NULL);
    assert_true(lk_lock_acquire(f->far.lock, 1000, &lease, &none) != LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    near_gets_it(f);
}

/* It waits and is granted, at the latest when it looks. */
static void is_granted_in_time(locking *f)
{
    lk_hold *hold = scene_hold(f->near.lock, NULL);
    taker *a = locking_take(f, f->far.lock, SCENE_MS, &lease);

    assert_false(taker_ends(a, 200));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_true(taker_ends(a, limit_ms(0)));
    assert_status(lk_hold_release(taker_hold(a)), LK_OK);
    near_gets_it(f);
}

/* Its release is followed by the next waiter, at the latest when that looks. */
static void is_followed_in_time(locking *f)
{
    lk_hold *hold = scene_hold(f->far.lock, &lease);
    taker *a = locking_take(f, f->near.lock, SCENE_MS, NULL);

    assert_true(scene_becomes(f, SERVER_WAITERS("job"), 1));
    assert_status(lk_hold_release(hold), LK_OK);
    /* Nobody was passed over because the server would not say who listens. */
    assert_int_equal(server_integer(f->server, SERVER_PARKED("job")), 0);
    assert_true(taker_ends(a, limit_ms(0)));
    assert_int_equal(scene_immortal_keys(f), 0);
    assert_status(lk_hold_release(taker_hold(a)), LK_OK);
    scene_is_clean(f);
}

/* A right is taken away from a holder that others wait for. */
static void a_holder_loses(locking *f, const char *right)
{
    lk_hold *hold;
    taker *a;

    far_without(f, "+info");
    hold = scene_hold(f->far.lock, &lease);
    a = locking_take(f, f->near.lock, SCENE_MS, NULL);
    assert_true(scene_becomes(f, SERVER_WAITERS("job"), 1));
    may(f, right);
    (void)lk_hold_release(hold);
    assert_true(taker_ends(a, limit_ms(lease.lease_ms)));
    assert_int_equal(scene_immortal_keys(f), 0);
    assert_status(lk_hold_release(taker_hold(a)), LK_OK);
    scene_is_clean(f);
}

/* ---- without a right from the start -------------------------------------- */

DENIED_TEST(without_eval_everything_is_refused)
{
    far_without(f, "-eval");
    is_refused(f);
}

DENIED_TEST(without_hset_an_acquire_is_refused)
{
    far_without(f, "-hset");
    is_refused(f);
}

DENIED_TEST(without_pexpire_an_acquire_is_undone)
{
    far_without(f, "-pexpire");
    is_refused(f);
}

/* Each script runs once, in full; what is refused after that is said. */
DENIED_TEST(without_evalsha_a_hold_ends_with_its_lease)
{
    lk_hold *hold;
    lk_hold *none = NULL;

    far_without(f, "-evalsha");
    hold = scene_hold(f->far.lock, &lease);
    (void)lk_hold_release(hold);
    assert_status(lk_lock_acquire(f->far.lock, (int64_t)wait_limit_ms(2000),
                                  &lease, &none),
                  LK_EDENIED);
    near_gets_it(f);
}

DENIED_TEST(without_info_the_client_is_refused)
{
    taker *a;

    scene_command(f, "ACL SETUSER far on >word ~* &* +@all -info");
    assert_status(lk_client_open(&f->far.client, proxy_url(f->proxy),
                                 &far_user),
                  LK_OK);
    assert_status(lk_client_wait_ready(f->far.client,
                                       (int64_t)wait_limit_ms(5000)),
                  LK_EDENIED);
    assert_status(lk_lock_new(&f->far.lock, f->far.client, "job", NULL), LK_OK);
    a = locking_take(f, f->far.lock, SCENE_MS, NULL);
    assert_status(taker_join(a), LK_EDENIED);
    assert_in_range(a->took_ms, 0, wait_allowed_ms(wait_scaled_ms(SLACK_MS)));
    lk_lock_free(f->far.lock); /* not of the fixture's making */
    scene_is_clean(f);
}

DENIED_TEST(without_publish_a_release_is_found_by_looking)
{
    far_without(f, "-publish");
    is_granted_in_time(f);
    is_followed_in_time(f);
}

DENIED_TEST(without_pubsub_a_release_is_found_by_looking)
{
    far_without(f, "-pubsub");
    is_granted_in_time(f);
    is_followed_in_time(f);
}

DENIED_TEST(without_subscribe_a_waiter_looks_for_itself)
{
    far_without(f, "-subscribe");
    is_granted_in_time(f);
    is_followed_in_time(f);
}

DENIED_TEST(without_channels_a_waiter_looks_for_itself)
{
    far_without(f, "resetchannels");
    is_granted_in_time(f);
    is_followed_in_time(f);
}

DENIED_TEST(without_client_commands_everything_works)
{
    far_without(f, "-client");
    is_granted_in_time(f);
    is_followed_in_time(f);
}

/* ---- a right that is taken away ------------------------------------------ */

DENIED_TEST(a_holder_may_lose_evalsha)
{
    a_holder_loses(f, "-evalsha");
}

DENIED_TEST(a_holder_may_lose_eval_and_evalsha)
{
    a_holder_loses(f, "-@scripting");
}

DENIED_TEST(a_holder_may_lose_hset)
{
    a_holder_loses(f, "-hset");
}

DENIED_TEST(a_holder_may_lose_pexpire)
{
    a_holder_loses(f, "-pexpire");
}

DENIED_TEST(a_holder_may_lose_publish)
{
    a_holder_loses(f, "-publish");
}

DENIED_TEST(a_holder_may_lose_pubsub)
{
    a_holder_loses(f, "-pubsub");
}

DENIED_TEST(a_holder_may_lose_its_keys)
{
    a_holder_loses(f, "resetkeys");
}

/* Its connections are closed by the server, and it may not come back. */
DENIED_TEST(a_holder_may_lose_its_user)
{
    a_holder_loses(f, "off");
}

/*
 * No silent loss: a hold that may no longer be renewed is lost in time, and
 * said so.
 */
DENIED_TEST(a_hold_that_may_not_be_renewed_is_lost_by_the_clock)
{
    lk_client_options options = far_user;
    lk_hold *hold;
    taker *a;

    options.watchdog_ms = lease.lease_ms;
    scene_command(f, "ACL SETUSER far on >word ~* &* +@all");
    scene_open_far(f, &options);
    hold = scene_hold(f->far.lock, NULL);
    a = locking_take(f, f->near.lock, SCENE_MS, NULL);
    may(f, "-pexpire");
    assert_status(lk_hold_release(taker_hold(a)), LK_OK);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_DENIED);
    assert_denied(lk_hold_release(hold), LK_ELOST, "'pexpire'");
    scene_is_clean(f);
}

/* The caller is told why at once, and the hold ends as soon as it may: neither the
   time of the command nor the lease, both an hour here, says when. */
DENIED_TEST(a_release_that_is_denied_is_told_and_done_later)
{
    const lk_acquire_options hour = {LK_ACQUIRE_OPTIONS_INIT,
                                     .lease_ms = 3600000};
    lk_client_options options = far_user;
    lk_hold *hold;

    options.command_timeout_ms = 3600000;
    scene_command(f, "ACL SETUSER far on >word ~* &* +@all");
    scene_open_far(f, &options);
    hold = scene_hold(f->far.lock, &hour);
    may(f, "-hdel");
    assert_denied(lk_hold_release(hold), LK_EDENIED, "'hdel'");
    assert_int_equal(server_integer(f->server, "EXISTS job"), 1);
    may(f, "+hdel");
    assert_true(scene_becomes(f, "EXISTS job", 0));
    scene_is_clean(f);
}

/* A grant that came late is found by looking. Where its lease may not be
   lengthened it is lost in time, without many questions. */
DENIED_TEST(a_late_grant_that_may_not_be_kept_is_lost)
{
    lk_client_options options = far_user;
    uint64_t commands;
    lk_hold *hold;
    taker *a;

    options.command_timeout_ms = 20000;
    scene_command(f, "ACL SETUSER far on >word ~* &* +@all");
    scene_open_far(f, &options);
    assert_status(lk_hold_release(scene_hold(f->far.lock, NULL)), LK_OK);
    assert_true(scene_connects(f->far.client, 2));
    hold = scene_hold(f->near.lock, NULL);
    proxy_hold(f->proxy, PROXY_ALL, PROXY_REPLIES);
    a = locking_take(f, f->far.lock, SCENE_MS, NULL);
    assert_true(scene_becomes(f, SERVER_WAITERS("job"), 1));
    may(f, "-pexpire");
    assert_status(lk_hold_release(hold), LK_OK);
    locking_pass_time(1700); /* more than half of the claim lease */
    proxy_release(f->proxy, INBOX, PROXY_REPLIES);
    commands = locking_stats(f->far.client).commands;
    proxy_release(f->proxy, PROXY_ALL, PROXY_REPLIES);
    hold = taker_hold(a);
    assert_true(wait_until(hold_is_lost, hold, SCENE_MS));
    assert_in_range(locking_stats(f->far.client).commands - commands, 1, 500);
    assert_status(lk_hold_release(hold), LK_ELOST);
    near_gets_it(f);
}
