/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_LAYOUT3_H
#define LK_TESTS_SUPPORT_LAYOUT3_H

#include "support/script.h"

/*
 * Runs the scripts of lua/layout3/lock alone, over a fixture of script.h, for the
 * name "n".
 *
 * Texts are short: "b1" is the first claim of the client b, or its member, "b" the
 * client, whose 32 digits are all that letter, and "java" a field of Redisson's. The
 * inbox of b is "in:b". What is returned is as in script.h, and lives until some
 * more calls.
 */

#define L3_LINE    "latchkey:{n}:q"
#define L3_FENCE   "latchkey:{n}:r"
#define L3_SIDE    "latchkey:{n}:x"
#define L3_FAIR    "redisson_lock_queue:{n}"
#define L3_CHANNEL "redisson_lock__channel:{n}"
#define L3_JAVA    "01234567-89ab-cdef-0123-456789abcdef:7"

/* When the clock of l3_at() begins. */
#define L3_BEGINS_S 1764385200LL

int l3_setup(void **state);

#define L3_TEST(name)                                                          \
    CHECK_TEST_OF(name, script_fixture *f, l3_setup, script_teardown)

/* In full. */
const char *l3_claim(const char *claim);
const char *l3_member(const char *claim);
const char *l3_client(const char *claim);
/* What a text begins with. */
long long l3_number(const char *text);

/* Scripts find the clock so many ms behind L3_BEGINS_S, and it stands still. */
void l3_at(long long ms);
/* What l3_at() was told last. */
long long l3_now(void);
/* The first such time from ms on that is the outsiders' slice, or that is not. */
long long l3_slice(long long ms, bool is_theirs);
/* Scripts stop behind their nth write from now on; 0: they do not. */
void l3_cut(int nth);
/* Touch and next are told of outsiders from now on. */
void l3_know_outsiders(void);

/* A script with the keys of these letters of "Nqrx", and arguments up to NULL. */
const char *l3_run(script_fixture *f, const char *script, const char *keys, ...)
    __attribute__((sentinel));
/* The same, with as many arguments as there are. */
const char *l3_run_with(script_fixture *f, const char *script, const char *keys,
                        const char *const *args);

/* And with other keys. */
const char *l3_run_keys(script_fixture *f, const char *script,
                        const char *const *keys, size_t count,
                        const char *const *args);

/* A lease of 60,000; the second lifts as well. */
const char *l3_acquire(script_fixture *f, const char *claim);
const char *l3_acquire_first(script_fixture *f, const char *claim);
const char *l3_try(script_fixture *f, const char *claim);
const char *l3_close(script_fixture *f, const char *claim);
const char *l3_leave(script_fixture *f, const char *claim);
/* Claims of one client, with blanks between them; a client alone: it spins. */
const char *l3_touch(script_fixture *f, const char *claims);
/* The second is sent by a try. */
const char *l3_next(script_fixture *f, const char *client);
const char *l3_next_try(script_fixture *f, const char *claim);
const char *l3_park(script_fixture *f, const char *client);
/* A close without a claim. */
const char *l3_give(script_fixture *f);
/* What a client does that finds the name free: next, park and close, again while they
   say so. What the last of them returned. */
const char *l3_go_on(script_fixture *f, const char *client);
const char *l3_keep(script_fixture *f, const char *claim, const char *lease);
const char *l3_import(script_fixture *f, const char *from, const char *to);

/* A text in short form; that of what a command returns. */
const char *l3_short(const char *text);
#define L3_REDIS(f, ...) l3_short(script_redis((f), __VA_ARGS__))
/* What stands in N, in the line, and is parked. */
const char *l3_holders(script_fixture *f);
const char *l3_line(script_fixture *f);
const char *l3_parked(script_fixture *f);
/* Of a parked claim those that stood before it. */
const char *l3_note(script_fixture *f, const char *claim);

/* These clients, a letter each, listen from now on. */
void l3_hear(script_fixture *f, const char *clients);
/* What they heard since the last call: "in:b gb1 <fence> n" in a line. */
const char *l3_heard(script_fixture *f);

/* a1 holds, b1 and c1 wait and listen. */
void l3_two_wait(script_fixture *f);

#endif /* LK_TESTS_SUPPORT_LAYOUT3_H */
