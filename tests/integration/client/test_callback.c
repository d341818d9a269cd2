/* SPDX-License-Identifier: MIT */

/* Callbacks: when they come, on which thread, and what may be done in them. */

#include <poll.h>
#include <stdatomic.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

enum { SOON_MS = 3000, CALLS = 8 };

/* What the callbacks of a hold have seen; they only write it down. */
typedef struct sight {
    atomic_int calls;
    uint64_t remaining_ms[CALLS];
    pthread_t threads[CALLS];
    lk_status statuses[CALLS]; /* of lk_hold_check() */
    lk_loss losses[CALLS];
    void (*act)(lk_hold *hold, struct sight *sight); /* NULL: nothing */
    lk_client *client;
    lk_lock *lock;
    lk_status results[CALLS]; /* of act */
} sight;

static void look(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    sight *s = data;
    int i = atomic_load(&s->calls);

    if (i < CALLS) {
        s->remaining_ms[i] = remaining_ms;
        s->threads[i] = pthread_self();
        s->statuses[i] = lk_hold_check(hold);
        s->losses[i] = lk_hold_loss(hold);
    }
    if (s->act != NULL)
        s->act(hold, s);
    atomic_store(&s->calls, i + 1);
}

struct expected {
    sight *sight;
    int calls;
};

static bool has_calls(void *data)
{
    const struct expected *expected = data;

    return atomic_load(&expected->sight->calls) >= expected->calls;
}

static void wait_calls(sight *s, int calls)
{
    struct expected expected = {s, calls};

    if (!wait_until(has_calls, &expected, SOON_MS))
        fail_msg("%d calls instead of %d", atomic_load(&s->calls), calls);
}

static bool is_readable(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, ms) == 1;
}

static lk_client *open_dispatch(locking *f)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .dispatch = 1};

    return locking_open(f, &options);
}

/* ---- when ---- */

