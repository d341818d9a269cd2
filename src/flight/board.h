/* SPDX-License-Identifier: MIT */
#ifndef LK_FLIGHT_BOARD_H
#define LK_FLIGHT_BOARD_H

#include <latchkey/flight.h>

#include "claims/place.h"

/*
 * One key in one client: the waits of its callers, and what is known of the one
 * that computes. It is the place's own.
 *
 * Each look asks flight_join for all waits at once. Its answer concerns those
 * that began before it was sent; for the others it looks again. The same holds
 * for a message: it counts if it is from the leader that the last look told of,
 * and for waits that began before that look. Else it might have lain in a
 * socket of a stopped process, and be of long ago.
 *
 * Leading, nobody looks: the client's own callers wait for its computation,
 * while the claim is renewed by looks.
 */
extern const lk__kind lk__kind_flight;

/* Makes the place's board, before a wait begins. LK_OK or LK_ENOMEM. */
lk_status lk__board_make(lk__place *place);

/* What becomes of a wait that ends with LK_OK, or with a landed error. */
typedef struct lk__boarding {
    uint64_t lease_ms;      /* in: for the claim */
    lk_flight_value *value; /* the receiver's */
    uint64_t claim;         /* not 0: it is to compute, by this claim */
} lk__boarding;

/* What came out of a computation. */
typedef struct lk__landing {
    uint64_t claim;
    lk_status status;
    const char *words;      /* NULL: the status' own */
    lk_flight_value *value; /* borrowed; NULL unless LK_OK */
    uint64_t ttl_ms;
} lk__landing;

/* Ends every wait of the client with it and tells the server. Outside the
   monitor. */
void lk__board_land(lk__place *place, const lk__landing *landing);

#endif /* LK_FLIGHT_BOARD_H */
