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

/*
 * Both are an lk_status. They are compared by name, so that a failure reads
 * "EBUSY" != "OK". A macro for the sake of the caller's file and line.
 */
#define assert_status(actual, expected)                                        \
    _assert_string_equal(lk_status_name(actual), lk_status_name(expected),     \
                         __FILE__, __LINE__)

#endif /* LK_TESTS_SUPPORT_CHECK_H */
