/* SPDX-License-Identifier: MIT */

/* Structs whose size the caller names; see sized.h. */

#include "base/sized.h"

#include <stdint.h>
#include <string.h>

#include "base/error.h"

/* A size and one field: so much every release's structs have. More than a page
   is no size but what happened to lie there. */
enum { SIZE_LEAST = sizeof(size_t) + sizeof(uint64_t), SIZE_MOST = 4096 };

lk_status lk__options_size_check(size_t size)
{
    if (size >= SIZE_LEAST && size <= SIZE_MOST && size % sizeof(size_t) == 0)
        return LK_OK;
    return lk__fail(LK_EINVAL,
                    "the options' size is not set; begin with their INIT");
}

lk_status lk__options_copy(void *ours, size_t our_size, const void *theirs)
{
    size_t size;
    lk_status status;

    memset(ours, 0, our_size);
    memcpy(ours, &our_size, sizeof(our_size));
    if (theirs == NULL)
        return LK_OK;

    memcpy(&size, theirs, sizeof(size));
    status = lk__options_size_check(size);
    if (status != LK_OK)
        return status;
    for (size_t i = our_size; i < size; i++) {
        if (((const unsigned char *)theirs)[i] != 0)
            return lk__fail(LK_ENOTSUP,
                            "an option of a newer release of the library");
    }
    memcpy((char *)ours + sizeof(size), (const char *)theirs + sizeof(size),
           (size < our_size ? size : our_size) - sizeof(size));
    return LK_OK;
}

lk_status lk__result_check(const void *theirs)
{
    size_t size = 0;

    if (theirs != NULL)
        memcpy(&size, theirs, sizeof(size));
    if (size >= sizeof(size))
        return LK_OK;
    return lk__fail(LK_EINVAL, "the struct for the result, or its size, is "
                               "missing");
}

void lk__result_give(void *theirs, void *ours, size_t our_size)
{
    size_t size;

    memcpy(&size, theirs, sizeof(size));
    if (size > our_size)
        size = our_size;
    memcpy(ours, &size, sizeof(size));
    memcpy(theirs, ours, size);
}
