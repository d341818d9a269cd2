/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_LUA_LOCK_H
#define LK_TESTS_SUPPORT_LUA_LOCK_H

#include "lock_table.h"
#include "support/script.h"

/*
 * Runs the lock's scripts alone, over a fixture of script.h,
 * for the name "n". Keys, arguments and answers go through what was made of the
 * table, so that both of its sides are tested. Texts are as in script.h.
 *
 * A claim is <client>:<number>; its inbox is latchkey:in::<client>, its reason
 * "because", its nonce 0123456789abcdef.
 */

#define LUA_LOCK_RECORD  "latchkey:{n}:r"
#define LUA_LOCK_QUEUE   "latchkey:{n}:q"
#define LUA_LOCK_SPIN    "latchkey:{n}:s"
#define LUA_LOCK_TOKEN   "redisson_lock_token:{n}"
#define LUA_LOCK_FAIRQ   "redisson_lock_queue:{n}"
#define LUA_LOCK_CHANNEL "redisson_lock__channel:{n}"
#define LUA_LOCK_OTHER   "m{n}"
#define LUA_LOCK_NONCE   "0123456789abcdef"

/* From now on claims have the inbox of their name, latchkey:{n}:i:<client>, and
   scripts are told that Redisson's channel is sharded; or no longer. */
void lua_lock_be_near(bool near);

/* The text in the queue of a claim with this mode. */
const char *lua_lock_member(const char *claim, char mode);

/* Lease 30000; how as in the table: it queues, or tries, or spins. */
const char *lua_lock_acquire(script_fixture *f, const char *claim);
const char *lua_lock_acquire_with(script_fixture *f, const char *claim,
                                  char mode, char how, int64_t lease);

/* fence 0: that of the record. */
const char *
lua_lock_release(script_fixture *f, const char *claim, int64_t fence);
const char *lua_lock_release_alone(script_fixture *f, const char *claim);
/* stone: it may not acquire any more. */
const char *lua_lock_leave(script_fixture *f, const char *claim, bool stone);
/* claim "": whoever holds. */
const char *lua_lock_force(script_fixture *f, const char *claim);

/* One or two members of one client; second NULL: one; first NULL: none. */
const char *
lua_lock_touch(script_fixture *f, const char *first, const char *second);
const char *lua_lock_peek(script_fixture *f, const char *claim);

const char *lua_lock_keep(script_fixture *f, const char *claim, int64_t fence,
                          int64_t lease, int64_t reserve);
/* The name n, held by this claim, and another of its slot by the other. */
const char *lua_lock_renew(script_fixture *f, const char *claim,
                           const char *other, int64_t lease);
const char *lua_lock_see(script_fixture *f);

/* The hold of a claim becomes that of another one, for 60000 ms. */
const char *lua_lock_import(script_fixture *f, const char *from, int64_t fence,
                            const char *to);
const char *lua_lock_revoke(script_fixture *f, const char *claim);
const char *lua_lock_forget(script_fixture *f);
const char *lua_lock_term(script_fixture *f);

/* The fence of the record; its text. */
int64_t lua_lock_fence(script_fixture *f);
bool lua_lock_record(script_fixture *f, lk__record_text *ret);
/* The turn of the record; side "-": none. */
void lua_lock_turn(script_fixture *f, lk__turn_text *ret);

/* Scripts find the server's clock so many ms ahead from now on. */
void lua_lock_shift(script_fixture *f, long long ms);
/* The same, and each touch finds one of the times at which it sweeps. */
void lua_lock_shift_to_sweep(script_fixture *f, long long ms);

/* Scripts find the clock at so many ms behind the first call of the test, and it
   stands still. */
void lua_lock_at(script_fixture *f, long long ms);
/* What the clock shows then, in ms. */
long long lua_lock_now(void);

/* a:1 holds, b:1 and c:1 wait and can be reached. */
void lua_lock_two_wait(script_fixture *f);

/* Hears what is said to these clients, ended by NULL, from now on. */
void lua_lock_hear(script_fixture *f, ...) __attribute__((sentinel));

#endif /* LK_TESTS_SUPPORT_LUA_LOCK_H */
