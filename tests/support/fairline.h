/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_FAIRLINE_H
#define LK_TESTS_SUPPORT_FAIRLINE_H

#include "support/scene.h"

/*
 * A scene (scene.h) with fair locks: the same three clients, each with a fair
 * lock called "job", and async waits for it in the order of their begin. Each
 * has an owner of its own.
 */

/* For cmocka; the teardown is locking_teardown(). The far client is opened by
   fairline_far(). */
int fairline_setup(void **state);

#define FAIRLINE_TEST(name)                                                    \
    CHECK_TEST_OF(name, locking *f, fairline_setup, locking_teardown)

/* As scene_open_far() and scene_far(). */
void fairline_open_far(locking *f, const lk_client_options *options);
void fairline_far(locking *f, const lk_client_options *options);

/* Acquires, or fails the test. options may be NULL. */
lk_hold *fairline_hold(lk_fairlock *lock, const lk_acquire_options *options);

/* Begins a wait without limit. */
call *fairline_begin(locking *f, lk_fairlock *lock,
                     const lk_acquire_options *options);
/* The same, and returns when the server has queued it, and has said so. */
call *fairline_queue(locking *f, lk_fairlock *lock);
/* So many of one client; that goes for all of them. */
void fairline_queue_many(locking *f, lk_fairlock *lock, int count);

/* Whether it has not ended. */
bool fairline_waits(call *wait);

/*
 * The waits from first on are granted one after the other, in the order of
 * their begin; each is released before the next can be.
 */
void fairline_serve(locking *f, size_t first);

/* How many wait at the server. */
long long fairline_queued(locking *f);
bool fairline_becomes_queued(locking *f, long long count);

#endif /* LK_TESTS_SUPPORT_FAIRLINE_H */
