/* SPDX-License-Identifier: MIT */
#ifndef LK_BASE_CONTAINER_H
#define LK_BASE_CONTAINER_H

#include <stddef.h>

/*
 * The struct of this type whose member the pointer points to. The branch that is
 * never taken has the compiler compare the types: a pointer to anything else than
 * that member does not build.
 */
#define LK__CONTAINER_OF(pointer, type, member)                                \
    ((type *)(void *)((char *)(1 ? (pointer) : &((type *)NULL)->member) -      \
                      offsetof(type, member)))

#endif /* LK_BASE_CONTAINER_H */
