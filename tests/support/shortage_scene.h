/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_SHORTAGE_SCENE_H
#define LK_TESTS_SUPPORT_SHORTAGE_SCENE_H

#include <latchkey/latchkey.h>

#include <stdatomic.h>

#include "support/shortage.h"

/*
 * What scenes are made of. Each step looks at its answer; a step whose beginning
 * failed is left out.
 */

enum { WAIT_MS = 300, LONGER_MS = 600, LEASE_MS = 1000 };

/* Something is not as promised. */
void shortage_wrong(shortage *s, const char *what, lk_status status);

/* Whether it went well; with words if it did not. */
bool shortage_good(shortage *s, const char *what, lk_status status);

/* The same of a call that gives a hold. */
bool shortage_held(shortage *s, const char *what, lk_status status,
                   lk_hold *const *hold);

/* Releases it; NULL: nothing. */
void shortage_give(shortage *s, lk_hold *hold);

/* Calls that do not wait: how many were begun and have ended. */
typedef struct shortage_async {
    shortage *s;
    atomic_int begun, ended;
    lk_hold *_Atomic hold;
} shortage_async;

void shortage_begin(shortage_async *a, lk_status status);

/* All that were begun end, each once. */
void shortage_await(shortage_async *a);

/* Their callbacks; data is the shortage_async. The last two count nothing. */
void shortage_on_done(lk_status status, void *data);
void shortage_on_acquire(lk_status status, lk_hold *hold, void *data);
void shortage_on_info(lk_status status, lk_info *info, void *data);
void shortage_on_leader(lk_status status, const lk_party *leader, void *data);
void shortage_on_lost(lk_hold *hold, uint64_t remaining_ms, void *data);

/* Each may be NULL: it could not be had, or what it needs is NULL. */
lk_client *shortage_open(shortage *s);
void shortage_close(shortage *s, lk_client *client);
lk_lock *shortage_lock(shortage *s, lk_client *client);
lk_hold *shortage_take(shortage *s, lk_lock *lock);

/* The scenes. */
void shortage_open_and_close(shortage *s);
void shortage_lock_alone(shortage *s);
void shortage_lock_again_and_again(shortage *s);
void shortage_lock_handed_over(shortage *s);
void shortage_lock_passed_on(shortage *s);
void shortage_lock_canceled(shortage *s);
void shortage_lock_exported(shortage *s);
void shortage_lock_operated(shortage *s);
void shortage_lock_spun(shortage *s);
void shortage_fairlock_handed_over(shortage *s);
void shortage_rwlock_all_ways(shortage *s);
void shortage_rwlock_handed_over(shortage *s);
void shortage_semaphore_all_ways(shortage *s);
void shortage_siglock_handed_over(shortage *s);
void shortage_plain_all_ways(shortage *s);
void shortage_latch_all_ways(shortage *s);
void shortage_cell_all_ways(shortage *s);
void shortage_leader_all_ways(shortage *s);
void shortage_flight_all_ways(shortage *s);

#endif /* LK_TESTS_SUPPORT_SHORTAGE_SCENE_H */
