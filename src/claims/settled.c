/* SPDX-License-Identifier: MIT */

#include "claims/settled.h"

#include "base/digits.h"
#include "base/mem.h"
#include "base/names.h"

/* As many as can be under way between two calls of a busy client. */
enum { NUMBERS = 64, WIDTH = LK__CLAIM_DIGITS + 1 };

struct settled {
    size_t count;
    uint64_t numbers[NUMBERS];
    char text[NUMBERS * WIDTH + 1];
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

    if (settled == NULL)
        return "";
    settled->text[0] = '\0';
    for (size_t i = 0; i < settled->count; i++) {
        char *at = settled->text + i * WIDTH;

        lk__digits_write_wide(at, LK__CLAIM_DIGITS, settled->numbers[i]);
        at[LK__CLAIM_DIGITS] = ' ';
        at[WIDTH] = '\0';
    }
    settled->count = 0;
    return settled->text;
}

void lk__settled_free(void *own)
{
    lk__free(own);
}
