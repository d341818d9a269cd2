/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_DIFFERENTIAL_CALLS_H
#define LK_SIM_DIFFERENTIAL_CALLS_H

#include "differential/twin.h"

/*
 * What a twin is asked: the library's scripts and commands by hand, sensible
 * and hostile, on a few names; and what happens to the servers meanwhile. The
 * seed decides all of it.
 */
typedef struct calls calls;

/* From the each_from-th command on, the data is compared after each. */
calls *calls_new(twin *t, uint64_t seed, uint64_t each_from);
void calls_free(calls *c);

/* Asks some, and perhaps lets something happen. */
void calls_step(calls *c);

#endif /* LK_SIM_DIFFERENTIAL_CALLS_H */
