/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_TRUST_H
#define LK_CLAIMS_TRUST_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/alarm.h"

/*
 * How long a node's server is believed to have what it has given: one number for
 * all holds of the node, as there may be very many. A reign begins when the server
 * is believed, and ends when that lapses or the server may be another. A hold is
 * under the reign in which its server was heard to know it, and valid with it. A
 * reign that has ended stays so: no hold that was over is valid again.
 *
 * Written inside the monitor. Whoever reads without it reads until first: of
 * another reign than the hold's it says nothing.
 */
typedef struct lk__trust {
    _Atomic uint64_t until;
    _Atomic uint64_t reign; /* no two of a client have one number; 0: there is
                               none */
    lk__alarm alarm;        /* its end */
} lk__trust;

#endif /* LK_CLAIMS_TRUST_H */
