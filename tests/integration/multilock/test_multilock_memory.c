/* SPDX-License-Identifier: MIT */

/*
 * The multilock out of memory: a fixed piece of work, with the n-th allocation
 * failing, for each n until there is none left to fail. What leaks or crashes
 * is seen by the builds with sanitizers and by valgrind.
 */

#include <latchkey/latchkey.h>

#include "support/call.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/multilocking.h"
#include "support/wait.h"

enum { SOON_MS = 5000 };

static int teardown(void **state)
{
    (void)memory_lasts();
    return multilocking_teardown(state);
}

/* What a release is told in doubt for want of memory, is done all the same. */
static lk_status hold_use(lk_hold *hold)
{
    lk_status extended = lk_hold_extend(hold, 60000);
    lk_status released = lk_hold_release(hold);

    if (extended != LK_OK && extended != LK_ENOMEM)
        return extended;
    return released == LK_EINDOUBT ? LK_OK : released;
}

static lk_status do_work(lk_lock **locks, size_t count)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .reason = "test"};
    lk_multilock *set = NULL;
    lk_hold *hold = NULL;
    lk_status status = lk_multilock_new(&set);

    for (size_t i = 0; i < count && status == LK_OK; i++)
        status = lk_multilock_add_lock(set, locks[i]);
    if (status == LK_OK)
        status =
            lk_multilock_acquire(set, wait_scaled_ms(SOON_MS), &options, &hold);
    lk_multilock_free(set);
    return status != LK_OK ? status : hold_use(hold);
}

static void one_allocation_that_fails_is_told_or_made_up_for(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open_calm(f->base, NULL);
    lk_lock *locks[] = {locking_lock(f->base, client, "a"),
                        locking_lock(f->base, client, "b"),
                        locking_lock(f->base, client, "c")};
    int failures = 0;
    int n = 0;

    do {
        lk_status status;

        memory_fails_at(++n);
        status = do_work(locks, 3);
        (void)memory_lasts();
        if (status != LK_OK && status != LK_ENOMEM)
            fail_msg("%d: %s (%s)", n, lk_status_name(status), lk_last_error());
        failures += status != LK_OK;
        multi_assert_free(f, "abc");
    } while (memory_was_short(n));
    assert_in_range(n, 20, MEMORY_MOST - 1);
    assert_true(failures > 5);
}

/* One member goes, and all others with it. */
static lk_status do_lose(multilocking *f, lk_multilock *set)
{
    lk_hold *hold = NULL;
    lk_status status =
        lk_multilock_acquire(set, wait_scaled_ms(SOON_MS), NULL, &hold);

    (void)memory_lasts();
    if (status != LK_OK)
        return status;
    assert_int_equal(server_integer(f->base->server, "DEL b"), 1);
    assert_status(lk_hold_extend(hold, 60000), LK_ELOST);
    multi_assert_free(f, "abc");
    assert_status(lk_hold_release(hold), LK_ELOST);
    return LK_OK;
}

static void a_loss_is_told_or_nothing_was_held(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open_calm(f->base, NULL);
    lk_multilock *set = multi_of(f, client, "abc");
    int n = 0;

    do {
        lk_status status;

        memory_fails_at(++n);
        status = do_lose(f, set);
        if (status != LK_OK && status != LK_ENOMEM)
            fail_msg("%d: %s (%s)", n, lk_status_name(status), lk_last_error());
    } while (memory_was_short(n));
    assert_in_range(n, 20, MEMORY_MOST - 1);
}

static void on_end(lk_status status, lk_hold *hold, void *data)
{
    if (status == LK_OK)
        (void)lk_hold_release(hold);
    call_on_acquire(status, NULL, data);
}

static void the_same_goes_for_a_wait_that_calls_back(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open_calm(f->base, NULL);
    lk_multilock *set = multi_of(f, client, "abc");
    lk_status begun;
    int n = 0;

    do {
        call c = {0};

        assert_int_equal(server_integer(f->base->server, "HSET b other:1 1"),
                         1);
        assert_int_equal(server_integer(f->base->server, "PEXPIRE b 30"), 1);
        memory_fails_at(++n);
        begun = lk_multilock_acquire_async(set, wait_scaled_ms(SOON_MS), NULL,
                                           on_end, &c);
        if (begun == LK_OK)
            begun = call_wait(&c, NULL);
        (void)memory_lasts();
        if (begun != LK_OK && begun != LK_ENOMEM)
            fail_msg("%d: %s", n, lk_status_name(begun));
        multi_assert_free(f, "abc");
    } while (memory_was_short(n));
    assert_in_range(n, 20, MEMORY_MOST - 1);
}

int main(void)
{
#define TEST(test)                                                             \
    cmocka_unit_test_setup_teardown(test, multilocking_setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(one_allocation_that_fails_is_told_or_made_up_for),
        TEST(a_loss_is_told_or_nothing_was_held),
        TEST(the_same_goes_for_a_wait_that_calls_back),
    };

    return cmocka_run_group_tests(tests, locking_start_server,
                                  locking_stop_server);
}
