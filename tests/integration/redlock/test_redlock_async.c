/* SPDX-License-Identifier: MIT */

/* The lock over several servers without blocking, in callbacks, and canceled;
   and beside the plain token lock of other libraries. */

#include <stdlib.h>

#include "support/call.h"
#include "support/check.h"
#include "support/redlocking.h"
#include "support/wait.h"

enum { SOON_MS = 5000, MANY = 16 };

/* ---- async ------------------------------------------------------------------------ */

static void an_async_acquire_ends_with_a_hold(void **state)
{
    redlocking *f = *state;
    lk_redlock *lock = redlocking_make(f, 3, NULL);
    call acquired = {0}, extended = {0}, released = {0};

    assert_status(lk_redlock_acquire_async(lock, 0, NULL, call_on_acquire,
                                           &acquired),
                  LK_OK);
    assert_status(call_wait(&acquired, NULL), LK_OK);
    assert_status(lk_hold_check(acquired.hold), LK_OK);
    assert_status(lk_hold_extend_async(acquired.hold, wait_lease_ms(),
                                       call_on_done, &extended),
                  LK_OK);
    assert_status(call_wait(&extended, NULL), LK_OK);
    assert_status(lk_hold_release_async(acquired.hold, call_on_done, &released),
                  LK_OK);
    assert_status(call_wait(&released, NULL), LK_OK);
    redlocking_wait_planted(f, 3, 0);
}

