/* SPDX-License-Identifier: MIT */

/*
 * The law of the async calls; see docs/async.md. What holds for each of them
 * is tried on each, on the loop and in dispatch.
 */

#include <poll.h>
#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

enum { LOOP = 0, DISPATCH = 1, MODES = 2 };

static lk_client *open_mode(locking *f, uint64_t mode)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .dispatch = mode};

    return locking_open(f, &options);
}

static bool is_readable(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, ms) == 1;
}

/* ---- each call ----------------------------------------------------------- */

/* What a call is made on. The hold goes with a release. */
typedef struct stage {
    lk_client *client;
    lk_lock *lock;
    lk_hold *hold;
} stage;

static lk_status begin_ready(stage *s, lk_done_cb cb, call *c)
{
    return lk_client_wait_ready_async(s->client, 1000, cb, c);
}

static lk_status begin_acquire(stage *s, lk_done_cb cb, call *c)
{
    return lk_lock_acquire_async(s->lock, 0, NULL,
                                 cb != NULL ? call_on_acquire : NULL, c);
}

static lk_status begin_extend(stage *s, lk_done_cb cb, call *c)
{
    return lk_hold_extend_async(s->hold, 60000, cb, c);
}

static lk_status begin_locked(stage *s, lk_done_cb cb, call *c)
{
    return lk_lock_is_locked_async(s->lock, cb != NULL ? call_on_locked : NULL,
                                   c);
}

static lk_status begin_info(stage *s, lk_done_cb cb, call *c)
{
    return lk_lock_info_async(s->lock, cb != NULL ? call_on_info : NULL, c);
}

static lk_status begin_release(stage *s, lk_done_cb cb, call *c)
{
    lk_status status = lk_hold_release_async(s->hold, cb, c);

    if (status == LK_OK)
        s->hold = NULL;
    return status;
}

static lk_status begin_force(stage *s, lk_done_cb cb, call *c)
{
    return lk_lock_force_release_async(s->lock, cb, c);
}

static lk_status begin_shutdown(stage *s, lk_done_cb cb, call *c)
{
    return lk_client_shutdown_async(s->client, 1000, cb, c);
}

/* In an order in which each can be made after those before it. */
static const struct {
    lk_status (*begin)(stage *s, lk_done_cb cb, call *c);
    lk_status expected; /* of its end, the lock being held by the stage */
} all_calls[] = {
    {begin_ready, LK_OK},       {begin_acquire, LK_EBUSY},
    {begin_extend, LK_OK},      {begin_locked, LK_OK},
    {begin_info, LK_OK},        {begin_release, LK_OK},
    {begin_force, LK_ENOTHELD}, {begin_shutdown, LK_OK},
};

enum { CALLS = sizeof(all_calls) / sizeof(all_calls[0]) };

static stage stage_open(locking *f, uint64_t mode, const char *name)
{
    stage s;

    s.client = open_mode(f, mode);
    s.lock = locking_lock(f, s.client, name);
    s.hold = locking_hold(s.lock);
    return s;
}

static void calls_free(call *calls)
{
    for (size_t i = 0; i < CALLS; i++)
        lk_info_free(calls[i].info);
}

static void each_call_ends_once_and_on_the_right_thread(void **state)
{
    locking *f = *state;

    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        stage s = stage_open(f, mode, mode == LOOP ? "a" : "b");
        call calls[CALLS] = {0};

        for (size_t i = 0; i < CALLS; i++) {
            assert_status(all_calls[i].begin(&s, call_on_done, &calls[i]),
                          LK_OK);
            assert_status(call_wait(&calls[i], s.client),
                          all_calls[i].expected);
            assert_int_equal(pthread_equal(calls[i].thread, pthread_self()) !=
                                 0,
                             mode == DISPATCH);
            assert_int_equal(pthread_equal(calls[i].thread, calls[0].thread) !=
                                 0,
                             true);
        }
        locking_free_client(f, s.client);
        for (size_t i = 0; i < CALLS; i++)
            assert_int_equal(atomic_load(&calls[i].ends), 1);
        calls_free(calls);
    }
}

