/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_STRANGERS_H
#define LK_TESTS_SUPPORT_STRANGERS_H

#include "support/script.h"

/*
 * What a queue may have that a family must not serve: waiters of other families
 * under the same name, who can be reached, and texts that no client writes.
 */

/* Puts the i-th, counted from 0, into a band of latchkey:{n}:q, before all that
   come later. modes are the family's own, in that band; such a waiter is left out.
   Returns the stranger in words; NULL: there is none such. *ret is whether it was
   put there. */
const char *stranger_put(script_fixture *f, size_t i, int band,
                         const char *modes, bool *ret);
/* How many are parked. */
long long strangers_parked(script_fixture *f);
/* Puts so many of a family that none of the scripts knows into a band. */
void strangers_crowd(script_fixture *f, int band, int count);

#endif /* LK_TESTS_SUPPORT_STRANGERS_H */
