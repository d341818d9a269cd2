/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_CHECK_MAP_H
#define LK_SIM_CHECK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * From ids to what is known of them. An id is never 0. All zero is an empty
 * map; the values are the caller's.
 */

typedef struct checker_entry {
    uint64_t id; /* 0: none */
    void *value;
} checker_entry;

typedef struct checker_map {
    checker_entry *entries;
    size_t room; /* a power of two, or 0 */
    size_t used;
} checker_map;

/* NULL: none. */
void *checker_map_find(const checker_map *map, uint64_t id);
/* The id is not in it yet. False: no memory. */
bool checker_map_put(checker_map *map, uint64_t id, void *value);
/* The id is in it. */
void checker_map_remove(checker_map *map, uint64_t id);
/* Calls each for every value; it may not change the map. */
void checker_map_each(const checker_map *map,
                      void (*each)(void *value, void *data), void *data);
/* The values stay. */
void checker_map_clear(checker_map *map);

#endif /* LK_SIM_CHECK_MAP_H */
