/* SPDX-License-Identifier: MIT */
#ifndef LK_CORE_OWNER_H
#define LK_CORE_OWNER_H

#include <latchkey/client.h>

/*
 * Owners: who acts, the unit of re-entry. A number within one client, for
 * threads and for lk_owner alike; 0 is nobody.
 */

/* The owner's number; NULL: the calling thread's, or one never used again. */
uint64_t lk__owner_number(const lk_owner *owner, bool is_thread);

lk_client *lk__owner_client(const lk_owner *owner);

#endif /* LK_CORE_OWNER_H */
