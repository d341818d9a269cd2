/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_MASTERS_H
#define LK_TESTS_SUPPORT_MASTERS_H

#include "support/check.h"
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

/* The running test's cluster and client. */
extern played *masters;

/* For cmocka: MASTERS of them, and a client without options. */
int masters_setup(void **state);
/* Whichever cluster the test has begun ends. */
int masters_end(void **state);

#define MASTERS_TEST(name)                                                     \
    CHECK_TEST_OF(name, NO_STATE, masters_setup, masters_end)
/* A test that begins its cluster itself. */
#define MASTERS_OWN_TEST(name) CHECK_TEST_OF(name, NO_STATE, NULL, masters_end)

/* Begins one with so many, from all of which the client takes. options may be NULL. */
void masters_begin(size_t count, const lk_client_options *options);

/* Gets the lock "n", in a minute at most. */
lk_hold *masters_take(void);

/* How long it takes to get a hold, which is released. */
uint64_t masters_take_ms(void);

/* What a node says of the slot of "n": word, MOVED or ASK, and another node. */
const char *masters_at_slot(char text[64], const char *word, size_t node);

#endif /* LK_TESTS_SUPPORT_MASTERS_H */
