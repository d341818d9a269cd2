/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_COUNTING3_H
#define LK_TESTS_SUPPORT_COUNTING3_H

#include "support/script.h"

/*
 * Runs the scripts of layout 3 that count, those of lua/layout3/semaphore and of its
 * neighbours, alone, over a fixture of script.h, for the name "n".
 *
 * Texts are short: "b1" is the first claim of the client b, "b1.3" its member, which
 * needs 3; the client's 32 digits are all that letter, and its inbox is "in:b". The
 * clock of the scripts stands still: it says C3_BEGINS_MS and what c3_at() adds. What
 * is returned is as in script.h, in short form, and lives until some more calls.
 */

#define C3_ZSET      "{n}:timeout"
#define C3_LINE      "latchkey:{n}:q"
#define C3_FENCE     "latchkey:{n}:r"
#define C3_SIDE      "latchkey:{n}:x"
#define C3_MEMO      "latchkey:{n}:m"
#define C3_ARRIVED   "latchkey:{n}:a"
#define C3_CHANNEL   "redisson_sc:{n}"
#define C3_BEGINS_MS 1764385200000LL
/* The fence of the first grant at C3_BEGINS_MS behind a lift. */
#define C3_FENCE_1 "1764385200000001"

int c3_setup(void **state);

#define C3_TEST(name)                                                          \
    CHECK_TEST_OF(name, script_fixture *f, c3_setup, script_teardown)

/* The integer that a text begins with. */
int c3_number(const char *text);

/* In full. */
const char *c3_client(const char *claim);
const char *c3_claim(const char *claim);
const char *c3_member(const char *member);

void c3_at(long long ms);
/* The first such time from ms on that is the outsiders' slice, or that is not. */
long long c3_slice(long long ms, bool is_theirs);
/* Scripts stop behind their nth write from now on; 0: they do not. */
void c3_cut(int nth);

/* A script, "semaphore/touch", with the keys of these letters of "NZqrxma", and
   arguments up to NULL. */
const char *c3_run(script_fixture *f, const char *script, const char *keys, ...)
    __attribute__((sentinel));
const char *c3_run_with(script_fixture *f, const char *script, const char *keys,
                        const char *const *args);

/* A text in short form; that of what a command returns. */
const char *c3_short(const char *text);
#define C3_REDIS(f, ...) c3_short(script_redis((f), __VA_ARGS__))
const char *c3_line(script_fixture *f);
const char *c3_parked(script_fixture *f);

/* These clients, a letter each, listen from now on. */
void c3_hear(script_fixture *f, const char *clients);
/* What was heard since the last call: "in:b gb1.1 <fence> n" in a line. */
const char *c3_heard(script_fixture *f);

/* ---- the semaphore's scripts; members are "b1.3" ---- */

const char *s3_make(script_fixture *f, const char *number);
/* For 3,000 ms; the second lifts as well, the third does not wait. */
const char *s3_acquire(script_fixture *f, const char *member);
const char *s3_acquire_first(script_fixture *f, const char *member);
const char *s3_try(script_fixture *f, const char *member);
const char *s3_close(script_fixture *f, const char *member);
/* close without permits. */
const char *s3_give(script_fixture *f);
/* Members of one client, with blanks between them. */
const char *s3_touch(script_fixture *f, const char *members);
const char *s3_next(script_fixture *f);
const char *s3_park(script_fixture *f, const char *client);
const char *s3_keep(script_fixture *f, const char *member, const char *lease);
const char *s3_leave(script_fixture *f, const char *member);
/* "<free> <held>". */
const char *s3_books(script_fixture *f);
/* Arguments: the permits of a member, from args[at] on, and a NULL. */
void s3_permits(const char **args, size_t at, const char *member);

#endif /* LK_TESTS_SUPPORT_COUNTING3_H */
