/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_REPLICA_H
#define LK_TESTS_SUPPORT_REPLICA_H

#include "support/locking.h"

/*
 * For tests of holds that a replica must have: what locking.h has, and one
 * replica of its server, which is there for the whole program and runs at the
 * begin of each test. Whatever cannot be had fails the running test.
 */

/* For cmocka, instead of the functions of locking.h. */
int replica_start(void **state);
int replica_stop(void **state);
int replica_setup(void **state);
int replica_teardown(void **state);

#define REPLICA_TEST(name)                                                     \
    CHECK_TEST_OF(name, locking *f, replica_setup, replica_teardown)

/* The replica. Whoever freezes it need not thaw it. */
server *replica_server(void);

/* It stops to follow its master, or follows it again and has all its data. */
void replica_leave(void);
void replica_follow(locking *f);

/* A hold that one replica must have: in good time, or in 100 ms. */
extern const lk_acquire_options replica_one, replica_one_brief;

/* A lock of a client of its own. */
lk_lock *replica_lock(locking *f, const char *name);

/* A hold on a lock that must be free; the caller releases it. */
lk_hold *replica_hold(lk_lock *lock, const lk_acquire_options *options);

/* The release of what a call got. */
lk_status replica_release(call *c);

/* Whether it has this key. */
bool replica_has(const char *key);

#endif /* LK_TESTS_SUPPORT_REPLICA_H */
