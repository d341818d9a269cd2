/* SPDX-License-Identifier: MIT */

/* Answers that lead nowhere; see tempo.h. */

#include "base/tempo.h"

enum {
    AT_ONCE = 256, /* a line of 16,000 dead waiters is passed on within that */
    STEP = 8,      /* so many, and the pause is twice as long */
    DOUBLINGS = 8  /* of a millisecond */
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
