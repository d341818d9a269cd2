/* SPDX-License-Identifier: MIT */

/*
 * Releases that a server has answered and does not know any more when it starts
 * again with older data. Its name is free all the same, long before the lease of
 * the hold ends that the server still has.
 */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <stdlib.h>

#include "claims/closed.h"
#include "support/check.h"
#include "support/locking.h"
#include "support/server.h"
#include "support/wait.h"

/* Longer than the test; and what it takes to be given the name. */
enum { LEASE_MS = 600000, SOON_MS = 20000, CLIENTS = 2 };
enum { FEW = 50, MANY = LK__CLOSED + 44 };

typedef struct fixture {
    server *server;
    lk_client *clients[CLIENTS]; /* one that releases, one that waits then */
} fixture;

static int setup(void **state)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = LEASE_MS};
    fixture *f = calloc(1, sizeof(*f));

    *state = f;
    f->server = server_start(NULL);
    for (int i = 0; f->server != NULL && i < CLIENTS; i++) {
        if (lk_client_open(&f->clients[i], server_url(f->server), &options) !=
            LK_OK)
            return -1;
    }
    return f->server != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    fixture *f = *state;

    for (int i = 0; i < CLIENTS; i++)
        lk_client_free(f->clients[i]);
    server_stop(f->server);
    free(f);
    return 0;
}

#define TEST(name) CHECK_TEST_OF(name, fixture *f, setup, teardown)

/* How one client takes the name of a kind, with nobody beside it. */
typedef lk_status
take(lk_client *client, const char *name, int64_t wait_ms, lk_hold **ret_hold);

static lk_status
lock(lk_client *client, const char *name, int64_t wait_ms, lk_hold **ret_hold)
{
    lk_lock *lock = NULL;
    lk_status status;

    assert_status(lk_lock_new(&lock, client, name, NULL), LK_OK);
    status = lk_lock_acquire(lock, wait_ms, NULL, ret_hold);
    lk_lock_free(lock);
    return status;
}

static lk_status fairlock(lk_client *client, const char *name, int64_t wait_ms,
                          lk_hold **ret_hold)
{
    lk_fairlock *lock = NULL;
    lk_status status;

    assert_status(lk_fairlock_new(&lock, client, name, NULL), LK_OK);
    status = lk_fairlock_acquire(lock, wait_ms, NULL, ret_hold);
    lk_fairlock_free(lock);
    return status;
}

static lk_status
reads(lk_client *client, const char *name, int64_t wait_ms, lk_hold **ret_hold)
{
    lk_rwlock *lock = NULL;
    lk_status status;

    assert_status(lk_rwlock_new(&lock, client, name, NULL), LK_OK);
    status = lk_rwlock_acquire_read(lock, wait_ms, NULL, ret_hold);
    lk_rwlock_free(lock);
    return status;
}

static lk_status
writes(lk_client *client, const char *name, int64_t wait_ms, lk_hold **ret_hold)
{
    lk_rwlock *lock = NULL;
    lk_status status;

    assert_status(lk_rwlock_new(&lock, client, name, NULL), LK_OK);
    status = lk_rwlock_acquire_write(lock, wait_ms, NULL, ret_hold);
    lk_rwlock_free(lock);
    return status;
}

static lk_status
permit(lk_client *client, const char *name, int64_t wait_ms, lk_hold **ret_hold)
{
    const lk_semaphore_options options = {LK_SEMAPHORE_OPTIONS_INIT,
                                          .permits = 1};
    lk_semaphore *semaphore = NULL;
    lk_status status;

    assert_status(lk_semaphore_new(&semaphore, client, name, &options), LK_OK);
    status = lk_semaphore_acquire(semaphore, 1, wait_ms, NULL, ret_hold);
    lk_semaphore_free(semaphore);
    return status;
}

static lk_status siglock(lk_client *client, const char *name, int64_t wait_ms,
                         lk_hold **ret_hold)
{
    lk_siglock *lock = NULL;
    lk_status status;

    assert_status(lk_siglock_new(&lock, client, name, NULL), LK_OK);
    status = lk_siglock_acquire(lock, wait_ms, NULL, ret_hold);
    lk_siglock_free(lock);
    return status;
}

