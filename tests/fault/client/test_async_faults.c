/* SPDX-License-Identifier: MIT */

/* Async calls over a bad network: each ends, once, and in its time. */

#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/scene.h"
#include "support/wait.h"

enum { COMMAND_MS = 300, OFFLINE_MS = 600, WAITS = 100 };

static const lk_client_options hasty = {LK_CLIENT_OPTIONS_INIT,
                                        .command_timeout_ms = COMMAND_MS,
                                        .offline_ms = OFFLINE_MS};

static void assert_took(uint64_t began, unsigned least_ms, unsigned most_ms)
{
    assert_in_range(wait_now_ms() - began, least_ms,
                    wait_allowed_ms(most_ms + wait_scaled_ms(400)));
}

/* ---- answers that do not come ------------------------------------------------ */

static void questions_that_read_are_asked_again_after_a_cut(void **state)
{
    scene *sc = *state;
    call locked = {0}, info = {0};

    scene_far(sc, NULL);
    proxy_cut(sc->proxy, 0, PROXY_REPLIES, 0);
    assert_status(lk_lock_is_locked_async(sc->far_lock, call_on_locked,
                                          &locked),
                  LK_OK);
    assert_status(lk_lock_info_async(sc->far_lock, call_on_info, &info), LK_OK);
    assert_status(call_wait(&locked, NULL), LK_OK);
    assert_status(call_wait(&info, NULL), LK_OK);
    assert_false(locked.locked);
    assert_int_equal(info.info->holder_count, 0);
    lk_info_free(info.info);
}

static void a_force_whose_answer_is_lost_is_in_doubt(void **state)
{
    scene *sc = *state;
    call c = {0};
    lk_hold *hold;

    scene_far(sc, NULL);
    hold = scene_hold(sc->near_lock, NULL);
    proxy_drop_replies(sc->proxy, 0, true);
    assert_status(lk_lock_force_release_async(sc->far_lock, call_on_done, &c),
                  LK_OK);
    assert_status(call_wait(&c, NULL), LK_EINDOUBT);
    assert_true(scene_becomes(sc, "EXISTS job", 0));
    (void)lk_hold_release(hold); /* it may not have heard of it yet */
    assert_int_equal(atomic_load(&c.ends), 1);
}

static void nothing_that_is_asked_takes_longer_than_its_time(void **state)
{
    scene *sc = *state;
    call calls[5] = {0};
    lk_hold *hold;
    uint64_t began;

    scene_far(sc, &hasty);
    hold = scene_hold(sc->far_lock, NULL);
    proxy_swallow(sc->proxy, PROXY_ALL, PROXY_REPLIES);
    began = wait_now_ms();
    assert_status(lk_lock_is_locked_async(sc->far_lock, call_on_locked,
                                          &calls[0]),
                  LK_OK);
    assert_status(lk_lock_info_async(sc->far_lock, call_on_info, &calls[1]),
                  LK_OK);
    assert_status(lk_hold_extend_async(hold, 60000, call_on_done, &calls[2]),
                  LK_OK);
    assert_status(lk_lock_force_release_async(sc->far_lock, call_on_done,
                                              &calls[3]),
                  LK_OK);
    assert_status(lk_hold_release_async(hold, call_on_done, &calls[4]), LK_OK);
    assert_status(call_wait(&calls[0], NULL), LK_EOFFLINE);
    assert_status(call_wait(&calls[1], NULL), LK_EOFFLINE);
    assert_status(call_wait(&calls[2], NULL), LK_EINDOUBT);
    assert_status(call_wait(&calls[3], NULL), LK_EINDOUBT);
    assert_status(call_wait(&calls[4], NULL), LK_EINDOUBT);
    assert_took(began, COMMAND_MS, COMMAND_MS);
    proxy_heal(sc->proxy);
    scene_is_clean(sc);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(atomic_load(&calls[i].ends), 1);
}

/* ---- waits ---------------------------------------------------------------------- */

static void waits_ride_out_a_short_outage(void **state)
{
    scene *sc = *state;
    static call calls[WAITS];
    lk_hold *hold;
    uint64_t fence;

    memset(calls, 0, sizeof(calls));
    scene_far(sc, NULL);
    hold = scene_hold(sc->near_lock, NULL);
    fence = lk_hold_fence(hold);
    for (size_t i = 0; i < WAITS; i++)
        assert_status(lk_lock_acquire_async(sc->far_lock, LK_FOREVER, NULL,
                                            call_on_acquire, &calls[i]),
                      LK_OK);
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    for (int i = 0; i < 3; i++) {
        uint64_t connects = scene_stats(sc->far).connects;

        proxy_reset(sc->proxy, PROXY_ALL);
        assert_true(scene_connects(sc->far, connects + 2));
    }
    assert_status(lk_hold_release(hold), LK_OK);
    for (size_t i = 0; i < WAITS; i++) {
        assert_status(call_wait(&calls[i], NULL), LK_OK);
        assert_true(lk_hold_fence(calls[i].hold) > fence);
        fence = lk_hold_fence(calls[i].hold);
        assert_status(lk_hold_release_async(calls[i].hold, NULL, NULL), LK_OK);
    }
    scene_is_clean(sc);
    for (size_t i = 0; i < WAITS; i++)
        assert_int_equal(atomic_load(&calls[i].ends), 1);
}

