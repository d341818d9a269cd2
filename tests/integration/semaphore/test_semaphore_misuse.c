/* SPDX-License-Identifier: MIT */

/* Calls on a semaphore that are wrong are refused, and say why; what is not a
   leased semaphore is not touched. */

#include <latchkey/plain_semaphore.h>

#include <stdlib.h>

#include "support/call.h"
#include "support/check.h"
#include "support/semaphores.h"
#include "support/wait.h"

static const uint64_t too_many = (uint64_t)LK_SEMAPHORE_MAX + 1;

static void on_done(lk_status status, void *data)
{
    (void)status;
    (void)data;
    fail_msg("a callback was called");
}

static void on_acquire(lk_status status, lk_hold *hold, void *data)
{
    (void)hold;
    on_done(status, data);
}

/* ---- arguments ---------------------------------------------------------------- */

LOCKS_TEST(what_is_missing_is_refused)
{
    lk_semaphore *semaphore = sem_new(f, 1);
    uint64_t permits;
    int64_t free;

    assert_einval(lk_semaphore_resize(NULL, 1), "NULL");
    assert_einval(lk_semaphore_resize_async(NULL, 1, on_done, NULL), "NULL");
    assert_einval(lk_semaphore_resize_async(semaphore, 1, NULL, NULL),
                  "callback");
    assert_einval(lk_semaphore_count(semaphore, NULL, &free), "NULL");
    assert_einval(lk_semaphore_count(semaphore, &permits, NULL), "NULL");
}

LOCKS_TEST(a_count_that_cannot_be_is_refused)
{
    lk_semaphore *semaphore = sem_new(f, 1);
    lk_hold *none = NULL;

    assert_einval(lk_semaphore_acquire(semaphore, 0, 0, NULL, &none), "0");
    assert_says(lk_semaphore_acquire(semaphore, LK_SEMAPHORE_MAX_COUNT + 1, 0,
                                     NULL, &none),
                LK_ERANGE, "hold");
    assert_says(lk_semaphore_acquire(semaphore, UINT64_MAX, 0, NULL, &none),
                LK_ERANGE, "hold");
    assert_einval(lk_semaphore_acquire_async(semaphore, 0, 0, NULL, on_acquire,
                                             NULL),
                  "0");
    assert_einval(lk_semaphore_acquire(semaphore, 1, -2, NULL, &none),
                  "wait_ms");
    assert_says(lk_semaphore_resize(semaphore, too_many), LK_ERANGE, "permits");
    assert_says(lk_semaphore_resize(semaphore, UINT64_MAX), LK_ERANGE,
                "permits");
    assert_null(none);
    assert_int_equal(server_integer(f->server, "EXISTS n"), 0);
}

LOCKS_TEST(the_largest_number_works)
{
    lk_semaphore *semaphore = sem_new(f, LK_SEMAPHORE_MAX);
    lk_hold *hold = sem_hold(semaphore, 7);

    sem_assert_books(f, LK_SEMAPHORE_MAX, LK_SEMAPHORE_MAX - 7);
    assert_status(lk_hold_release(hold), LK_OK);
    sem_assert_clean(f, LK_SEMAPHORE_MAX);
}

LOCKS_TEST(options_that_are_wrong_are_refused)
{
    lk_client *client = locking_open(f, NULL);
    lk_semaphore *none = NULL;
    lk_semaphore_options options = {LK_SEMAPHORE_OPTIONS_INIT,
                                    .permits = too_many};

    assert_says(lk_semaphore_new(&none, client, "n", &options), LK_ERANGE,
                "permits");
    options = (lk_semaphore_options){LK_SEMAPHORE_OPTIONS_INIT, .resize = 1};
    assert_einval(lk_semaphore_new(&none, client, "n", &options), "resize");
    options = (lk_semaphore_options){LK_SEMAPHORE_OPTIONS_INIT, .permits = 1,
                                     .resize = 2};
    assert_einval(lk_semaphore_new(&none, client, "n", &options), "resize");
    assert_null(none);
}

