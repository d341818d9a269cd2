/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_FAIRLINE_H
#define LK_TESTS_SUPPORT_FAIRLINE_H

#include <latchkey/fairlock.h>

#include "support/call.h"
#include "support/scene.h"

/*
 * A scene (scene.h) with fair locks: the same three clients, each with a fair
 * lock called "job", and async waits for it in the order of their begin. Each
 * has an owner of its own.
 */

enum { FAIRLINE_WAITS = 256 };

typedef struct fairline {
    scene *scene;
    lk_fairlock *far, *near, *third;
    lk_fairlock *locks[8];
    size_t lock_count;
    call *waits[FAIRLINE_WAITS];
    int count;
} fairline;

/* For cmocka. The far client is opened by fairline_far(). */
int fairline_setup(void **state);
int fairline_teardown(void **state);

#define FAIRLINE_TEST(f)                                                       \
    cmocka_unit_test_setup_teardown(f, fairline_setup, fairline_teardown)

/* As scene_open_far() and scene_far(). */
void fairline_open_far(fairline *l, const lk_client_options *options);
void fairline_far(fairline *l, const lk_client_options *options);

/* Acquires, or fails the test. options may be NULL. */
lk_hold *fairline_hold(lk_fairlock *lock, const lk_acquire_options *options);

/* Begins a wait without limit. */
call *fairline_begin(fairline *l, lk_fairlock *lock,
                     const lk_acquire_options *options);
/* The same, and returns when the server has queued it, and has said so. */
call *fairline_queue(fairline *l, lk_fairlock *lock);
/* So many of one client; that goes for all of them. */
void fairline_queue_many(fairline *l, lk_fairlock *lock, int count);

/* Waits for its hold; the caller releases it. */
lk_hold *fairline_granted(call *wait);
/* Whether it has not ended. */
bool fairline_waits(call *wait);

/*
 * The waits from first on are granted one after the other, in the order of
 * their begin; each is released before the next can be.
 */
void fairline_serve(fairline *l, int first);

/* How many wait at the server. */
long long fairline_queued(fairline *l);
bool fairline_becomes_queued(fairline *l, long long count);

#endif /* LK_TESTS_SUPPORT_FAIRLINE_H */
