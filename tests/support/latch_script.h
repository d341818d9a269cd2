/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_LATCH_SCRIPT_H
#define LK_TESTS_SUPPORT_LATCH_SCRIPT_H

#include "latch_table.h"
#include "support/script.h"

/*
 * Runs the latch's scripts alone, over a fixture of script.h, for the name "n"
 * unless another is set. The text of an answer lives until the next script. A
 * claim is <client>:<number>, its reason "because"; a generation that a script
 * begins has the nonce 0123456789abcdef.
 */

#define LATCH_RECORD   "latchkey:{n}:r"
#define LATCH_QUEUE    "latchkey:{n}:q"
#define LATCH_ARRIVED  "latchkey:{n}:a"
#define LATCH_MEMO     "latchkey:{n}:m"
#define LATCH_NEWS     "latchkey:{n}:n"
#define LATCH_REDISSON "redisson_countdownlatch__channel__{n}"
#define LATCH_NONCE    "0123456789abcdef"
/* How long what is over is kept. */
#define LATCH_LIFE 3600000

/* Operations with a time of the latch; ttl "0": none, or as it was. */
const char *latch_set_for(script_fixture *f, const char *op, const char *count,
                          const char *ttl);
const char *latch_reset_for(script_fixture *f, const char *op,
                            const char *count, const char *ttl);
const char *latch_down_for(script_fixture *f, const char *op, const char *count,
                           const char *ttl);
const char *latch_arrive_for(script_fixture *f, const char *op,
                             const char *expected, const char *member,
                             const char *ttl);
const char *latch_quit_for(script_fixture *f, const char *op,
                           const char *member, const char *ttl);

/* The same without. */
const char *latch_set(script_fixture *f, const char *op, const char *count);
const char *latch_reset(script_fixture *f, const char *op, const char *count);
const char *latch_down(script_fixture *f, const char *op, const char *count);
const char *latch_arrive(script_fixture *f, const char *op,
                         const char *expected, const char *member);
const char *latch_quit(script_fixture *f, const char *op, const char *member);
const char *latch_delete(script_fixture *f, const char *op);

/* Waits. */
const char *latch_wait(script_fixture *f, const char *claim);
const char *latch_try(script_fixture *f, const char *claim);
const char *latch_look(script_fixture *f, const char *claim);
const char *latch_leave(script_fixture *f, const char *claim);
const char *latch_count(script_fixture *f);
const char *latch_info(script_fixture *f);
const char *latch_forget(script_fixture *f);

/* The text in the queue of a claim. */
const char *latch_member(const char *claim);
/* What was last heard of a client is so long ago: its mark, and its member. */
void latch_age(script_fixture *f, const char *claim, long long ms);

/* A field of the record as a number, 0 if there is none; sets it, without a
   change of the record's end. */
long long latch_mark(script_fixture *f, const char *field);
void latch_put(script_fixture *f, const char *field, long long value);
/* A text of the record's; "" if there is none. */
const char *latch_word(script_fixture *f, const char *field);
/* Milliseconds of life a key has left; -1: it has no end; -2: no key. */
long long latch_pttl(script_fixture *f, const char *key);

/* Listens to both channels of the latch. */
void latch_listen(script_fixture *f);

/* What Redisson does, by its steps: see docs/redisson.md. */
void redisson_set(script_fixture *f, const char *count);
void redisson_down(script_fixture *f);
void redisson_delete(script_fixture *f);

#endif /* LK_TESTS_SUPPORT_LATCH_SCRIPT_H */
