/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_RW_SCRIPT_H
#define LK_TESTS_SUPPORT_RW_SCRIPT_H

#include "support/script.h"

/*
 * The scripts of the read-write lock, alone; see support/script.h. The inbox of
 * a claim is called in:<claim>.
 */

/* The keys that are this primitive's own; the others are as in script.h. */
enum { KEY_READERS = 5, KEY_HOLDERS = 7, KEY_UPGRADERS = 9, KEY_UPGRADES = 10 };

/* For cmocka: a fixture with these keys, in turns. */
int rw_setup(void **state);

/* From now on claims come with this order: "0", "1" or "2". */
void rw_set_order(const char *order);

/* Lease 30000; queues if need be. The mode is "r", "u" or "w". */
const char *rw_acquire(script_fixture *f, const char *claim, const char *mode);
/* Does not queue. */
const char *rw_try(script_fixture *f, const char *claim, const char *mode);
/* Beside a hold of the same owner, its base; queues if need be. */
const char *rw_acquire_on(script_fixture *f, const char *claim,
                          const char *mode, const char *base);
/* With the lease in ms; queues if need be. */
const char *rw_acquire_for(script_fixture *f, const char *claim,
                           const char *mode, const char *lease);
/* With every argument that the scripts look at. */
const char *
rw_acquire_with(script_fixture *f, const char *claim, const char *mode,
                const char *lease, const char *queue, const char *inbox,
                const char *reason, const char *check_void, const char *base);

const char *rw_recheck(script_fixture *f, const char *claim);
/* second may be NULL. */
const char *rw_touch(script_fixture *f, const char *first, const char *second);
/* fence NULL: the one of its record. */
const char *rw_release(script_fixture *f, const char *claim, const char *fence);
const char *rw_confirm(script_fixture *f, const char *claim, const char *fence,
                       const char *lease);
const char *rw_downgrade(script_fixture *f, const char *claim,
                         const char *fence, const char *lease);
const char *rw_renew(script_fixture *f, const char *claim, const char *fence,
                     const char *lease);
const char *
rw_leave(script_fixture *f, const char *claim, const char *tombstone_ms);
const char *rw_pass(script_fixture *f);
const char *rw_force(script_fixture *f);
/* Only this claim's hold. */
const char *rw_force_of(script_fixture *f, const char *claim);
const char *rw_info(script_fixture *f);
const char *rw_state(script_fixture *f);

/* The fence on record for a claim that holds, as text. */
const char *rw_fence(script_fixture *f, const char *claim);
/* The key that lives as long as a reader's lease. */
const char *rw_timeout(script_fixture *f, const char *claim);
/* Has a reader die: its lease runs out. */
void rw_kill(script_fixture *f, const char *claim);

/* Who holds: the fields of the hash but for the mode, in alphabetical order,
   then the mode; "" if there is no hash. */
const char *rw_held(script_fixture *f);
#define assert_held(f, text) assert_string_equal(rw_held(f), (text))

/* Who waits in each lane, in order: "w: ... x: ... r: ... u: ...", without
   those in which nobody does. */
const char *rw_waiting(script_fixture *f);
#define assert_waiting(f, text) assert_string_equal(rw_waiting(f), (text))

/* Hears what is said to these claims, ended by NULL, from now on. */
void rw_hear(script_fixture *f, ...) __attribute__((sentinel));

#define RW_TEST(f) cmocka_unit_test_setup_teardown(f, rw_setup, script_teardown)

#endif /* LK_TESTS_SUPPORT_RW_SCRIPT_H */
