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

/* Renewals and attempts go on though nobody dispatches. */
REDLOCKING_TEST(callbacks_run_in_dispatch_if_the_clients_want_it)
{
    const lk_client_options with = {LK_CLIENT_OPTIONS_INIT, .dispatch = 1};
    lk_client *clients[3];
    lk_redlock *lock;
    call c = {0};

    for (size_t i = 0; i < 3; i++)
        clients[i] = redlocking_open(f, i, &with);
    lock = redlocking_make_of(f, clients, 3, NULL);
    assert_status(lk_redlock_acquire_async(lock, 0, NULL, call_on_acquire, &c),
                  LK_OK);
    redlocking_wait_planted(3, 3);
    assert_int_equal(c.ends, 0);
    assert_status(call_wait(&c, clients[0]), LK_OK);
    assert_true(pthread_equal(c.thread, pthread_self()));
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* ---- ends -------------------------------------------------------------------------- */

REDLOCKING_TEST(a_shutdown_ends_a_wait)
{
    lk_redlock *lock = redlocking_make(f, 1, NULL);
    lk_redlock *other = redlocking_make(f, 1, NULL);
    lk_hold *hold = locking_hold(lock);
    call c = {0};

    assert_status(lk_redlock_acquire_async(other, LK_FOREVER, NULL,
                                           call_on_acquire, &c),
                  LK_OK);
    assert_status(lk_client_shutdown(f->clients[1], SOON_MS), LK_OK);
    assert_status(call_wait(&c, NULL), LK_ECLOSED);
    assert_status(lk_hold_release(hold), LK_OK);
}

REDLOCKING_TEST(a_hold_may_be_released_while_it_is_extended)
{
    lk_redlock *lock = redlocking_make(f, 3, NULL);
    lk_hold *hold = locking_hold(lock);
    call extended = {0};

    for (size_t i = 0; i < 2; i++)
        redlocking_freeze(i);
    assert_status(lk_hold_extend_async(hold, wait_lease_ms(), call_on_done,
                                       &extended),
                  LK_OK);
    assert_status(lk_hold_release_async(hold, NULL, NULL), LK_OK);
    assert_status(call_wait(&extended, NULL), LK_ELOST);
    for (size_t i = 0; i < 2; i++)
        redlocking_thaw(i);
    redlocking_wait_planted(3, 0);
}

/* ---- other libraries: SET NX PX, and a delete of one's own token ------------------ */

static const char delete_own[] =
    "if redis.call('get', KEYS[1]) == ARGV[1] then "
    "return redis.call('del', KEYS[1]) else return 0 end";

REDLOCKING_TEST(a_plain_token_lock_excludes_it)
{
    lk_redlock *lock = redlocking_make(f, 1, NULL);
    lk_hold *hold = NULL;
    char *answer =
        server_string(redlocking_servers[0], "SET n theirs NX PX 60000");

    assert_string_equal(answer, "OK");
    free(answer);
    assert_status(lk_redlock_acquire(lock, 0, NULL, &hold), LK_EBUSY);
    assert_int_equal(server_integer(redlocking_servers[0], "EVAL %s 1 n theirs",
                                    delete_own),
                     1);
    hold = locking_hold(lock);
    assert_status(lk_hold_release(hold), LK_OK);
}

REDLOCKING_TEST(it_excludes_a_plain_token_lock)
{
    lk_hold *hold = locking_hold(redlocking_make(f, 1, NULL));

    assert_null(
        server_string(redlocking_servers[0], "SET n theirs NX PX 60000"));
    assert_int_equal(server_integer(redlocking_servers[0], "EVAL %s 1 n theirs",
                                    delete_own),
                     0);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    free(server_string(redlocking_servers[0], "SET n theirs NX PX 60000"));
    assert_int_equal(redlocking_planted(1), 1);
}

int test_redlock_async(void)
{
    return check_all(redlocking_start_servers, redlocking_stop_servers);
}
