/* SPDX-License-Identifier: MIT */

/* Calls that are wrong are refused, and say why. */

#include <latchkey/latchkey.h>

#include <string.h>

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

static void a_lock_that_is_null_is_refused(NO_STATE)
{
    lk_hold *hold = NULL;
    lk_info *info = NULL;
    bool locked;

    assert_words(lk_lock_acquire(NULL, 0, NULL, &hold), LK_EINVAL, "NULL");
    assert_words(lk_lock_force_release(NULL), LK_EINVAL, "NULL");
    assert_words(lk_lock_is_locked(NULL, &locked), LK_EINVAL, "NULL");
    assert_words(lk_lock_info(NULL, &info), LK_EINVAL, "NULL");
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

    assert_words(lk_lock_acquire(lock, -2, NULL, &none), LK_EINVAL, "wait_ms");
    assert_words(lk_lock_acquire(lock, INT64_MIN, NULL, &none), LK_EINVAL,
                 "wait_ms");
    assert_words(lk_client_wait_ready(client, -2), LK_EINVAL, "wait_ms");
    assert_words(lk_client_shutdown(client, -2), LK_EINVAL, "wait_ms");
    assert_status(lk_client_wait_ready(client, 0), LK_OK);
}

static void a_time_out_of_all_bounds_is_refused(void **state)
{
    lk_lock *lock = a_lock(*state);
    lk_client *client = ((locking *)*state)->clients[0];
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = UINT64_MAX};
    const lk_lock_options lock_options = {LK_LOCK_OPTIONS_INIT,
                                          .lease_ms = UINT64_MAX};
    lk_lock *no_lock = NULL;
    lk_hold *none = NULL;
    lk_hold *hold = locking_hold(lock);

    assert_words(lk_lock_acquire(lock, INT64_MAX, NULL, &none), LK_EINVAL,
                 "wait_ms");
    assert_words(lk_lock_acquire(lock, 0, &options, &none), LK_EINVAL, "lease");
    assert_words(lk_lock_new(&no_lock, client, "n", &lock_options), LK_EINVAL,
                 "lease");
    assert_words(lk_hold_extend(hold, 0), LK_EINVAL, "lease");
    assert_words(lk_hold_extend(hold, UINT64_MAX), LK_EINVAL, "lease");
    assert_words(lk_hold_on_lost(hold, UINT64_MAX, NULL, NULL), LK_EINVAL,
                 "notice_ms");
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* ---- names ---- */

static void a_bad_name_is_refused(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    static const char *const names[] = {"",    "{",  "}",      "a{b",
                                        "a}b", "{}", "{}a{b}", "}{"};
    lk_lock *lock = NULL;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_words(lk_lock_new(&lock, client, names[i], NULL), LK_EINVAL,
                     "name");
    assert_words(lk_lock_new(&lock, client, NULL, NULL), LK_EINVAL, "name");
    assert_null(lock);
}

