/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_MASTERS_H
#define LK_TESTS_SUPPORT_MASTERS_H

#include "support/played_cluster.h"

/*
 * A client that has come to believe the masters of a played cluster.
 */

enum {
    MASTERS = 3, /* as many as most tests have */
    BELIEF_MS = 3000,
    ROUND_MS = 1100, /* each master was asked again */
    LONG_MS = 60000
};

/* It takes from all of them. Free it with played_free(). */
played *masters_new(size_t masters, const lk_client_options *options);

/* Gets the lock "n", in a minute at the most. */
lk_hold *masters_take(played *p);

/* How long it takes to get a hold, which is released. */
uint64_t masters_take_ms(played *p);

/* What a node says of the slot of "n": word, MOVED or ASK, and another node. */
const char *masters_at_slot(char text[64], const char *word, size_t node);

#endif /* LK_TESTS_SUPPORT_MASTERS_H */
