/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_MEMORY_H
#define LK_TESTS_SUPPORT_MEMORY_H

#include <stdbool.h>

/*
 * Memory that the library cannot have: the n-th of its allocations fails. A test
 * does the same piece of work for each n until none is left to fail:
 *
 *     do {
 *         memory_fails_at(++n);
 *         status = work();
 *         memory_lasts();
 *     } while (memory_was_short(n));
 */

enum { MEMORY_MOST = 2000 }; /* no test looks at more */

/* The n-th allocation from now on fails, of all threads; 0: none. */
void memory_fails_at(int n);
/* So do all behind it. */
void memory_fails_from(int n);

/* None fails any more. Returns what memory_fails_at() was told, for another call. */
int memory_lasts(void);

/* There were n allocations since memory_fails_at(), so that one has failed; false
   for MEMORY_MOST of them. */
bool memory_was_short(int n);

#endif /* LK_TESTS_SUPPORT_MEMORY_H */
