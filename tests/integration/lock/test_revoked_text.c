/* SPDX-License-Identifier: MIT */

/* A hold that was exported and then revoked: its text still ends it. */

#include <latchkey/latchkey.h>

#include <stdio.h>

#include "support/check.h"
#include "support/locking.h"

enum { SOON_MS = 10000 };

/* One kind: its hold as text, and how it comes back. */
typedef struct family {
    lk_status (*acquire)(lk_client *client, lk_hold **ret_hold);
    lk_status (*import)(lk_client *client, const char *text,
                        const lk_acquire_options *options, lk_hold **ret_hold);
} family;

static lk_lock *lock_of(lk_client *client)
{
    lk_lock *lock = NULL;

    assert_status(lk_lock_new(&lock, client, "n", NULL), LK_OK);
    return lock;
}

static lk_status lock_acquire(lk_client *client, lk_hold **ret_hold)
{
    lk_lock *lock = lock_of(client);
    lk_status status = lk_lock_acquire(lock, 0, NULL, ret_hold);

    lk_lock_free(lock);
    return status;
}

static lk_status lock_import(lk_client *client, const char *text,
                             const lk_acquire_options *options,
                             lk_hold **ret_hold)
{
    lk_lock *lock = lock_of(client);
    lk_status status = lk_lock_import(lock, text, options, ret_hold);

    lk_lock_free(lock);
    return status;
}

static lk_rwlock *rwlock_of(lk_client *client)
{
    lk_rwlock *lock = NULL;

    assert_status(lk_rwlock_new(&lock, client, "n", NULL), LK_OK);
    return lock;
}

static lk_status read_acquire(lk_client *client, lk_hold **ret_hold)
{
    lk_rwlock *lock = rwlock_of(client);
    lk_status status = lk_rwlock_acquire_read(lock, 0, NULL, ret_hold);

    lk_rwlock_free(lock);
    return status;
}

static lk_status write_acquire(lk_client *client, lk_hold **ret_hold)
{
    lk_rwlock *lock = rwlock_of(client);
    lk_status status = lk_rwlock_acquire_write(lock, 0, NULL, ret_hold);

    lk_rwlock_free(lock);
    return status;
}

static lk_status rwlock_import(lk_client *client, const char *text,
                               const lk_acquire_options *options,
                               lk_hold **ret_hold)
{
    lk_rwlock *lock = rwlock_of(client);
    lk_status status = lk_rwlock_import(lock, text, options, ret_hold);

    lk_rwlock_free(lock);
    return status;
}

static lk_semaphore *semaphore_of(lk_client *client)
{
    const lk_semaphore_options two = {LK_SEMAPHORE_OPTIONS_INIT, .permits = 2};
    lk_semaphore *semaphore = NULL;

    assert_status(lk_semaphore_new(&semaphore, client, "n", &two), LK_OK);
    return semaphore;
}

static lk_status semaphore_acquire(lk_client *client, lk_hold **ret_hold)
{
    lk_semaphore *semaphore = semaphore_of(client);
    lk_status status = lk_semaphore_acquire(semaphore, 2, 0, NULL, ret_hold);

    lk_semaphore_free(semaphore);
    return status;
}

static lk_status semaphore_import(lk_client *client, const char *text,
                                  const lk_acquire_options *options,
                                  lk_hold **ret_hold)
{
    lk_semaphore *semaphore = semaphore_of(client);
    lk_status status = lk_semaphore_import(semaphore, text, options, ret_hold);

    lk_semaphore_free(semaphore);
    return status;
}

/* Revokes the one hold of "n". */
static void revoke(lk_client *client)
{
    lk_kind kind;
    lk_info *info = NULL;
    int64_t left_ms = 0;

    assert_status(lk_who(client, "n", &kind, &info), LK_OK);
    assert_int_equal(info->holder_count, 1);
    assert_false(info->holders[0]->revoked);
    assert_status(lk_revoke(client, "n", info->holders[0]->owner, &left_ms),
                  LK_OK);
    assert_true(left_ms > 0);
    lk_info_free(info);
}

static void assert_free(lk_client *client, const family *of)
{
    lk_hold *hold = NULL;

    assert_status(of->acquire(client, &hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

static void assert_ends(locking *f, const family *of)
{
    const lk_acquire_options borrow = {LK_ACQUIRE_OPTIONS_INIT,
                                       .borrow = LK_BORROW};
    const lk_acquire_options ends = {LK_ACQUIRE_OPTIONS_INIT,
                                     .borrow = LK_BORROW_TO_RELEASE};
    lk_client *client = locking_open(f, NULL), *last = locking_open(f, NULL);
    char text[LK_EXPORT_SIZE];
    lk_hold *hold = NULL;
    lk_info *info = NULL;
    lk_kind kind;

    assert_status(of->acquire(client, &hold), LK_OK);
    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
    revoke(client);
    assert_status(of->import(last, text, &borrow, &hold), LK_ELOST);
    assert_status(lk_who(client, "n", &kind, &info), LK_OK);
    assert_int_equal(info->holder_count, 1);
    assert_true(info->holders[0]->revoked);
    lk_info_free(info);
    assert_status(of->import(last, text, &ends, &hold), LK_OK);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_REVOKED);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_status(lk_client_shutdown(last, SOON_MS), LK_OK);
    assert_free(client, of);
}

LOCKS_TEST(its_text_ends_what_was_revoked)
{
    static const family families[] = {{lock_acquire, lock_import},
                                      {read_acquire, rwlock_import},
                                      {write_acquire, rwlock_import},
                                      {semaphore_acquire, semaphore_import}};

    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        assert_ends(f, &families[i]);
        server_flush(f->server);
    }
}

/* What was not revoked is had as it is with a borrow of 1. */
LOCKS_TEST(what_stands_is_borrowed)
{
    const lk_acquire_options ends = {LK_ACQUIRE_OPTIONS_INIT,
                                     .borrow = LK_BORROW_TO_RELEASE};
    const lk_acquire_options more = {LK_ACQUIRE_OPTIONS_INIT, .borrow = 3};
    lk_client *client = locking_open(f, NULL), *last = locking_open(f, NULL);
    char text[LK_EXPORT_SIZE];
    lk_hold *hold = NULL;

    assert_status(lock_acquire(client, &hold), LK_OK);
    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
    assert_status(lock_import(last, text, &more, &hold), LK_EINVAL);
    assert_status(lock_import(last, text, &ends, &hold), LK_OK);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_false(locking_exists(f, "n"));
}

/* A text that is old ends nobody's hold. */
LOCKS_TEST(what_has_ended_is_not_had)
{
    const lk_acquire_options ends = {LK_ACQUIRE_OPTIONS_INIT,
                                     .borrow = LK_BORROW_TO_RELEASE};
    lk_client *client = locking_open(f, NULL), *last = locking_open(f, NULL);
    char text[LK_EXPORT_SIZE];
    lk_hold *hold = NULL, *other = NULL;

    assert_status(lock_acquire(client, &hold), LK_OK);
    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
    assert_status(lock_import(last, text, &ends, &hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lock_import(last, text, &ends, &hold), LK_ELOST);
    assert_status(lock_acquire(client, &other), LK_OK);
    revoke(client);
    assert_status(lock_import(last, text, &ends, &hold), LK_ELOST);
    (void)lk_hold_release(other);
}

int main(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