/* Redisson's key of leases is the one of `x`. */
LOCKS_TEST(a_name_that_is_a_tag_has_no_permits)
{
    lk_client *client = locking_open(f, NULL);
    const lk_semaphore_options one = {LK_SEMAPHORE_OPTIONS_INIT, .permits = 1};
    lk_semaphore *tag = NULL, *tagged = NULL;
    lk_hold *hold = NULL;

    assert_status(lk_semaphore_new(&tag, client, "{x}", &one), LK_OK);
    assert_einval(lk_semaphore_acquire(tag, 1, 0, NULL, &hold), "tag");
    assert_null(hold);
    assert_einval(lk_semaphore_acquire_async(tag, 1, 0, NULL, on_acquire, NULL),
                  "tag");
    assert_status(lk_semaphore_new(&tagged, client, "{x}y", &one), LK_OK);
    assert_status(lk_semaphore_acquire(tagged, 1, 0, NULL, &hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_semaphore_free(tagged);
    lk_semaphore_free(tag);
}

/* ---- wrong keys ---------------------------------------------------------------- */

static void assert_all_refuse(lk_semaphore *semaphore, const char *word)
{
    lk_hold *none = NULL;
    lk_info *info = NULL;
    uint64_t permits;
    int64_t free;

    assert_says(lk_semaphore_acquire(semaphore, 1, 0, NULL, &none), LK_ETYPE,
                word);
    assert_says(lk_semaphore_acquire(semaphore, 1, LK_FOREVER, NULL, &none),
                LK_ETYPE, word);
    assert_says(lk_semaphore_resize(semaphore, 5), LK_ETYPE, word);
    assert_says(lk_semaphore_count(semaphore, &permits, &free), LK_ETYPE, word);
    assert_says(lk_semaphore_force_release(semaphore, NULL), LK_ETYPE, word);
    assert_says(lk_semaphore_info(semaphore, &info), LK_ETYPE, word);
    assert_null(none);
    assert_null(info);
}

LOCKS_TEST(a_name_that_is_something_else_is_refused)
{
    lk_semaphore *semaphore = sem_new(f, 1);
    lk_lock *lock = locking_lock(f, f->clients[0], "n");
    lk_hold *hold = locking_hold(lock);

    assert_all_refuse(semaphore, "semaphore");
    assert_status(lk_hold_release(hold), LK_OK);
    free(server_string(f->server, "SET n word"));
    assert_all_refuse(semaphore, "counter");
}

/* Its permits would be given twice. */
LOCKS_TEST(a_name_on_record_as_a_plain_semaphore_is_refused)
{
    lk_semaphore *semaphore = sem_new(f, 3);

    free(server_string(f->server, "SET n 2"));
    free(server_string(f->server, "SET latchkey:{n}:r %s",
                       "2c 0 0 0 - - - 0 - - - 0 0 - - "));
    assert_all_refuse(semaphore, "plain");
    assert_int_equal(server_integer(f->server, "INCRBY n 0"), 2);
}

LOCKS_TEST(a_name_whose_permits_are_leased_is_no_plain_semaphore)
{
    lk_semaphore *semaphore = sem_new(f, 3);
    lk_hold *hold = sem_hold(semaphore, 1);
    lk_plain_semaphore *plain = NULL;

    assert_status(lk_plain_semaphore_new(&plain, f->clients[0], "n"), LK_OK);
    assert_status(lk_plain_semaphore_acquire(plain, 1, 0, NULL), LK_ETYPE);
    assert_status(lk_plain_semaphore_release(plain, 1), LK_ETYPE);
    assert_status(lk_hold_release(hold), LK_OK);
    sem_assert_clean(f, 3);
    lk_plain_semaphore_free(plain);
}

int test_semaphore_misuse(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
