/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_SIGLOCKING_H
#define LK_TESTS_SUPPORT_SIGLOCKING_H

#include "support/locking.h"
#include "support/pylock.h"

/* For tests of the siglock: what only it has, beside locking.h. */

/* The other library's lock n. */
pylock *sig_pylock(locking *f, const char *id, int expire_s);

/* So many connections stand in a blocking command at the server, soon. */
void sig_wait_blocked(locking *f, long long count);

/* The value of lock:n, "" for none. Free it. */
char *sig_holder(locking *f);

/* Nobody holds the name n, soon, and no wait is under way in the clients. */
void sig_assert_clean(locking *f);

#endif /* LK_TESTS_SUPPORT_SIGLOCKING_H */
