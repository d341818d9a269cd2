/* SPDX-License-Identifier: MIT */

/* Numbers as text: what printf() writes, without it. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "support/check.h"

/* All ways to write one, each beside printf(). */
static void assert_written(uint64_t number)
{
    char expected[32], text[64], *end = text + sizeof(text) - 1, *begin;
    size_t length =
        (size_t)snprintf(expected, sizeof(expected), "%" PRIu64, number);

    assert_int_equal(lk__digits_count(number), length);
    memset(text, '?', sizeof(text));
    *end = '\0';
    begin = lk__digits_before(end, number);
    assert_string_equal(begin, expected);
    assert_int_equal(begin[-1], '?');

    assert_int_equal(lk__digits_write(text, number), length);
    assert_string_equal(text, expected);

    (void)snprintf(expected, sizeof(expected), "%016" PRIx64, number);
    lk__digits_write_hex(text, number);
    assert_string_equal(text, expected);

    (void)snprintf(expected, sizeof(expected), "%" PRId64, (int64_t)number);
    assert_string_equal(lk__digits_before_signed(end, (int64_t)number),
                        expected);
}

CHECK_TEST(numbers_are_written_as_printf_writes_them)
{
    uint64_t power = 1;

    assert_written(0);
    for (int i = 0; i < 20; i++, power *= 10) {
        assert_written(power - 1);
        assert_written(power);
        assert_written(0 - power);
    }
    assert_written(UINT64_MAX);
    assert_written((uint64_t)INT64_MAX);
    assert_written((uint64_t)INT64_MIN);
}

CHECK_TEST(the_longest_fits_where_one_is_written)
{
    char text[LK__DIGITS_SIZE], *end = text + sizeof(text);

    assert_int_equal(lk__digits_write(text, UINT64_MAX), LK__DIGITS_SIZE - 2);
    assert_ptr_equal(lk__digits_before_signed(end, INT64_MIN), text + 2);
}
