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

static const lk_client_options impatient = {LK_CLIENT_OPTIONS_INIT,
                                            .command_timeout_ms = TIMEOUT_MS};

/* A user that may do everything but kill connections. */
static void far_without_kill(scene *sc, uint64_t watchdog_ms)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "far",
                                       .password = "word",
                                       .command_timeout_ms = TIMEOUT_MS,
                                       .watchdog_ms = watchdog_ms};

    scene_command(sc, "ACL SETUSER far on >word ~* &* +@all -client|kill");
    scene_far(sc, &options);
}

static void far_with_kill(scene *sc)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "far",
                                       .password = "word",
                                       .command_timeout_ms = TIMEOUT_MS};

    scene_command(sc, "ACL SETUSER far on >word ~* &* +@all");
    scene_far(sc, &options);
}

/* The server has read all that the connection carried, and its end. */
static void late_bytes_arrive(scene *sc)
{
    proxy_release(sc->proxy, COMMAND, PROXY_REQUESTS);
    assert_true(proxy_wait_open(sc->proxy, 2, SCENE_MS));
}

/*
 * The acquire's bytes lie in the proxy while the client gives up the first
 * connection, acquires over another, and releases.
 */
static void acquire_over_another_connection(scene *sc)
{
    proxy_hold(sc->proxy, COMMAND, PROXY_REQUESTS);
    assert_status(lk_hold_release(scene_hold(sc->far_lock, NULL)), LK_OK);
    assert_int_equal(server_integer(sc->server, "EXISTS job"), 0);
}

static void nothing_is_held_when_late_bytes_arrive(scene *sc)
{
    late_bytes_arrive(sc);
    assert_int_equal(server_integer(sc->server, "EXISTS job"), 0);
    scene_is_clean(sc);
}

/* Doubt: CLIENT KILL ID is the first command of the next connection. */
static void a_late_acquire_dies_with_its_connection(void **state)
{
    scene *sc = *state;

    scene_far(sc, &impatient);
    acquire_over_another_connection(sc);
    nothing_is_held_when_late_bytes_arrive(sc);
}

/* Doubt: a connection that broke before it could kill passes that on. */
static void
a_late_acquire_dies_when_the_next_connection_breaks_too(void **state)
{
    scene *sc = *state;

    scene_far(sc, &impatient);
    proxy_cut(sc->proxy, NEXT, PROXY_REPLIES, 64); /* within INFO */
    acquire_over_another_connection(sc);
    assert_int_equal(proxy_accepted(sc->proxy), 4);
    nothing_is_held_when_late_bytes_arrive(sc);
}

/* Doubt: where killing is denied, a tombstone refuses the late acquire. */
static void
a_late_acquire_meets_a_tombstone_where_killing_is_denied(void **state)
{
    scene *sc = *state;

    far_without_kill(sc, 0);
    acquire_over_another_connection(sc);
    assert_int_equal(server_integer(sc->server,
                                    "ZCOUNT latchkey:{job}:q 2533274790395904 "
                                    "+inf"),
                     1);
    nothing_is_held_when_late_bytes_arrive(sc);
}

/* The same, and the right to kill is taken away while the client is at work. */
static void
a_late_acquire_meets_a_tombstone_after_a_right_was_lost(void **state)
{
    scene *sc = *state;
    attempt *a;

    far_with_kill(sc);
    proxy_hold(sc->proxy, COMMAND, PROXY_REQUESTS);
    a = scene_attempt(sc, sc->far_lock, SCENE_MS, NULL);
    scene_command(sc, "ACL SETUSER far -client|kill");
    assert_status(lk_hold_release(attempt_hold(a)), LK_OK);
    nothing_is_held_when_late_bytes_arrive(sc);
}

/* Doubt: a try that is given up is undone behind it, in the same stream. */
static void a_late_try_is_undone(void **state)
{
    scene *sc = *state;
    attempt *a;

    scene_far(sc, &impatient);
    proxy_hold(sc->proxy, COMMAND, PROXY_REQUESTS);
    proxy_refuse(sc->proxy, true);
    a = scene_attempt(sc, sc->far_lock, 0, NULL);
    assert_status(attempt_status(a), LK_EINDOUBT);
    assert_in_range(attempt_took_ms(a), 0,
                    TIMEOUT_MS + wait_scaled_ms(SLACK_MS));
    proxy_refuse(sc->proxy, false);
    assert_true(scene_connects(sc->far, 3));
    nothing_is_held_when_late_bytes_arrive(sc);
}

/* Doubt: a request to queue, given up, leaves no ticket when it comes late. */
static void a_late_enqueue_leaves_no_ticket(void **state)
{
    scene *sc = *state;
    lk_hold *hold;
    attempt *a;

    far_without_kill(sc, 0);
    hold = scene_hold(sc->near_lock, NULL);
    proxy_hold(sc->proxy, COMMAND, PROXY_REQUESTS);
    a = scene_attempt(sc, sc->far_lock, SCENE_MS, NULL);
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    late_bytes_arrive(sc);
    assert_int_equal(server_integer(sc->server, SERVER_WAITERS("job")), 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_hold_release(attempt_hold(a)), LK_OK);
    scene_is_clean(sc);
}

/* Doubt: a renewal only lengthens, whenever it comes. */
static void a_late_renewal_does_not_shorten_the_lease(void **state)
{
    scene *sc = *state;
    lk_hold *hold;
    uint64_t before;

    far_without_kill(sc, 3000);
    hold = scene_hold(sc->far_lock, NULL);
    assert_true(scene_connects(sc->far, 3));
    before = proxy_received(sc->proxy, LANE, PROXY_REQUESTS);
    proxy_hold(sc->proxy, LANE, PROXY_REQUESTS);
    assert_true(proxy_wait_received(sc->proxy, LANE, PROXY_REQUESTS, before + 1,
                                    SCENE_MS));
    assert_true(scene_connects(sc->far, 4));
    assert_status(lk_hold_extend(hold, 60000), LK_OK);
    proxy_release(sc->proxy, LANE, PROXY_REQUESTS);
    assert_true(proxy_wait_open(sc->proxy, 3, SCENE_MS));
    assert_true(server_integer(sc->server, "PTTL job") > 50000);
    assert_true(lk_hold_remaining_ms(hold) > 50000);
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(sc);
}

/* Doubt: a late release says whose hold it ends; the next one stays. */
static void a_late_release_does_not_end_the_next_hold(void **state)
{
    scene *sc = *state;
    lk_hold *hold;
    lk_status status;

    far_without_kill(sc, 0);
    hold = scene_hold(sc->far_lock, NULL);
    proxy_hold(sc->proxy, COMMAND, PROXY_REQUESTS);
    status = lk_hold_release(hold);
    assert_true(status == LK_EINDOUBT || status == LK_OK);
    hold = scene_hold(sc->near_lock, NULL); /* the release was sent again */
    late_bytes_arrive(sc);
    assert_int_equal(server_integer(sc->server, "EXISTS job"), 1);
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(sc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(a_late_acquire_dies_with_its_connection),
        SCENE_TEST(a_late_acquire_dies_when_the_next_connection_breaks_too),
        SCENE_TEST(a_late_acquire_meets_a_tombstone_where_killing_is_denied),
        SCENE_TEST(a_late_acquire_meets_a_tombstone_after_a_right_was_lost),
        SCENE_TEST(a_late_try_is_undone),
        SCENE_TEST(a_late_enqueue_leaves_no_ticket),
        SCENE_TEST(a_late_renewal_does_not_shorten_the_lease),
        SCENE_TEST(a_late_release_does_not_end_the_next_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
