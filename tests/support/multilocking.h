/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_MULTILOCKING_H
#define LK_TESTS_SUPPORT_MULTILOCKING_H

#include <latchkey/multilock.h>

#include <stdbool.h>

#include "support/locking.h"
#include "support/proxy.h"

/*
 * For tests of the multilock: what locking.h has, and multilocks of names, each
 * letter one. Whatever cannot be had fails the running test.
 */

enum { MULTI_SETS = 16, MULTI_RWLOCKS = 32 };

typedef struct multilocking {
    locking *base;
    lk_multilock *sets[MULTI_SETS];
    size_t set_count;
    lk_rwlock *rwlocks[MULTI_RWLOCKS];
    size_t rwlock_count;
    lk_fairlock *fairlocks[MULTI_RWLOCKS];
    size_t fairlock_count;
} multilocking;

/* For cmocka; the server is locking_start_server()'s. */
int multilocking_setup(void **state);
int multilocking_teardown(void **state);

#define MULTI_TEST(f)                                                          \
    cmocka_unit_test_setup_teardown(f, multilocking_setup,                     \
                                    multilocking_teardown)

lk_multilock *multi_empty(multilocking *f);
/* Of locks: "bca" are three, called b, c and a. */
lk_multilock *multi_of(multilocking *f, lk_client *client, const char *letters);
lk_rwlock *multi_rwlock(multilocking *f, lk_client *client, const char *name);
lk_fairlock *
multi_fairlock(multilocking *f, lk_client *client, const char *name);

/* A hold on all of what must be free; lease_ms 0: the watchdog's. */
lk_hold *multi_hold(lk_multilock *set);
lk_hold *multi_hold_for(lk_multilock *set, uint64_t lease_ms);

/* A status, and a word of what lk_last_error() says about it. */
void assert_words(lk_status actual, lk_status expected, const char *word);

/* options may be NULL. What it got is released at the end of the test. */
taker *multi_take(multilocking *f, lk_multilock *set, int64_t wait_ms,
                  const lk_acquire_options *options);

/* Soon the locks of these letters are free, and nobody waits for them; or each
   is held. */
void multi_assert_free(multilocking *f, const char *letters);
void multi_assert_held(multilocking *f, const char *letters);

/* A client behind the proxy; its connection 0 is for commands, 1 its inbox. */
lk_client *multi_open_far(multilocking *f);

#endif /* LK_TESTS_SUPPORT_MULTILOCKING_H */
