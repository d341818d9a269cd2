/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_LEADING_H
#define LK_TESTS_SUPPORT_LEADING_H

#include <stdatomic.h>

#include "support/locking.h"

/* For tests of elections, each the election n: what only they have, beside
   locking.h. */

enum { LEADING_TELLS = 256 };

/* options may be NULL. */
lk_leader *
leading_in(locking *f, lk_client *client, const lk_leader_options *options);
/* The same of a client of its own that is ready. */
lk_leader *leading_new(locking *f, const lk_leader_options *options);
/* One that publishes this value. */
lk_leader *leading_as(locking *f, const char *value);

/* What a watch, or a callback of a hold's loss, has told. Zero it. */
typedef struct tells {
    atomic_uint count;
    struct {
        lk_status status;
        uint64_t term;
        char value[LK_LEADER_VALUE_MAX + 1];
        uint64_t remaining_ms; /* of a loss */
        uint64_t at_ms;
    } told[LEADING_TELLS];
} tells;

/* An lk_leader_cb, and an lk_lost_cb: data is the tells. */
void tells_change(lk_status status, const lk_party *leader, void *data);
void tells_loss(lk_hold *hold, uint64_t remaining_ms, void *data);
/* Waits until it was told so often, 10 s at most (scaled). */
void tells_wait(tells *t, unsigned count);

#endif /* LK_TESTS_SUPPORT_LEADING_H */
