/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_SIGLOCKING_H
#define LK_TESTS_SUPPORT_SIGLOCKING_H

#include <latchkey/siglock.h>

#include "support/call.h"
#include "support/locking.h"
#include "support/pylock.h"

/*
 * For tests of the siglock: what locking.h has, and siglocks, waits and locks
 * of the other library beside it. Whatever cannot be had fails the running
 * test.
 */

enum { SIG_LOCKS = 128, SIG_WAITS = 256, SIG_PYLOCKS = 8 };

typedef struct siglocking {
    locking *base;
    lk_siglock *locks[SIG_LOCKS];
    size_t lock_count;
    call waits[SIG_WAITS];
    size_t wait_count;
    pylock *pylocks[SIG_PYLOCKS];
    size_t pylock_count;
} siglocking;

/* For cmocka; the server is locking_start_server()'s. */
int siglocking_setup(void **state);
int siglocking_teardown(void **state);

#define SIG_TEST(name)                                                         \
    CHECK_TEST_OF(name, siglocking *f, siglocking_setup, siglocking_teardown)

/* On the name n unless one is given. */
lk_siglock *sig_lock_named(siglocking *f, lk_client *client, const char *name);
lk_siglock *sig_lock(siglocking *f, lk_client *client);
/* The same of a client of its own, which is ready. */
lk_siglock *sig_lock_of_new_client(siglocking *f);

/* The other library's lock n. */
pylock *sig_pylock(siglocking *f, const char *id, int expire_s);

/* A hold on a lock that must be free; with a lease that is fixed. */
lk_hold *sig_hold(lk_siglock *lock);
lk_hold *sig_hold_for(lk_siglock *lock, uint64_t lease_ms);

/* Begins to acquire; without limit. */
call *sig_wait_for(siglocking *f, lk_siglock *lock, int64_t wait_ms,
                   const lk_acquire_options *options);
call *sig_wait(siglocking *f, lk_siglock *lock);
/* Its hold, waited for; the caller releases it. */
lk_hold *sig_granted(call *c);
/* Waits for its hold and releases that. */
void sig_serve(call *c);

/* So many connections stand in a blocking command at the server, soon. */
void sig_wait_blocked(siglocking *f, long long count);

/* The value of lock:n, "" for none. Free it. */
char *sig_holder(siglocking *f);

/* Nobody holds the name n, soon, and no wait is under way in the clients. */
void sig_assert_clean(siglocking *f);

#endif /* LK_TESTS_SUPPORT_SIGLOCKING_H */
