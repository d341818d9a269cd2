/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_LATCHING_H
#define LK_TESTS_SUPPORT_LATCHING_H

#include "support/locking.h"

/* For tests of latches: what only they have, beside locking.h. Each is called n. */

/* The patience of all waits here; scaled. */
enum { LATCHING_MS = 10000 };

/* A latch of that client whose keys live so long. */
lk_latch *latching_latch_for(locking *f, lk_client *client, uint64_t ttl_ms);

/* What is left to count. */
uint64_t latching_count(lk_latch *latch);
/* An operation that must succeed. */
void latching_arm(lk_latch *latch, uint64_t count);
void latching_down(lk_latch *latch, uint64_t count);

/* So many clients are listed as waiting. */
void latching_wait_listed(locking *f, long long count);

#endif /* LK_TESTS_SUPPORT_LATCHING_H */
