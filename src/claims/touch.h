/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_TOUCH_H
#define LK_CLAIMS_TOUCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alarm.h"
#include "base/tempo.h"

struct lk__place;

/*
 * The looks of claims that wait each for itself. Instead of one look each, a
 * client sends one for all of them on a name, about once a second: "these
 * live". The answer says which of them do not wait any more, and which one's
 * turn has come; those look by themselves. Where others may come in and none of
 * these is left that waits, the client goes on handing over; see
 * lk__claim_hand_on().
 */
typedef struct lk__touching {
    struct lk__place *place;
    lk__alarm alarm;
    unsigned under_way; /* batches that were sent and not answered */
    bool again;         /* look once more when these are answered */
    lk__tempo tempo;
} lk__touching;

/* Makes it of a place where a wait comes that may have a claim of its own. False:
   no memory. Ends it. */
bool lk__touching_make(struct lk__place *place);
void lk__touching_done(struct lk__place *place);

/* Touches, if there was ever such a claim, within a second, jittered, or when left_ms
   are over if that is sooner; below 0: not known. An earlier touch that is due
   stays. */
void lk__touch_later(struct lk__place *place, int64_t left_ms);

#endif /* LK_CLAIMS_TOUCH_H */
