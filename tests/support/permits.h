/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_PERMITS_H
#define LK_TESTS_SUPPORT_PERMITS_H

#include "semaphore_table.h"
#include "support/script.h"

/*
 * Runs the semaphore's scripts alone, for the semaphore n. Keys, arguments and
 * answers go through what was made of the table, so that both of its sides are
 * tested. See script.h for what is returned.
 *
 * A claim is <client>:<number>; its inbox is latchkey:in::<client>, its nonce
 * PERMITS_NONCE. What it asked for first it is asked about later on.
 */

/* The semaphore's keys. */
enum {
    PERMITS_COUNTER,
    PERMITS_ZSET,
    PERMITS_RECORD,
    PERMITS_QUEUE,
    PERMITS_HOLDERS,
    PERMITS_KEYS
};

#define PERMITS_NONCE "0123456789abcdef"
enum { PERMITS_LIFE_MS = 3600000 };

/* For cmocka: as script_setup(), with the semaphore's keys. */
int permits_setup(void **state);

/* From now on whoever calls keeps fences for so long; see fence_keep_ms. */
void permits_set_life(int64_t ms);

/* How a claim asks; else it queues, for 30000 ms, without a reason or a number,
   and sets is `-`; see acquire.lua. */
typedef struct permits_wish {
    int64_t lease;
    bool tries;
    const char *reason;
    int64_t number;
    char sets;
} permits_wish;

/* Asks for so many permits; queues if need be. */
const char *permits_acquire(script_fixture *f, const char *claim, int need);
/* The same, but does not queue. */
const char *permits_try(script_fixture *f, const char *claim, int need);
/* The same, and N is as many as number. */
const char *permits_acquire_of(script_fixture *f, const char *claim, int need,
                               int64_t number, char sets);
const char *permits_acquire_with(script_fixture *f, const char *claim, int need,
                                 permits_wish wish);
/* A touch of one, of two claims, or of none. */
const char *permits_look(script_fixture *f, const char *claim);
const char *
permits_touch(script_fixture *f, const char *first, const char *second);
const char *permits_pass(script_fixture *f);
/* fence 0: the one that is recorded. */
const char *
permits_release(script_fixture *f, const char *claim, int64_t fence);
const char *permits_keep(script_fixture *f, const char *claim, int64_t fence,
                         int64_t lease);
const char *permits_renew(script_fixture *f, const char *claim, int64_t lease);
/* stone: it may not acquire any more. */
const char *permits_leave(script_fixture *f, const char *claim, bool stone);
const char *permits_resize(script_fixture *f, int64_t number);
/* owner "": everybody. */
const char *permits_force(script_fixture *f, const char *owner);
const char *permits_count(script_fixture *f);
const char *permits_info(script_fixture *f);
const char *permits_revoke(script_fixture *f, const char *owner);
const char *permits_forget(script_fixture *f);
/* What a claim has becomes another one's, for 60000 ms. */
const char *permits_import(script_fixture *f, const char *from, int64_t fence,
                           const char *to);

/* Sets N, as Redisson's trySetPermits() does. */
void permits_set(script_fixture *f, int number);
/* The recorded fence of a claim that holds; 0: it does not. */
int64_t permits_fence(script_fixture *f, const char *claim);
/* The score of a claim's permits, counted from 1, minus the server's clock; 0:
   it is not there. */
long long permits_left(script_fixture *f, const char *claim, int i);
/* Has the leases of all permits end ms ago. */
void permits_expire(script_fixture *f, long long ms);
/* Has one permit be gone, as if Redisson had taken it back. */
void permits_sweep_one(script_fixture *f, const char *claim, int i);

/* The record, whose texts live until the next call; false: there is none. */
bool permits_record(script_fixture *f, lk__record_text *ret);
/* Writes it with another fence, or another turn. */
void permits_put_fence(script_fixture *f, int64_t fence);
void permits_put_turn(script_fixture *f, const char *turn);
/* A record of another family, by the letters of its layout. */
void permits_put_layout(script_fixture *f, const char *other);
/* The side of its turn; '-': none. since and length may be NULL. */
char permits_turn(script_fixture *f, long long *since, long long *length);

/* The claims that wait, in order, with blanks between; those that are parked. */
const char *permits_waiting(script_fixture *f);
const char *permits_parked(script_fixture *f);
/* The ticket of one that waits; 0: it does not. */
int64_t permits_ticket(script_fixture *f, const char *claim);
/* Makes one that waits look as if its client was last heard of ms ago. */
void permits_age(script_fixture *f, const char *claim, long long ms);

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

#define PERMITS_TEST(name)                                                     \
    CHECK_TEST_OF(name, script_fixture *f, permits_setup, script_teardown)

#endif /* LK_TESTS_SUPPORT_PERMITS_H */
