/* SPDX-License-Identifier: MIT */

/* Allocation through one door, with a way to fail it. */

#include "base/mem.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* The threads of other clients allocate while a test sets it. */
static bool (*_Atomic fails_now)(void);

void lk__mem_fail(bool (*fails)(void))
{
    atomic_store(&fails_now, fails);
}

static bool fails(void)
{
    bool (*now)(void) = atomic_load_explicit(&fails_now, memory_order_relaxed);

    return now != NULL && now();
}

/* What every LK_ENOMEM says, wherever it comes from. */
static void *noted(void *block)
{
    if (block == NULL)
        lk__error_set(lk_status_text(LK_ENOMEM));
    return block;
}

void *lk__alloc(size_t size)
{
    if (fails())
        return noted(NULL);
    return noted(calloc(1, size));
}

void *lk__realloc(void *block, size_t size)
{
    if (fails())
        return noted(NULL);
    return noted(realloc(block, size));
}

void lk__free(void *block)
{
    free(block);
}

char *lk__strdup(const char *text)
{
    return lk__strndup(text, strlen(text));
}

char *lk__strndup(const char *text, size_t size)
{
    char *copy = lk__alloc(size + 1);

    if (copy != NULL)
        memcpy(copy, text, size);
    return copy;
}
