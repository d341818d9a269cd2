/* SPDX-License-Identifier: MIT */

/*
 * Stripes out of memory: a fixed piece of work, with the n-th allocation
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

static lk_status blocking(lk_stripes *stripes, call *c)
{
    static const char *const keys[] = {"a", "b", "c"};
    lk_status status =
        lk_stripes_acquire_many(stripes, keys, 3, wait_scaled_ms(SOON_MS), NULL,
                                &c->hold);

    return status;
}

static lk_status with_callback(lk_stripes *stripes, call *c)
{
    static const char *const keys[] = {"a", "b", "c"};

    return lk_stripes_acquire_many_async(stripes, keys, 3,
                                         wait_scaled_ms(SOON_MS), NULL,
                                         call_on_acquire, c);
}

static lk_status one_with_callback(lk_stripes *stripes, call *c)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .reason = "test"};

    return lk_stripes_acquire_async(stripes, "a", wait_scaled_ms(SOON_MS),
                                    &options, call_on_acquire, c);
}

typedef lk_status (*work_function)(lk_stripes *stripes, call *c);

static lk_status do_work(lk_client *client, work_function work)
{
    const lk_stripes_options options = {LK_STRIPES_OPTIONS_INIT, .count = 4};
    lk_stripes *stripes = NULL;
    lk_status status = lk_stripes_new(&stripes, client, "n", &options);
    call c = {0};

    if (status == LK_OK)
        status = work(stripes, &c);
    if (status == LK_OK && work != blocking)
        status = call_wait(&c, NULL);
    lk_stripes_free(stripes);
    if (status == LK_OK)
        status = lk_hold_release(c.hold);
    return status == LK_EINDOUBT ? LK_OK : status; /* it is released later */
}

static void try_all(multilocking *f, work_function work)
{
    lk_client *client = locking_open_calm(f->base, NULL);
    int failures = 0;
    int n = 0;

    do {
        lk_status status;

        server_flush(f->base->server);
        memory_fails_at(++n);
        status = do_work(client, work);
        (void)memory_lasts();
        if (status != LK_OK && status != LK_ENOMEM)
            fail_msg("%d: %s (%s)", n, lk_status_name(status), lk_last_error());
        failures += status != LK_OK;
        locking_wait_integer(f->base, 0, "EXISTS n:stripe:0 n:stripe:1 %s",
                             "n:stripe:2");
    } while (memory_was_short(n));
    assert_in_range(n, 20, MEMORY_MOST - 1);
    assert_true(failures > 5);
}

static void a_blocking_call_tells_or_makes_up_for_it(void **state)
{
    try_all(*state, blocking);
}

static void a_call_with_a_callback_does_as_well(void **state)
{
    try_all(*state, with_callback);
}

static void and_so_does_one_of_a_single_key(void **state)
{
    try_all(*state, one_with_callback);
}

int main(void)
{
#define TEST(test)                                                             \
    cmocka_unit_test_setup_teardown(test, multilocking_setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_blocking_call_tells_or_makes_up_for_it),
        TEST(a_call_with_a_callback_does_as_well),
        TEST(and_so_does_one_of_a_single_key),
    };

    return cmocka_run_group_tests(tests, locking_start_server,
                                  locking_stop_server);
}
