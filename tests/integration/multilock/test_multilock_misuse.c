/* SPDX-License-Identifier: MIT */

/* The multilock's calls that are wrong are refused, and say why. */

#include <latchkey/latchkey.h>

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

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
    multilocking *f = *state;
    lk_client *client = locking_open(f->base, NULL);
    lk_multilock *set = multi_of(f, client, "a");
    lk_hold *hold = NULL;
    call c = {0};

    assert_words(lk_multilock_new(NULL), LK_EINVAL, "NULL");
    assert_words(lk_multilock_add_lock(NULL, f->base->locks[0]), LK_EINVAL,
                 "NULL");
    assert_words(lk_multilock_add_lock(set, NULL), LK_EINVAL, "NULL");
    assert_words(lk_multilock_add_fairlock(set, NULL), LK_EINVAL, "NULL");
    assert_words(lk_multilock_add_read(set, NULL), LK_EINVAL, "NULL");
    assert_words(lk_multilock_add_write(set, NULL), LK_EINVAL, "NULL");
    assert_words(lk_multilock_add_all(set, NULL), LK_EINVAL, "NULL");
    assert_words(lk_multilock_add_all(NULL, set), LK_EINVAL, "NULL");
    assert_words(lk_multilock_acquire(NULL, 0, NULL, &hold), LK_EINVAL, "NULL");
    assert_words(lk_multilock_acquire(set, 0, NULL, NULL), LK_EINVAL, "result");
    assert_words(lk_multilock_acquire_async(NULL, 0, NULL, call_on_acquire, &c),
                 LK_EINVAL, "NULL");
    assert_words(lk_multilock_acquire_async(set, 0, NULL, NULL, &c), LK_EINVAL,
                 "callback");
    assert_words(lk_multilock_run(NULL, 0, NULL, nothing, NULL), LK_EINVAL,
                 "NULL");
    assert_words(lk_multilock_run(set, 0, NULL, NULL, NULL), LK_EINVAL,
                 "function");
    lk_multilock_free(NULL);
    assert_int_equal(c.ends, 0);
}

static void one_without_members_is_refused(void **state)
{
    multilocking *f = *state;
    lk_multilock *set = multi_empty(f);
    lk_hold *hold = NULL;
    call c = {0};

    assert_status(lk_multilock_add_all(set, multi_empty(f)), LK_OK);
    assert_words(lk_multilock_acquire(set, 0, NULL, &hold), LK_EINVAL,
                 "no members");
    assert_words(lk_multilock_acquire_async(set, 0, NULL, call_on_acquire, &c),
                 LK_EINVAL, "no members");
    assert_words(lk_multilock_run(set, 0, NULL, nothing, NULL), LK_EINVAL,
                 "no members");
}

static void one_is_no_member_of_itself(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open(f->base, NULL);
    lk_multilock *one = multi_of(f, client, "a");
    lk_multilock *two = multi_of(f, client, "b");

    assert_words(lk_multilock_add_all(one, one), LK_EINVAL, "itself");
    /* Each takes what the other has now: nothing to go round in. */
    assert_status(lk_multilock_add_all(one, two), LK_OK);
    assert_status(lk_multilock_add_all(two, one), LK_OK);
    assert_status(lk_hold_release(multi_hold(one)), LK_OK);
    assert_status(lk_hold_release(multi_hold(two)), LK_OK);
}

static void a_name_as_a_lock_and_as_a_read_write_lock_is_refused(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open(f->base, NULL);
    lk_multilock *set = multi_of(f, client, "ab");
    lk_multilock *other = multi_empty(f);
    lk_rwlock *rwlock = multi_rwlock(f, client, "b");
    lk_hold *hold;

    assert_words(lk_multilock_add_read(set, rwlock), LK_EMISMATCH, "b is");
    assert_words(lk_multilock_add_write(set, rwlock), LK_EMISMATCH, "b is");
    assert_status(lk_multilock_add_read(other, multi_rwlock(f, client, "c")),
                  LK_OK);
    assert_status(lk_multilock_add_read(other, rwlock), LK_OK);
    assert_words(lk_multilock_add_all(set, other), LK_EMISMATCH, "b is");
    hold = multi_hold(set);
    assert_int_equal(locking_stats(client).holding, 2); /* c is not in */
    assert_status(lk_hold_release(hold), LK_OK);
}

