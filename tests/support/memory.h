/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_MEMORY_H
#define LK_TESTS_SUPPORT_MEMORY_H

#include <latchkey/status.h>

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

/* Meanwhile none fails, and none is counted. */
void memory_pause(bool on);

/* There were n allocations since memory_fails_at(), so that one has failed; false
   for MEMORY_MOST of them. */
bool memory_was_short(int n);

/*
 * Does that, of work that returns LK_OK or, at least once, LK_ENOMEM; otherwise the
 * test fails, and tells the word. between, unless NULL, is called after each time.
 */
void memory_fails_each(const char *word, lk_status (*work)(void *data),
                       void (*between)(void *data, lk_status status),
                       void *data);

#endif /* LK_TESTS_SUPPORT_MEMORY_H */
