/* SPDX-License-Identifier: MIT */
#ifndef LK_BASE_SLOT_H
#define LK_BASE_SLOT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The slots of Redis Cluster. What stands between the first '{' of a key and
 * the first '}' after it is hashed, unless there is no such pair or nothing
 * between; then the whole key is.
 */

enum { LK__SLOTS = 16384 };

/* The slot of a key, or of a channel, of so many bytes, whatever they are. */
unsigned lk__slot_of(const char *key, size_t size);

/* Whether Redis Cluster keeps the two keys in one slot because what it hashes
   of them is the same. */
bool lk__keys_share_slot(const char *a, const char *b);

#endif /* LK_BASE_SLOT_H */
