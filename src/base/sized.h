/* SPDX-License-Identifier: MIT */
#ifndef LK_BASE_SIZED_H
#define LK_BASE_SIZED_H

#include <latchkey/status.h>

#include <stddef.h>

/*
 * Public structs grow: new fields come at the end, and the first member, a
 * size_t, says which of them the caller's release knows. Every such struct is
 * read and written here.
 */

/*
 * Copies a caller's options. NULL: all defaults. What an older caller's struct
 * lacks becomes zero. The copy's size is our_size in any case.
 *
 * LK_EINVAL: the size was not set: it is less than that of the size and one
 * field, with which every struct began, or out of reason. LK_ENOTSUP: a newer
 * caller sets a field that this release does not know. Then all is zero.
 */
lk_status lk__options_copy(void *ours, size_t our_size, const void *theirs);

/* The same check of a size alone. */
lk_status lk__options_size_check(size_t size);

/* LK_EINVAL: a caller's struct for a result, or its size, is missing. */
lk_status lk__result_check(const void *theirs);

/*
 * Hands out as much of a result as a checked caller's struct has room for. The
 * size in it becomes what was written; that in ours is overwritten, too.
 */
void lk__result_give(void *theirs, void *ours, size_t our_size);

#endif /* LK_BASE_SIZED_H */
