/* SPDX-License-Identifier: MIT */

/*
 * A server that stops, restarts without its data, or cannot be reached: holds
 * live as long as their clock says, waits go on, calls end in time.
 */

#include <latchkey/latchkey.h>

#include <poll.h>

#include "support/check.h"
#include "support/scene.h"
#include "support/wait.h"

enum { COMMAND = 0, LANE = 2, LOOK_MS = 1000, SLACK_MS = 500 };

typedef struct notice {
    _Atomic uint64_t told_at; /* 0: not yet */
    _Atomic int loss;
} notice;

static void note_loss(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    notice *n = data;

    if (remaining_ms != 0)
        return;
    n->loss = (int)lk_hold_loss(hold);
    n->told_at = wait_now_ms();
}

static bool is_told(void *data)
{
    return ((notice *)data)->told_at != 0;
}

static bool is_readable(int fd, int ms)
{
    return poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, ms) == 1;
}

static void far_with_watchdog(scene *sc, uint64_t watchdog_ms)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = watchdog_ms};

    scene_far(sc, &options);
}

/* ---- restart ------------------------------------------------------------- */

/*
 * No silent loss: told at the next renewal, long before the lease would have
 * ended.
 */
static void a_hold_lost_in_a_restart_is_told(void **state)
{
    scene *sc = *state;
    static notice n;
    uint64_t restarted_at;
    lk_hold *hold;

    far_with_watchdog(sc, 3000);
    hold = scene_hold(sc->far_lock, NULL);
    assert_status(lk_hold_on_lost(hold, 0, note_loss, &n), LK_OK);
    assert_true(server_restart(sc->server));
    restarted_at = wait_now_ms();
    assert_true(wait_until(is_told, &n, SCENE_MS));
    /* Perhaps before the restart was seen here. */
    assert_in_range(n.told_at, 0,
                    restarted_at + 1000 + wait_scaled_ms(SLACK_MS));
    assert_int_equal(n.loss, LK_LOSS_DELETED);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_status(lk_hold_release(hold), LK_ELOST);
    scene_is_clean(sc);
}

/* No lost wake-up: a place that the server forgot is taken anew. */
static void a_waiter_gets_the_lock_of_a_restarted_server(void **state)
{
    scene *sc = *state;
    lk_hold *hold;
    attempt *a;

    scene_far(sc, NULL);
    hold = scene_hold(sc->near_lock, NULL);
    a = scene_attempt(sc, sc->far_lock, SCENE_MS, NULL);
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    assert_true(server_restart(sc->server));
    assert_true(attempt_has_ended(a, LOOK_MS + SLACK_MS));
    assert_status(lk_hold_release(attempt_hold(a)), LK_OK);
    (void)lk_hold_release(hold);
    scene_is_clean(sc);
}

