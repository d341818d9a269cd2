/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_CHECK_H
#define LK_TESTS_SUPPORT_CHECK_H

/* cmocka with the headers it wants first, and the library's own assertion. */

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <latchkey/status.h>

#include <stdbool.h>

/*
 * Both are an lk_status. They are compared by name, so that a failure reads
 * "EBUSY" != "OK". A macro for the sake of the caller's file and line.
 */
#define assert_status(actual, expected)                                        \
    _assert_string_equal(lk_status_name(actual), lk_status_name(expected),     \
                         __FILE__, __LINE__)

/* For wait_until(): whether this lk_hold is lost. */
bool hold_is_lost(void *hold);

/* Of the tests those for which the user of login.h has the rights. */
#undef cmocka_run_group_tests
#undef cmocka_run_group_tests_name
#define cmocka_run_group_tests(tests, setup, teardown)                         \
    cmocka_run_group_tests_name(#tests, tests, setup, teardown)
#define cmocka_run_group_tests_name(name, tests, setup, teardown)              \
    check_run(name, tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)
int check_run(const char *group, const struct CMUnitTest *tests, size_t count,
              CMFixtureFunction setup, CMFixtureFunction teardown);

#endif /* LK_TESTS_SUPPORT_CHECK_H */
