/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_MULTILOCKING_H
#define LK_TESTS_SUPPORT_MULTILOCKING_H

#include "support/locking.h"

/* For tests of the multilock: what only it has, beside locking.h. Each letter is the
   name of a lock. */

lk_multilock *multi_empty(locking *f);
/* Of locks: "bca" are three, called b, c and a. */
lk_multilock *multi_of(locking *f, lk_client *client, const char *letters);
/* Soon the locks of these letters are free, and nobody waits for them; or each
   is held. */
void multi_assert_free(locking *f, const char *letters);
void multi_assert_held(locking *f, const char *letters);

/* A client behind the proxy; its connection 0 is for commands, 1 its inbox. */
lk_client *multi_open_far(locking *f);

#endif /* LK_TESTS_SUPPORT_MULTILOCKING_H */
