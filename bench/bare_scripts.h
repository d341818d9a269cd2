/* SPDX-License-Identifier: MIT */
#ifndef LK_BENCH_BARE_SCRIPTS_H
#define LK_BENCH_BARE_SCRIPTS_H

#include <hiredis/hiredis.h>

/*
 * Scripts of others' protocols. Those of Redisson do what its own do with the
 * server, step by step: the same commands on the same keys.
 *
 * acquire: keys are the lock and the prefix of a reader's times, arguments the
 * lease, the owner, and the owner as a writer. Nil: it is held now; else for
 * how long it may not be.
 * release: keys are the lock, the channel, the prefix and the answer that is
 * kept; arguments the lease, the owner, how long the answer is kept, and the
 * prefix of all readers' times. 1: it is free now.
 */
typedef enum script {
    SCRIPT_HASH,
    SCRIPT_UNHASH,
    SCRIPT_LOCK,
    SCRIPT_UNLOCK,
    SCRIPT_READ,
    SCRIPT_UNREAD,
    SCRIPT_WRITE,
    SCRIPT_UNWRITE,
    SCRIPTS
} script;

/* Once in a process at least, before they are called. */
void scripts_load(redisContext *redis);

const char *script_sha(script which);

#endif /* LK_BENCH_BARE_SCRIPTS_H */