static void an_async_acquire_waits_and_ends_in_time(void **state)
{
    redlocking *f = *state;
    lk_redlock *lock = redlocking_make(f, 3, NULL);
    lk_redlock *other = redlocking_make(f, 3, NULL);
    lk_hold *hold = redlocking_hold(lock);
    call late = {0}, patient = {0};

    redlocking_wait_planted(f, 3, 3);
    assert_status(lk_redlock_acquire_async(other, 50, NULL, call_on_acquire,
                                           &late),
                  LK_OK);
    assert_status(call_wait(&late, NULL), LK_ETIMEDOUT);
    assert_null(late.hold);
    assert_status(lk_redlock_acquire_async(other, LK_FOREVER, NULL,
                                           call_on_acquire, &patient),
                  LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(call_wait(&patient, NULL), LK_OK);
    assert_status(lk_hold_release(patient.hold), LK_OK);
    redlocking_wait_planted(f, 3, 0);
}

static void release_in_callback(call *c)
{
    *(lk_status *)c->data = lk_hold_release(c->hold);
}

static void many_async_acquires_have_it_one_after_the_other(void **state)
{
    redlocking *f = *state;
    lk_redlock *lock = redlocking_make(f, 3, NULL);
    call calls[MANY] = {{0}};
    lk_status released[MANY];

    for (size_t i = 0; i < MANY; i++) {
        calls[i].act = release_in_callback;
        calls[i].data = &released[i];
        assert_status(lk_redlock_acquire_async(lock, LK_FOREVER, NULL,
                                               call_on_acquire, &calls[i]),
                      LK_OK);
    }
    for (size_t i = 0; i < MANY; i++) {
        assert_status(call_wait(&calls[i], NULL), LK_OK);
        assert_status(released[i], LK_EINDOUBT); /* it does not wait there */
    }
    redlocking_wait_planted(f, 3, 0);
}

static void try_to_block(call *c)
{
    lk_hold *hold = NULL;

    c->locked = lk_redlock_acquire(c->data, 0, NULL, &hold) == LK_ECALLBACK &&
                lk_hold_extend(c->hold, 1000) == LK_ECALLBACK;
}

static void a_callback_may_not_block(void **state)
{
    redlocking *f = *state;
    lk_redlock *lock = redlocking_make(f, 3, NULL);
    call c = {.act = try_to_block, .data = lock};

    assert_status(lk_redlock_acquire_async(lock, 0, NULL, call_on_acquire, &c),
                  LK_OK);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_true(c.locked);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* Renewals and attempts go on though nobody dispatches. */
static void callbacks_run_in_dispatch_if_the_clients_want_it(void **state)
{
    redlocking *f = *state;
    const lk_client_options with = {LK_CLIENT_OPTIONS_INIT, .dispatch = 1};
    lk_client *clients[3];
    lk_redlock *lock;
    call c = {0};

    for (size_t i = 0; i < 3; i++)
        clients[i] = redlocking_open(f, i, &with);
    lock = redlocking_make_of(f, clients, 3, NULL);
    assert_status(lk_redlock_acquire_async(lock, 0, NULL, call_on_acquire, &c),
                  LK_OK);
    redlocking_wait_planted(f, 3, 3);
    assert_int_equal(c.ends, 0);
    assert_status(call_wait(&c, clients[0]), LK_OK);
    assert_true(pthread_equal(c.thread, pthread_self()));
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* ---- ends -------------------------------------------------------------------------- */

static bool is_refused(void *lock)
{
    size_t busy = 0;

    for (size_t i = 0; i < 3; i++)
        busy += redlocking_answer(lock, i) == LK_REDLOCK_BUSY;
    return busy >= 2;
}

static void a_cancel_ends_a_wait_at_once(void **state)
{
    redlocking *f = *state;
    lk_redlock_options options = redlocking_options();
    lk_acquire_options with = {LK_ACQUIRE_OPTIONS_INIT};
    lk_redlock *lock = redlocking_make(f, 3, NULL), *other;
    lk_hold *hold = redlocking_hold(lock), *none = NULL;
    call c = {0};

    options.retry_ms = 3600000; /* else it would be seen by itself */
    other = redlocking_make(f, 3, &options);
    redlocking_wait_planted(f, 3, 3);
    assert_status(lk_cancel_new(&with.cancel, f->clients[4]), LK_OK);
    assert_status(lk_redlock_acquire_async(other, LK_FOREVER, &with,
                                           call_on_acquire, &c),
                  LK_OK);
    assert_true(wait_until(is_refused, other, SOON_MS));
    lk_cancel_fire(with.cancel);
    assert_status(call_wait(&c, NULL), LK_ECANCELED);
    assert_status(lk_redlock_acquire(other, LK_FOREVER, &with, &none),
                  LK_ECANCELED);
    assert_null(none);
    lk_cancel_free(with.cancel);
    assert_status(lk_hold_release(hold), LK_OK);
}

static void a_shutdown_ends_a_wait(void **state)
{
    redlocking *f = *state;
    lk_redlock *lock = redlocking_make(f, 1, NULL);
    lk_redlock *other = redlocking_make(f, 1, NULL);
    lk_hold *hold = redlocking_hold(lock);
    call c = {0};

    assert_status(lk_redlock_acquire_async(other, LK_FOREVER, NULL,
                                           call_on_acquire, &c),
                  LK_OK);
    assert_status(lk_client_shutdown(f->clients[1], SOON_MS), LK_OK);
    assert_status(call_wait(&c, NULL), LK_ECLOSED);
    assert_status(lk_hold_release(hold), LK_OK);
}

static void a_hold_may_be_released_while_it_is_extended(void **state)
{
    redlocking *f = *state;
    lk_redlock *lock = redlocking_make(f, 3, NULL);
    lk_hold *hold = redlocking_hold(lock);
    call extended = {0};

    for (size_t i = 0; i < 2; i++)
        redlocking_freeze(f, i);
    assert_status(lk_hold_extend_async(hold, wait_lease_ms(), call_on_done,
                                       &extended),
                  LK_OK);
    assert_status(lk_hold_release_async(hold, NULL, NULL), LK_OK);
    assert_status(call_wait(&extended, NULL), LK_ELOST);
    for (size_t i = 0; i < 2; i++)
        redlocking_thaw(f, i);
    redlocking_wait_planted(f, 3, 0);
}

typedef struct ender {
    lk_status released;
    _Atomic int calls;
} ender;

static void release_when_lost(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    ender *e = data;

    (void)remaining_ms;
    e->released = lk_hold_release(hold);
    e->calls++;
}

static bool was_called(void *data)
{
    ender *e = data;

    return e->calls > 0;
}

static void a_hold_may_be_released_when_it_is_told_lost(void **state)
{
    redlocking *f = *state;
    lk_redlock *lock = redlocking_make(f, 3, NULL);
    lk_hold *hold = redlocking_hold(lock);
    ender e = {0};

    assert_status(lk_hold_on_lost(hold, 0, release_when_lost, &e), LK_OK);
    redlocking_wait_planted(f, 3, 3);
    for (size_t i = 0; i < 2; i++)
        server_flush(f->servers[i]);
    assert_true(wait_until(was_called, &e, SOON_MS));
    assert_status(e.released, LK_ELOST);
    redlocking_wait_planted(f, 3, 0);
}

/* ---- other libraries: SET NX PX, and a delete of one's own token ------------------ */

static const char delete_own[] =
    "if redis.call('get', KEYS[1]) == ARGV[1] then "
    "return redis.call('del', KEYS[1]) else return 0 end";

static void a_plain_token_lock_excludes_it(void **state)
{
    redlocking *f = *state;
    lk_redlock *lock = redlocking_make(f, 1, NULL);
    lk_hold *hold = NULL;
    char *answer = server_string(f->servers[0], "SET n theirs NX PX 60000");

    assert_string_equal(answer, "OK");
    free(answer);
    assert_status(lk_redlock_acquire(lock, 0, NULL, &hold), LK_EBUSY);
    assert_int_equal(server_integer(f->servers[0], "EVAL %s 1 n theirs",
                                    delete_own),
                     1);
    hold = redlocking_hold(lock);
    assert_status(lk_hold_release(hold), LK_OK);
}

static void it_excludes_a_plain_token_lock(void **state)
{
    redlocking *f = *state;
    lk_hold *hold = redlocking_hold(redlocking_make(f, 1, NULL));

    assert_null(server_string(f->servers[0], "SET n theirs NX PX 60000"));
    assert_int_equal(server_integer(f->servers[0], "EVAL %s 1 n theirs",
                                    delete_own),
                     0);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    free(server_string(f->servers[0], "SET n theirs NX PX 60000"));
    assert_int_equal(redlocking_planted(f, 1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REDLOCKING_TEST(an_async_acquire_ends_with_a_hold),
        REDLOCKING_TEST(an_async_acquire_waits_and_ends_in_time),
        REDLOCKING_TEST(many_async_acquires_have_it_one_after_the_other),
        REDLOCKING_TEST(a_callback_may_not_block),
        REDLOCKING_TEST(callbacks_run_in_dispatch_if_the_clients_want_it),
        REDLOCKING_TEST(a_cancel_ends_a_wait_at_once),
        REDLOCKING_TEST(a_shutdown_ends_a_wait),
        REDLOCKING_TEST(a_hold_may_be_released_while_it_is_extended),
        REDLOCKING_TEST(a_hold_may_be_released_when_it_is_told_lost),
        REDLOCKING_TEST(a_plain_token_lock_excludes_it),
        REDLOCKING_TEST(it_excludes_a_plain_token_lock),
    };

    return cmocka_run_group_tests(tests, redlocking_start_servers,
                                  redlocking_stop_servers);
}
