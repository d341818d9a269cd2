/* SPDX-License-Identifier: MIT */

/* The multilock's calls that are wrong are refused, and say why. */

#include <latchkey/latchkey.h>

#include "support/call.h"
#include "support/check.h"
#include "support/multilocking.h"

enum { SOON_MS = 5000 };

static lk_status nothing(lk_hold *hold, void *data)
{
    (void)hold;
    (void)data;
    return LK_OK;
}

static void what_is_null_is_refused(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    lk_multilock *set = multi_of(f, client, "a");

    assert_says(lk_multilock_new(NULL), LK_EINVAL, "NULL");
    assert_says(lk_multilock_add_lock(NULL, f->handles[1]), LK_EINVAL, "NULL");
    assert_says(lk_multilock_add_lock(set, NULL), LK_EINVAL, "NULL");
    assert_says(lk_multilock_add_fairlock(set, NULL), LK_EINVAL, "NULL");
    assert_says(lk_multilock_add_read(set, NULL), LK_EINVAL, "NULL");
    assert_says(lk_multilock_add_write(set, NULL), LK_EINVAL, "NULL");
    assert_says(lk_multilock_add_all(set, NULL), LK_EINVAL, "NULL");
    assert_says(lk_multilock_add_all(NULL, set), LK_EINVAL, "NULL");
}

static void one_without_members_is_refused(void **state)
{
    locking *f = *state;
    lk_multilock *set = multi_empty(f);
    lk_hold *hold = NULL;
    call c = {0};

    assert_status(lk_multilock_add_all(set, multi_empty(f)), LK_OK);
    assert_says(lk_multilock_acquire(set, 0, NULL, &hold), LK_EINVAL,
                "no members");
    assert_says(lk_multilock_acquire_async(set, 0, NULL, call_on_acquire, &c),
                LK_EINVAL, "no members");
    assert_says(lk_multilock_run(set, 0, NULL, nothing, NULL), LK_EINVAL,
                "no members");
}

static void one_is_no_member_of_itself(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    lk_multilock *one = multi_of(f, client, "a");
    lk_multilock *two = multi_of(f, client, "b");

    assert_says(lk_multilock_add_all(one, one), LK_EINVAL, "itself");
    /* Each takes what the other has now: nothing to go round in. */
    assert_status(lk_multilock_add_all(one, two), LK_OK);
    assert_status(lk_multilock_add_all(two, one), LK_OK);
    assert_status(lk_hold_release(locking_hold(one)), LK_OK);
    assert_status(lk_hold_release(locking_hold(two)), LK_OK);
}

static void a_name_as_a_lock_and_as_a_read_write_lock_is_refused(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    lk_multilock *set = multi_of(f, client, "ab");
    lk_multilock *other = multi_empty(f);
    lk_rwlock *rwlock = locking_named(f, lk_rwlock, client, "b");
    lk_hold *hold;

    assert_says(lk_multilock_add_read(set, rwlock), LK_EMISMATCH, "b is");
    assert_says(lk_multilock_add_write(set, rwlock), LK_EMISMATCH, "b is");
    assert_status(lk_multilock_add_read(other, locking_named(f, lk_rwlock,
                                                             client, "c")),
                  LK_OK);
    assert_status(lk_multilock_add_read(other, rwlock), LK_OK);
    assert_says(lk_multilock_add_all(set, other), LK_EMISMATCH, "b is");
    hold = locking_hold(set);
    assert_int_equal(locking_stats(client).holding, 2); /* c is not in */
    assert_status(lk_hold_release(hold), LK_OK);
}

static void a_name_through_two_clients_is_refused(void **state)
{
    locking *f = *state;
    lk_client *one = locking_open(f, NULL);
    lk_client *two = locking_open(f, NULL);
    lk_multilock *set = multi_of(f, one, "ab");

    assert_says(lk_multilock_add_lock(set, locking_lock(f, two, "a")),
                LK_EINVAL, "another client");
    assert_status(lk_multilock_add_lock(set, locking_lock(f, two, "c")), LK_OK);
    assert_status(lk_hold_release(locking_hold(set)), LK_OK);
}

static void an_owner_of_one_of_several_clients_is_refused(void **state)
{
    locking *f = *state;
    lk_client *one = locking_open(f, NULL);
    lk_client *two = locking_open(f, NULL);
    lk_multilock *alone = multi_of(f, one, "a");
    lk_multilock *mixed = multi_of(f, one, "a");
    lk_acquire_options owner = {LK_ACQUIRE_OPTIONS_INIT};
    lk_acquire_options cancel = {LK_ACQUIRE_OPTIONS_INIT};
    lk_hold *hold = NULL;

    assert_status(lk_multilock_add_lock(mixed, locking_lock(f, two, "b")),
                  LK_OK);
    assert_status(lk_owner_new(&owner.owner, two), LK_OK);
    assert_status(lk_cancel_new(&cancel.cancel, two), LK_OK);
    assert_says(lk_multilock_acquire(mixed, 0, &owner, &hold), LK_EINVAL,
                "several clients");
    assert_says(lk_multilock_acquire(mixed, 0, &cancel, &hold), LK_EINVAL,
                "several clients");
    assert_says(lk_multilock_acquire(alone, 0, &owner, &hold), LK_EINVAL,
                "another client");
    assert_says(lk_multilock_acquire(alone, 0, &cancel, &hold), LK_EINVAL,
                "another client");
    lk_owner_free(owner.owner);
    lk_cancel_free(cancel.cancel);
}

static void there_is_a_most_of_members(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    lk_multilock *set = multi_empty(f);
    lk_lock *lock = locking_lock(f, client, "a");

    for (int i = 0; i < LK_MULTILOCK_MAX; i++)
        assert_status(lk_multilock_add_lock(set, lock), LK_OK);
    assert_says(lk_multilock_add_lock(set, lock), LK_EINVAL, "1024");
    assert_says(lk_multilock_add_all(set, multi_of(f, client, "b")), LK_EINVAL,
                "1024");
    assert_status(lk_hold_release(locking_hold(set)), LK_OK);
}

int test_multilock_misuse(void)
{
    const struct CMUnitTest tests[] = {
        LOCKING_TEST(what_is_null_is_refused),
        LOCKING_TEST(one_without_members_is_refused),
        LOCKING_TEST(one_is_no_member_of_itself),
        LOCKING_TEST(a_name_as_a_lock_and_as_a_read_write_lock_is_refused),
        LOCKING_TEST(a_name_through_two_clients_is_refused),
        LOCKING_TEST(an_owner_of_one_of_several_clients_is_refused),
        LOCKING_TEST(there_is_a_most_of_members),
    };

    return cmocka_run_group_tests(tests, locking_start_server,
                                  locking_stop_server);
}
