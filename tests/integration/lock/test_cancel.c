/* SPDX-License-Identifier: MIT */

/* Ending waits early. */

#include <signal.h>
#include <string.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

static lk_cancel *cancel_of(lk_client *client)
{
    lk_cancel *cancel = NULL;

    assert_status(lk_cancel_new(&cancel, client), LK_OK);
    return cancel;
}

static lk_acquire_options with(lk_cancel *cancel)
{
    return (lk_acquire_options){LK_ACQUIRE_OPTIONS_INIT, .cancel = cancel};
}

/* Somebody else holds the name n; a fresh client wants it. */
static lk_lock *lock_that_is_held(locking *f, lk_hold **ret_hold)
{
    *ret_hold = locking_hold(locking_new(f, lk_lock));
    return locking_new(f, lk_lock);
}

/* ---- before ---- */

LOCKS_TEST(a_token_that_was_fired_ends_a_wait_before_it_begins)
{
    lk_client *client = locking_open(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_acquire_options options = with(cancel_of(client));
    uint64_t commands = locking_stats(client).commands;
    lk_hold *none = NULL;

    lk_cancel_fire(options.cancel);
    assert_status(lk_lock_acquire(lock, LK_FOREVER, &options, &none),
                  LK_ECANCELED);
    assert_status(lk_lock_acquire(lock, 0, &options, &none), LK_ECANCELED);
    assert_int_equal(locking_stats(client).commands, commands);
    assert_null(none);
    lk_cancel_free(options.cancel);
    assert_status(lk_hold_release(locking_hold(lock)), LK_OK);
}

LOCKS_TEST(a_token_that_is_not_fired_changes_nothing)
{
    lk_client *client = locking_open(f, NULL);
    lk_acquire_options options = with(cancel_of(client));
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(locking_lock(f, client, "n"), LK_FOREVER,
                                  &options, &hold),
                  LK_OK);
    lk_cancel_fire(options.cancel);
    assert_status(lk_hold_check(hold), LK_OK);
    lk_cancel_free(options.cancel);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* ---- during ---- */

LOCKS_TEST(a_wait_for_a_server_that_is_not_there_can_be_canceled)
{
    const lk_client_options client_options = {LK_CLIENT_OPTIONS_INIT,
                                              .offline_ms = 60000};
    lk_client *client =
        locking_open_url(f, "unix:/nowhere/redis.sock", &client_options);
    lk_acquire_options options = with(cancel_of(client));
    taker *t =
        locking_take(f, locking_lock(f, client, "n"), LK_FOREVER, &options);

    locking_wait_waiting(client, 1);
    lk_cancel_fire(options.cancel);
    assert_status(taker_join(t), LK_ECANCELED);
    lk_cancel_free(options.cancel);
}

/* ---- from a signal handler ---- */

static lk_cancel *volatile handlers_cancel;

static void on_signal(int signal)
{
    (void)signal;
    lk_cancel_fire(handlers_cancel);
}

LOCKS_TEST(a_signal_handler_may_fire_a_token)
{
    lk_hold *hold;
    lk_lock *lock = lock_that_is_held(f, &hold);
    lk_acquire_options options = with(cancel_of(f->clients[1]));
    struct sigaction action = {.sa_handler = on_signal};
    struct sigaction before;
    taker *t = locking_take(f, lock, LK_FOREVER, &options);

    handlers_cancel = options.cancel;
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    locking_wait_queued(f, "n", 1);
    /* The very thread that waits is interrupted. */
    assert_int_equal(pthread_kill(t->thread, SIGUSR1), 0);
    assert_status(taker_join(t), LK_ECANCELED);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
    lk_cancel_free(options.cancel);
    assert_status(lk_hold_release(hold), LK_OK);
}

static void do_nothing(int signal)
{
    (void)signal;
}

LOCKS_TEST(a_signal_alone_does_not_end_a_wait)
{
    lk_hold *hold;
    lk_lock *lock = lock_that_is_held(f, &hold);
    struct sigaction action = {.sa_handler = do_nothing};
    struct sigaction before;
    taker *t = locking_take(f, lock, LK_FOREVER, NULL);

    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    locking_wait_queued(f, "n", 1);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(pthread_kill(t->thread, SIGUSR1), 0);
        locking_pass_time(5);
    }
    assert_false(atomic_load(&t->done));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

/* ---- life ---- */

LOCKS_TEST(a_token_may_be_fired_after_the_shutdown)
{
    lk_client *client = locking_open(f, NULL);
    lk_cancel *cancel = cancel_of(client);

    assert_status(lk_client_shutdown(client, 60000), LK_OK);
    lk_cancel_fire(cancel);
    locking_free_client(f, client);
    lk_cancel_fire(cancel);
    lk_cancel_free(cancel);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
