/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_PERMITS_H
#define LK_TESTS_SUPPORT_PERMITS_H

#include "support/script.h"

/*
 * Runs the semaphore's scripts alone, for the semaphore n; an inbox is called
 * in:<claim>. See script.h for what is returned.
 */

/* The semaphore's keys, in the order in which every script gets them. */
enum {
    PERMITS_COUNTER,
    PERMITS_STATE,
    PERMITS_QUEUE,
    PERMITS_TICKETS,
    PERMITS_SKIPPED,
    PERMITS_ZSET,
    PERMITS_VOID,
    PERMITS_HOLDERS,
    PERMITS_KEYS
};

/* For cmocka: as script_setup(), with the semaphore's keys. */
int permits_setup(void **state);

/* How a claim asks; NULL: "30000", "1", in:<claim>, "", "0", "0", "". */
typedef struct permits_wish {
    const char *lease, *queue, *inbox, *reason, *check_void, *number, *text;
} permits_wish;

/* Asks for so many permits; queues if need be. */
const char *permits_acquire(script_fixture *f, const char *claim, int need);
/* The same, but does not queue. */
const char *permits_try(script_fixture *f, const char *claim, int need);
/* The same, and N is as many as number; text as in semaphore_acquire.lua. */
const char *permits_acquire_of(script_fixture *f, const char *claim, int need,
                               const char *number, const char *text);
const char *permits_acquire_with(script_fixture *f, const char *claim, int need,
                                 permits_wish wish);
const char *permits_recheck(script_fixture *f, const char *claim);
/* One or two claims of a client; the second may be NULL. */
const char *
permits_touch(script_fixture *f, const char *first, const char *second);
/* fence NULL: the one that is recorded. */
const char *
permits_release(script_fixture *f, const char *claim, const char *fence);
const char *permits_confirm(script_fixture *f, const char *claim,
                            const char *fence, const char *lease);
const char *permits_renew(script_fixture *f, const char *claim,
                          const char *fence, const char *lease);
const char *
permits_leave(script_fixture *f, const char *claim, const char *tombstone_ms);
const char *permits_pass(script_fixture *f);
const char *permits_resize(script_fixture *f, const char *number);
const char *permits_force(script_fixture *f, const char *owner);
const char *permits_count(script_fixture *f);
const char *permits_info(script_fixture *f);

/* Sets N, as Redisson's trySetPermits() does. */
void permits_set(script_fixture *f, int number);
/* The recorded fence of a claim that holds. Lives as script_redis()'s. */
const char *permits_fence(script_fixture *f, const char *claim);
/* The score of a claim's permits, counted from 1, minus the server's clock; 0:
   it is not there. */
long long permits_left(script_fixture *f, const char *claim, int i);
/* Has the leases of all permits end ms ago. */
void permits_expire(script_fixture *f, long long ms);
/* Has one permit be gone, as if Redisson had taken it back. */
void permits_sweep_one(script_fixture *f, const char *claim, int i);

/* A permit of Redisson's: 32 times the same digit, for lease_ms from now. */
const char *
permits_java_take(script_fixture *f, char digit, long long lease_ms);
/* Redisson gives it back; what it then tells its channel is not sent. */
void permits_java_release(script_fixture *f, char digit);

/* N permits, of which so many are free; fails the test otherwise. */
void permits_assert_books(script_fixture *f, long long number, long long free,
                          const char *file, int line);

#define assert_books(f, number, free)                                          \
    permits_assert_books((f), (number), (free), __FILE__, __LINE__)

#define PERMITS_TEST(f)                                                        \
    cmocka_unit_test_setup_teardown(f, permits_setup, script_teardown)

#endif /* LK_TESTS_SUPPORT_PERMITS_H */