LOCKS_TEST(a_callback_comes_with_notice_and_again_when_it_is_lost)
{
    lk_lock *lock = locking_new(f, lk_lock);
    const unsigned lease_ms = wait_lease_ms();
    lk_hold *hold = locking_hold_for(lock, lease_ms);
    sight s = {.act = NULL};

    assert_status(lk_hold_on_lost(hold, lease_ms / 2, look, &s), LK_OK);
    wait_calls(&s, 1);
    assert_status(s.statuses[0], LK_OK);
    assert_in_range(s.remaining_ms[0], 1, lease_ms / 2);
    assert_int_equal(s.losses[0], LK_LOSS_NONE);
    wait_calls(&s, 2);
    assert_status(s.statuses[1], LK_ELOST);
    assert_int_equal(s.remaining_ms[1], 0);
    assert_int_equal(s.losses[1], LK_LOSS_EXPIRED);
    assert_in_range(lk_hold_lost_for_ms(hold), 0, wait_limit_ms(500));
    locking_pass_time(50);
    assert_int_equal(atomic_load(&s.calls), 2);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

LOCKS_TEST(without_notice_the_callback_comes_once)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold_for(lock, 100);
    sight s = {.act = NULL};

    assert_status(lk_hold_on_lost(hold, 0, look, &s), LK_OK);
    wait_calls(&s, 1);
    assert_int_equal(s.remaining_ms[0], 0);
    locking_pass_time(50);
    assert_int_equal(atomic_load(&s.calls), 1);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

LOCKS_TEST(a_notice_longer_than_the_lease_comes_at_once)
{
    lk_lock *lock = locking_calm(f, lk_lock);
    lk_hold *hold = locking_hold_for(lock, 20000);
    sight s = {.act = NULL};

    assert_status(lk_hold_on_lost(hold, 60000, look, &s), LK_OK);
    wait_calls(&s, 1);
    assert_in_range(s.remaining_ms[0], 10000, 20000);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_int_equal(atomic_load(&s.calls), 1);
}

LOCKS_TEST(a_renewal_arms_the_notice_again)
{
    lk_lock *lock = locking_new(f, lk_lock);
    const unsigned lease_ms = wait_lease_ms();
    lk_hold *hold = locking_hold_for(lock, lease_ms);
    sight s = {.act = NULL};

    assert_status(lk_hold_on_lost(hold, lease_ms / 2, look, &s), LK_OK);
    wait_calls(&s, 1);
    assert_status(lk_hold_extend(hold, lease_ms), LK_OK);
    wait_calls(&s, 2);
    assert_status(s.statuses[1], LK_OK);
    wait_calls(&s, 3);
    assert_status(s.statuses[2], LK_ELOST);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

LOCKS_TEST(who_asks_after_the_loss_is_called_too)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold_for(lock, 50);
    sight s = {.act = NULL};

    while (lk_hold_check(hold) == LK_OK)
        locking_pass_time(1);
    locking_pass_time(20);
    assert_status(lk_hold_on_lost(hold, 0, look, &s), LK_OK);
    wait_calls(&s, 1);
    assert_status(s.statuses[0], LK_ELOST);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

LOCKS_TEST(every_handle_of_a_hold_has_its_own_callback)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *holds[2] = {locking_hold_for(lock, wait_lease_ms()),
                         locking_hold(lock)};
    sight sights[2] = {{.act = NULL}, {.act = NULL}};

    for (int i = 0; i < 2; i++)
        assert_status(lk_hold_on_lost(holds[i], 0, look, &sights[i]), LK_OK);
    for (int i = 0; i < 2; i++) {
        wait_calls(&sights[i], 1);
        assert_status(lk_hold_release(holds[i]), LK_ELOST);
    }
}

LOCKS_TEST(a_callback_can_be_replaced_and_taken_away)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold_for(lock, wait_lease_ms());
    sight first = {.act = NULL};
    sight second = {.act = NULL};

    assert_status(lk_hold_on_lost(hold, 0, look, &first), LK_OK);
    assert_status(lk_hold_on_lost(hold, 0, look, &second), LK_OK);
    wait_calls(&second, 1);
    assert_int_equal(atomic_load(&first.calls), 0);
    assert_status(lk_hold_release(hold), LK_ELOST);

    hold = locking_hold_for(lock, wait_lease_ms());
    assert_status(lk_hold_on_lost(hold, 0, look, &first), LK_OK);
    assert_status(lk_hold_on_lost(hold, 0, NULL, NULL), LK_OK);
    while (lk_hold_check(hold) == LK_OK)
        locking_pass_time(1);
    locking_pass_time(50);
    assert_int_equal(atomic_load(&first.calls), 0);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

LOCKS_TEST(a_released_hold_calls_nobody)
{
    lk_lock *lock = locking_new(f, lk_lock);
    const unsigned lease_ms = wait_lease_ms();
    lk_hold *hold = locking_hold_for(lock, lease_ms);
    sight s = {.act = NULL};

    assert_status(lk_hold_on_lost(hold, lease_ms / 3, look, &s), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    locking_pass_time(lease_ms + 50);
    assert_int_equal(atomic_load(&s.calls), 0);
}

LOCKS_TEST(a_shutdown_calls_the_holder)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    sight s = {.act = NULL};

    assert_status(lk_hold_on_lost(hold, 0, look, &s), LK_OK);
    assert_status(lk_client_shutdown(client, 60000), LK_OK);
    wait_calls(&s, 1);
    assert_status(s.statuses[0], LK_ELOST);
    assert_int_equal(s.losses[0], LK_LOSS_CLOSED);
    assert_status(lk_hold_release(hold), LK_ECLOSED);
}

LOCKS_TEST(a_lost_hold_under_watch_calls_its_holder)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_lease_ms()};
    lk_client *client = locking_open(f, &options);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    sight s = {.act = NULL};

    assert_status(lk_hold_on_lost(hold, 0, look, &s), LK_OK);
    locking_pass_time(2 * wait_lease_ms());
    assert_int_equal(atomic_load(&s.calls), 0);
    assert_int_equal(server_integer(f->server, "DEL n"), 1);
    wait_calls(&s, 1);
    assert_int_equal(s.losses[0], LK_LOSS_DELETED);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* ---- what may be done in them ---- */

