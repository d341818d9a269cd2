/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_LATCH_SCRIPT_H
#define LK_TESTS_SUPPORT_LATCH_SCRIPT_H

#include "support/script.h"

/*
 * Runs the latch's scripts alone, over a fixture of script.h, for the name
 * "n". The text of an answer lives until the next script.
 */

#define LATCH_STATE    "latchkey:state:{n}"
#define LATCH_WAITING  "latchkey:waiting:{n}"
#define LATCH_TICKETS  "latchkey:tickets:{n}"
#define LATCH_MEMBERS  "latchkey:members:{n}"
#define LATCH_MEMO     "latchkey:memo:{n}"
#define LATCH_CHANNEL  "latchkey:latch:{n}"
#define LATCH_REDISSON "redisson_countdownlatch__channel__{n}"

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

/* Waits; the inbox is in:<claim>, the reason "because". */
const char *latch_wait(script_fixture *f, const char *claim);
const char *latch_try(script_fixture *f, const char *claim);
const char *latch_look(script_fixture *f, const char *claim);
const char *latch_leave(script_fixture *f, const char *claim);
const char *latch_count(script_fixture *f);
const char *latch_info(script_fixture *f);

/* Runs a script for another name. */
const char *latch_run_name(script_fixture *f, const char *name,
                           const lk__script *script, const char *const *args);

/* A field of the record as a number, 0 if there is none. */
long long latch_mark(script_fixture *f, const char *field);
/* Milliseconds of life a key has left; -1: it has no end; -2: no key. */
long long latch_pttl(script_fixture *f, const char *key);

/* Listens to both channels of the latch. */
void latch_listen(script_fixture *f);

/* What Redisson does, by its steps: see docs/redisson.md. */
void redisson_set(script_fixture *f, const char *count);
void redisson_down(script_fixture *f);
void redisson_delete(script_fixture *f);

#endif /* LK_TESTS_SUPPORT_LATCH_SCRIPT_H */
