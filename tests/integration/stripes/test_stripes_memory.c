/* SPDX-License-Identifier: MIT */

/* Several stripes at once, out of memory; see support/memory.h. */

#include <latchkey/latchkey.h>

#include "support/call.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/multilocking.h"
#include "support/wait.h"

enum { SOON_MS = 5000 };

static const char *const keys[] = {"a", "b", "c"};

static int teardown(void **state)
{
    (void)memory_lasts();
    return locking_teardown(state);
}

static lk_status released(lk_status status, lk_hold *hold)
{
    if (status == LK_OK)
        status = lk_hold_release(hold);
    return status == LK_EPENDING ? LK_ENOMEM : status; /* it is done later */
}

static lk_status do_acquire_many(void *stripes)
{
    lk_hold *hold = NULL;
    lk_status status =
        lk_stripes_acquire_many(stripes, keys, 3,
                                (int64_t)wait_limit_ms(SOON_MS), NULL, &hold);

    return released(status, hold);
}

static lk_status do_acquire_many_async(void *stripes)
{
    call c = {0};
    lk_status status =
        lk_stripes_acquire_many_async(stripes, keys, 3,
                                      (int64_t)wait_limit_ms(SOON_MS), NULL,
                                      call_on_acquire, &c);

    if (status == LK_OK)
        status = call_wait(&c, NULL);
    return released(status, c.hold);
}

static locking *the;

static void is_clean(void *data, lk_status status)
{
    (void)data;
    (void)status;
    locking_wait_integer(the, 0, "EXISTS n:stripe:0 n:stripe:1 %s",
                         "n:stripe:2");
}

static void an_allocation_that_fails_is_told_or_made_up_for(void **state)
{
    locking *f = *state;
    const lk_stripes_options options = {LK_STRIPES_OPTIONS_INIT, .count = 4};
    lk_stripes *stripes = NULL;

    the = f;
    assert_status(lk_stripes_new(&stripes, locking_open_calm(f, NULL), "n",
                                 &options),
                  LK_OK);
    memory_fails_each("many", do_acquire_many, is_clean, stripes);
    memory_fails_each("many async", do_acquire_many_async, is_clean, stripes);
    lk_stripes_free(stripes);
}

int test_stripes_memory(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            an_allocation_that_fails_is_told_or_made_up_for, locking_setup,
            teardown),
    };

    return cmocka_run_group_tests(tests, locking_start_server,
                                  locking_stop_server);
}
