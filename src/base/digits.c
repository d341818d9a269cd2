/* SPDX-License-Identifier: MIT */
#include "base/digits.h"

#include <string.h>

size_t lk__digits_count(uint64_t number)
{
    size_t count = 1;

    for (; number >= 10; number /= 10)
        count++;
    return count;
}

char *lk__digits_before(char *end, uint64_t number)
{
    do {
        *--end = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    return end;
}

char *lk__digits_before_signed(char *end, int64_t number)
{
    uint64_t size = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    char *begin = lk__digits_before(end, size);

    if (number < 0)
        *--begin = '-';
    return begin;
}

size_t lk__digits_write(char ret[LK__DIGITS_SIZE], uint64_t number)
{
    size_t length = lk__digits_count(number);

    (void)lk__digits_before(ret + length, number);
    ret[length] = '\0';
    return length;
}

void lk__digits_write_wide(char *ret, size_t digits, uint64_t number)
{
    memset(ret, '0', digits);
    (void)lk__digits_before(ret + digits, number);
    ret[digits] = '\0';
}

void lk__digits_write_hex(char ret[17], uint64_t number)
{
    for (int i = 15; i >= 0; i--, number >>= 4)
        ret[i] = "0123456789abcdef"[number & 15];
    ret[16] = '\0';
}
