/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_PLAIN_SCRIPT_H
#define LK_TESTS_SUPPORT_PLAIN_SCRIPT_H

#include "support/script.h"

/*
 * The scripts of the bare counter, alone; see support/script.h. The inbox of a
 * claim is called in:<claim>. Numbers are given as text.
 */

/* The keys that are the counter's own; the others are as in script.h. */
enum { KEY_COUNTER = 0, KEY_MEMO = 5, KEY_LEASES = 7 };

/* For cmocka: a fixture with the counter's keys. */
int plain_setup(void **state);

/* Queues if need be; or does not. */
const char *
plain_acquire(script_fixture *f, const char *claim, const char *need);
const char *plain_try(script_fixture *f, const char *claim, const char *need);
/* The same with every argument that the counter looks at. */
const char *plain_acquire_with(script_fixture *f, const char *claim,
                               const char *queue, const char *inbox,
                               const char *reason, const char *check_void,
                               const char *need, const char *settled);
const char *plain_recheck(script_fixture *f, const char *claim);
/* second may be NULL. */
const char *
plain_touch(script_fixture *f, const char *first, const char *second);
const char *
plain_leave(script_fixture *f, const char *claim, const char *tombstone_ms);
const char *plain_pass(script_fixture *f);
const char *plain_release(script_fixture *f, const char *op, const char *count);
const char *plain_add(script_fixture *f, const char *op, const char *amount);
const char *plain_set(script_fixture *f, const char *op, const char *permits);
const char *plain_set_for(script_fixture *f, const char *op,
                          const char *permits, const char *ttl_ms);
const char *plain_drain(script_fixture *f, const char *op);
const char *plain_delete(script_fixture *f, const char *op);
const char *plain_count(script_fixture *f);
const char *plain_info(script_fixture *f);

/* Fails the test unless the counter is so much: a number or nil. */
#define assert_free(f, text) assert_like(script_redis((f), "GET n"), (text))
/* The claims in the queue, in order. */
const char *plain_queue(script_fixture *f);

/* Hears what is said to these claims, ended by NULL, from now on. */
void plain_hear(script_fixture *f, ...) __attribute__((sentinel));

#define PLAIN_TEST(f)                                                          \
    cmocka_unit_test_setup_teardown(f, plain_setup, script_teardown)

#endif /* LK_TESTS_SUPPORT_PLAIN_SCRIPT_H */
