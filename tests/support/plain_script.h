/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_PLAIN_SCRIPT_H
#define LK_TESTS_SUPPORT_PLAIN_SCRIPT_H

#include "plain_semaphore_table.h"
#include "support/script.h"

/*
 * The scripts of the bare counter, alone; see support/script.h. A claim is
 * <client>:<number>, its nonce 0123456789abcdef. Numbers are given as text.
 */

/* The counter's keys; the counter itself is the first. */
enum { KEY_COUNTER, KEY_RECORD, KEY_QUEUE, KEY_MEMO, KEY_LEASES };

#define PLAIN_NONCE "0123456789abcdef"
/* How long a name that nobody uses is remembered. */
#define PLAIN_LIFE 3600000

/* The next changes and acquires keep it for so long; a fixture begins with
   PLAIN_LIFE. */
void plain_life(script_fixture *f, long long ms);

/* For cmocka: a fixture with the counter's keys. */
int plain_setup(void **state);

/* Queues if need be; or does not. */
const char *
plain_acquire(script_fixture *f, const char *claim, const char *need);
const char *plain_try(script_fixture *f, const char *claim, const char *need);
/* The same with every argument that a test looks at; how: q or t. */
const char *plain_acquire_with(script_fixture *f, const char *claim, char how,
                               const char *reason, const char *need,
                               const char *settled);
/* A touch of one that looks for itself, and of one or two; second may be NULL. */
const char *plain_recheck(script_fixture *f, const char *claim);
const char *
plain_touch(script_fixture *f, const char *first, const char *second);
/* tombstone_ms "0": it may acquire again. */
const char *
plain_leave(script_fixture *f, const char *claim, const char *tombstone_ms);
/* A touch of none. */
const char *plain_pass(script_fixture *f);
const char *plain_release(script_fixture *f, const char *op, const char *count);
/* The same, with what is settled. */
const char *plain_release_with(script_fixture *f, const char *op,
                               const char *count, const char *settled);
const char *plain_add(script_fixture *f, const char *op, const char *amount);
const char *plain_set(script_fixture *f, const char *op, const char *permits);
const char *plain_set_for(script_fixture *f, const char *op,
                          const char *permits, const char *ttl_ms);
const char *plain_drain(script_fixture *f, const char *op);
const char *plain_delete(script_fixture *f, const char *op);
const char *plain_count(script_fixture *f);
const char *plain_info(script_fixture *f);
const char *plain_forget(script_fixture *f);

/* Fails the test unless the counter is so much: a number or nil. */
#define assert_free(f, text) assert_like(script_redis((f), "GET n"), (text))

/* The claims that wait, in order, with blanks between; those parked, and those
   that are void. */
const char *plain_queue(script_fixture *f);
const char *plain_parked(script_fixture *f);
const char *plain_void(script_fixture *f);
/* The ticket of one that waits; 0: it does not. */
long long plain_ticket(script_fixture *f, const char *claim);
/* One that waits for a permit, of a client that nobody hears any more; behind
   those of smaller numbers. */
void plain_put_dead(script_fixture *f, int number);
/* Takes it out again. */
void plain_drop_dead(script_fixture *f, int number);
/* Makes one that waits look as if its client was last heard of ms ago. */
void plain_age(script_fixture *f, const char *claim, long long ms);
/* Up to which ticket those waited whose counter is gone; and says so. */
long long plain_gone(script_fixture *f);
void plain_put_gone(script_fixture *f, long long gone);
/* The record of a name that a primitive with this letter uses. */
void plain_put_record(script_fixture *f, char letter);

/* Hears what is said to the clients of these claims, ended by NULL, from now
   on. */
void plain_hear(script_fixture *f, ...) __attribute__((sentinel));

/* Nothing is free; b:2 waits for 2, c:3 and d:4 for 1 each; all can be reached. */
void plain_three_wait(script_fixture *f);

#define PLAIN_TEST(name)                                                       \
    CHECK_TEST_OF(name, script_fixture *f, plain_setup, script_teardown)

#endif /* LK_TESTS_SUPPORT_PLAIN_SCRIPT_H */
