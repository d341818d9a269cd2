/* SPDX-License-Identifier: MIT */

#include "stripes/fold.h"

#define FNV_OFFSET UINT64_C(14695981039346656037)
#define FNV_PRIME  UINT64_C(1099511628211)

uint64_t lk__stripes_fold(const char *key, uint64_t count)
{
    uint64_t hash = FNV_OFFSET;

    for (; *key != '\0'; key++) {
        hash ^= (unsigned char)*key;
        hash *= FNV_PRIME;
    }
    hash ^= hash >> 32;
    return hash % count;
}