static void a_name_through_two_clients_is_refused(void **state)
{
    multilocking *f = *state;
    lk_client *one = locking_open(f->base, NULL);
    lk_client *two = locking_open(f->base, NULL);
    lk_multilock *set = multi_of(f, one, "ab");

    assert_words(lk_multilock_add_lock(set, locking_lock(f->base, two, "a")),
                 LK_EINVAL, "another client");
    assert_status(lk_multilock_add_lock(set, locking_lock(f->base, two, "c")),
                  LK_OK);
    assert_status(lk_hold_release(multi_hold(set)), LK_OK);
}

static void an_owner_of_one_of_several_clients_is_refused(void **state)
{
    multilocking *f = *state;
    lk_client *one = locking_open(f->base, NULL);
    lk_client *two = locking_open(f->base, NULL);
    lk_multilock *alone = multi_of(f, one, "a");
    lk_multilock *mixed = multi_of(f, one, "a");
    lk_acquire_options owner = {LK_ACQUIRE_OPTIONS_INIT};
    lk_acquire_options cancel = {LK_ACQUIRE_OPTIONS_INIT};
    lk_hold *hold = NULL;

    assert_status(lk_multilock_add_lock(mixed, locking_lock(f->base, two, "b")),
                  LK_OK);
    assert_status(lk_owner_new(&owner.owner, two), LK_OK);
    assert_status(lk_cancel_new(&cancel.cancel, two), LK_OK);
    assert_words(lk_multilock_acquire(mixed, 0, &owner, &hold), LK_EINVAL,
                 "several clients");
    assert_words(lk_multilock_acquire(mixed, 0, &cancel, &hold), LK_EINVAL,
                 "several clients");
    assert_words(lk_multilock_acquire(alone, 0, &owner, &hold), LK_EINVAL,
                 "another client");
    assert_words(lk_multilock_acquire(alone, 0, &cancel, &hold), LK_EINVAL,
                 "another client");
    lk_owner_free(owner.owner);
    lk_cancel_free(cancel.cancel);
}

static void values_that_are_wrong_are_refused(void **state)
{
    multilocking *f = *state;
    lk_multilock *set = multi_of(f, locking_open(f->base, NULL), "ab");
    const lk_acquire_options lease = {LK_ACQUIRE_OPTIONS_INIT,
                                      .lease_ms = UINT64_MAX};
    const lk_acquire_options no_size = {.lease_ms = 1000};
    lk_hold *hold = NULL;
    call c = {0};

    assert_words(lk_multilock_acquire(set, -2, NULL, &hold), LK_EINVAL,
                 "wait_ms");
    assert_words(lk_multilock_acquire(set, 0, &lease, &hold), LK_EINVAL,
                 "lease");
    assert_words(lk_multilock_acquire(set, 0, &no_size, &hold), LK_EINVAL,
                 "size");
    hold = multi_hold(set);
    assert_words(lk_hold_extend(hold, 0), LK_EINVAL, "lease");
    assert_words(lk_hold_extend_async(hold, 1000, NULL, NULL), LK_EINVAL,
                 "callback");
    assert_words(lk_hold_extend_async(hold, 0, call_on_done, &c), LK_EINVAL,
                 "lease");
    assert_words(lk_hold_on_lost(hold, UINT64_MAX, NULL, NULL), LK_EINVAL,
                 "notice_ms");
    assert_status(lk_hold_release(hold), LK_OK);
}

static void there_is_a_most_of_members(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open(f->base, NULL);
    lk_multilock *set = multi_empty(f);
    lk_lock *lock = locking_lock(f->base, client, "a");

    for (int i = 0; i < LK_MULTILOCK_MAX; i++)
        assert_status(lk_multilock_add_lock(set, lock), LK_OK);
    assert_words(lk_multilock_add_lock(set, lock), LK_EINVAL, "1024");
    assert_words(lk_multilock_add_all(set, multi_of(f, client, "b")), LK_EINVAL,
                 "1024");
    assert_status(lk_hold_release(multi_hold(set)), LK_OK);
}

