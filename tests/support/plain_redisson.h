/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_PLAIN_REDISSON_H
#define LK_TESTS_SUPPORT_PLAIN_REDISSON_H

#include <stdbool.h>
#include <stdint.h>

#include "support/server.h"

/*
 * A stand-in for a Java thread with Redisson's RSemaphore called n: the same
 * steps in the same order, the same keys and messages, in scripts of its own
 * words. It knows nothing of Latchkey. It blocks, has two connections, and
 * belongs to one thread. What cannot be had fails the running test, or aborts
 * a thread that is none of cmocka's.
 */
typedef struct jsem jsem;

jsem *jsem_new(const server *s);
void jsem_free(jsem *j); /* NULL is allowed */

/* tryAcquire(n) */
bool jsem_try(jsem *j, long long permits);
/*
 * acquire(n): a try, then SUBSCRIBE, and tries with waits for a message
 * between them, and for nothing else; then UNSUBSCRIBE. False: not within
 * wait_ms, which Redisson would not have.
 */
bool jsem_acquire(jsem *j, long long permits, unsigned wait_ms);
/* release(n), addPermits(n), drainPermits(), trySetPermits(n) */
void jsem_release(jsem *j, long long permits);
void jsem_add(jsem *j, long long permits);
long long jsem_drain(jsem *j);
bool jsem_set(jsem *j, long long permits);

#endif /* LK_TESTS_SUPPORT_PLAIN_REDISSON_H */
