/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_REPLICA_H
#define LK_TESTS_SUPPORT_REPLICA_H

#include "support/siglocking.h"

/*
 * For tests of holds that a replica must have: what siglocking.h has, and one
 * replica of its server, which is there for the whole program and runs at the
 * begin of each test. Whatever cannot be had fails the running test.
 */

/* For cmocka, instead of the functions of locking.h and siglocking.h. */
int replica_start(void **state);
int replica_stop(void **state);
int replica_setup(void **state);
int replica_teardown(void **state);

#define REPLICA_TEST(f)                                                        \
    cmocka_unit_test_setup_teardown(f, replica_setup, replica_teardown)

/* The replica. Whoever freezes it need not thaw it. */
server *replica_server(void);

/* It stops to follow its master, or follows it again and has all its data. */
void replica_leave(void);
void replica_follow(siglocking *f);

#endif /* LK_TESTS_SUPPORT_REPLICA_H */