static void each_call_made_at_once_ends_once(void **state)
{
    locking *f = *state;

    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        stage s = stage_open(f, mode, mode == LOOP ? "a" : "b");
        call calls[CALLS] = {0};

        for (size_t i = 0; i < CALLS; i++)
            assert_status(all_calls[i].begin(&s, call_on_done, &calls[i]),
                          LK_OK);
        assert_status(call_wait(&calls[CALLS - 1], s.client), LK_OK);
        locking_free_client(f, s.client);
        for (size_t i = 0; i < CALLS; i++)
            assert_int_equal(atomic_load(&calls[i].ends), 1);
        calls_free(calls);
    }
}

static void a_call_without_a_callback_is_refused(void **state)
{
    locking *f = *state;
    stage s = stage_open(f, LOOP, "n");

    for (size_t i = 0; i < CALLS; i++) {
        if (all_calls[i].begin != begin_release)
            assert_status(all_calls[i].begin(&s, NULL, NULL), LK_EINVAL);
    }
    assert_status(lk_hold_check(s.hold), LK_OK);
    assert_status(lk_hold_release(s.hold), LK_OK);
}

static void a_call_that_is_refused_never_calls_back(void **state)
{
    locking *f = *state;

    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        stage s = stage_open(f, mode, mode == LOOP ? "a" : "b");
        call calls[CALLS] = {0};
        call odd = {0};

        assert_status(lk_client_wait_ready_async(s.client, -7, call_on_done,
                                                 &odd),
                      LK_EINVAL);
        assert_status(lk_client_shutdown_async(s.client, -7, call_on_done,
                                               &odd),
                      LK_EINVAL);
        assert_status(lk_lock_acquire_async(s.lock, -7, NULL, call_on_acquire,
                                            &odd),
                      LK_EINVAL);
        assert_status(lk_hold_extend_async(s.hold, 0, call_on_done, &odd),
                      LK_EINVAL);
        assert_status(lk_hold_release_async(NULL, call_on_done, &odd),
                      LK_EINVAL);
        assert_status(lk_client_shutdown(s.client, 1000), LK_OK);
        for (size_t i = 0; i < CALLS; i++) {
            if (all_calls[i].begin != begin_release)
                assert_status(all_calls[i].begin(&s, call_on_done, &calls[i]),
                              LK_ECLOSED);
        }
        assert_status(lk_hold_release(s.hold), LK_ECLOSED);
        locking_free_client(f, s.client);
        for (size_t i = 0; i < CALLS; i++)
            assert_int_equal(atomic_load(&calls[i].ends), 0);
        assert_int_equal(atomic_load(&odd.ends), 0);
    }
}

/* ---- when ------------------------------------------------------------------ */

static void with_dispatch_nothing_ends_before_the_caller_lets_it(void **state)
{
    locking *f = *state;
    lk_client *client = open_mode(f, DISPATCH);
    lk_lock *lock = locking_lock(f, client, "n");
    call c = {0};

    assert_status(lk_lock_acquire_async(lock, 0, NULL, call_on_acquire, &c),
                  LK_OK);
    assert_true(is_readable(lk_client_fd(client), (int)wait_scaled_ms(5000)));
    assert_int_equal(atomic_load(&c.ends), 0);
    assert_status(lk_client_dispatch(client), LK_OK);
    assert_int_equal(atomic_load(&c.ends), 1);
    assert_status(c.status, LK_OK);
    assert_false(is_readable(lk_client_fd(client), 0));
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* Makes a call that can be answered at once, within a callback. */
typedef struct nest {
    lk_lock *lock;
    call inner;
    int ends_on_return; /* of inner, when the call came back */
    lk_status begun;
} nest;

static void acquire_within(call *c)
{
    nest *n = c->data;

    n->begun =
        lk_lock_acquire_async(n->lock, 0, NULL, call_on_acquire, &n->inner);
    n->ends_on_return = atomic_load(&n->inner.ends);
}

static void a_call_from_a_callback_ends_after_it_has_returned(void **state)
{
    locking *f = *state;

    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        stage s = stage_open(f, mode, mode == LOOP ? "a" : "b");
        nest n = {.lock = s.lock};
        call outer = {.act = acquire_within, .data = &n};

        assert_status(lk_lock_is_locked_async(s.lock, call_on_locked, &outer),
                      LK_OK);
        assert_status(call_wait(&outer, s.client), LK_OK);
        assert_true(outer.locked);
        assert_status(n.begun, LK_OK);
        assert_int_equal(n.ends_on_return, 0);
        assert_status(call_wait(&n.inner, s.client), LK_EBUSY);
        assert_status(lk_hold_release(s.hold), LK_OK);
    }
}

