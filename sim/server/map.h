/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_SERVER_MAP_H
#define LK_SIM_SERVER_MAP_H

#include "server/memory.h"

/*
 * Byte strings to something each, in the order in which they came. Zeroed
 * memory is an empty map.
 */
typedef struct sim_entry {
    struct sim_entry *chain;       /* of its bucket */
    struct sim_entry *prev, *next; /* in the order of coming */
    uint64_t hash;
    uint64_t number; /* grows from entry to entry */
    union {
        void *pointer; /* the user's */
        double score;
    };
    size_t size;
    char key[];
} sim_entry;

typedef struct sim_map {
    sim_entry *first, *last;
    size_t count;
    uint64_t number;
    sim_entry **buckets; /* NULL: too few to need them */
    size_t bucket_count; /* a power of two */
} sim_map;

sim_str sim_entry_key(const sim_entry *entry);

/* NULL: it is not there. */
sim_entry *sim_map_find(const sim_map *map, sim_str key);
/* Adds what is not there yet; its pointer is NULL. */
sim_entry *sim_map_add(sim_map *map, sim_str key);
/* Takes it out and frees it, not what it points to. */
void sim_map_remove(sim_map *map, sim_entry *entry);
/* Removes all; free_value gets each pointer. NULL: they own nothing. */
void sim_map_clear(sim_map *map, void (*free_value)(void *value));

#endif /* LK_SIM_SERVER_MAP_H */