/* ---- each kind ------------------------------------------------------------------ */

/* The server goes back to when the first client held. */
static void assert_taken_next(fixture *f, take *first, take *next)
{
    lk_hold *hold = NULL;

    assert_status(first(f->clients[0], "n", SOON_MS, &hold), LK_OK);
    freeReplyObject(server_command(f->server, "SAVE"));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_true(server_restart(f->server));
    assert_status(next(f->clients[1], "n", (int64_t)wait_limit_ms(SOON_MS),
                       &hold),
                  LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

TEST(a_lock_is_free)
{
    assert_taken_next(f, lock, lock);
}

TEST(a_fair_lock_is_free)
{
    assert_taken_next(f, fairlock, fairlock);
}

TEST(a_reader_is_gone)
{
    assert_taken_next(f, reads, writes);
}

TEST(a_writer_is_gone)
{
    assert_taken_next(f, writes, reads);
}

TEST(a_permit_is_free)
{
    assert_taken_next(f, permit, permit);
}

TEST(a_siglock_is_free)
{
    assert_taken_next(f, siglock, siglock);
}

/* ---- which of them --------------------------------------------------------------- */

static void hold_all(lk_client *client, lk_hold **holds, int count)
{
    char name[16];

    for (int i = 0; i < count; i++) {
        (void)snprintf(name, sizeof(name), "n%d", i);
        assert_status(lock(client, name, (int64_t)wait_limit_ms(SOON_MS),
                           &holds[i]),
                      LK_OK);
    }
}

static void release_all(lk_hold **holds, int count)
{
    for (int i = 0; i < count; i++)
        assert_status(lk_hold_release(holds[i]), LK_OK);
}

/* The server goes back to what was saved, and the first client has said again what
   it says again. */
static void go_back(fixture *f)
{
    lk_hold *hold = NULL;

    assert_true(server_restart(f->server));
    assert_status(lock(f->clients[0], "other", (int64_t)wait_limit_ms(SOON_MS),
                       &hold),
                  LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* Nobody has a handle on one of them, and others were released later. */
TEST(all_names_are_free)
{
    lk_hold *holds[MANY];

    hold_all(f->clients[0], holds, FEW);
    freeReplyObject(server_command(f->server, "SAVE"));
    release_all(holds, FEW);
    assert_true(server_restart(f->server));
    hold_all(f->clients[1], holds, FEW);
    release_all(holds, FEW);
}

TEST(no_more_are_released_again_than_are_kept)
{
    lk_hold *holds[MANY];

    hold_all(f->clients[0], holds, MANY);
    freeReplyObject(server_command(f->server, "SAVE"));
    release_all(holds, MANY);
    go_back(f);
    assert_int_equal(server_integer(f->server, "EXISTS n%d", MANY - 1), 0);
    for (int i = 0; i < MANY - LK__CLOSED; i++)
        assert_int_equal(server_integer(f->server, "EXISTS n%d", i), 1);
}

TEST(what_was_released_long_before_the_last_is_not_released_again)
{
    lk_hold *holds[MANY];

    hold_all(f->clients[0], holds, 2);
    freeReplyObject(server_command(f->server, "SAVE"));
    release_all(holds, 1);
    locking_pass_time(LK__CLOSED_MS + 1);
    release_all(holds + 1, 1);
    go_back(f);
    assert_int_equal(server_integer(f->server, "EXISTS n0"), 1);
    assert_int_equal(server_integer(f->server, "EXISTS n1"), 0);
}

/* What a release ends that is sent once more is its own hold alone. */
TEST(the_next_hold_stays)
{
    lk_hold *hold = NULL;

    assert_status(lock(f->clients[0], "n", 0, &hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lock(f->clients[1], "n", 0, &hold), LK_OK);
    freeReplyObject(server_command(f->server, "SAVE"));
    go_back(f);
    assert_int_equal(server_integer(f->server, "EXISTS n"), 1);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}