/* ---- what is said ---------------------------------------------------------- */

/* By the clock alone; the callback and the counter come a little later. */
static bool is_lost(void *data)
{
    return lk_hold_loss(data) == LK_LOSS_EXPIRED;
}

static void a_lost_hold_is_released_with_the_reason(void **state)
{
    locking *f = *state;
    lk_client *client = open_mode(f, LOOP);
    lk_hold *hold = locking_hold_for(locking_lock(f, client, "n"), 50);
    call c = {0};

    assert_true(wait_until(is_lost, hold, 5000));
    assert_status(lk_hold_release_async(hold, call_on_done, &c), LK_OK);
    assert_status(call_wait(&c, client), LK_ELOST);
    assert_non_null(strstr(c.words, "its lease ended"));
}

/* ---- the end --------------------------------------------------------------- */

static void a_client_that_is_freed_ends_what_is_under_way_once(void **state)
{
    locking *f = *state;

    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        stage s = stage_open(f, mode, mode == LOOP ? "a" : "b");
        call calls[CALLS] = {0};

        for (size_t i = 0; i < CALLS; i++)
            assert_status(all_calls[i].begin(&s, call_on_done, &calls[i]),
                          LK_OK);
        locking_free_client(f, s.client);
        for (size_t i = 0; i < CALLS; i++) {
            if (mode == LOOP)
                call_wait_count(&calls[i].ends, 1, NULL);
            assert_int_equal(atomic_load(&calls[i].ends), 1);
        }
        calls_free(calls);
    }
}

/* ---- release --------------------------------------------------------------- */

static void nobody_need_know_of_a_release(void **state)
{
    locking *f = *state;
    lk_client *client = open_mode(f, LOOP);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));

    assert_status(lk_hold_release_async(hold, NULL, NULL), LK_OK);
    locking_wait_integer(f, 0, "EXISTS %s", "n");
}

static void a_hold_may_be_released_while_it_is_extended(void **state)
{
    locking *f = *state;

    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        stage s = stage_open(f, mode, "n");
        call extended = {0}, released = {0};

        assert_status(begin_extend(&s, call_on_done, &extended), LK_OK);
        assert_status(begin_release(&s, call_on_done, &released), LK_OK);
        assert_status(call_wait(&released, s.client), LK_OK);
        (void)call_wait(&extended, s.client);
        assert_true(extended.status == LK_OK || extended.status == LK_ELOST);
        assert_false(locking_exists(f, "n"));
    }
}

static void a_lock_may_be_freed_while_calls_on_it_are_under_way(void **state)
{
    locking *f = *state;

    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        stage s = stage_open(f, mode, "n");
        call waits = {0}, info = {0}, forced = {0};

        assert_status(lk_lock_acquire_async(s.lock, 10000, NULL,
                                            call_on_acquire, &waits),
                      LK_OK);
        assert_status(begin_info(&s, call_on_done, &info), LK_OK);
        assert_status(begin_force(&s, call_on_done, &forced), LK_OK);
        locking_free_lock(f, s.lock);
        assert_status(call_wait(&forced, s.client), LK_OK);
        assert_status(call_wait(&info, s.client), LK_OK);
        assert_status(call_wait(&waits, s.client), LK_OK);
        assert_status(lk_hold_release(s.hold), LK_ELOST);
        assert_status(lk_hold_release(waits.hold), LK_OK);
        lk_info_free(info.info);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCKING_TEST(each_call_ends_once_and_on_the_right_thread),
        LOCKING_TEST(each_call_made_at_once_ends_once),
        LOCKING_TEST(a_call_without_a_callback_is_refused),
        LOCKING_TEST(a_call_that_is_refused_never_calls_back),
        LOCKING_TEST(with_dispatch_nothing_ends_before_the_caller_lets_it),
        LOCKING_TEST(a_call_from_a_callback_ends_after_it_has_returned),
        LOCKING_TEST(a_lost_hold_is_released_with_the_reason),
        LOCKING_TEST(a_client_that_is_freed_ends_what_is_under_way_once),
        LOCKING_TEST(nobody_need_know_of_a_release),
        LOCKING_TEST(a_hold_may_be_released_while_it_is_extended),
        LOCKING_TEST(a_lock_may_be_freed_while_calls_on_it_are_under_way),
    };

    return cmocka_run_group_tests_name("async", tests, locking_start_server,
                                       locking_stop_server);
}