/* Else a lock's owner would be written into another's record or queue. */
static void no_primitive_takes_the_name_of_a_key_of_ours(void **state)
{
    static const char name[] = "latchkey:{n}:q";
    static const char word[] = "\"latchkey:\"";
    lk_client *client = locking_open(*state, NULL);
    union {
        lk_lock *lock;
        lk_fairlock *fairlock;
        lk_rwlock *rwlock;
        lk_semaphore *semaphore;
        lk_plain_semaphore *plain;
        lk_latch *latch;
        lk_leader *leader;
        lk_cell *cell;
        lk_flight *flight;
        lk_stripes *stripes;
        lk_siglock *siglock;
        lk_redlock *redlock;
    } h;

    assert_words(lk_lock_new(&h.lock, client, name, NULL), LK_EINVAL, word);
    assert_words(lk_fairlock_new(&h.fairlock, client, name, NULL), LK_EINVAL,
                 word);
    assert_words(lk_rwlock_new(&h.rwlock, client, name, NULL), LK_EINVAL, word);
    assert_words(lk_semaphore_new(&h.semaphore, client, name, NULL), LK_EINVAL,
                 word);
    assert_words(lk_plain_semaphore_new(&h.plain, client, name), LK_EINVAL,
                 word);
    assert_words(lk_latch_new(&h.latch, client, name, NULL), LK_EINVAL, word);
    assert_words(lk_leader_new(&h.leader, client, name, NULL), LK_EINVAL, word);
    assert_words(lk_cell_new(&h.cell, client, name, NULL), LK_EINVAL, word);
    assert_words(lk_flight_new(&h.flight, client, name, NULL), LK_EINVAL, word);
    assert_words(lk_stripes_new(&h.stripes, client, name, NULL), LK_EINVAL,
                 word);
    assert_words(lk_siglock_new(&h.siglock, client, name, NULL), LK_EINVAL,
                 word);
    assert_words(lk_redlock_new(&h.redlock, &client, 1, name, NULL), LK_EINVAL,
                 word);
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

static void a_field_of_a_later_release_is_refused_unless_zero(void **state)
{
    lk_lock *lock = a_lock(*state);
    lk_client *client = ((locking *)*state)->clients[0];
    struct newer_acquire_options options = {.known = {.size = sizeof(options)},
                                            .unknown = 1};
    struct newer_lock_options lock_options = {.known = {.size = sizeof(
                                                            lock_options)},
                                              .unknown = 1};
    lk_lock *other = NULL;
    lk_hold *hold = NULL;

    assert_words(lk_lock_acquire(lock, 0, &options.known, &hold), LK_ENOTSUP,
                 "release");
    options.unknown = 0;
    assert_status(lk_lock_acquire(lock, 0, &options.known, &hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_words(lk_lock_new(&other, client, "n", &lock_options.known),
                 LK_ENOTSUP, "release");
    lock_options.unknown = 0;
    assert_status(lk_lock_new(&other, client, "n", &lock_options.known), LK_OK);
    lk_lock_free(other);
}

static void what_another_client_made_is_refused(void **state)
{
    locking *f = *state;
    lk_lock *lock = a_lock(f);
    lk_client *other = locking_open(f, NULL);
    lk_acquire_options by_owner = {LK_ACQUIRE_OPTIONS_INIT};
    lk_acquire_options by_cancel = {LK_ACQUIRE_OPTIONS_INIT};
    lk_hold *none = NULL;

    assert_status(lk_owner_new(&by_owner.owner, other), LK_OK);
    assert_status(lk_cancel_new(&by_cancel.cancel, other), LK_OK);
    assert_words(lk_lock_acquire(lock, 0, &by_owner, &none), LK_EINVAL,
                 "owner");
    assert_words(lk_lock_acquire(lock, 0, &by_cancel, &none), LK_EINVAL,
                 "cancel");
    lk_owner_free(by_owner.owner);
    lk_cancel_free(by_cancel.cancel);
}

/* A call that is refused has neither asked nor changed anything. */
static void a_refused_call_sends_nothing(void **state)
{
    locking *f = *state;
    lk_lock *lock = a_lock(f);
    lk_client *client = f->clients[0];
    uint64_t commands = locking_stats(client).commands;
    lk_acquire_options options = {.size = 0};
    lk_hold *none = NULL;

    assert_status(lk_lock_acquire(lock, -2, NULL, &none), LK_EINVAL);
    assert_status(lk_lock_acquire(lock, 0, &options, &none), LK_EINVAL);
    assert_status(lk_lock_acquire(lock, 0, NULL, NULL), LK_EINVAL);
    assert_int_equal(locking_stats(client).commands, commands);
    assert_int_equal(locking_stats(client).acquires, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCKING_TEST(a_client_that_is_null_is_refused),
        LOCKING_TEST(a_lock_that_is_null_is_refused),
        LOCKING_TEST(a_hold_that_is_null_is_refused),
        LOCKING_TEST(a_result_needs_a_place),
        LOCKING_TEST(nothing_may_be_freed),
        LOCKING_TEST(a_negative_wait_is_refused),
        LOCKING_TEST(a_time_out_of_all_bounds_is_refused),
        LOCKING_TEST(a_bad_name_is_refused),
        LOCKING_TEST(no_primitive_takes_the_name_of_a_key_of_ours),
        LOCKING_TEST(options_of_a_bad_size_are_refused),
        LOCKING_TEST(a_field_of_a_later_release_is_refused_unless_zero),
        LOCKING_TEST(what_another_client_made_is_refused),
        LOCKING_TEST(a_refused_call_sends_nothing),
    };

    return cmocka_run_group_tests(tests, locking_start_server,
                                  locking_stop_server);
}
