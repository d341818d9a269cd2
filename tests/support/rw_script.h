/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_RW_SCRIPT_H
#define LK_TESTS_SUPPORT_RW_SCRIPT_H

#include "support/lua_rwlock.h"

/*
 * The scripts of the read-write lock, alone, with what each claim asked for kept
 * in mind: so a test says only what a claim does. See support/lua_rwlock.h. A test
 * gives each claim a client of its own: w2:1.
 */

/* For cmocka: a fixture of such a lock, in turns. */
int rw_setup(void **state);

/* From now on claims come with this order: "0", "1" or "2". */
void rw_set_order(const char *order);

/* Lease 30000; queues if need be. The mode is "r", "u" or "w". */
const char *rw_acquire(script_fixture *f, const char *claim, const char *mode);
/* Does not queue. */
const char *rw_try(script_fixture *f, const char *claim, const char *mode);
/* Does not queue either, and notes that it spins. */
const char *rw_spin(script_fixture *f, const char *claim, const char *mode);
/* Beside a hold of the same owner, its base; queues if need be. */
const char *rw_acquire_on(script_fixture *f, const char *claim,
                          const char *mode, const char *base);
/* With the lease in ms; queues if need be. */
const char *rw_acquire_for(script_fixture *f, const char *claim,
                           const char *mode, int64_t lease);
/* With all that the scripts look at, but for the order. */
const char *
rw_acquire_as(script_fixture *f, const char *claim, lua_rwlock_ask ask);

/* One that waits looks. */
const char *rw_recheck(script_fixture *f, const char *claim);
/* fence NULL: the one of its record. */
const char *rw_release(script_fixture *f, const char *claim, const char *fence);
const char *rw_confirm(script_fixture *f, const char *claim, const char *fence,
                       int64_t lease);
const char *rw_downgrade(script_fixture *f, const char *claim,
                         const char *fence, int64_t lease);
/* stone: it may not acquire any more. */
const char *rw_leave(script_fixture *f, const char *claim, bool stone);
/* Lets in who fits. */
const char *rw_pass(script_fixture *f);

/* The fence on record for a claim that holds, as text. */
const char *rw_fence(script_fixture *f, const char *claim);
/* Renews it as its client does that knows its keys. */
const char *rw_renew(script_fixture *f, const char *claim, int64_t lease);
/* The record's fence is this one from now on. */
void rw_set_fence(script_fixture *f, const char *fence);
/* Has a reader die: its lease runs out. */
void rw_kill(script_fixture *f, const char *claim);

/* The holders: the fields of the hash but for the mode, in alphabetical order,
   then the mode; "" if there is no hash. */
const char *rw_held(script_fixture *f);
#define assert_held(f, text) assert_string_equal(rw_held(f), (text))

/* The waiters of each band, in order: "w: ... x: ... r: ... u: ...", without
   those in which nobody does. */
const char *rw_waiting(script_fixture *f);
#define assert_waiting(f, text) assert_string_equal(rw_waiting(f), (text))

/* How many are parked, as text. */
const char *rw_parked(script_fixture *f);

/* Hears what is said to the clients of these claims, ended by NULL, from now
   on. */
void rw_hear(script_fixture *f, ...) __attribute__((sentinel));

/* The clients of a claim that waits was last heard of ms ago, others now. */
void rw_age(script_fixture *f, const char *claim, long long ms);

/* The clock stands still, and a turn of this side, "o" or "t", began so long ago;
   see shared.table. */
void rw_turn(script_fixture *f, const char *side, long long ago_ms,
             long long length_ms);
long long rw_turn_length(script_fixture *f);
/* Whose turn the record names; '-': none. */
char rw_side(script_fixture *f);
/* A mark of the record: wave, order, upgrader or aside. */
const char *rw_mark(script_fixture *f, const char *name);

#define RW_TEST(name)                                                          \
    CHECK_TEST_OF(name, script_fixture *f, rw_setup, script_teardown)

#endif /* LK_TESTS_SUPPORT_RW_SCRIPT_H */
