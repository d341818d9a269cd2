/* SPDX-License-Identifier: MIT */

/* Async calls over a bad network: each ends, once, and in its time. */

#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/scene.h"
#include "support/wait.h"

enum { COMMAND_MS = 300, OFFLINE_MS = 600, WAITS = 100 };

/* Client options: of one that gives up soon. */
static lk_client_options hasty(void)
{
    return (lk_client_options){LK_CLIENT_OPTIONS_INIT,
                               .command_timeout_ms = wait_limit_ms(COMMAND_MS),
                               .offline_ms = wait_limit_ms(OFFLINE_MS)};
}

static void assert_took(uint64_t began, uint64_t least_ms, uint64_t most_ms)
{
    assert_in_range(wait_now_ms() - began, least_ms,
                    wait_allowed_ms(most_ms + wait_scaled_ms(400)));
}

/* ---- answers that do not come ------------------------------------------------ */

SCENE_TEST(questions_that_read_are_asked_again_after_a_cut)
{
    call locked = {0}, info = {0};

    scene_far(f, NULL);
    proxy_cut(f->proxy, 0, PROXY_REPLIES, 0);
    assert_status(lk_lock_is_locked_async(f->far.lock, call_on_locked, &locked),
                  LK_OK);
    assert_status(lk_lock_info_async(f->far.lock, call_on_info, &info), LK_OK);
    assert_status(call_wait(&locked, NULL), LK_OK);
    assert_status(call_wait(&info, NULL), LK_OK);
    assert_false(locked.locked);
    assert_int_equal(info.info->holder_count, 0);
    lk_info_free(info.info);
}

SCENE_TEST(a_force_whose_answer_is_lost_is_in_doubt)
{
    call c = {0};
    lk_hold *hold;

    scene_far(f, NULL);
    hold = scene_hold(f->near.lock, NULL);
    proxy_drop_replies(f->proxy, 0, true);
    assert_status(lk_lock_force_release_async(f->far.lock, call_on_done, &c),
                  LK_OK);
    assert_status(call_wait(&c, NULL), LK_EPENDING);
    assert_true(scene_becomes(f, "EXISTS job", 0));
    (void)lk_hold_release(hold); /* it may not have heard of it yet */
    assert_int_equal(atomic_load(&c.ends), 1);
}

SCENE_TEST(nothing_that_is_asked_takes_longer_than_its_time)
{
    const lk_client_options options = hasty();
    call calls[5] = {0};
    lk_hold *hold;
    uint64_t began;

    scene_far(f, &options);
    hold = scene_hold(f->far.lock, NULL);
    proxy_swallow(f->proxy, PROXY_ALL, PROXY_REPLIES);
    began = wait_now_ms();
    assert_status(lk_lock_is_locked_async(f->far.lock, call_on_locked,
                                          &calls[0]),
                  LK_OK);
    assert_status(lk_lock_info_async(f->far.lock, call_on_info, &calls[1]),
                  LK_OK);
    assert_status(lk_hold_extend_async(hold, 60000, call_on_done, &calls[2]),
                  LK_OK);
    assert_status(lk_lock_force_release_async(f->far.lock, call_on_done,
                                              &calls[3]),
                  LK_OK);
    assert_status(lk_hold_release_async(hold, call_on_done, &calls[4]), LK_OK);
    assert_status(call_wait(&calls[0], NULL), LK_EOFFLINE);
    assert_status(call_wait(&calls[1], NULL), LK_EOFFLINE);
    assert_status(call_wait(&calls[2], NULL), LK_EINDOUBT);
    assert_status(call_wait(&calls[3], NULL), LK_EPENDING);
    assert_status(call_wait(&calls[4], NULL), LK_EPENDING);
    assert_took(began, options.command_timeout_ms, options.command_timeout_ms);
    proxy_heal(f->proxy);
    scene_is_clean(f);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(atomic_load(&calls[i].ends), 1);
}

/* ---- waits ---------------------------------------------------------------------- */

SCENE_TEST(waits_ride_out_a_short_outage)
{
    static call calls[WAITS];
    lk_hold *hold;
    uint64_t fence;

    memset(calls, 0, sizeof(calls));
    scene_far(f, NULL);
    hold = scene_hold(f->near.lock, NULL);
    fence = lk_hold_fence(hold);
    for (size_t i = 0; i < WAITS; i++)
        assert_status(lk_lock_acquire_async(f->far.lock, LK_FOREVER, NULL,
                                            call_on_acquire, &calls[i]),
                      LK_OK);
    assert_true(scene_becomes(f, SERVER_WAITERS("job"), 1));
    for (int i = 0; i < 3; i++) {
        uint64_t connects = locking_stats(f->far.client).connects;

        proxy_reset(f->proxy, PROXY_ALL);
        assert_true(scene_connects(f->far.client, connects + 2));
    }
    assert_status(lk_hold_release(hold), LK_OK);
    for (size_t i = 0; i < WAITS; i++) {
        assert_status(call_wait(&calls[i], NULL), LK_OK);
        assert_true(lk_hold_fence(calls[i].hold) > fence);
        fence = lk_hold_fence(calls[i].hold);
        assert_status(lk_hold_release_async(calls[i].hold, NULL, NULL), LK_OK);
    }
    scene_is_clean(f);
    for (size_t i = 0; i < WAITS; i++)
        assert_int_equal(atomic_load(&calls[i].ends), 1);
}

/* ---- the end of all ---------------------------------------------------------------- */

SCENE_TEST(a_shutdown_without_a_server_ends_in_its_time)
{
    static call calls[WAITS];
    call release = {0}, end = {0};
    lk_hold *hold;
    uint64_t began;

    memset(calls, 0, sizeof(calls));
    scene_far(f, NULL);
    hold = scene_hold(f->far.lock, NULL);
    for (size_t i = 0; i < WAITS; i++)
        assert_status(lk_lock_acquire_async(f->far.lock, LK_FOREVER, NULL,
                                            call_on_acquire, &calls[i]),
                      LK_OK);
    server_freeze(f->server);
    began = wait_now_ms();
    assert_status(lk_client_shutdown_async(f->far.client, 200, call_on_done,
                                           &end),
                  LK_OK);
    assert_status(call_wait(&end, NULL), LK_ETIMEDOUT);
    assert_took(began, 200, 200);
    for (size_t i = 0; i < WAITS; i++) {
        assert_int_equal(atomic_load(&calls[i].ends), 1);
        assert_status(calls[i].status, LK_ECLOSED);
    }
    assert_status(lk_hold_release_async(hold, call_on_done, &release), LK_OK);
    assert_status(call_wait(&release, NULL), LK_ECLOSED);
    server_thaw(f->server);
}

SCENE_TEST(a_release_under_way_ends_with_the_shutdown)
{
    call release = {0}, end = {0};
    lk_hold *hold;

    scene_far(f, NULL);
    hold = scene_hold(f->far.lock, NULL);
    server_freeze(f->server);
    assert_status(lk_hold_release_async(hold, call_on_done, &release), LK_OK);
    assert_status(lk_client_shutdown_async(f->far.client, 100, call_on_done,
                                           &end),
                  LK_OK);
    assert_status(call_wait(&end, NULL), LK_ETIMEDOUT);
    assert_int_equal(atomic_load(&release.ends), 1);
    assert_status(release.status, LK_EPENDING);
    server_thaw(f->server);
    scene_is_clean(f);
}
