/* SPDX-License-Identifier: MIT */
#include "check/map.h"

#include <stdlib.h>

enum { FIRST_ROOM = 64 };

/* Where the search for an id begins. */
static size_t home(const checker_map *map, uint64_t id)
{
    return (size_t)((id * UINT64_C(0x9e3779b97f4a7c15)) >> 32) &
           (map->room - 1);
}

/* Its place, or the free one where it would be. */
static size_t place(const checker_map *map, uint64_t id)
{
    size_t at = home(map, id);

    while (map->entries[at].id != 0 && map->entries[at].id != id)
        at = (at + 1) & (map->room - 1);
    return at;
}

void *checker_map_find(const checker_map *map, uint64_t id)
{
    if (map->room == 0 || id == 0)
        return NULL;
    return map->entries[place(map, id)].value;
}

static bool grow(checker_map *map)
{
    checker_map wider = {.room = map->room == 0 ? FIRST_ROOM : 2 * map->room};

    wider.entries = calloc(wider.room, sizeof(*wider.entries));
    if (wider.entries == NULL)
        return false;
    for (size_t i = 0; i < map->room; i++) {
        if (map->entries[i].id != 0)
            wider.entries[place(&wider, map->entries[i].id)] = map->entries[i];
    }
    wider.used = map->used;
    free(map->entries);
    *map = wider;
    return true;
}

bool checker_map_put(checker_map *map, uint64_t id, void *value)
{
    if (2 * (map->used + 1) > map->room && !grow(map))
        return false;
    map->entries[place(map, id)] = (checker_entry){id, value};
    map->used++;
    return true;
}

/* Those behind it that would not be found any more move up. */
void checker_map_remove(checker_map *map, uint64_t id)
{
    const size_t mask = map->room - 1;
    size_t hole = place(map, id);

    for (size_t at = (hole + 1) & mask; map->entries[at].id != 0;
         at = (at + 1) & mask) {
        size_t from = home(map, map->entries[at].id);

        if (((at - from) & mask) >= ((at - hole) & mask)) {
            map->entries[hole] = map->entries[at];
            hole = at;
        }
    }
    map->entries[hole] = (checker_entry){0, NULL};
    map->used--;
}

void checker_map_each(const checker_map *map,
                      void (*each)(void *value, void *data), void *data)
{
    for (size_t i = 0; i < map->room; i++) {
        if (map->entries[i].id != 0)
            each(map->entries[i].value, data);
    }
}

void checker_map_clear(checker_map *map)
{
    free(map->entries);
    *map = (checker_map){0};
}
