/* SPDX-License-Identifier: MIT */

/* The read-write lock's calls that are wrong are refused, and say why. */

#include <latchkey/latchkey.h>

#include "support/call.h"
#include "support/check.h"
#include "support/rwlocking.h"

static void on_state(lk_status status, lk_rwlock_state state, void *data)
{
    (void)state;
    call_on_done(status, data);
}

CHECK_TEST(a_read_write_lock_that_is_null_is_refused)
{
    lk_hold *hold = NULL;
    lk_info *info = NULL;
    lk_rwlock_state told;
    call c = {0};

    assert_einval(lk_rwlock_acquire_read(NULL, 0, NULL, &hold), "NULL");
    assert_einval(lk_rwlock_acquire_upgradeable(NULL, 0, NULL, &hold), "NULL");
    assert_einval(lk_rwlock_acquire_write(NULL, 0, NULL, &hold), "NULL");
    assert_einval(lk_rwlock_acquire_read_async(NULL, 0, NULL, call_on_acquire,
                                               &c),
                  "NULL");
    assert_einval(lk_rwlock_run_read(NULL, 0, NULL, call_nothing, NULL),
                  "NULL");
    assert_einval(lk_rwlock_run_write(NULL, 0, NULL, call_nothing, NULL),
                  "NULL");
    assert_einval(lk_rwlock_import(NULL, "", NULL, &hold), "NULL");
    assert_einval(lk_rwlock_downgrade(NULL), "NULL");
    assert_einval(lk_rwlock_downgrade_async(NULL, call_on_done, &c), "NULL");
    assert_einval(lk_rwlock_force_release(NULL), "NULL");
    assert_einval(lk_rwlock_state_get(NULL, &told), "NULL");
    assert_einval(lk_rwlock_state_get_async(NULL, on_state, &c), "NULL");
    assert_einval(lk_rwlock_info(NULL, &info), "NULL");
    lk_rwlock_free(NULL);
    assert_int_equal(c.ends, 0);
}

RWLOCK_TEST(a_result_needs_a_place)
{
    lk_rwlock *lock = rwlocking_new(f);
    lk_hold *hold = rwlocking_hold(f, lock, RW_WRITE);

    assert_einval(lk_rwlock_new(NULL, f->base->clients[0], "n", NULL), "NULL");
    assert_einval(lk_rwlock_acquire_read(lock, 0, NULL, NULL), "result");
    assert_einval(lk_rwlock_acquire_write_async(lock, 0, NULL, NULL, NULL),
                  "callback");
    assert_einval(lk_rwlock_run_read(lock, 0, NULL, NULL, NULL), "function");
    assert_einval(lk_rwlock_downgrade_async(hold, NULL, NULL), "callback");
    assert_einval(lk_rwlock_state_get(lock, NULL), "NULL");
    assert_einval(lk_rwlock_state_get_async(lock, NULL, NULL), "callback");
    assert_einval(lk_rwlock_info(lock, NULL), "NULL");
    assert_einval(lk_rwlock_info_async(lock, NULL, NULL), "callback");
    assert_einval(lk_rwlock_force_release_async(lock, NULL, NULL), "callback");
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

RWLOCK_TEST(options_that_are_wrong_are_refused)
{
    lk_client *client = locking_open(f->base, NULL);
    const lk_rwlock_options no_size = {.lease_ms = 5};
    const lk_rwlock_options too_long = {LK_RWLOCK_OPTIONS_INIT,
                                        .lease_ms = UINT64_MAX};
    const lk_rwlock_options no_order = {LK_RWLOCK_OPTIONS_INIT, .order = 3};
    lk_rwlock *none = NULL;
    lk_rwlock *lock = rwlocking_lock(f, client);
    lk_hold *hold = NULL;

    assert_einval(lk_rwlock_new(&none, client, "n", &no_size), "size");
    assert_einval(lk_rwlock_new(&none, client, "n", &too_long), "lease");
    assert_einval(lk_rwlock_new(&none, client, "n", &no_order), "order");
    assert_einval(lk_rwlock_new(&none, client, "", NULL), "name");
    assert_einval(lk_rwlock_new(&none, NULL, "n", NULL), "NULL");
    assert_einval(lk_rwlock_acquire_read(lock, -2, NULL, &hold), "wait_ms");
    assert_null(none);
    assert_null(hold);
}

RWLOCK_TEST(what_is_no_write_hold_is_not_downgraded)
{
    lk_client *client = locking_open(f->base, NULL);
    lk_rwlock *lock = rwlocking_lock(f, client);
    lk_hold *plain = locking_hold(locking_lock(f->base, client, "other"));
    lk_hold *read = rwlocking_hold(f, lock, RW_READ);
    lk_hold *upgradeable = rwlocking_hold(f, lock, RW_UPGRADEABLE);
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

RWLOCK_TEST(a_callback_does_not_wait)
{
    lk_rwlock *lock = rwlocking_new(f);
    call c = {.act = act_downgrade};

    assert_status(lk_rwlock_acquire_write_async(lock, 0, NULL, call_on_acquire,
                                                &c),
                  LK_OK);
    assert_status(call_wait(&c, NULL), LK_ECALLBACK);
    assert_status(lk_rwlock_downgrade(c.hold), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

RWLOCK_TEST(keys_that_are_no_read_write_lock_are_refused)
{
    lk_rwlock *lock = rwlocking_new(f);
    lk_hold *none = NULL;
    lk_info *info = NULL;

    freeReplyObject(server_command(f->base->server, "SET n text"));
    assert_says(lk_rwlock_acquire_read(lock, 1000, NULL, &none), LK_ETYPE,
                "the key is not a read-write lock");
    assert_says(lk_rwlock_acquire_write(lock, 1000, NULL, &none), LK_ETYPE,
                "the key is not a read-write lock");
    assert_status(lk_rwlock_info(lock, &info), LK_ETYPE);
    assert_status(lk_rwlock_force_release(lock), LK_ETYPE);
    freeReplyObject(server_command(f->base->server, "DEL n"));
    freeReplyObject(server_command(f->base->server, "SET latchkey:{n}:r 3w"));
    assert_status(lk_rwlock_acquire_read(lock, 1000, NULL, &none),
                  LK_EMISMATCH);
    freeReplyObject(server_command(f->base->server, "DEL latchkey:{n}:r"));
    assert_status(lk_rwlock_acquire_read(lock, 1000, NULL, &none), LK_OK);
    assert_status(lk_hold_release(none), LK_OK);
}

RWLOCK_TEST(an_export_of_another_kind_is_refused)
{
    lk_client *client = locking_open(f->base, NULL);
    lk_lock *plain = locking_lock(f->base, client, "n");
    lk_hold *hold = locking_hold(plain);
    char text[LK_EXPORT_SIZE];

    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
    assert_status(lk_rwlock_import(rwlocking_lock(f, client), text, NULL,
                                   &hold),
                  LK_EMISMATCH);
    assert_status(lk_rwlock_import(rwlocking_lock(f, client),
                                   "latchkey1 rwlock - c:1 5 5 30000 1 n", NULL,
                                   &hold),
                  LK_EINVAL); /* it neither reads nor writes */
    assert_status(lk_rwlock_import(rwlocking_lock(f, client), "words", NULL,
                                   &hold),
                  LK_EINVAL);
    assert_status(lk_lock_import(plain, text, NULL, &hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

int main(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
