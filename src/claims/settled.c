/* SPDX-License-Identifier: MIT */

#include "claims/settled.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"

/* As many as can be under way between two calls of a busy client. */
enum { NUMBERS = 64, DIGITS = 21 };

struct settled {
    size_t count;
    uint64_t numbers[NUMBERS];
    char text[NUMBERS * DIGITS + 1];
};

void lk__settled_note(lk__place *place, uint64_t number)
{
    struct settled *settled = place->own;

    if (settled == NULL)
        place->own = settled = lk__alloc(sizeof(*settled));
    if (settled != NULL && settled->count < NUMBERS)
        settled->numbers[settled->count++] = number;
}

const char *lk__settled_text(lk__place *place)
{
    struct settled *settled = place->own;
    size_t used = 0;

    if (settled == NULL)
        return "";
    settled->text[0] = '\0';
    for (size_t i = 0; i < settled->count; i++)
        used +=
            (size_t)snprintf(settled->text + used, sizeof(settled->text) - used,
                             "%" PRIu64 " ", settled->numbers[i]);
    settled->count = 0;
    return settled->text;
}

void lk__settled_free(void *own)
{
    lk__free(own);
}
