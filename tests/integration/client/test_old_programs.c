/* SPDX-License-Identifier: MIT */

/*
 * Programs that were built with another release: every public struct with a
 * size, with fields cut off its end and with fields that are not known here.
 */

#include <latchkey/latchkey.h>

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

enum { LEAST = sizeof(size_t) + sizeof(uint64_t), TAIL = 16 };

/* ---- one use of each options struct ---------------------------------------- */

static lk_status use_client(locking *f, const void *options)
{
    lk_client *client = NULL;
    lk_status status = lk_client_open(&client, server_url(f->server), options);

    lk_client_free(client);
    return status;
}

static lk_status use_acquire(locking *f, const void *options)
{
    lk_hold *hold = NULL;
    lk_status status = lk_lock_acquire(f->handles[0], 0, options, &hold);

    if (status == LK_OK)
        assert_status(lk_hold_release(hold), LK_OK);
    return status;
}

/* Makes a handle with the options and frees it. */
#define USE_HANDLE(kind)                                                       \
    static lk_status use_##kind(locking *f, const void *options)               \
    {                                                                          \
        lk_##kind *handle = NULL;                                              \
        lk_status status =                                                     \
            lk_##kind##_new(&handle, f->clients[0], "n", options);             \
                                                                               \
        lk_##kind##_free(handle);                                              \
        return status;                                                         \
    }

USE_HANDLE(lock)
USE_HANDLE(fairlock)
USE_HANDLE(rwlock)
USE_HANDLE(semaphore)
USE_HANDLE(siglock)
USE_HANDLE(stripes)
USE_HANDLE(latch)
USE_HANDLE(leader)
USE_HANDLE(cell)
USE_HANDLE(flight)

static lk_status use_redlock(locking *f, const void *options)
{
    lk_redlock *redlock = NULL;
    lk_status status = lk_redlock_new(&redlock, f->clients, 1, "n", options);

    lk_redlock_free(redlock);
    return status;
}

static lk_status
no_change(const lk_cell_value *value, lk_cell_draft *draft, void *data)
{
    (void)value;
    (void)draft;
    (void)data;
    return LK_OK;
}

static lk_status use_cell_update(locking *f, const void *options)
{
    lk_cell *cell = NULL;
    lk_status status;

    assert_status(lk_cell_new(&cell, f->clients[0], "c", NULL), LK_OK);
    status = lk_cell_update(cell, options, no_change, NULL, NULL);
    lk_cell_free(cell);
    return status;
}

static lk_status use_list(locking *f, const void *options)
{
    lk_listing *listing = NULL;
    lk_status status = lk_list(f->clients[0], 10000, options, &listing);

    lk_listing_free(listing);
    return status;
}

static const struct sized {
    const char *name;
    size_t size;
    lk_status (*use)(locking *f, const void *options);
} all[] = {
    {"client", sizeof(lk_client_options), use_client},
    {"acquire", sizeof(lk_acquire_options), use_acquire},
    {"lock", sizeof(lk_lock_options), use_lock},
    {"fairlock", sizeof(lk_fairlock_options), use_fairlock},
    {"rwlock", sizeof(lk_rwlock_options), use_rwlock},
    {"semaphore", sizeof(lk_semaphore_options), use_semaphore},
    {"siglock", sizeof(lk_siglock_options), use_siglock},
    {"stripes", sizeof(lk_stripes_options), use_stripes},
    {"latch", sizeof(lk_latch_options), use_latch},
    {"leader", sizeof(lk_leader_options), use_leader},
    {"cell", sizeof(lk_cell_options), use_cell},
    {"cell update", sizeof(lk_cell_update_options), use_cell_update},
    {"flight", sizeof(lk_flight_options), use_flight},
    {"redlock", sizeof(lk_redlock_options), use_redlock},
    {"list", sizeof(lk_list_options), use_list},
};

enum { ALL = sizeof(all) / sizeof(all[0]) };

static int setup(void **state)
{
    locking *f;

    if (locking_setup(state) != 0)
        return -1;
    f = *state;
    (void)locking_new(f, lk_lock);
    return 0;
}

#define TEST(name) CHECK_TEST_OF(name, locking *f, setup, locking_teardown)

/* A struct of room bytes that says it has size, all else zero but perhaps its
   last byte. It lies where a read beyond its end is noticed. */
