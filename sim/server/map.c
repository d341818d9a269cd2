/* SPDX-License-Identifier: MIT */

#include "server/map.h"

#include <stdlib.h>
#include <string.h>

enum { FEW = 8 }; /* without buckets up to here */

sim_str sim_entry_key(const sim_entry *entry)
{
    return (sim_str){entry->key, entry->size};
}

static sim_entry **bucket(const sim_map *map, uint64_t hash)
{
    return &map->buckets[hash & (map->bucket_count - 1)];
}

static bool is_it(const sim_entry *entry, uint64_t hash, sim_str key)
{
    return entry->hash == hash && sim_str_equal(sim_entry_key(entry), key);
}

sim_entry *sim_map_find(const sim_map *map, sim_str key)
{
    uint64_t hash;
    sim_entry *entry;

    if (map->count == 0)
        return NULL;
    hash = sim_str_hash(key);
    if (map->buckets == NULL) {
        for (entry = map->first; entry != NULL; entry = entry->next) {
            if (is_it(entry, hash, key))
                break;
        }
    } else {
        for (entry = *bucket(map, hash); entry != NULL; entry = entry->chain) {
            if (is_it(entry, hash, key))
                break;
        }
    }
    return entry;
}

static void into_bucket(const sim_map *map, sim_entry *entry)
{
    sim_entry **head = bucket(map, entry->hash);

    entry->chain = *head;
    *head = entry;
}

static void grow(sim_map *map)
{
    free(map->buckets);
    map->bucket_count = 4 * map->count;
    while ((map->bucket_count & (map->bucket_count - 1)) != 0)
        map->bucket_count &= map->bucket_count - 1;
    map->buckets = sim_alloc(map->bucket_count * sizeof(sim_entry *));
    for (sim_entry *entry = map->first; entry != NULL; entry = entry->next)
        into_bucket(map, entry);
}

sim_entry *sim_map_add(sim_map *map, sim_str key)
{
    sim_entry *entry = sim_resize(NULL, sizeof(*entry) + key.size);

    memset(entry, 0, sizeof(*entry));
    entry->hash = sim_str_hash(key);
    entry->number = ++map->number;
    entry->size = key.size;
    if (key.size > 0)
        memcpy(entry->key, key.bytes, key.size);
    entry->prev = map->last;
    *(map->last == NULL ? &map->first : &map->last->next) = entry;
    map->last = entry;
    map->count++;
    if (map->count > FEW && map->count > map->bucket_count)
        grow(map);
    else if (map->buckets != NULL)
        into_bucket(map, entry);
    return entry;
}

void sim_map_remove(sim_map *map, sim_entry *entry)
{
    if (map->buckets != NULL) {
        sim_entry **at = bucket(map, entry->hash);

        while (*at != entry)
            at = &(*at)->chain;
        *at = entry->chain;
    }
    *(entry->prev == NULL ? &map->first : &entry->prev->next) = entry->next;
    *(entry->next == NULL ? &map->last : &entry->next->prev) = entry->prev;
    map->count--;
    free(entry);
}

void sim_map_clear(sim_map *map, void (*free_value)(void *value))
{
    sim_entry *next;

    for (sim_entry *entry = map->first; entry != NULL; entry = next) {
        next = entry->next;
        if (free_value != NULL)
            free_value(entry->pointer);
        free(entry);
    }
    free(map->buckets);
    *map = (sim_map){.number = map->number};
}
