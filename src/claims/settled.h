/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_SETTLED_H
#define LK_CLAIMS_SETTLED_H

#include "claims/place.h"

/*
 * Which changes of this client the server may forget.
 *
 * It remembers each for ten minutes, lest one that is sent again be made
 * again. One that was sent once and answered cannot come again, so its number
 * goes with the next call on the same name. What is not told, because there
 * is no next call or no memory, is forgotten by time.
 *
 * Inside the monitor.
 */

/* A change will not be asked for again. */
void lk__settled_note(lk__place *place, uint64_t number);

/* Their numbers as text, once: "17 18". Valid until the next call for this
   place. */
const char *lk__settled_text(lk__place *place);

/* Frees what is kept in place->own. */
void lk__settled_free(void *own);

#endif /* LK_CLAIMS_SETTLED_H */
