/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_SCENE_H
#define LK_TESTS_SUPPORT_SCENE_H

#include "support/locking.h"

/*
 * What a fault test at the level of clients needs, beside locking.h: a server of the
 * test's own, a proxy before it, and three clients that want the lock called "job".
 * `far` talks through the proxy; its connection number 0 there is for commands,
 * number 1 is its inbox, number 2 the next one. `near` and `third` talk to the server
 * directly.
 */

/* The patience of all waits here; scaled. */
enum { SCENE_MS = 60000 };

/* For cmocka; the teardown is locking_teardown(). The far client is opened by
   scene_far(). */
int scene_setup(void **state);

#define SCENE_TEST(name)                                                       \
    CHECK_TEST_OF(name, locking *f, scene_setup, locking_teardown)

/* Opens the far client and waits until it is ready. NULL: all defaults. */
void scene_open_far(locking *f, const lk_client_options *options);
/* The same, and until its inbox stands: it has held the lock for a moment. */
void scene_far(locking *f, const lk_client_options *options);

/* Acquires, or fails the test. */
lk_hold *scene_hold(lk_lock *lock, const lk_acquire_options *options);

/* ---- what the server knows ----------------------------------------------- */

/* Waits until the command, without arguments to fill in, answers so. */
bool scene_becomes(locking *f, const char *command, long long integer);
/* The same for: not less than. */
bool scene_reaches(locking *f, const char *command, long long integer);
/* Runs a command whose answer does not matter. An error fails the test. */
void scene_command(locking *f, const char *command);
/* How many inboxes the server has a subscriber of. A client that has connected
   again has not yet subscribed: while it has not, its waiters are passed over. */
#define SCENE_INBOXES                                                          \
    "EVAL return(#redis.call('PUBSUB','CHANNELS','latchkey:in:*')) 0"
/* Breaks the connections of that number that go through the proxy, which is
   the inbox's and cannot come back now: the server has noticed. */
void scene_deafens(locking *f, int inbox);
/* How many keys of the lock exist that have no end. */
long long scene_immortal_keys(locking *f);
/* The name is free and nobody waits, soon. */
void scene_is_clean(locking *f);

/* Waits until the client has had so many connections. */
bool scene_connects(lk_client *client, uint64_t connects);
/* Waits until the client has looked as a waiter so many times more than now. */
void scene_looks(lk_client *client, uint64_t times);
/* The same for replies read, and nothing is under way. */
void scene_hears(lk_client *client, uint64_t times);
#endif /* LK_TESTS_SUPPORT_SCENE_H */