/* ---- a client that is gone ---- */

static void after_a_shutdown_it_is_refused(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open(f->base, NULL);
    lk_multilock *set = multi_of(f, client, "ab");
    lk_hold *none = NULL, *hold = multi_hold(set);
    call c = {0};

    assert_status(lk_client_shutdown(client, SOON_MS), LK_OK);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_CLOSED);
    assert_status(lk_multilock_acquire(set, 0, NULL, &none), LK_ECLOSED);
    assert_status(lk_multilock_acquire_async(set, 0, NULL, call_on_acquire, &c),
                  LK_ECLOSED);
    assert_status(lk_hold_release(hold), LK_ECLOSED);
    multi_assert_free(f, "ab");
}

static void a_forked_child_is_refused(void **state)
{
    multilocking *f = *state;
    lk_multilock *set = multi_of(f, locking_open(f->base, NULL), "ab");
    lk_hold *hold = multi_hold(set);
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        lk_hold *none = NULL;
        bool refused =
            lk_multilock_acquire(set, 0, NULL, &none) == LK_EFORKED &&
            lk_multilock_add_lock(set, f->base->locks[0]) == LK_EFORKED &&
            lk_hold_check(hold) == LK_EFORKED &&
            lk_hold_extend(hold, 1000) == LK_EFORKED &&
            lk_hold_on_lost(hold, 0, NULL, NULL) == LK_EFORKED &&
            lk_hold_fd(hold) == -1 && lk_hold_remaining_ms(hold) == 0 &&
            lk_hold_loss(hold) == LK_LOSS_NONE &&
            lk_hold_release(hold) == LK_EFORKED;

        if (!refused)
            _exit(1);
        (void)raise(SIGKILL); /* no tool looks for leaks here */
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* ---- callbacks ---- */

static void block(call *c)
{
    multilocking *f = c->data;
    lk_hold *none = NULL;

    c->status = lk_multilock_acquire(f->sets[0], 0, NULL, &none);
    if (c->status == LK_ECALLBACK)
        c->status = lk_hold_extend(c->hold, 1000);
}

static void a_callback_may_not_block(void **state)
{
    multilocking *f = *state;
    lk_multilock *set = multi_of(f, locking_open(f->base, NULL), "ab");
    call c = {.act = block, .data = f};

    assert_status(lk_multilock_acquire_async(set, 0, NULL, call_on_acquire, &c),
                  LK_OK);
    assert_status(call_wait(&c, NULL), LK_ECALLBACK);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

static void give_back(call *c)
{
    c->status = lk_hold_release(c->hold);
}

static void a_release_in_a_callback_does_not_wait(void **state)
{
    multilocking *f = *state;
    lk_multilock *set = multi_of(f, locking_open(f->base, NULL), "ab");
    call c = {.act = give_back};

    assert_status(lk_multilock_acquire_async(set, 0, NULL, call_on_acquire, &c),
                  LK_OK);
    assert_status(call_wait(&c, NULL), LK_EINDOUBT);
    multi_assert_free(f, "ab");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MULTI_TEST(what_is_null_is_refused),
        MULTI_TEST(one_without_members_is_refused),
        MULTI_TEST(one_is_no_member_of_itself),
        MULTI_TEST(a_name_as_a_lock_and_as_a_read_write_lock_is_refused),
        MULTI_TEST(a_name_through_two_clients_is_refused),
        MULTI_TEST(an_owner_of_one_of_several_clients_is_refused),
        MULTI_TEST(values_that_are_wrong_are_refused),
        MULTI_TEST(there_is_a_most_of_members),
        MULTI_TEST(after_a_shutdown_it_is_refused),
        MULTI_TEST(a_forked_child_is_refused),
        MULTI_TEST(a_callback_may_not_block),
        MULTI_TEST(a_release_in_a_callback_does_not_wait),
    };

    return cmocka_run_group_tests(tests, locking_start_server,
                                  locking_stop_server);
}
