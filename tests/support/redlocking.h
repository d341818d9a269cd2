/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_REDLOCKING_H
#define LK_TESTS_SUPPORT_REDLOCKING_H

#include "support/locking.h"

/*
 * For tests of the lock over several servers: what only it has, beside locking.h.
 * There are five servers for the program, in place of one.
 */

enum { REDLOCKING_SERVERS = 5 };

extern server *redlocking_servers[REDLOCKING_SERVERS];

/* For cmocka. A test begins with five servers that run and are empty; its
   teardown fails when a connection of the test is left at a server. */
int redlocking_start_servers(void **state);
int redlocking_stop_servers(void **state);
int redlocking_setup(void **state);
int redlocking_teardown(void **state);

#define REDLOCKING_TEST(name)                                                  \
    CHECK_TEST_OF(name, locking *f, redlocking_setup, redlocking_teardown)

/* A client of one server, or of a URL; it is ready. options may be NULL. */
lk_client *
redlocking_open(locking *f, size_t node, const lk_client_options *options);
lk_client *redlocking_open_url(locking *f, const char *url,
                               const lk_client_options *options);

/* What most tests want: a long node_timeout_ms, short pauses, no quarantine,
   and a lease that is not lost. */
lk_redlock_options redlocking_options(void);

/* The lock n over the first count servers, with clients of its own. options
   NULL: those above. */
lk_redlock *
redlocking_make(locking *f, size_t count, const lk_redlock_options *options);
/* The same over clients of the test's. */
lk_redlock *redlocking_make_of(locking *f, lk_client *const *clients,
                               size_t count, const lk_redlock_options *options);

/* What a server has under the name n; NULL: nothing. Free it. */
char *redlocking_token(size_t node);

/* How many of the first count servers have something under the name n. */
size_t redlocking_planted(size_t count);

/* Waits until so many of the first count servers have something there: 5 s at
   most (scaled), then the test fails. */
void redlocking_wait_planted(size_t count, size_t planted);

void redlocking_freeze(size_t node);
void redlocking_thaw(size_t node);

lk_redlock_answer redlocking_answer(lk_redlock *lock, size_t node);

/* Waits for the end of a hold: 5 s at most (scaled). */
void redlocking_wait_lost(lk_hold *hold);

/* Has the hold for so long; fails the test if it is lost meanwhile. */
void redlocking_keep(lk_hold *hold, uint64_t ms);

#endif /* LK_TESTS_SUPPORT_REDLOCKING_H */
