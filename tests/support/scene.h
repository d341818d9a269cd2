/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_SCENE_H
#define LK_TESTS_SUPPORT_SCENE_H

#include <latchkey/latchkey.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "support/proxy.h"
#include "support/server.h"

/*
 * What a fault test at the level of clients needs: a server, a proxy before
 * it, and three clients that want the lock called "job". `far` talks through
 * the proxy; its connection number 0 there is for commands, number 1 is its
 * inbox, number 2 the next one. `near` and `third` talk to the server directly.
 *
 * Whatever cannot be had fails the running test. The teardown shuts the
 * clients down, so a wait that a failed test left behind ends.
 */

enum {
    SCENE_ATTEMPTS = 16,
    SCENE_MS = 15000 /* the patience of all waits here; scaled */
};

/* One blocking acquire in a thread of its own. */
typedef struct attempt attempt;

typedef struct scene {
    server *server;
    proxy *proxy;
    lk_client *far, *near, *third;
    lk_lock *far_lock, *near_lock, *third_lock;
    attempt *attempts[SCENE_ATTEMPTS];
    unsigned attempt_count;
} scene;

/* For cmocka. The far client is opened by scene_far(). */
int scene_setup(void **state);
int scene_teardown(void **state);

#define SCENE_TEST(f)                                                          \
    cmocka_unit_test_setup_teardown(f, scene_setup, scene_teardown)

/* Opens the far client and waits until it is ready. NULL: all defaults. */
void scene_open_far(scene *sc, const lk_client_options *options);
/* The same, and until its inbox stands: it has held the lock for a moment. */
void scene_far(scene *sc, const lk_client_options *options);

/* Acquires, or fails the test. */
lk_hold *scene_hold(lk_lock *lock, const lk_acquire_options *options);

/* ---- acquires under way -------------------------------------------------- */

attempt *scene_attempt(scene *sc, lk_lock *lock, int64_t wait_ms,
                       const lk_acquire_options *options);
/* Whether it has ended; waits up to deadline_ms, scaled. */
bool attempt_has_ended(attempt *a, unsigned deadline_ms);
/* Its end, waited for. */
lk_status attempt_status(attempt *a);
/* The hold it must have got; the caller releases it. */
lk_hold *attempt_hold(attempt *a);
/* How long it took; it has ended. */
uint64_t attempt_took_ms(attempt *a);

/* ---- what the server knows ----------------------------------------------- */

/* Waits until the command, without arguments to fill in, answers so. */
bool scene_becomes(scene *sc, const char *command, long long integer);
/* The same for: not less than. */
bool scene_reaches(scene *sc, const char *command, long long integer);
/* Runs a command whose answer does not matter. An error fails the test. */
void scene_command(scene *sc, const char *command);
/* How many inboxes the server has a subscriber of. A client that has connected
   again has not yet subscribed: while it has not, its waiters are passed over. */
#define SCENE_INBOXES                                                          \
    "EVAL return(#redis.call('PUBSUB','CHANNELS','latchkey:in:*')) 0"
/* Breaks the connections of that number that go through the proxy, which is
   the inbox's and cannot come back now: the server has noticed. */
void scene_deafens(scene *sc, int inbox);
/* How many keys of the lock exist that have no end. */
long long scene_immortal_keys(scene *sc);
/* The name is free and nobody waits, soon. */
void scene_is_clean(scene *sc);

lk_client_stats scene_stats(lk_client *client);
/* Waits until the client has had so many connections. */
bool scene_connects(lk_client *client, uint64_t connects);
/* Waits until the client has renewed leases, or has looked as a waiter, so many
   times more than now. */
void scene_renews(lk_client *client, uint64_t times);
void scene_looks(lk_client *client, uint64_t times);
/* The same for replies read, and nothing is under way. */
void scene_hears(lk_client *client, uint64_t times);
/* Sleeps, for a test whose subject is a span of time. */
void scene_pass_ms(unsigned ms);

#endif /* LK_TESTS_SUPPORT_SCENE_H */
