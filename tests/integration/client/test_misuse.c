/* SPDX-License-Identifier: MIT */

/* Calls that are wrong are refused, and say why. */

#include <latchkey/latchkey.h>

#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/locking.h"

/* A status and a word of what lk_last_error() says about it. */
static void assert_words(lk_status actual, lk_status expected, const char *word)
{
    assert_status(actual, expected);
    if (strstr(lk_last_error(), word) == NULL)
        fail_msg("\"%s\" does not tell of \"%s\"", lk_last_error(), word);
}

static lk_lock *a_lock(locking *f)
{
    return locking_lock(f, locking_open(f, NULL), "n");
}

/* ---- NULL ---- */

static void a_client_that_is_null_is_refused(NO_STATE)
{
    lk_client_stats stats = {.size = sizeof(stats)};
    lk_lock *lock = NULL;
    lk_owner *owner = NULL;
    lk_cancel *cancel = NULL;

    assert_words(lk_client_open(NULL, "redis://", NULL), LK_EINVAL,
                 "ret_client");
    assert_words(lk_client_wait_ready(NULL, 0), LK_EINVAL, "NULL");
    assert_words(lk_client_shutdown(NULL, 0), LK_EINVAL, "NULL");
    assert_words(lk_client_stats_get(NULL, &stats), LK_EINVAL, "NULL");
    assert_words(lk_client_dispatch(NULL), LK_EINVAL, "NULL");
    assert_words(lk_owner_new(&owner, NULL), LK_EINVAL, "NULL");
    assert_words(lk_cancel_new(&cancel, NULL), LK_EINVAL, "NULL");
    assert_words(lk_lock_new(&lock, NULL, "n", NULL), LK_EINVAL, "NULL");
    assert_int_equal(lk_client_fd(NULL), -1);
    assert_string_equal(lk_client_id(NULL), "");
}

static void a_hold_that_is_null_is_refused(NO_STATE)
{
    assert_words(lk_hold_check(NULL), LK_EINVAL, "NULL");
    assert_words(lk_hold_extend(NULL, 1), LK_EINVAL, "NULL");
    assert_words(lk_hold_on_lost(NULL, 0, NULL, NULL), LK_EINVAL, "NULL");
    assert_words(lk_hold_release(NULL), LK_EINVAL, "NULL");
    assert_int_equal(lk_hold_fence(NULL), 0);
    assert_int_equal(lk_hold_remaining_ms(NULL), 0);
    assert_int_equal(lk_hold_loss(NULL), LK_LOSS_NONE);
    assert_int_equal(lk_hold_lost_for_ms(NULL), 0);
    assert_int_equal(lk_hold_fd(NULL), -1);
}

static void a_result_needs_a_place(void **state)
{
    lk_lock *lock = a_lock(*state);
    lk_client *client = ((locking *)*state)->clients[0];

    assert_words(lk_lock_new(NULL, client, "n", NULL), LK_EINVAL, "NULL");
    assert_words(lk_lock_acquire(lock, 0, NULL, NULL), LK_EINVAL, "result");
    assert_words(lk_lock_is_locked(lock, NULL), LK_EINVAL, "NULL");
    assert_words(lk_lock_info(lock, NULL), LK_EINVAL, "NULL");
    assert_words(lk_owner_new(NULL, client), LK_EINVAL, "NULL");
    assert_words(lk_cancel_new(NULL, client), LK_EINVAL, "NULL");
    assert_words(lk_client_stats_get(client, NULL), LK_EINVAL, "result");
}

static void nothing_may_be_freed(NO_STATE)
{
    lk_client_free(NULL);
    lk_lock_free(NULL);
    lk_owner_free(NULL);
    lk_cancel_free(NULL);
    lk_cancel_fire(NULL);
    lk_info_free(NULL);
}

/* ---- numbers ---- */

static void a_negative_wait_is_refused(void **state)
{
    lk_lock *lock = a_lock(*state);
    lk_client *client = ((locking *)*state)->clients[0];
    lk_hold *none = NULL;
    call c = {0};

    assert_words(lk_lock_acquire(lock, -2, NULL, &none), LK_EINVAL, "wait_ms");
    assert_words(lk_lock_acquire(lock, INT64_MIN, NULL, &none), LK_EINVAL,
                 "wait_ms");
    assert_words(lk_client_wait_ready(client, -2), LK_EINVAL, "wait_ms");
    assert_words(lk_client_shutdown(client, -2), LK_EINVAL, "wait_ms");
    assert_words(lk_client_wait_ready_async(client, -2, call_on_done, &c),
                 LK_EINVAL, "wait_ms");
    assert_words(lk_client_shutdown_async(client, -2, call_on_done, &c),
                 LK_EINVAL, "wait_ms");
    assert_words(lk_client_wait_ready_async(client, 0, NULL, NULL), LK_EINVAL,
                 "callback");
    assert_words(lk_client_shutdown_async(client, 0, NULL, NULL), LK_EINVAL,
                 "callback");
    assert_int_equal(c.ends, 0);
    assert_status(lk_client_wait_ready(client, 0), LK_OK);
}

/* ---- options ---- */

/* A newer release's struct, with a field that this one does not know. */
struct newer_acquire_options {
    lk_acquire_options known;
    uint64_t unknown;
};

struct newer_lock_options {
    lk_lock_options known;
    uint64_t unknown;
};

static void options_of_a_bad_size_are_refused(void **state)
{
    lk_lock *lock = a_lock(*state);
    lk_client *client = ((locking *)*state)->clients[0];
    lk_acquire_options options = {.size = 0};
    lk_lock_options lock_options = {.size = 0};
    lk_client_options client_options = {.size = 0};
    lk_client_stats stats = {.size = 0};
    lk_client *no_client = NULL;
    lk_lock *no_lock = NULL;
    lk_hold *none = NULL;

    assert_words(lk_lock_acquire(lock, 0, &options, &none), LK_EINVAL, "size");
    options.size = offsetof(lk_acquire_options, replicas) - 1;
    assert_words(lk_lock_acquire(lock, 0, &options, &none), LK_EINVAL, "size");
    assert_words(lk_lock_new(&no_lock, client, "n", &lock_options), LK_EINVAL,
                 "size");
    assert_words(lk_client_open(&no_client, "redis://", &client_options),
                 LK_EINVAL, "size");
    assert_words(lk_client_stats_get(client, &stats), LK_EINVAL, "size");
}

int test_misuse(void)
{
    const struct CMUnitTest tests[] = {
        LOCKING_TEST(a_client_that_is_null_is_refused),
        LOCKING_TEST(a_hold_that_is_null_is_refused),
        LOCKING_TEST(a_result_needs_a_place),
        LOCKING_TEST(nothing_may_be_freed),
        LOCKING_TEST(a_negative_wait_is_refused),
        LOCKING_TEST(options_of_a_bad_size_are_refused),
    };

    return cmocka_run_group_tests(tests, locking_start_server,
                                  locking_stop_server);
}
