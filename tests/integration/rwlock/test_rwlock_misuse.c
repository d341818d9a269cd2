/* SPDX-License-Identifier: MIT */

/* The read-write lock's calls that are wrong are refused, and say why. */

#include <latchkey/latchkey.h>

#include "support/call.h"
#include "support/check.h"
#include "support/rwlocking.h"

LOCKS_TEST(what_is_missing_is_refused)
{
    lk_rwlock *lock = locking_new(f, lk_rwlock);
    lk_hold *hold = rwlocking_hold(f, lock, KIND_WRITE);
    call c = {0};

    assert_einval(lk_rwlock_downgrade(NULL), "NULL");
    assert_einval(lk_rwlock_downgrade_async(NULL, call_on_done, &c), "NULL");
    assert_einval(lk_rwlock_downgrade_async(hold, NULL, NULL), "callback");
    assert_einval(lk_rwlock_state_get(lock, NULL), "NULL");
    assert_int_equal(c.ends, 0);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(an_order_that_is_none_is_refused)
{
    const lk_rwlock_options no_order = {LK_RWLOCK_OPTIONS_INIT, .order = 3};
    lk_rwlock *none = NULL;

    assert_einval(lk_rwlock_new(&none, locking_open(f, NULL), "n", &no_order),
                  "order");
    assert_null(none);
}

LOCKS_TEST(what_is_no_write_hold_is_not_downgraded)
{
    lk_client *client = locking_open(f, NULL);
    lk_rwlock *lock = locking_of(f, lk_rwlock, client);
    lk_hold *plain = locking_hold(locking_lock(f, client, "other"));
    lk_hold *read = rwlocking_hold(f, lock, KIND_READ);
    lk_hold *upgradeable = rwlocking_hold(f, lock, KIND_UPGRADEABLE);
    call c = {0};

    assert_einval(lk_rwlock_downgrade(plain), "read-write");
    assert_einval(lk_rwlock_downgrade(read), "write hold");
    assert_einval(lk_rwlock_downgrade(upgradeable), "write hold");
    assert_einval(lk_rwlock_downgrade_async(read, call_on_done, &c),
                  "write hold");
    assert_int_equal(c.ends, 0);
    assert_status(lk_hold_release(plain), LK_OK);
    assert_status(lk_hold_release(read), LK_OK);
    assert_status(lk_hold_release(upgradeable), LK_OK);
}

/* A callback stands on the thread that would bring the answer. */
static void act_downgrade(call *c)
{
    c->status = lk_rwlock_downgrade(c->hold);
}

LOCKS_TEST(a_callback_does_not_wait)
{
    lk_rwlock *lock = locking_new(f, lk_rwlock);
    call c = {.act = act_downgrade};

    assert_status(lk_rwlock_acquire_write_async(lock, 0, NULL, call_on_acquire,
                                                &c),
                  LK_OK);
    assert_status(call_wait(&c, NULL), LK_ECALLBACK);
    assert_status(lk_rwlock_downgrade(c.hold), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

int test_rwlock_misuse(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
