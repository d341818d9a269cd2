/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_OPERATE_H
#define LK_CLAIMS_OPERATE_H

#include "claims/place.h"

/*
 * What operators do to a place, whoever holds it. Inside the monitor, which a
 * blocking one leaves while it sleeps. until: as a part of a call that ends by
 * then; LK__NEVER: it has command_timeout_ms.
 */

/* Ends the hold and hands over; owner: whose it has to be; "": whoever's.
   LK_ENOTHELD: nobody held it, or that one did not. */
lk_status lk__force(lk__place *place, const char *owner, uint64_t until);
lk_status lk__force_async(lk__place *place, const char *owner, uint64_t until,
                          lk_done_cb cb, void *data);

/* Has this owner's hold end; what lk_lock_revoke() promises. */
lk_status lk__revoke(lk__place *place, const char *owner, uint64_t until,
                     int64_t *ret_left_ms);
lk_status lk__revoke_async(lk__place *place, const char *owner, uint64_t until,
                           lk_revoke_cb cb, void *data);

/* Removes what is kept of it, if nobody uses it; what lk_forget() promises. */
lk_status lk__forget(lk__place *place, uint64_t until);
lk_status
lk__forget_async(lk__place *place, uint64_t until, lk_done_cb cb, void *data);

/* Tells whether anybody holds it. */
lk_status lk__exists(lk__place *place, bool *ret_exists);
lk_status
lk__exists_async(lk__place *place,
                 void (*cb)(lk_status status, bool exists, void *data),
                 void *data);

#endif /* LK_CLAIMS_OPERATE_H */
