/* SPDX-License-Identifier: MIT */

/*
 * Calls on the bare counter that are wrong are refused, and say why; what is
 * not a bare counter is not touched; what it leaves on the server ends.
 */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/plain.h"
#include "support/wait.h"

static const uint64_t too_many = (uint64_t)LK_PLAIN_SEMAPHORE_MAX + 1;

/* A status and a word of what lk_last_error() says about it. */
static void assert_words(lk_status actual, lk_status expected, const char *word)
{
    assert_status(actual, expected);
    if (strstr(lk_last_error(), word) == NULL)
        fail_msg("\"%s\" does not tell of \"%s\"", lk_last_error(), word);
}

static void on_done(lk_status status, void *data)
{
    (void)status;
    (void)data;
    fail_msg("a callback was called");
}

static void on_number(lk_status status, int64_t number, void *data)
{
    (void)number;
    on_done(status, data);
}

/* ---- arguments ---------------------------------------------------------------- */

static void a_handle_that_is_null_is_refused(NO_STATE)
{
    int64_t number = 7;

    assert_words(lk_plain_semaphore_try_set(NULL, 1, 0), LK_EINVAL, "NULL");
    assert_words(lk_plain_semaphore_add(NULL, 1), LK_EINVAL, "NULL");
    assert_words(lk_plain_semaphore_drain(NULL, &number), LK_EINVAL, "NULL");
    assert_words(lk_plain_semaphore_delete(NULL), LK_EINVAL, "NULL");
    assert_int_equal(number, 7);
}

static void an_async_call_on_null_is_refused(NO_STATE)
{
    assert_status(lk_plain_semaphore_release_async(NULL, 1, on_done, NULL),
                  LK_EINVAL);
    assert_status(lk_plain_semaphore_try_set_async(NULL, 1, 0, on_done, NULL),
                  LK_EINVAL);
    assert_status(lk_plain_semaphore_add_async(NULL, 1, on_done, NULL),
                  LK_EINVAL);
    assert_status(lk_plain_semaphore_drain_async(NULL, on_number, NULL),
                  LK_EINVAL);
    assert_status(lk_plain_semaphore_delete_async(NULL, on_done, NULL),
                  LK_EINVAL);
}

static void a_result_needs_a_place(void **state)
{
    locking *f = *state;
    lk_plain_semaphore *semaphore = plain_with(f, 3);
    lk_client *client = f->clients[0];
    lk_plain_semaphore *none = NULL;

    assert_words(lk_plain_semaphore_new(NULL, client, "n"), LK_EINVAL, "NULL");
    assert_status(lk_plain_semaphore_new(&none, client, NULL), LK_EINVAL);
    assert_words(lk_plain_semaphore_drain(semaphore, NULL), LK_EINVAL, "NULL");
    assert_words(lk_plain_semaphore_count(semaphore, NULL), LK_EINVAL, "NULL");
    assert_int_equal(plain_value(f), 3);
}

static void an_async_call_needs_a_callback(void **state)
{
    locking *f = *state;
    lk_plain_semaphore *semaphore = plain_with(f, 3);

    assert_words(lk_plain_semaphore_release_async(semaphore, 1, NULL, NULL),
                 LK_EINVAL, "callback");
    assert_words(lk_plain_semaphore_try_set_async(semaphore, 1, 0, NULL, NULL),
                 LK_EINVAL, "callback");
    assert_words(lk_plain_semaphore_add_async(semaphore, 1, NULL, NULL),
                 LK_EINVAL, "callback");
    assert_words(lk_plain_semaphore_drain_async(semaphore, NULL, NULL),
                 LK_EINVAL, "callback");
    assert_words(lk_plain_semaphore_delete_async(semaphore, NULL, NULL),
                 LK_EINVAL, "callback");
    assert_int_equal(plain_value(f), 3);
}

