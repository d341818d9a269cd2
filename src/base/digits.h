/* SPDX-License-Identifier: MIT */
#ifndef LK_BASE_DIGITS_H
#define LK_BASE_DIGITS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Numbers as text, without printf(): a sixth of the instructions that a caller
 * has for an acquire and a release went there.
 */

/* Any number here has room in it: a sign, 20 digits, a NUL. */
enum { LK__DIGITS_SIZE = 22 };

/* How many digits it has. */
size_t lk__digits_count(uint64_t number);

/* Writes a number so that it ends where end points; nothing is put behind it.
   Returns where it begins: LK__DIGITS_SIZE - 1 bytes in front of end at most. */
char *lk__digits_before(char *end, uint64_t number);

/* The same, with a '-' before a number that is less than 0. */
char *lk__digits_before_signed(char *end, int64_t number);

/* Writes it with a NUL behind it. Returns its length. */
size_t lk__digits_write(char ret[LK__DIGITS_SIZE], uint64_t number);

/* Writes it with zeros in front to so many digits, and a NUL behind them; it has no
   more than those. */
void lk__digits_write_wide(char *ret, size_t digits, uint64_t number);

/* The same in base 16, always 16 digits of it. */
void lk__digits_write_hex(char ret[17], uint64_t number);

#endif /* LK_BASE_DIGITS_H */
