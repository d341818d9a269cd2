/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_LOCKING_H
#define LK_TESTS_SUPPORT_LOCKING_H

#include <latchkey/lock.h>

#include <stdbool.h>

#include "support/proxy.h"
#include "support/server.h"
#include "support/taker.h"

/*
 * For tests that lock: one server for the program, and for each test the
 * clients, locks and threads that it made, which end with it, also when it
 * failed. Whatever cannot be had fails the running test.
 */

enum { LOCKING_CLIENTS = 12, LOCKING_LOCKS = 64 };

typedef struct locking {
    server *server;
    lk_client *clients[LOCKING_CLIENTS];
    size_t client_count;
    lk_lock *locks[LOCKING_LOCKS];
    size_t lock_count;
    taker_list takers;
    proxy *proxy; /* NULL until locking_proxy() */
} locking;

/*
 * For cmocka. The server has a TCP port as well. A test begins with no data;
 * its teardown fails when a connection of the test is left at the server.
 */
int locking_start_server(void **state);
int locking_stop_server(void **state);
int locking_setup(void **state);
int locking_teardown(void **state);

#define LOCKING_TEST(f)                                                        \
    cmocka_unit_test_setup_teardown(f, locking_setup, locking_teardown)

/*
 * The same for a fixture that stands on this one: a struct of so many bytes, zeroed,
 * whose first member is a `locking *`. Its teardown calls locking_end_waits(), frees
 * what it has made, and calls the second one.
 */
int locking_setup_above(void **state, size_t size);
int locking_teardown_above(void **state);

/* A test, whose fixture is a `locking *f`. */
#define LOCKS_TEST(name)                                                       \
    CHECK_TEST_OF(name, locking *f, locking_setup, locking_teardown)

/* Shuts all clients down, so that nobody waits any more, and ends the takers. */
void locking_end_waits(locking *f);

/*
 * A client that is ready. options may be NULL. Unless they name a
 * command_timeout_ms, it is one that a machine without time keeps too.
 */
lk_client *locking_open(locking *f, const lk_client_options *options);
/* The same client, but opened with a URL of the test's and not waited for. */
lk_client *
locking_open_url(locking *f, const char *url, const lk_client_options *options);

/* The same, with a watchdog of wait_lease_ms(). */
lk_client *locking_open_watchdog(locking *f);

/*
 * The same, but a client that has used a lock before: its inbox stands, so
 * that it sends nothing but what the test has it do.
 */
lk_client *locking_open_calm(locking *f, const lk_client_options *options);

/*
 * A proxy before the server, from the first call on. It heals at the end of the test,
 * and is gone after the clients. The second one opens a client behind it that is ready.
 */
proxy *locking_proxy(locking *f);
lk_client *locking_open_far(locking *f, const lk_client_options *options);

/* Frees a client or a lock before the end of the test. */
void locking_free_client(locking *f, lk_client *client);
void locking_free_lock(locking *f, lk_lock *lock);

lk_lock *locking_lock(locking *f, lk_client *client, const char *name);

/* A hold on a lock that must be free. */
lk_hold *locking_hold(lk_lock *lock);
/* The same with a lease. */
lk_hold *locking_hold_for(lk_lock *lock, uint64_t lease_ms);

/* Exports a hold, which must be possible, and imports it. */
void locking_export(lk_hold *hold, char text[LK_EXPORT_SIZE]);
lk_hold *locking_import(lk_lock *lock, const char *text);

lk_client_stats locking_stats(lk_client *client);

/* ---- threads ---- */

/* options may be NULL. What it got is released at the end of the test. */
taker *locking_take(locking *f, lk_lock *lock, int64_t wait_ms,
                    const lk_acquire_options *options);
/* ---- what is to be waited for: 5 s at most (scaled), then the test fails ---- */

/* So many claims wait for the name at the server. */
void locking_wait_queued(locking *f, const char *name, long long count);
/* So many waits are under way in a client. */
void locking_wait_waiting(lk_client *client, uint64_t count);
/* No request is under way in a client. */
void locking_wait_calm(lk_client *client);
/* So many connections were made by a client, or more. */
void locking_wait_connects(lk_client *client, uint64_t count);
/* A command that answers an integer answers this one. */
void locking_wait_integer(locking *f, long long expected, const char *format,
                          const char *argument);

/* Milliseconds of life the key has left, as PTTL says it. */
long long locking_pttl(locking *f, const char *key);
bool locking_exists(locking *f, const char *key);

/* Sleeps so long, for what must not happen meanwhile. */
void locking_pass_time(unsigned ms);

#endif /* LK_TESTS_SUPPORT_LOCKING_H */