/* Redisson does nothing then, and says that it did it. */
static void a_count_of_none_is_refused(void **state)
{
    locking *f = *state;
    lk_plain_semaphore *semaphore = plain_with(f, 3);

    assert_words(lk_plain_semaphore_acquire(semaphore, 0, 0, NULL), LK_EINVAL,
                 "count");
    assert_words(lk_plain_semaphore_release(semaphore, 0), LK_EINVAL, "count");
    assert_status(lk_plain_semaphore_acquire_async(semaphore, 0, 0, NULL,
                                                   on_done, NULL),
                  LK_EINVAL);
    assert_status(lk_plain_semaphore_release_async(semaphore, 0, on_done, NULL),
                  LK_EINVAL);
    assert_int_equal(plain_value(f), 3);
}

static void a_number_out_of_the_range_is_refused(void **state)
{
    locking *f = *state;
    lk_plain_semaphore *semaphore = plain_with(f, 3);
    const int64_t most = LK_PLAIN_SEMAPHORE_MAX;

    assert_words(lk_plain_semaphore_acquire(semaphore, too_many, 0, NULL),
                 LK_ERANGE, "permits");
    assert_status(lk_plain_semaphore_release(semaphore, too_many), LK_ERANGE);
    assert_status(lk_plain_semaphore_release(semaphore, UINT64_MAX), LK_ERANGE);
    assert_status(lk_plain_semaphore_try_set(semaphore, too_many, 0),
                  LK_ERANGE);
    assert_status(lk_plain_semaphore_add(semaphore, most + 1), LK_ERANGE);
    assert_status(lk_plain_semaphore_add(semaphore, -most - 1), LK_ERANGE);
    assert_status(lk_plain_semaphore_add(semaphore, INT64_MIN), LK_ERANGE);
    assert_status(lk_plain_semaphore_add_async(semaphore, INT64_MAX, on_done,
                                               NULL),
                  LK_ERANGE);
    assert_int_equal(plain_value(f), 3);
}

/* Only the server knows what is too many together. */
static void an_overflow_is_refused(void **state)
{
    locking *f = *state;
    lk_plain_semaphore *semaphore = plain_with(f, 3);
    const int64_t most = LK_PLAIN_SEMAPHORE_MAX;

    assert_status(lk_plain_semaphore_release(semaphore, (uint64_t)most - 2),
                  LK_ERANGE);
    assert_status(lk_plain_semaphore_add(semaphore, most), LK_ERANGE);
    assert_int_equal(plain_value(f), 3);
    assert_status(lk_plain_semaphore_add(semaphore, -most), LK_OK);
    assert_status(lk_plain_semaphore_add(semaphore, -most), LK_ERANGE);
    assert_true(plain_value(f) == 3 - most);
}

static void a_bad_time_is_refused(void **state)
{
    locking *f = *state;
    lk_plain_semaphore *semaphore = locking_new(f, lk_plain_semaphore);

    assert_words(lk_plain_semaphore_try_set(semaphore, 1, UINT64_MAX),
                 LK_EINVAL, "lease");
    assert_false(locking_exists(f, "n"));
    assert_status(lk_plain_semaphore_try_set(semaphore, 1, 0), LK_OK);
    assert_words(lk_plain_semaphore_acquire(semaphore, 1, -2, NULL), LK_EINVAL,
                 "wait_ms");
    assert_int_equal(plain_value(f), 1);
}

/* ---- what is not a bare counter ------------------------------------------------- */

/* Every call that asks the server is refused. */
static void
assert_untouched(locking *f, lk_plain_semaphore *semaphore, lk_status expected)
{
    int64_t number = 7;
    lk_info *info = NULL;

    assert_status(lk_plain_semaphore_acquire(semaphore, 1, 0, NULL), expected);
    assert_status(lk_plain_semaphore_acquire(semaphore, 1, LK_FOREVER, NULL),
                  expected);
    assert_status(lk_plain_semaphore_release(semaphore, 1), expected);
    assert_status(lk_plain_semaphore_try_set(semaphore, 1, 0), expected);
    assert_status(lk_plain_semaphore_add(semaphore, 1), expected);
    assert_status(lk_plain_semaphore_drain(semaphore, &number), expected);
    assert_status(lk_plain_semaphore_count(semaphore, &number), expected);
    assert_status(lk_plain_semaphore_delete(semaphore), expected);
    assert_status(lk_plain_semaphore_info(semaphore, &info), expected);
    assert_int_equal(number, 7);
    assert_null(info);
    assert_int_equal(server_integer(f->server, "EXISTS n"), 1);
}