/* The fence: the fence goes on growing over the loss of its counter. */
static void fences_grow_across_a_restart(void **state)
{
    scene *sc = *state;
    uint64_t fence;
    lk_hold *hold;

    scene_far(sc, NULL);
    hold = scene_hold(sc->far_lock, NULL);
    fence = lk_hold_fence(hold);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_true(server_restart(sc->server));
    hold = scene_hold(sc->near_lock, NULL);
    assert_true(lk_hold_fence(hold) > fence);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* ---- a server that stands still ------------------------------------------ */

/*
 * Exclusion, and no lost wake-up: a pause shorter than the leases costs nobody
 * anything.
 */
static void a_short_pause_of_the_server_loses_nothing(void **state)
{
    scene *sc = *state;
    lk_hold *hold;
    attempt *a;

    scene_far(sc, NULL);
    hold = scene_hold(sc->near_lock, NULL);
    a = scene_attempt(sc, sc->far_lock, SCENE_MS, NULL);
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    server_freeze(sc->server);
    scene_pass_ms(1000);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_false(attempt_has_ended(a, 1));
    server_thaw(sc->server);
    assert_status(lk_hold_release(hold), LK_OK);
    hold = attempt_hold(a);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_int_equal(scene_stats(sc->near).losses, 0);
    assert_int_equal(scene_stats(sc->far).losses, 0);
    scene_is_clean(sc);
}

enum { LEASES = 2 };

/* A lease is renewed when a third of it has passed: nothing that was under way
   before is to be answered any more. */
static bool is_overdue(void *data)
{
    return lk_hold_remaining_ms(data) < LEASES * wait_lease_ms() / 2;
}

/*
 * No silent loss: told by the local clock at the deadline, although nobody
 * answers.
 */
static void a_long_pause_of_the_server_is_a_loss_told_in_time(void **state)
{
    scene *sc = *state;
    static notice n;
    uint64_t deadline;
    lk_hold *hold;
    int fd;

    far_with_watchdog(sc, (uint64_t)LEASES * wait_lease_ms());
    hold = scene_hold(sc->far_lock, NULL);
    assert_status(lk_hold_on_lost(hold, 0, note_loss, &n), LK_OK);
    fd = lk_hold_fd(hold);
    server_freeze(sc->server);
    assert_true(wait_until(is_overdue, hold, SCENE_MS));
    deadline = wait_now_ms() + lk_hold_remaining_ms(hold);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_false(is_readable(fd, 0));
    assert_true(wait_until(is_told, &n, SCENE_MS));
    assert_in_range(n.told_at, deadline, deadline + wait_scaled_ms(50));
    assert_true(is_readable(fd, 0));
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(n.loss, LK_LOSS_UNREACHABLE);
    server_thaw(sc->server);
    assert_status(lk_hold_release(hold), LK_ELOST);
    scene_is_clean(sc);
}

/*
 * Exclusion: a renewal answered after the deadline does not bring the hold
 * back.
 */
static void a_late_answer_does_not_revive_a_lost_hold(void **state)
{
    scene *sc = *state;
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_lease_ms(),
                                       .command_timeout_ms = 600000};
    lk_hold *hold;

    scene_far(sc, &options);
    hold = scene_hold(sc->far_lock, NULL);
    assert_true(scene_connects(sc->far, 3));
    proxy_hold(sc->proxy, LANE, PROXY_REPLIES);
    assert_true(wait_until(hold_is_lost, hold, SCENE_MS));
    assert_true(scene_stats(sc->far).pending > 0);
    proxy_release(sc->proxy, LANE, PROXY_REPLIES);
    scene_hears(sc->far, 1);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_status(lk_hold_release(hold), LK_ELOST);
    scene_is_clean(sc);
}

/* ---- a server out of reach ----------------------------------------------- */

static void far_with_offline(scene *sc, uint64_t offline_ms)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .offline_ms = offline_ms};

    scene_far(sc, &options);
}

/*
 * Every call returns in time: an outage shorter than offline_ms is ridden out
 * inside the wait.
 */
static void a_wait_rides_out_a_short_outage(void **state)
{
    scene *sc = *state;
    attempt *a;

    far_with_offline(sc, 10000);
    proxy_refuse(sc->proxy, true);
    proxy_reset(sc->proxy, PROXY_ALL);
    a = scene_attempt(sc, sc->far_lock, LK_FOREVER, NULL);
    assert_false(attempt_has_ended(a, 500));
    proxy_refuse(sc->proxy, false);
    assert_true(attempt_has_ended(a, 1500));
    assert_status(lk_hold_release(attempt_hold(a)), LK_OK);
    scene_is_clean(sc);
}

/*
 * Every call returns in time: a longer one ends it, and the next call does not
 * wait for it again.
 */
