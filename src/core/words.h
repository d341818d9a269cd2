/* SPDX-License-Identifier: MIT */
#ifndef LK_CORE_WORDS_H
#define LK_CORE_WORDS_H

#include <stddef.h>

/*
 * Cuts a line at its spaces, in place, into at most `most` words, of which the
 * last is the whole rest and may hold spaces: a name. Returns how many.
 */
size_t lk__words_split(char *text, size_t most, char **words);

#endif /* LK_CORE_WORDS_H */
