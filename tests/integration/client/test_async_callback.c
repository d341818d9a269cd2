/* SPDX-License-Identifier: MIT */

/*
 * What the callback of an async call may do: everything that does not block,
 * the end of the lock and of the client it came from included. On the loop
 * and in dispatch.
 */

#include "support/call.h"
#include "support/check.h"
#include "support/descriptors.h"
#include "support/locking.h"
#include "support/wait.h"

enum { LOOP = 0, DISPATCH = 1, MODES = 2 };

/* A client and a lock that are freed in a callback, and what was done there. */
typedef struct scene {
    const char *name; /* what a client leaves to its lease bars nobody else */
    lk_client *client;
    lk_lock *lock;
    lk_cancel *cancel;
    call first, second, third, fourth;
    lk_status begun[4];
    lk_status blocking[6];
} scene;

static void scene_open(scene *s, locking *f, uint64_t mode)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .dispatch = mode};

    *s = (scene){.name = mode == LOOP ? "a" : "b"};
    assert_status(lk_client_open(&s->client, server_url(f->server), &options),
                  LK_OK);
    assert_status(lk_client_wait_ready(s->client, wait_scaled_ms(5000)), LK_OK);
    assert_status(lk_lock_new(&s->lock, s->client, s->name, NULL), LK_OK);
    s->first.data = s;
}

/* Acquires the free lock; act is done in its callback. */
static void scene_acquire(scene *s, void (*act)(call *c))
{
    s->first.act = act;
    assert_status(lk_lock_acquire_async(s->lock, 5000, NULL, call_on_acquire,
                                        &s->first),
                  LK_OK);
}

static void scene_free(scene *s)
{
    lk_lock_free(s->lock);
    lk_client_free(s->client);
}

/* ---- one at a time --------------------------------------------------------- */

static void acquire_again(call *c)
{
    scene *s = c->data;

    s->begun[0] =
        lk_lock_acquire_async(s->lock, 5000, NULL, call_on_acquire, &s->second);
    s->begun[1] = lk_hold_release_async(c->hold, call_on_done, &s->third);
}

static void it_may_acquire_again_and_release(void **state)
{
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        scene s;

        scene_open(&s, *state, mode);
        scene_acquire(&s, acquire_again);
        assert_status(call_wait(&s.first, s.client), LK_OK);
        assert_status(call_wait(&s.second, s.client), LK_OK);
        assert_status(call_wait(&s.third, s.client), LK_OK);
        assert_status(s.begun[0], LK_OK);
        assert_status(s.begun[1], LK_OK);
        assert_status(lk_hold_release(s.second.hold), LK_OK);
        scene_free(&s);
        assert_int_equal(atomic_load(&s.first.ends), 1);
        assert_int_equal(atomic_load(&s.second.ends), 1);
        assert_int_equal(atomic_load(&s.third.ends), 1);
    }
}

static void ask_everything(call *c)
{
    scene *s = c->data;

    s->begun[0] = lk_lock_is_locked_async(s->lock, call_on_locked, &s->second);
    s->begun[1] = lk_lock_info_async(s->lock, call_on_info, &s->third);
    s->begun[2] =
        lk_hold_extend_async(c->hold, 60000, call_on_done, &s->fourth);
}

static void it_may_ask(void **state)
{
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        scene s;

        scene_open(&s, *state, mode);
        scene_acquire(&s, ask_everything);
        assert_status(call_wait(&s.first, s.client), LK_OK);
        assert_status(call_wait(&s.second, s.client), LK_OK);
        assert_status(call_wait(&s.third, s.client), LK_OK);
        assert_status(call_wait(&s.fourth, s.client), LK_OK);
        assert_true(s.second.locked);
        assert_int_equal(s.third.info->holder_count, 1);
        assert_in_range(lk_hold_remaining_ms(s.first.hold), 40000, 60000);
        lk_info_free(s.third.info);
        assert_status(lk_hold_release(s.first.hold), LK_OK);
        scene_free(&s);
    }
}

static void block(call *c)
{
    scene *s = c->data;
    lk_hold *hold = NULL;
    lk_info *info = NULL;
    bool locked;

    s->blocking[0] = lk_lock_acquire(s->lock, 0, NULL, &hold);
    s->blocking[1] = lk_lock_is_locked(s->lock, &locked);
    s->blocking[2] = lk_lock_info(s->lock, &info);
    s->blocking[3] = lk_hold_extend(c->hold, 60000);
    s->blocking[4] = lk_client_wait_ready(s->client, 100);
    s->blocking[5] = lk_client_shutdown(s->client, 100);
}