static void a_wait_ends_after_a_long_outage(void **state)
{
    scene *sc = *state;
    attempt *a;

    far_with_offline(sc, 400);
    proxy_refuse(sc->proxy, true);
    proxy_reset(sc->proxy, PROXY_ALL);
    a = scene_attempt(sc, sc->far_lock, LK_FOREVER, NULL);
    assert_status(attempt_status(a), LK_EOFFLINE);
    assert_in_range(attempt_took_ms(a), 0, 400 + wait_scaled_ms(SLACK_MS));
    a = scene_attempt(sc, sc->far_lock, LK_FOREVER, NULL);
    assert_status(attempt_status(a), LK_EOFFLINE);
    assert_in_range(attempt_took_ms(a), 0, wait_scaled_ms(100));
    proxy_refuse(sc->proxy, false);
    assert_status(lk_client_wait_ready(sc->far, SCENE_MS), LK_OK);
    assert_status(lk_hold_release(scene_hold(sc->far_lock, NULL)), LK_OK);
    scene_is_clean(sc);
}

/* The same for one that stands in the queue: nothing of it stays there. */
static void a_queued_wait_that_went_offline_leaves_the_queue(void **state)
{
    scene *sc = *state;
    lk_hold *hold;
    attempt *a;

    far_with_offline(sc, 300);
    hold = scene_hold(sc->near_lock, NULL);
    a = scene_attempt(sc, sc->far_lock, LK_FOREVER, NULL);
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    proxy_refuse(sc->proxy, true);
    proxy_reset(sc->proxy, PROXY_ALL);
    assert_status(attempt_status(a), LK_EOFFLINE);
    proxy_refuse(sc->proxy, false);
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 0));
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(sc);
}

/*
 * Every call returns in time: a try into a black hole ends in time, in doubt,
 * and is settled.
 */
static void a_try_into_a_black_hole_is_in_doubt_in_time(void **state)
{
    scene *sc = *state;
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = 400};
    attempt *a;

    scene_far(sc, &options);
    proxy_swallow(sc->proxy, PROXY_ALL, PROXY_REQUESTS);
    proxy_swallow(sc->proxy, PROXY_ALL, PROXY_REPLIES);
    a = scene_attempt(sc, sc->far_lock, 0, NULL);
    assert_status(attempt_status(a), LK_EINDOUBT);
    assert_in_range(attempt_took_ms(a), 400, 400 + wait_scaled_ms(SLACK_MS));
    proxy_heal(sc->proxy);
    assert_true(scene_connects(sc->far, 3));
    scene_is_clean(sc);
    assert_status(lk_hold_release(scene_hold(sc->far_lock, NULL)), LK_OK);
}

/*
 * Every call returns in time: a wait with a limit ends at it, whatever the
 * server does.
 */
static void a_wait_ends_at_its_limit_in_a_black_hole(void **state)
{
    scene *sc = *state;
    attempt *a;

    scene_far(sc, NULL);
    proxy_swallow(sc->proxy, COMMAND, PROXY_REQUESTS);
    a = scene_attempt(sc, sc->far_lock, 300, NULL);
    assert_status(attempt_status(a), LK_EINDOUBT);
    assert_in_range(attempt_took_ms(a), 300, 300 + wait_scaled_ms(SLACK_MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(a_hold_lost_in_a_restart_is_told),
        SCENE_TEST(a_waiter_gets_the_lock_of_a_restarted_server),
        SCENE_TEST(fences_grow_across_a_restart),
        SCENE_TEST(a_short_pause_of_the_server_loses_nothing),
        SCENE_TEST(a_long_pause_of_the_server_is_a_loss_told_in_time),
        SCENE_TEST(a_late_answer_does_not_revive_a_lost_hold),
        SCENE_TEST(a_wait_rides_out_a_short_outage),
        SCENE_TEST(a_wait_ends_after_a_long_outage),
        SCENE_TEST(a_queued_wait_that_went_offline_leaves_the_queue),
        SCENE_TEST(a_try_into_a_black_hole_is_in_doubt_in_time),
        SCENE_TEST(a_wait_ends_at_its_limit_in_a_black_hole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
