/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_LUA_RWLOCK_H
#define LK_TESTS_SUPPORT_LUA_RWLOCK_H

#include "rwlock_table.h"
#include "support/script.h"

/*
 * Runs the read-write lock's scripts alone, over a fixture of
 * script.h, for the name "n". Keys, arguments and answers go through what was
 * made of the table. A claim is <client>:<number>; its inbox is
 * latchkey:in::<client>, its nonce 0123456789abcdef. Modes are those of a
 * member: r, u, w, x.
 */

#define LUA_RWLOCK_RECORD  "latchkey:{n}:r"
#define LUA_RWLOCK_QUEUE   "latchkey:{n}:q"
#define LUA_RWLOCK_HOLDERS "latchkey:{n}:h"
#define LUA_RWLOCK_SPIN    "latchkey:{n}:s"
#define LUA_RWLOCK_CHANNEL "redisson_rwlock:{n}"

/* What an acquire asks for; what is left out is 0 or NULL. */
typedef struct lua_rwlock_ask {
    char mode;
    char how;           /* 0: it queues */
    char order;         /* 0: they take turns */
    int64_t lease;      /* 0: 30000 */
    const char *base;   /* of an upgrade: the claim of its own read */
    const char *writes; /* the same owner's claim that writes */
    const char *reason; /* NULL: because */
} lua_rwlock_ask;

const char *lua_rwlock_acquire_with(script_fixture *f, const char *claim,
                                    lua_rwlock_ask ask);
const char *lua_rwlock_acquire(script_fixture *f, const char *claim, char mode);

const char *
lua_rwlock_release(script_fixture *f, const char *claim, int64_t fence);
const char *lua_rwlock_release_alone(script_fixture *f, const char *claim);
/* stone: it may not acquire any more. */
const char *
lua_rwlock_leave(script_fixture *f, const char *claim, char mode, bool stone);
const char *lua_rwlock_leave_as(script_fixture *f, const char *claim,
                                lua_rwlock_ask ask, bool stone);
/* One that waits; claim NULL: none, it goes on letting in. */
const char *lua_rwlock_touch(script_fixture *f, const char *claim, char mode);
const char *
lua_rwlock_touch_as(script_fixture *f, const char *claim, lua_rwlock_ask ask);
const char *lua_rwlock_keep(script_fixture *f, const char *claim, int64_t fence,
                            int64_t lease);
const char *lua_rwlock_downgrade(script_fixture *f, const char *claim,
                                 int64_t fence, int64_t lease);
const char *lua_rwlock_state(script_fixture *f);
const char *lua_rwlock_revoke(script_fixture *f, const char *claim);
/* Of one claim, or with "" of all. */
const char *lua_rwlock_force(script_fixture *f, const char *claim);
/* For 30000 ms, by the claim own. */
const char *lua_rwlock_import(script_fixture *f, const char *claim,
                              int64_t fence, const char *own);
const char *lua_rwlock_see(script_fixture *f);
const char *lua_rwlock_forget(script_fixture *f);
/* One key with its claim, or with "-". */
const char *lua_rwlock_renew(script_fixture *f, const char *key,
                             const char *claim, int64_t lease);

/* The fence of the last answer that said "held". */
int64_t lua_rwlock_fence(const script_fixture *f);
/* The key of a claim's lease as a reader. */
const char *lua_rwlock_timeout(const char *claim);
/* Hears what is said to these clients, ended by NULL, from now on. */
void lua_rwlock_hear(script_fixture *f, ...) __attribute__((sentinel));

#endif /* LK_TESTS_SUPPORT_LUA_RWLOCK_H */
