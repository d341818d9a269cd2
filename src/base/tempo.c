/* SPDX-License-Identifier: MIT */

/* Answers that lead nowhere; see tempo.h. */

#include "base/tempo.h"

enum {
    AT_ONCE = 256, /* a line of 16,000 dead waiters is passed on within that */
    STEP = 8,      /* so many, and the pause is twice as long */
    DOUBLINGS = 8, /* of a millisecond */
    HINTS = 10     /* at once, and in each second */
};

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)

void lk__tempo_again(lk__tempo *tempo, uint64_t now)
{
    unsigned doublings;

    if (now > tempo->last + SECOND)
        tempo->count = 0;
    tempo->last = now;
    tempo->until = 0;
    if (tempo->count++ < AT_ONCE)
        return;
    doublings = (tempo->count - AT_ONCE) / STEP;
    tempo->until =
        now + (MS << (doublings < DOUBLINGS ? doublings : DOUBLINGS));
}

/* *next is when the last of them would be if each took a tenth of a second. */
uint64_t lk__tempo_hint(uint64_t *next, uint64_t now)
{
    const uint64_t step = SECOND / HINTS;
    uint64_t at = now;

    if (*next < now)
        *next = now;
    if (*next > now + (HINTS - 1) * step)
        at = *next - (HINTS - 1) * step;
    *next += step;
    return at;
}
