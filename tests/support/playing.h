/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_PLAYING_H
#define LK_TESTS_SUPPORT_PLAYING_H

#include "support/check.h"
#include "support/played.h"

/*
 * For tests whose state is a played server and its client, of their own.
 */

/* The client has done nothing yet. */
int playing_setup(void **state);
/* Its inbox stands, since it has held the lock once: nothing happens but what the test
   has happen, and nothing is counted yet. */
int playing_calm_setup(void **state);
/* Its inbox stands, since it has waited once, in vain. Nobody has the lock. */
int playing_waited_setup(void **state);
int playing_teardown(void **state);

#define PLAYED_TEST(name)                                                      \
    CHECK_TEST_OF(name, played *p, playing_setup, playing_teardown)
#define CALM_TEST(name)                                                        \
    CHECK_TEST_OF(name, played *p, playing_calm_setup, playing_teardown)
#define WAITED_TEST(name)                                                      \
    CHECK_TEST_OF(name, played *p, playing_waited_setup, playing_teardown)

/* Makes a client as playing_calm_setup() does; free it with played_free(). */
played *playing_calm(void);

/* What arrived is counted from now on. */
void playing_count_anew(played *p);

#endif /* LK_TESTS_SUPPORT_PLAYING_H */
