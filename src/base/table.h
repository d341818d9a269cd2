/* SPDX-License-Identifier: MIT */
#ifndef LK_BASE_TABLE_H
#define LK_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A hash table whose links lie in its entries. Put a lk__entry into your
 * struct and find the struct from it. Zeroed memory is an empty table.
 */
typedef struct lk__entry {
    struct lk__entry *next; /* of the same bucket */
    uint64_t hash;
} lk__entry;

typedef struct lk__table {
    lk__entry **buckets;
    size_t bucket_count; /* a power of two, or 0 */
    size_t count;
} lk__table;

/* Adds an entry. False: out of memory for the first buckets; a table that has
   some only gets slower when there is no memory for more. */
bool lk__table_add(lk__table *table, lk__entry *entry, uint64_t hash);

void lk__table_remove(lk__table *table, lk__entry *entry);

/* The first entry with this hash, and the one after an entry; or NULL. */
lk__entry *lk__table_find(const lk__table *table, uint64_t hash);
lk__entry *lk__table_find_next(const lk__entry *entry);

/* Frees the buckets; the table is empty afterwards. */
void lk__table_done(lk__table *table);

/* A hash of text, for what is not a number already. */
uint64_t lk__table_hash(const char *text);

#endif /* LK_BASE_TABLE_H */
