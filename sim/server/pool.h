/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_SERVER_POOL_H
#define LK_SIM_SERVER_POOL_H

#include <stddef.h>

/*
 * Memory for the interpreter, which asks for little pieces all the time. They
 * are kept by their size and given again; larger ones are malloc()'s.
 */
typedef struct sim_pool sim_pool;

sim_pool *sim_pool_new(void);
/* With all its pieces; larger ones have been given back before. */
void sim_pool_free(sim_pool *pool);

/* As lua_Alloc: data is the pool. */
void *
sim_pool_change(void *data, void *memory, size_t old_size, size_t new_size);

#endif /* LK_SIM_SERVER_POOL_H */
