/* SPDX-License-Identifier: MIT */

#include "server/pool.h"

#include <stdlib.h>
#include <string.h>

#include "server/memory.h"

enum { STEP = 16, SIZES = 32, BLOCK = 64 * 1024 };

/* A piece that nobody uses. */
typedef struct piece {
    struct piece *next;
} piece;

typedef struct block {
    struct block *next;
    _Alignas(STEP) char bytes[BLOCK];
} block;

struct sim_pool {
    piece *unused[SIZES]; /* by their size in steps, less 1 */
    block *blocks;        /* the first one is being cut up */
    size_t left;          /* of it */
};

sim_pool *sim_pool_new(void)
{
    return sim_alloc(sizeof(sim_pool));
}

void sim_pool_free(sim_pool *pool)
{
    block *next;

    for (block *at = pool->blocks; at != NULL; at = next) {
        next = at->next;
        free(at);
    }
    free(pool);
}

static bool is_small(size_t size)
{
    return size <= (size_t)STEP * SIZES;
}

static size_t steps_of(size_t size)
{
    return (size + STEP - 1) / STEP;
}

/* size is more than 0 and small. */
static void *take(sim_pool *pool, size_t size)
{
    piece **list = &pool->unused[steps_of(size) - 1];
    piece *found = *list;
    size_t whole = steps_of(size) * STEP;

    if (found != NULL) {
        *list = found->next;
        return found;
    }
    if (pool->left < whole) {
        block *more = sim_resize(NULL, sizeof(*more));

        more->next = pool->blocks;
        pool->blocks = more;
        pool->left = BLOCK;
    }
    pool->left -= whole;
    return pool->blocks->bytes + pool->left;
}

static void give(sim_pool *pool, void *memory, size_t size)
{
    piece **list = &pool->unused[steps_of(size) - 1];
    piece *unused = memory;

    unused->next = *list;
    *list = unused;
}

static void release(sim_pool *pool, void *memory, size_t size)
{
    if (memory == NULL || size == 0)
        return;
    if (is_small(size))
        give(pool, memory, size);
    else
        free(memory);
}

void *
sim_pool_change(void *data, void *memory, size_t old_size, size_t new_size)
{
    sim_pool *pool = data;
    void *fresh;

    if (new_size == 0) {
        release(pool, memory, old_size);
        return NULL;
    }
    if (memory != NULL && !is_small(old_size) && !is_small(new_size))
        return sim_resize(memory, new_size);
    if (memory != NULL && is_small(old_size) && is_small(new_size) &&
        steps_of(old_size) == steps_of(new_size))
        return memory;
    fresh =
        is_small(new_size) ? take(pool, new_size) : sim_resize(NULL, new_size);
    if (memory != NULL)
        memcpy(fresh, memory, old_size < new_size ? old_size : new_size);
    release(pool, memory, old_size);
    return fresh;
}