static lk_status use_sized(locking *f, const struct sized *sized, size_t room,
                           size_t size, char last)
{
    char *options = calloc(1, room);
    lk_status status;

    assert_non_null(options);
    options[room - 1] = last;
    memcpy(options, &size, sizeof(size));
    status = sized->use(f, options);
    free(options);
    return status;
}

static void
assert_use(locking *f, size_t i, size_t size, char last, lk_status expected)
{
    lk_status status = use_sized(f, &all[i], size, size, last);

    if (status != expected)
        fail_msg("%s options of %zu bytes: %s", all[i].name, size,
                 lk_last_error());
}

/* ---- options --------------------------------------------------------------- */

TEST(fields_that_an_older_release_lacks_are_defaults)
{
    for (size_t i = 0; i < ALL; i++)
        for (size_t size = LEAST; size <= all[i].size; size += sizeof(void *))
            assert_use(f, i, size, 0, LK_OK);
}

TEST(an_older_program_is_heard)
{
    const lk_lock_options old = {.size = offsetof(lk_lock_options, strategy),
                                 .lease_ms = 5000,
                                 .strategy = 77};
    lk_lock *lock = NULL;
    lk_hold *hold = NULL;

    assert_status(lk_lock_new(&lock, f->clients[0], "old", &old), LK_OK);
    assert_status(lk_lock_acquire(lock, 0, NULL, &hold), LK_OK);
    assert_in_range(lk_hold_remaining_ms(hold), 1, 5000);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_lock_free(lock);
}

TEST(fields_of_a_newer_release_have_to_be_zero)
{
    for (size_t i = 0; i < ALL; i++) {
        assert_use(f, i, all[i].size + TAIL, 0, LK_OK);
        assert_use(f, i, all[i].size + TAIL, 1, LK_ENOTSUP);
    }
}

TEST(what_is_no_size_is_refused)
{
    const size_t bad[] = {0, 1, sizeof(size_t), LEAST - 1, 100001, SIZE_MAX};

    for (size_t i = 0; i < ALL; i++)
        for (size_t j = 0; j < sizeof(bad) / sizeof(bad[0]); j++)
            if (use_sized(f, &all[i], all[i].size, bad[j], 0) != LK_EINVAL)
                fail_msg("%s options of %zu bytes", all[i].name, bad[j]);
}

/* ---- results --------------------------------------------------------------- */

enum { CANARY = 0x5a };

/* Has get fill a struct of that size with more bytes behind it. */
static void check_result(lk_status (*get)(void *from, void *result), void *from,
                         size_t known, size_t size)
{
    unsigned char result[1024];
    size_t written;

    memset(result, CANARY, sizeof(result));
    memcpy(result, &size, sizeof(size));
    assert_status(get(from, result), LK_OK);
    memcpy(&written, result, sizeof(written));
    assert_int_equal(written, size < known ? size : known);
    for (size_t i = written; i < sizeof(result); i++)
        assert_int_equal(result[i], CANARY);
    if (written > sizeof(size_t))
        assert_true(result[written - 1] != CANARY);
}

static lk_status get_stats(void *from, void *result)
{
    return lk_client_stats_get(from, result);
}

static lk_status get_outcome(void *from, void *result)
{
    return lk_redlock_outcome_get(from, 0, result);
}

TEST(the_statistics_fill_what_the_caller_has)
{
    size_t known = sizeof(lk_client_stats);

    for (size_t size = sizeof(size_t); size <= known + TAIL; size += 8)
        check_result(get_stats, f->clients[0], known, size);
}

TEST(an_outcome_fills_what_the_caller_has)
{
    const lk_redlock_options options = {LK_REDLOCK_OPTIONS_INIT,
                                        .node_timeout_ms = 10000};
    size_t known = sizeof(lk_redlock_outcome);
    lk_redlock *redlock = NULL;
    lk_hold *hold = NULL;

    assert_status(lk_redlock_new(&redlock, f->clients, 1, "r", &options),
                  LK_OK);
    assert_status(lk_redlock_acquire(redlock, (int64_t)wait_limit_ms(10000),
                                     NULL, &hold),
                  LK_OK);
    for (size_t size = sizeof(size_t); size <= known + TAIL; size += 4)
        check_result(get_outcome, redlock, known, size);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_redlock_free(redlock);
}

TEST(a_result_without_a_size_is_refused)
{
    lk_client_stats stats = {.size = sizeof(size_t) - 1};

    assert_status(lk_client_stats_get(f->clients[0], &stats), LK_EINVAL);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
