/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_REDLOCKING_H
#define LK_TESTS_SUPPORT_REDLOCKING_H

#include <latchkey/latchkey.h>

#include <stdbool.h>
#include <stdint.h>

#include "support/server.h"

/*
 * For tests of the lock over several servers: five of them for the program,
 * and for each test the clients and handles that it made, which end with it.
 * Whatever cannot be had fails the running test.
 */

enum { REDLOCKING_SERVERS = 5, REDLOCKING_CLIENTS = 32, REDLOCKING_LOCKS = 16 };

typedef struct redlocking {
    server *servers[REDLOCKING_SERVERS];
    bool stopped[REDLOCKING_SERVERS]; /* by redlocking_freeze() */
    lk_client *clients[REDLOCKING_CLIENTS];
    size_t client_count;
    lk_redlock *locks[REDLOCKING_LOCKS];
    size_t lock_count;
} redlocking;

/* For cmocka. A test begins with five servers that run and are empty; its
   teardown fails when a connection of the test is left at a server. */
int redlocking_start_servers(void **state);
int redlocking_stop_servers(void **state);
int redlocking_setup(void **state);
int redlocking_teardown(void **state);

#define REDLOCKING_TEST(f)                                                     \
    cmocka_unit_test_setup_teardown(f, redlocking_setup, redlocking_teardown)

/* A client of one server, or of a URL; it is ready. options may be NULL. */
lk_client *
redlocking_open(redlocking *f, size_t node, const lk_client_options *options);
lk_client *redlocking_open_url(redlocking *f, const char *url,
                               const lk_client_options *options);

/* What most tests want: a long node_timeout_ms, short pauses, no quarantine,
   and a lease that is not lost. */
lk_redlock_options redlocking_options(void);

/* The lock n over the first count servers, with clients of its own. options
   NULL: those above. */
lk_redlock *
redlocking_make(redlocking *f, size_t count, const lk_redlock_options *options);
/* The same over clients of the test's. */
lk_redlock *redlocking_make_of(redlocking *f, lk_client *const *clients,
                               size_t count, const lk_redlock_options *options);

/* A hold that is to be had at once. */
lk_hold *redlocking_hold(lk_redlock *lock);

/* What a server has under the name n; NULL: nothing. Free it. */
char *redlocking_token(redlocking *f, size_t node);

/* How many of the first count servers have something under the name n. */
size_t redlocking_planted(redlocking *f, size_t count);

/* Waits until so many of the first count servers have something there: 5 s at
   most (scaled), then the test fails. */
void redlocking_wait_planted(redlocking *f, size_t count, size_t planted);

void redlocking_freeze(redlocking *f, size_t node);
void redlocking_thaw(redlocking *f, size_t node);

lk_redlock_answer redlocking_answer(lk_redlock *lock, size_t node);

/* Waits for the end of a hold: 5 s at most (scaled). */
void redlocking_wait_lost(lk_hold *hold);

/* Has the hold for so long; fails the test if it is lost meanwhile. */
void redlocking_keep(lk_hold *hold, uint64_t ms);

#endif /* LK_TESTS_SUPPORT_REDLOCKING_H */
