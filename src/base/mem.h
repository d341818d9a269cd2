/* SPDX-License-Identifier: MIT */
#ifndef LK_BASE_MEM_H
#define LK_BASE_MEM_H

#include <stddef.h>

/*
 * Memory, the first part of the seam to the world: every allocation of the
 * library goes through here, so that a test can make the n-th one fail.
 * Memory that hiredis and libuv take for themselves is not seen here.
 */

/* Returns zeroed memory, or NULL. */
void *lk__alloc(size_t size);

/* As realloc(3): on failure the old block stands. */
void *lk__realloc(void *block, size_t size);

/* NULL is allowed. */
void lk__free(void *block);

/* Copies of a string, of its first size bytes plus a NUL; or NULL. */
char *lk__strdup(const char *text);
char *lk__strndup(const char *text, size_t size);

/* For tests: answers true to let the next allocation fail. NULL: none does. */
void lk__mem_fail(_Bool (*fails)(void));

#endif /* LK_BASE_MEM_H */
