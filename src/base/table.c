/* SPDX-License-Identifier: MIT */

/* Chained hashing that doubles when there are twice as many entries as buckets. */

#include "base/table.h"

#include "base/mem.h"

enum { FIRST_BUCKETS = 64, CHAIN = 2 };

static lk__entry **bucket_of(const lk__table *table, uint64_t hash)
{
    return &table->buckets[hash & (table->bucket_count - 1)];
}

static bool grow(lk__table *table)
{
    lk__table old = *table;
    size_t count = old.bucket_count == 0 ? FIRST_BUCKETS : old.bucket_count * 2;
    lk__entry **buckets = lk__alloc(count * sizeof(lk__entry *));

    if (buckets == NULL)
        return false;
    table->buckets = buckets;
    table->bucket_count = count;
    for (size_t i = 0; i < old.bucket_count; i++) {
        for (lk__entry *entry = old.buckets[i], *next; entry != NULL;
             entry = next) {
            lk__entry **bucket = bucket_of(table, entry->hash);

            next = entry->next;
            entry->next = *bucket;
            *bucket = entry;
        }
    }
    lk__free(old.buckets);
    return true;
}

bool lk__table_add(lk__table *table, lk__entry *entry, uint64_t hash)
{
    lk__entry **bucket;

    if (table->count >= CHAIN * table->bucket_count && !grow(table) &&
        table->bucket_count == 0)
        return false;
    bucket = bucket_of(table, hash);
    entry->hash = hash;
    entry->next = *bucket;
    *bucket = entry;
    table->count++;
    return true;
}

void lk__table_remove(lk__table *table, lk__entry *entry)
{
    lk__entry **at = bucket_of(table, entry->hash);

    while (*at != entry)
        at = &(*at)->next;
    *at = entry->next;
    table->count--;
}

static lk__entry *with_hash(lk__entry *entry, uint64_t hash)
{
    while (entry != NULL && entry->hash != hash)
        entry = entry->next;
    return entry;
}

lk__entry *lk__table_find(const lk__table *table, uint64_t hash)
{
    if (table->bucket_count == 0)
        return NULL;
    return with_hash(*bucket_of(table, hash), hash);
}

lk__entry *lk__table_find_next(const lk__entry *entry)
{
    return with_hash(entry->next, entry->hash);
}

void lk__table_done(lk__table *table)
{
    lk__free(table->buckets);
    table->buckets = NULL;
    table->bucket_count = 0;
    table->count = 0;
}

uint64_t lk__table_hash(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (; *text != '\0'; text++) {
        hash ^= (unsigned char)*text;
        hash *= UINT64_C(1099511628211);
    }
    return hash ^ (hash >> 32);
}
