/* SPDX-License-Identifier: MIT */
#ifndef LK_BASE_WORDS_H
#define LK_BASE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Cuts a line at its spaces, in place, into at most `most` words, of which the
 * last is the whole rest and may hold spaces: a name. Returns how many.
 */
size_t lk__words_split(char *text, size_t most, char **words);

/* Lua counts exactly to here: no claim, ticket or fence is larger. */
#define LK__NUMBER_MAX UINT64_C(9007199254740992)

/* Reads a word that is nothing but digits, no zero first, as a number of 1 to
   most. False: it is none. */
bool lk__word_number(const char *word, uint64_t most, uint64_t *ret_number);

/* The same of 0 to most. */
bool lk__word_count(const char *word, uint64_t most, uint64_t *ret_count);

#endif /* LK_BASE_WORDS_H */