static void it_may_not_block(void **state)
{
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        scene s;

        scene_open(&s, *state, mode);
        scene_acquire(&s, block);
        assert_status(call_wait(&s.first, s.client), LK_OK);
        for (size_t i = 0; i < 6; i++)
            assert_status(s.blocking[i], LK_ECALLBACK);
        assert_status(lk_hold_release(s.first.hold), LK_OK);
        scene_free(&s);
    }
}

static void release_plainly(call *c)
{
    scene *s = c->data;

    s->blocking[0] = lk_hold_release(c->hold);
}

static void a_plain_release_there_does_not_wait(void **state)
{
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        scene s;

        scene_open(&s, *state, mode);
        scene_acquire(&s, release_plainly);
        assert_status(call_wait(&s.first, s.client), LK_OK);
        assert_status(s.blocking[0], LK_EINDOUBT);
        locking_wait_integer(*state, 0, "EXISTS %s", s.name);
        scene_free(&s);
    }
}

static void cancel_the_next(call *c)
{
    scene *s = c->data;
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .cancel = s->cancel};

    s->begun[0] = lk_lock_acquire_async(s->lock, LK_FOREVER, &options,
                                        call_on_acquire, &s->second);
    lk_cancel_fire(s->cancel);
}

static void it_may_cancel(void **state)
{
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        scene s;

        scene_open(&s, *state, mode);
        assert_status(lk_cancel_new(&s.cancel, s.client), LK_OK);
        scene_acquire(&s, cancel_the_next);
        assert_status(call_wait(&s.first, s.client), LK_OK);
        assert_status(call_wait(&s.second, s.client), LK_ECANCELED);
        assert_status(lk_hold_release(s.first.hold), LK_OK);
        lk_cancel_free(s.cancel);
        scene_free(&s);
    }
}

static void free_the_lock(call *c)
{
    scene *s = c->data;

    lk_lock_free(s->lock);
    s->lock = NULL;
}

static void it_may_free_the_lock(void **state)
{
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        scene s;

        scene_open(&s, *state, mode);
        scene_acquire(&s, free_the_lock);
        assert_status(call_wait(&s.first, s.client), LK_OK);
        assert_status(lk_hold_check(s.first.hold), LK_OK);
        assert_status(lk_hold_release(s.first.hold), LK_OK);
        scene_free(&s);
    }
}

static void shut_down(call *c)
{
    scene *s = c->data;

    s->begun[0] =
        lk_client_shutdown_async(s->client, 2000, call_on_done, &s->second);
}

static void it_may_shut_the_client_down(void **state)
{
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        scene s;

        scene_open(&s, *state, mode);
        scene_acquire(&s, shut_down);
        assert_status(call_wait(&s.first, s.client), LK_OK);
        assert_status(s.begun[0], LK_OK);
        assert_status(call_wait(&s.second, s.client), LK_OK);
        assert_status(lk_hold_check(s.first.hold), LK_ELOST);
        assert_false(locking_exists(*state, s.name));
        assert_status(lk_hold_release(s.first.hold), LK_ECLOSED);
        scene_free(&s);
    }
}

/* ---- all of it ---------------------------------------------------------------- */

static void free_the_client(call *c)
{
    scene *s = c->data;

    lk_client_free(s->client);
}

/* After a dispatch in which the client was freed nothing more is to come. */
static void scene_run(scene *s, uint64_t mode)
{
    lk_client *client = s->client;

    if (mode == LOOP) {
        (void)call_wait(&s->first, NULL);
        return;
    }
    while (atomic_load(&s->first.ends) == 0)
        assert_status(lk_client_dispatch(client), LK_OK);
}

static void it_may_free_the_client(void **state)
{
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        scene s;

        scene_open(&s, *state, mode);
        scene_acquire(&s, free_the_client);
        scene_run(&s, mode);
        assert_status(s.first.status, LK_OK);
        assert_status(lk_hold_release(s.first.hold), LK_ECLOSED);
        lk_lock_free(s.lock);
    }
}

