/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_RWLOCK2_H
#define LK_TESTS_SUPPORT_RWLOCK2_H

#include "rwlock_table.h"
#include "support/script.h"

/*
 * Runs the read-write lock's scripts of the next layout alone, over a fixture of
 * script.h, for the name "n". Keys, arguments and answers go through what was
 * made of the table. A claim is <client>:<number>; its inbox is
 * latchkey:in::<client>, its nonce 0123456789abcdef. Modes are those of a
 * member: r, u, w, x.
 */

#define RWLOCK2_RECORD  "latchkey:{n}:r"
#define RWLOCK2_QUEUE   "latchkey:{n}:q"
#define RWLOCK2_HOLDERS "latchkey:{n}:h"
#define RWLOCK2_SPIN    "latchkey:{n}:s"
#define RWLOCK2_CHANNEL "redisson_rwlock:{n}"

/* What an acquire asks for; what is left out is 0 or NULL. */
typedef struct rwlock2_ask {
    char mode;
    char how;           /* 0: it queues */
    char order;         /* 0: they take turns */
    int64_t lease;      /* 0: 30000 */
    const char *base;   /* of an upgrade: the claim of its own read */
    const char *writes; /* the same owner's claim that writes */
    const char *reason; /* NULL: because */
} rwlock2_ask;

const char *
rwlock2_acquire_with(script_fixture *f, const char *claim, rwlock2_ask ask);
const char *rwlock2_acquire(script_fixture *f, const char *claim, char mode);

const char *
rwlock2_release(script_fixture *f, const char *claim, int64_t fence);
const char *rwlock2_release_alone(script_fixture *f, const char *claim);
/* stone: it may not acquire any more. */
const char *
rwlock2_leave(script_fixture *f, const char *claim, char mode, bool stone);
const char *rwlock2_leave_as(script_fixture *f, const char *claim,
                             rwlock2_ask ask, bool stone);
/* One that waits; claim NULL: none, it goes on letting in. */
const char *rwlock2_touch(script_fixture *f, const char *claim, char mode);
const char *
rwlock2_touch_as(script_fixture *f, const char *claim, rwlock2_ask ask);
const char *rwlock2_keep(script_fixture *f, const char *claim, int64_t fence,
                         int64_t lease);
const char *rwlock2_downgrade(script_fixture *f, const char *claim,
                              int64_t fence, int64_t lease);
const char *rwlock2_state(script_fixture *f);
const char *rwlock2_revoke(script_fixture *f, const char *claim);
/* Of one claim, or with "" of all. */
const char *rwlock2_force(script_fixture *f, const char *claim);
/* For 30000 ms, by the claim own. */
const char *rwlock2_import(script_fixture *f, const char *claim, int64_t fence,
                           const char *own, char mode);
const char *rwlock2_see(script_fixture *f);
const char *rwlock2_forget(script_fixture *f);
/* One key with its claim, or with "-". */
const char *rwlock2_renew(script_fixture *f, const char *key, const char *claim,
                          int64_t lease);

/* The fence of the last answer that said "held". */
int64_t rwlock2_fence(const script_fixture *f);
/* The key of a claim's lease as a reader. */
const char *rwlock2_timeout(const char *claim);
/* Hears what is said to these clients, ended by NULL, from now on. */
void rwlock2_hear(script_fixture *f, ...) __attribute__((sentinel));

#endif /* LK_TESTS_SUPPORT_RWLOCK2_H */