static void call_all_that_blocks(lk_hold *hold, sight *s)
{
    lk_hold *none = NULL;
    lk_info *info = NULL;
    bool locked;

    s->results[0] = lk_lock_acquire(s->lock, 0, NULL, &none);
    s->results[1] = lk_lock_acquire(s->lock, 10, NULL, &none);
    s->results[2] = lk_client_wait_ready(s->client, 10);
    s->results[3] = lk_hold_extend(hold, 1000);
    s->results[4] = lk_lock_force_release(s->lock);
    s->results[5] = lk_lock_is_locked(s->lock, &locked);
    s->results[6] = lk_lock_info(s->lock, &info);
    s->results[7] = lk_client_shutdown(s->client, 10);
}

LOCKS_TEST(a_call_that_blocks_is_refused_in_a_callback)
{
    lk_client *client = locking_open(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_hold *hold = locking_hold_for(lock, 20000);
    sight s = {.act = call_all_that_blocks, .client = client, .lock = lock};

    assert_status(lk_hold_on_lost(hold, 60000, look, &s), LK_OK);
    wait_calls(&s, 1);
    for (int i = 0; i < CALLS; i++)
        assert_status(s.results[i], LK_ECALLBACK);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

static void release(lk_hold *hold, sight *s)
{
    s->results[0] = lk_hold_release(hold);
}

LOCKS_TEST(a_lost_hold_may_be_released_in_its_callback)
{
    lk_hold *hold = locking_hold_for(locking_new(f, lk_lock), 50);
    sight s = {.act = release};

    assert_status(lk_hold_on_lost(hold, 0, look, &s), LK_OK);
    wait_calls(&s, 1);
    assert_status(s.results[0], LK_ELOST);
    assert_status(lk_hold_release(locking_hold((lk_lock *)f->handles[0])),
                  LK_OK);
}

/* Nobody can wait for the answer there; the release is sent all the same. */
LOCKS_TEST(a_hold_may_be_released_at_its_notice)
{
    lk_hold *hold = locking_hold_for(locking_new(f, lk_lock), 20000);
    sight s = {.act = release};

    assert_status(lk_hold_on_lost(hold, 60000, look, &s), LK_OK);
    wait_calls(&s, 1);
    assert_status(s.results[0], LK_EPENDING);
    locking_wait_integer(f, 0, "EXISTS %s", "n");
    assert_int_equal(atomic_load(&s.calls), 1);
}

static void release_and_free(lk_hold *hold, sight *s)
{
    s->results[0] = lk_hold_release(hold);
    lk_lock_free(s->lock);
    lk_client_free(s->client);
}

LOCKS_TEST(all_may_be_freed_in_a_callback)
{
    sight s = {.act = release_and_free};
    lk_hold *hold;

    assert_status(lk_client_open(&s.client, server_url(f->server), NULL),
                  LK_OK);
    assert_status(lk_lock_new(&s.lock, s.client, "n", NULL), LK_OK);
    hold = locking_hold_for(s.lock, 50);
    assert_status(lk_hold_on_lost(hold, 0, look, &s), LK_OK);
    wait_calls(&s, 1);
    assert_status(s.results[0], LK_ELOST);
}

/* ---- dispatch ---- */

LOCKS_TEST(callbacks_come_on_the_clients_thread)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = locking_hold_for(locking_lock(f, client, "n"), 100);
    sight s = {.act = NULL};

    assert_int_equal(lk_client_fd(client), -1);
    assert_status(lk_client_dispatch(client), LK_EINVAL);
    assert_status(lk_hold_on_lost(hold, 0, look, &s), LK_OK);
    wait_calls(&s, 1);
    assert_false(pthread_equal(s.threads[0], pthread_self()));
    assert_status(lk_hold_release(hold), LK_ELOST);
}

LOCKS_TEST(with_dispatch_callbacks_come_when_the_caller_lets_them)
{
    lk_client *client = open_dispatch(f);
    lk_hold *hold =
        locking_hold_for(locking_lock(f, client, "n"), wait_lease_ms());
    int fd = lk_client_fd(client);
    sight s = {.act = NULL};
    lk_cancel *cancel = NULL;

    assert_true(fd >= 0);
    assert_status(lk_cancel_new(&cancel, client), LK_OK);
    assert_status(lk_hold_on_lost(hold, 0, look, &s), LK_OK);
    assert_status(lk_client_dispatch(client), LK_OK);
    assert_int_equal(atomic_load(&s.calls), 0);
    assert_true(is_readable(fd, (int)wait_limit_ms(SOON_MS)));
    lk_cancel_fire(cancel); /* wakes the client's own thread */
    locking_pass_time(50);
    assert_int_equal(atomic_load(&s.calls), 0);
    assert_status(lk_client_dispatch(client), LK_OK);
    assert_int_equal(atomic_load(&s.calls), 1);
    lk_cancel_free(cancel);
    assert_true(pthread_equal(s.threads[0], pthread_self()));
    assert_false(is_readable(fd, 0));
    assert_status(lk_hold_release(hold), LK_ELOST);
}

LOCKS_TEST(in_dispatch_a_call_that_blocks_is_refused_too)
{
    lk_client *client = open_dispatch(f);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_hold *hold = locking_hold_for(lock, 20000);
    sight s = {.act = call_all_that_blocks, .client = client, .lock = lock};

    assert_status(lk_hold_on_lost(hold, 60000, look, &s), LK_OK);
    assert_true(is_readable(lk_client_fd(client), (int)wait_limit_ms(SOON_MS)));
    assert_status(lk_client_dispatch(client), LK_OK);
    assert_int_equal(atomic_load(&s.calls), 1);
    for (int i = 0; i < CALLS; i++)
        assert_status(s.results[i], LK_ECALLBACK);
    assert_status(lk_hold_extend(hold, 30000), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(all_may_be_freed_in_a_dispatched_callback)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .dispatch = 1};
    sight s = {.act = release_and_free};
    lk_hold *hold;

    assert_status(lk_client_open(&s.client, server_url(f->server), &options),
                  LK_OK);
    assert_status(lk_lock_new(&s.lock, s.client, "n", NULL), LK_OK);
    hold = locking_hold_for(s.lock, 50);
    assert_status(lk_hold_on_lost(hold, 0, look, &s), LK_OK);
    assert_true(
        is_readable(lk_client_fd(s.client), (int)wait_limit_ms(SOON_MS)));
    assert_status(lk_client_dispatch(s.client), LK_OK);
    assert_int_equal(atomic_load(&s.calls), 1);
    assert_status(s.results[0], LK_ELOST);
}

LOCKS_TEST(after_a_shutdown_the_loss_can_still_be_dispatched)
{
    lk_client *client = open_dispatch(f);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    sight s = {.act = NULL};

    assert_status(lk_hold_on_lost(hold, 0, look, &s), LK_OK);
    assert_status(lk_client_shutdown(client, 60000), LK_OK);
    assert_true(is_readable(lk_client_fd(client), (int)wait_limit_ms(SOON_MS)));
    assert_status(lk_client_dispatch(client), LK_OK);
    assert_int_equal(atomic_load(&s.calls), 1);
    assert_int_equal(s.losses[0], LK_LOSS_CLOSED);
    assert_status(lk_hold_release(hold), LK_ECLOSED);
}

LOCKS_TEST(a_release_takes_back_what_was_not_dispatched)
{
    lk_client *client = open_dispatch(f);
    lk_hold *hold = locking_hold_for(locking_lock(f, client, "n"), 50);
    sight s = {.act = NULL};

    assert_status(lk_hold_on_lost(hold, 0, look, &s), LK_OK);
    assert_true(is_readable(lk_client_fd(client), (int)wait_limit_ms(SOON_MS)));
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_status(lk_client_dispatch(client), LK_OK);
    assert_int_equal(atomic_load(&s.calls), 0);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
