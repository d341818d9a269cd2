/* SPDX-License-Identifier: MIT */

/*
 * Every allocation fails, of the library's, hiredis' and libuv's: one, and all
 * from one on, in everything that programs do. A slice of them; with LK_LONG
 * each.
 */

#include <errno.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/one_server.h"
#include "support/shortage.h"

enum { SLICE = 16 };

static void fail_each(bool forever)
{
    static const int error = ENOMEM;
    const shortage_plan plan = {.point = FAIL_MEMORY,
                                .errors = &error,
                                .error_count = 1,
                                .forever = forever,
                                .step = getenv("LK_LONG") != NULL ? 1 : SLICE,
                                .share = 1};
    unsigned runs = 0;
    unsigned wrong = shortage_run(server_url(redis), &plan, &runs);

    print_message("%u runs\n", runs);
    assert_true(runs > shortage_scene_count);
    assert_int_equal(wrong, 0);
}

static void one_allocation_fails(NO_STATE)
{
    fail_each(false);
}

static void all_allocations_fail_from_one_on(NO_STATE)
{
    fail_each(true);
}

int test_short_memory(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_allocation_fails),
        cmocka_unit_test(all_allocations_fail_from_one_on),
    };

    return cmocka_run_group_tests_name("short_memory", tests, one_server_start,
                                       one_server_stop);
}