static void end_everything(call *c)
{
    scene *s = c->data;

    s->begun[0] = lk_lock_acquire_async(s->lock, LK_FOREVER, NULL,
                                        call_on_acquire, &s->second);
    s->begun[1] = lk_hold_release_async(c->hold, call_on_done, &s->third);
    lk_lock_free(s->lock);
    s->begun[2] =
        lk_client_shutdown_async(s->client, 1000, call_on_done, &s->fourth);
    lk_client_free(s->client);
}

/* The second wait may have been handed the hold before all ended. */
static void second_is_over(scene *s)
{
    if (s->second.status == LK_OK)
        assert_status(lk_hold_release(s->second.hold), LK_ECLOSED);
    else
        assert_status(s->second.status, LK_ECLOSED);
}

static void it_may_acquire_release_shut_down_and_free_in_one_go(void **state)
{
    int before = descriptors_count();

    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        scene s;

        scene_open(&s, *state, mode);
        scene_acquire(&s, end_everything);
        scene_run(&s, mode);
        assert_status(s.first.status, LK_OK);
        for (size_t i = 0; i < 3; i++)
            assert_status(s.begun[i], LK_OK);
        if (mode == LOOP) {
            (void)call_wait(&s.second, NULL);
            (void)call_wait(&s.third, NULL);
            (void)call_wait(&s.fourth, NULL);
        }
        second_is_over(&s);
        assert_true(s.third.status == LK_OK || s.third.status == LK_EINDOUBT);
        assert_true(s.fourth.status == LK_OK ||
                    s.fourth.status == LK_ETIMEDOUT);
        assert_int_equal(atomic_load(&s.first.ends), 1);
        assert_int_equal(atomic_load(&s.second.ends), 1);
        assert_int_equal(atomic_load(&s.third.ends), 1);
        assert_int_equal(atomic_load(&s.fourth.ends), 1);
    }
    assert_true(descriptors_fall_to(before));
}

/* Each callback makes the next call; the last one frees the client. */
static void chain_end(call *c)
{
    scene *s = c->data;

    lk_lock_free(s->lock);
    lk_client_free(s->client);
}

static void chain_shutdown(call *c)
{
    scene *s = c->data;

    s->begun[2] =
        lk_client_shutdown_async(s->client, 2000, call_on_done, &s->fourth);
}

static void chain_release(call *c)
{
    scene *s = c->data;

    s->begun[1] = lk_hold_release_async(c->hold, call_on_done, &s->third);
}

static void chain_acquire(call *c)
{
    scene *s = c->data;

    s->second.act = chain_release;
    s->third.act = chain_shutdown;
    s->fourth.act = chain_end;
    s->second.data = s->third.data = s->fourth.data = s;
    s->begun[0] =
        lk_lock_acquire_async(s->lock, 5000, NULL, call_on_acquire, &s->second);
}

static void a_life_may_pass_in_callbacks_alone(void **state)
{
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        scene s;

        scene_open(&s, *state, mode);
        s.first.act = chain_acquire;
        assert_status(lk_client_wait_ready_async(s.client, 5000, call_on_done,
                                                 &s.first),
                      LK_OK);
        while (mode == DISPATCH && atomic_load(&s.fourth.ends) == 0)
            assert_status(lk_client_dispatch(s.client), LK_OK);
        assert_status(call_wait(&s.fourth, NULL), LK_OK);
        assert_status(s.first.status, LK_OK);
        assert_status(s.second.status, LK_OK);
        assert_status(s.third.status, LK_OK);
        assert_false(locking_exists(*state, s.name));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCKING_TEST(it_may_acquire_again_and_release),
        LOCKING_TEST(it_may_ask),
        LOCKING_TEST(it_may_not_block),
        LOCKING_TEST(a_plain_release_there_does_not_wait),
        LOCKING_TEST(it_may_cancel),
        LOCKING_TEST(it_may_free_the_lock),
        LOCKING_TEST(it_may_shut_the_client_down),
        LOCKING_TEST(it_may_free_the_client),
        LOCKING_TEST(it_may_acquire_release_shut_down_and_free_in_one_go),
        LOCKING_TEST(a_life_may_pass_in_callbacks_alone),
    };

    return cmocka_run_group_tests_name("async_callback", tests,
                                       locking_start_server,
                                       locking_stop_server);
}
