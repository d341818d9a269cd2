/* SPDX-License-Identifier: MIT */

/*
 * Requests that run at the server after they were given up: their bytes lay
 * somewhere on the way, here in the proxy, while the client went on over
 * another connection.
 */

#include <latchkey/latchkey.h>

#include "support/check.h"
#include "support/scene.h"
#include "support/wait.h"

enum { COMMAND = 0, NEXT = 2, LANE = 2, TIMEOUT_MS = 300, SLACK_MS = 400 };

/* Returns when it gives a request up. */
static uint64_t far_impatient(locking *f)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms =
                                           wait_limit_ms(TIMEOUT_MS)};

    scene_far(f, &options);
    return options.command_timeout_ms;
}

/* A user that may do everything but kill connections. */
static void far_without_kill(locking *f, uint64_t watchdog_ms)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "far",
                                       .password = "word",
                                       .command_timeout_ms =
                                           wait_limit_ms(TIMEOUT_MS),
                                       .watchdog_ms = watchdog_ms};

    scene_command(f, "ACL SETUSER far on >word ~* &* +@all -client|kill");
    scene_far(f, &options);
}

static void far_with_kill(locking *f)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "far",
                                       .password = "word",
                                       .command_timeout_ms =
                                           wait_limit_ms(TIMEOUT_MS)};

    scene_command(f, "ACL SETUSER far on >word ~* &* +@all");
    scene_far(f, &options);
}

/* The server has read all that the connection carried, and its end. */
static void late_bytes_arrive(locking *f)
{
    proxy_release(f->proxy, COMMAND, PROXY_REQUESTS);
    assert_true(proxy_wait_open(f->proxy, 2, SCENE_MS));
}

/*
 * The acquire's bytes lie in the proxy while the client gives up the first
 * connection, acquires over another, and releases.
 */
static void acquire_over_another_connection(locking *f)
{
    proxy_hold(f->proxy, COMMAND, PROXY_REQUESTS);
    assert_status(lk_hold_release(scene_hold(f->far.lock, NULL)), LK_OK);
    assert_int_equal(server_integer(f->server, "EXISTS job"), 0);
}

static void nothing_is_held_when_late_bytes_arrive(locking *f)
{
    late_bytes_arrive(f);
    assert_int_equal(server_integer(f->server, "EXISTS job"), 0);
    scene_is_clean(f);
}

/* Doubt: CLIENT KILL ID is the first command of the next connection. */
SCENE_TEST(a_late_acquire_dies_with_its_connection)
{
    (void)far_impatient(f);
    acquire_over_another_connection(f);
    nothing_is_held_when_late_bytes_arrive(f);
}

/* Doubt: a connection that broke before it could kill passes that on. */
SCENE_TEST(a_late_acquire_dies_when_the_next_connection_breaks_too)
{
    (void)far_impatient(f);
    proxy_cut(f->proxy, NEXT, PROXY_REPLIES, 64); /* within INFO */
    acquire_over_another_connection(f);
    assert_int_equal(proxy_accepted(f->proxy), 4);
    nothing_is_held_when_late_bytes_arrive(f);
}

/* Doubt: where killing is denied, a tombstone refuses the late acquire. */
SCENE_TEST(a_late_acquire_meets_a_tombstone_where_killing_is_denied)
{
    far_without_kill(f, 0);
    acquire_over_another_connection(f);
    assert_int_equal(server_integer(f->server,
                                    "ZCOUNT latchkey:{job}:q 2533274790395904 "
                                    "+inf"),
                     1);
    nothing_is_held_when_late_bytes_arrive(f);
}

/* The same, and the right to kill is taken away while the client is at work. */
SCENE_TEST(a_late_acquire_meets_a_tombstone_after_a_right_was_lost)
{
    taker *a;

    far_with_kill(f);
    proxy_hold(f->proxy, COMMAND, PROXY_REQUESTS);
    a = locking_take(f, f->far.lock, SCENE_MS, NULL);
    scene_command(f, "ACL SETUSER far -client|kill");
    assert_status(lk_hold_release(taker_hold(a)), LK_OK);
    nothing_is_held_when_late_bytes_arrive(f);
}

/* Doubt: a try that is given up is undone behind it, in the same stream. */
SCENE_TEST(a_late_try_is_undone)
{
    uint64_t limit_ms;
    taker *a;

    limit_ms = far_impatient(f);
    proxy_hold(f->proxy, COMMAND, PROXY_REQUESTS);
    proxy_refuse(f->proxy, true);
    a = locking_take(f, f->far.lock, 0, NULL);
    assert_status(taker_join(a), LK_EINDOUBT);
    assert_in_range(a->took_ms, 0, limit_ms + wait_limit_ms(SLACK_MS));
    proxy_refuse(f->proxy, false);
    assert_true(scene_connects(f->far.client, 3));
    nothing_is_held_when_late_bytes_arrive(f);
}

/* Doubt: a request to queue, given up, leaves no ticket when it comes late. */
SCENE_TEST(a_late_enqueue_leaves_no_ticket)
{
    lk_hold *hold;
    taker *a;

    far_without_kill(f, 0);
    hold = scene_hold(f->near.lock, NULL);
    proxy_hold(f->proxy, COMMAND, PROXY_REQUESTS);
    a = locking_take(f, f->far.lock, SCENE_MS, NULL);
    assert_true(scene_becomes(f, SERVER_WAITERS("job"), 1));
    late_bytes_arrive(f);
    assert_int_equal(server_integer(f->server, SERVER_WAITERS("job")), 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_hold_release(taker_hold(a)), LK_OK);
    scene_is_clean(f);
}

/* Doubt: a renewal only lengthens, whenever it comes. */
SCENE_TEST(a_late_renewal_does_not_shorten_the_lease)
{
    lk_hold *hold;
    uint64_t before;

    far_without_kill(f, wait_limit_ms(3000));
    hold = scene_hold(f->far.lock, NULL);
    assert_true(scene_connects(f->far.client, 3));
    before = proxy_received(f->proxy, LANE, PROXY_REQUESTS);
    proxy_hold(f->proxy, LANE, PROXY_REQUESTS);
    assert_true(proxy_wait_received(f->proxy, LANE, PROXY_REQUESTS, before + 1,
                                    SCENE_MS));
    assert_true(scene_connects(f->far.client, 4));
    assert_status(lk_hold_extend(hold, 600000), LK_OK);
    proxy_release(f->proxy, LANE, PROXY_REQUESTS);
    assert_true(proxy_wait_open(f->proxy, 3, SCENE_MS));
    assert_true(server_integer(f->server, "PTTL job") > 500000);
    assert_true(lk_hold_remaining_ms(hold) > 500000);
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(f);
}

/* Doubt: a late release says whose hold it ends; the next one stays. */
SCENE_TEST(a_late_release_does_not_end_the_next_hold)
{
    lk_hold *hold;
    lk_status status;

    far_without_kill(f, 0);
    hold = scene_hold(f->far.lock, NULL);
    proxy_hold(f->proxy, COMMAND, PROXY_REQUESTS);
    status = lk_hold_release(hold);
    assert_true(status == LK_EPENDING || status == LK_OK);
    hold = scene_hold(f->near.lock, NULL); /* the release was sent again */
    late_bytes_arrive(f);
    assert_int_equal(server_integer(f->server, "EXISTS job"), 1);
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(f);
}
