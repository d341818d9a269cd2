/* SPDX-License-Identifier: MIT */

/* A hold that was exported and then revoked: nobody has it by its text. */

#include <latchkey/latchkey.h>

#include <stdio.h>

#include "support/check.h"
#include "support/locking.h"

/* One kind: its hold as text, and how it comes back. */
typedef struct family {
    lk_status (*acquire)(lk_client *client, lk_hold **ret_hold);
    lk_status (*import)(lk_client *client, const char *text,
                        lk_hold **ret_hold);
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

static lk_status
lock_import(lk_client *client, const char *text, lk_hold **ret_hold)
{
    lk_lock *lock = lock_of(client);
    lk_status status = lk_lock_import(lock, text, NULL, ret_hold);

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

static lk_status
rwlock_import(lk_client *client, const char *text, lk_hold **ret_hold)
{
    lk_rwlock *lock = rwlock_of(client);
    lk_status status = lk_rwlock_import(lock, text, NULL, ret_hold);

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

static lk_status
semaphore_import(lk_client *client, const char *text, lk_hold **ret_hold)
{
    lk_semaphore *semaphore = semaphore_of(client);
    lk_status status = lk_semaphore_import(semaphore, text, NULL, ret_hold);

    lk_semaphore_free(semaphore);
    return status;
}

/* Who holds "n"; it stands until the next call. */
static const char *owner_of(lk_client *client, bool revoked)
{
    static char owner[96];
    lk_kind found;
    lk_info *info = NULL;

    assert_status(lk_who(client, "n", &found, &info), LK_OK);
    assert_int_equal(info->holder_count, 1);
    assert_int_equal(info->holders[0]->revoked, revoked);
    (void)snprintf(owner, sizeof(owner), "%s", info->holders[0]->owner);
    lk_info_free(info);
    return owner;
}

/* It stays held, and ends by its owner's name. */
static void assert_stands(locking *f, const family *of)
{
    lk_client *client = locking_open(f, NULL), *last = locking_open(f, NULL);
    char text[LK_EXPORT_SIZE];
    lk_hold *hold = NULL;
    int64_t left_ms = 0;

    assert_status(of->acquire(client, &hold), LK_OK);
    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
    hold = NULL;
    assert_status(lk_revoke(last, "n", owner_of(last, false), &left_ms), LK_OK);
    assert_true(left_ms > 0);
    assert_status(of->import(last, text, &hold), LK_ELOST);
    assert_null(hold);
    assert_status(lk_break(last, "n", owner_of(last, true)), LK_OK);
    assert_status(of->import(last, text, &hold), LK_ELOST);
    assert_status(of->acquire(client, &hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(what_was_revoked_is_not_had_by_its_text)
{
    static const family families[] = {{lock_acquire, lock_import},
                                      {read_acquire, rwlock_import},
                                      {write_acquire, rwlock_import},
                                      {semaphore_acquire, semaphore_import}};

    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        assert_stands(f, &families[i]);
        server_flush(f->server);
    }
}

CHECK_GROUP(locking_start_server, locking_stop_server)
