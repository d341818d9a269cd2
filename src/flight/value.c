/* SPDX-License-Identifier: MIT */

/* Values that several callers have. */

#include "flight/value.h"

#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"

typedef struct shared_value {
    lk_flight_value value; /* first */
    atomic_uint refs;
} shared_value;

lk_flight_value *lk__flight_value_new(const void *bytes, size_t size)
{
    shared_value *shared = lk__alloc(sizeof(*shared) + size + 1);

    if (shared == NULL)
        return NULL;
    if (size > 0)
        memcpy(shared + 1, bytes, size);
    shared->value.size = size;
    shared->value.bytes = shared + 1;
    atomic_init(&shared->refs, 1);
    return &shared->value;
}

lk_flight_value *lk__flight_value_ref(lk_flight_value *value)
{
    if (value != NULL)
        atomic_fetch_add(&((shared_value *)(void *)value)->refs, 1);
    return value;
}

void lk_flight_value_free(lk_flight_value *value)
{
    if (value != NULL &&
        atomic_fetch_sub(&((shared_value *)(void *)value)->refs, 1) == 1)
        lk__free(value);
}