static void an_outage_that_lasts_ends_every_wait_once(void **state)
{
    scene *sc = *state;
    static call calls[WAITS];
    call refused = {0};
    lk_hold *hold;
    uint64_t began;

    memset(calls, 0, sizeof(calls));
    scene_far(sc, &hasty);
    hold = scene_hold(sc->near_lock, NULL);
    for (size_t i = 0; i < WAITS; i++)
        assert_status(lk_lock_acquire_async(sc->far_lock, LK_FOREVER, NULL,
                                            call_on_acquire, &calls[i]),
                      LK_OK);
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    began = wait_now_ms();
    proxy_refuse(sc->proxy, true);
    proxy_reset(sc->proxy, PROXY_ALL);
    for (size_t i = 0; i < WAITS; i++) {
        assert_status(call_wait(&calls[i], NULL), LK_EOFFLINE);
        assert_null(calls[i].hold);
        assert_true(calls[i].words[0] != '\0');
    }
    assert_took(began, OFFLINE_MS, OFFLINE_MS);
    assert_status(lk_lock_acquire_async(sc->far_lock, LK_FOREVER, NULL,
                                        call_on_acquire, &refused),
                  LK_OK);
    assert_status(call_wait(&refused, NULL), LK_EOFFLINE);
    proxy_heal(sc->proxy);
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(sc);
    for (size_t i = 0; i < WAITS; i++)
        assert_int_equal(atomic_load(&calls[i].ends), 1);
}

static void a_try_that_is_not_answered_is_in_doubt_and_taken_back(void **state)
{
    scene *sc = *state;
    call c = {0};
    uint64_t began;

    scene_far(sc, &hasty);
    proxy_swallow(sc->proxy, 0, PROXY_REPLIES);
    began = wait_now_ms();
    assert_status(lk_lock_acquire_async(sc->far_lock, 0, NULL, call_on_acquire,
                                        &c),
                  LK_OK);
    assert_status(call_wait(&c, NULL), LK_EINDOUBT);
    assert_took(began, COMMAND_MS, COMMAND_MS);
    assert_null(c.hold);
    proxy_heal(sc->proxy);
    scene_is_clean(sc);
    assert_int_equal(atomic_load(&c.ends), 1);
}

/* ---- the end of all ---------------------------------------------------------------- */

static void a_shutdown_without_a_server_ends_in_its_time(void **state)
{
    scene *sc = *state;
    static call calls[WAITS];
    call release = {0}, end = {0};
    lk_hold *hold;
    uint64_t began;

    memset(calls, 0, sizeof(calls));
    scene_far(sc, NULL);
    hold = scene_hold(sc->far_lock, NULL);
    for (size_t i = 0; i < WAITS; i++)
        assert_status(lk_lock_acquire_async(sc->far_lock, LK_FOREVER, NULL,
                                            call_on_acquire, &calls[i]),
                      LK_OK);
    server_freeze(sc->server);
    began = wait_now_ms();
    assert_status(lk_client_shutdown_async(sc->far, 200, call_on_done, &end),
                  LK_OK);
    assert_status(call_wait(&end, NULL), LK_ETIMEDOUT);
    assert_took(began, 200, 200);
    for (size_t i = 0; i < WAITS; i++) {
        assert_int_equal(atomic_load(&calls[i].ends), 1);
        assert_status(calls[i].status, LK_ECLOSED);
    }
    assert_status(lk_hold_release_async(hold, call_on_done, &release), LK_OK);
    assert_status(call_wait(&release, NULL), LK_ECLOSED);
    server_thaw(sc->server);
}

static void a_release_under_way_ends_with_the_shutdown(void **state)
{
    scene *sc = *state;
    call release = {0}, end = {0};
    lk_hold *hold;

    scene_far(sc, NULL);
    hold = scene_hold(sc->far_lock, NULL);
    server_freeze(sc->server);
    assert_status(lk_hold_release_async(hold, call_on_done, &release), LK_OK);
    assert_status(lk_client_shutdown_async(sc->far, 100, call_on_done, &end),
                  LK_OK);
    assert_status(call_wait(&end, NULL), LK_ETIMEDOUT);
    assert_int_equal(atomic_load(&release.ends), 1);
    assert_status(release.status, LK_EINDOUBT);
    server_thaw(sc->server);
    scene_is_clean(sc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(questions_that_read_are_asked_again_after_a_cut),
        SCENE_TEST(a_force_whose_answer_is_lost_is_in_doubt),
        SCENE_TEST(nothing_that_is_asked_takes_longer_than_its_time),
        SCENE_TEST(waits_ride_out_a_short_outage),
        SCENE_TEST(an_outage_that_lasts_ends_every_wait_once),
        SCENE_TEST(a_try_that_is_not_answered_is_in_doubt_and_taken_back),
        SCENE_TEST(a_shutdown_without_a_server_ends_in_its_time),
        SCENE_TEST(a_release_under_way_ends_with_the_shutdown),
    };

    return cmocka_run_group_tests_name("async_faults", tests, NULL, NULL);
}