static void a_key_of_another_type_is_not_touched(void **state)
{
    locking *f = *state;
    lk_plain_semaphore *semaphore = locking_new(f, lk_plain_semaphore);

    assert_int_equal(server_integer(f->server, "HSET n a 1"), 1);
    assert_untouched(f, semaphore, LK_ETYPE);
    assert_int_equal(server_integer(f->server, "DEL n"), 1);
    free(server_string(f->server, "SET n many"));
    assert_untouched(f, semaphore, LK_ETYPE);
}

/* As Redisson's PermitExpirableSemaphore writes it. */
static void leased_permits_are_not_touched(void **state)
{
    locking *f = *state;
    lk_plain_semaphore *semaphore = locking_new(f, lk_plain_semaphore);

    free(server_string(f->server, "SET n 5"));
    assert_int_equal(server_integer(f->server, "ZADD {n}:timeout 1 %b",
                                    "0123456789abcdef", (size_t)16),
                     1);
    assert_untouched(f, semaphore, LK_ETYPE);
    assert_int_equal(plain_value(f), 5);
    assert_int_equal(server_integer(f->server, "DEL {n}:timeout"), 1);
    assert_status(lk_plain_semaphore_acquire(semaphore, 1, 0, NULL), LK_OK);
}

static void another_layout_is_not_touched(void **state)
{
    locking *f = *state;
    lk_plain_semaphore *semaphore = plain_with(f, 3);

    free(server_string(f->server, "SET latchkey:{n}:r 3c"));
    assert_untouched(f, semaphore, LK_EMISMATCH);
    assert_int_equal(plain_value(f), 3);
}

/* ---- what is left behind ---------------------------------------------------------- */

static long long memo_length(locking *f)
{
    return server_integer(f->server, "HLEN latchkey:{n}:m");
}

/* Whatever was changed: the memory of it does not grow with the changes. */
static void few_changes_are_remembered(void **state)
{
    locking *f = *state;
    lk_plain_semaphore *semaphore = plain_with(f, 3);

    for (int i = 0; i < 200; i++) {
        plain_take(semaphore, 1, 0);
        plain_give(semaphore, 1);
    }
    /* The last change, what an answer of NOSCRIPT has had sent twice, and when
       to look through it next. */
    assert_in_range(memo_length(f), 1, 6);
    assert_in_range(locking_pttl(f, "latchkey:{n}:m"), 600000, 660000);
}

static void who_only_takes_or_only_gives_is_forgotten_as_well(void **state)
{
    locking *f = *state;
    lk_plain_semaphore *one = plain_with(f, 3);
    lk_plain_semaphore *other = locking_new(f, lk_plain_semaphore);

    for (int i = 0; i < 30; i++) {
        plain_take(one, 1, 0);
        plain_give(other, 1);
    }
    assert_in_range(memo_length(f), 1, 8);
}

static void whoever_waited_the_memory_stays_small(void **state)
{
    locking *f = *state;
    lk_plain_semaphore *semaphore = plain_with(f, 1);
    lk_plain_semaphore *other = locking_new(f, lk_plain_semaphore);

    for (int i = 0; i < 20; i++) {
        taker *t;

        plain_take(semaphore, 1, LK_FOREVER);
        t = plain_queue_up(f, other, 1, 1);
        plain_give(semaphore, 1);
        assert_status(taker_join(t), LK_OK);
        plain_give(other, 1);
    }
    assert_in_range(memo_length(f), 1, 12);
}

