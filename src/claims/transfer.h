/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_TRANSFER_H
#define LK_CLAIMS_TRANSFER_H

#include "claims/wait.h"

/*
 * Takes over a hold that another client has exported: asks the server whether it
 * still stands, with its lease begun again, and renews it from then on.
 */
lk_status lk__import(struct lk__place *place, const char *text,
                     const lk_acquire_options *given, lk_hold **ret_hold);

/* lk_hold_export() of a claim's hold. */
lk_status lk__hold_export(lk_hold *hold, char *text, size_t size);

#endif /* LK_CLAIMS_TRANSFER_H */
