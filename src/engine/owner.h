/* SPDX-License-Identifier: MIT */
#ifndef LK_ENGINE_OWNER_H
#define LK_ENGINE_OWNER_H

#include <latchkey/client.h>

#include <stdbool.h>

/*
 * Owners: who acts, the unit of re-entry. A number within one client, for
 * threads and for lk_owner alike; 0 is nobody.
 */

/* The owner's number; NULL: the calling thread's, or one never used again. */
uint64_t lk__owner_number(const lk_owner *owner, bool is_thread);

lk_client *lk__owner_client(const lk_owner *owner);

/*
 * One that lk_owner_new() made has a reference of its client. One that a
 * composite makes for itself lies in its own memory and has none; with inner,
 * the ends of the calls that it acts in, and what is told of its holds, come on
 * the client's loop even if the client was opened with .dispatch; with waits, a
 * try of its is part of a wait, so it leaves a free name to Redisson's clients in
 * their turn.
 */
struct lk_owner {
    lk_client *client;
    uint64_t number;
    bool inner;
    bool waits;
};

#endif /* LK_ENGINE_OWNER_H */