static void nothing_of_ours_is_left_for_ever(void **state)
{
    static const char *const keys[] = {"latchkey:{n}:r", "latchkey:{n}:m",
                                       "latchkey:{n}:q"};
    locking *f = *state;
    lk_plain_semaphore *semaphore = plain_with(f, 1);
    int64_t taken;

    assert_status(lk_plain_semaphore_acquire(semaphore, 2, wait_scaled_ms(300),
                                             NULL),
                  LK_ETIMEDOUT);
    plain_take(semaphore, 1, 0);
    plain_give(semaphore, 1);
    assert_status(lk_plain_semaphore_drain(semaphore, &taken), LK_OK);
    assert_status(lk_plain_semaphore_delete(semaphore), LK_OK);
    locking_wait_queued(f, "n", 0);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        assert_true(locking_pttl(f, keys[i]) != -1);
    assert_int_equal(server_integer(f->server, "EXISTS n"), 0);
}

static void a_tag_in_the_name_names_the_keys(void **state)
{
    locking *f = *state;
    lk_plain_semaphore *semaphore =
        locking_named(f, lk_plain_semaphore, locking_open(f, NULL), "a{b}c");

    assert_status(lk_plain_semaphore_try_set(semaphore, 1, 0), LK_OK);
    plain_take(semaphore, 1, 0);
    assert_true(locking_exists(f, "a{b}c"));
    assert_true(locking_exists(f, "latchkey::a{b}c:r"));
    assert_true(locking_exists(f, "latchkey::a{b}c:m"));
}

/* ---- who waits --------------------------------------------------------------------- */

static void info_tells_who_waits(void **state)
{
    locking *f = *state;
    lk_plain_semaphore *semaphore = plain_with(f, 1);
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .reason = "night run"};
    taker *t;
    lk_info *info = NULL;

    assert_status(lk_plain_semaphore_info(semaphore, &info), LK_OK);
    assert_int_equal(info->waiter_count, 0);
    lk_info_free(info);

    t = plain_begin(f, locking_new(f, lk_plain_semaphore), 3, LK_FOREVER,
                    &options);
    locking_wait_queued(f, "n", 1);
    assert_status(lk_plain_semaphore_info(semaphore, &info), LK_OK);
    assert_int_equal(info->holder_count, 0);
    assert_int_equal(info->waiter_count, 1);
    assert_int_equal(info->listed_count, 1);
    assert_string_equal(info->waiters[0]->reason, "night run");
    assert_int_equal(info->waiters[0]->count, 3);
    assert_int_equal(info->waiters[0]->pid, (uint64_t)getpid());
    lk_info_free(info);
    plain_give(semaphore, 2);
    assert_status(taker_join(t), LK_OK);
}

int test_plain_misuse(void)
{
    const struct CMUnitTest tests[] = {
        LOCKING_TEST(a_handle_that_is_null_is_refused),
        LOCKING_TEST(an_async_call_on_null_is_refused),
        LOCKING_TEST(a_result_needs_a_place),
        LOCKING_TEST(an_async_call_needs_a_callback),
        LOCKING_TEST(a_count_of_none_is_refused),
        LOCKING_TEST(a_number_out_of_the_range_is_refused),
        LOCKING_TEST(an_overflow_is_refused),
        LOCKING_TEST(a_bad_time_is_refused),
        LOCKING_TEST(a_key_of_another_type_is_not_touched),
        LOCKING_TEST(leased_permits_are_not_touched),
        LOCKING_TEST(another_layout_is_not_touched),
        LOCKING_TEST(few_changes_are_remembered),
        LOCKING_TEST(who_only_takes_or_only_gives_is_forgotten_as_well),
        LOCKING_TEST(whoever_waited_the_memory_stays_small),
        LOCKING_TEST(nothing_of_ours_is_left_for_ever),
        LOCKING_TEST(a_tag_in_the_name_names_the_keys),
        LOCKING_TEST(info_tells_who_waits),
    };

    return cmocka_run_group_tests_name("plain_misuse", tests,
                                       locking_start_server,
                                       locking_stop_server);
}
