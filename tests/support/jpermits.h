/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_JPERMITS_H
#define LK_TESTS_SUPPORT_JPERMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "support/server.h"

/*
 * A stand-in for a Java thread with Redisson's RPermitExpirableSemaphore
 * called n: the same steps in the same order, the same keys and messages, in
 * scripts of its own words. It goes by the clock of its host, knows nothing of
 * Latchkey, blocks, has two connections, and belongs to one thread. What
 * cannot be had aborts the program.
 */
typedef struct jpermits jpermits;

enum { JPERMITS_MOST = 8, JPERMITS_FOREVER = -1, JPERMITS_NONE = -2 };

/* Permits that it has: their ids as Redisson shows them. */
typedef struct jgrant {
    int count;
    char ids[JPERMITS_MOST][33];
} jgrant;

jpermits *jpermits_new(const server *s);
void jpermits_free(jpermits *j); /* NULL is allowed; its permits stay taken */
/* Its host's clock is so far ahead of the server's. */
void jpermits_set_skew(jpermits *j, long long ms);

/* trySetPermits(n), setPermits(n), addPermits(n) */
bool jpermits_try_set(jpermits *j, int permits);
void jpermits_set(jpermits *j, int permits);
void jpermits_add(jpermits *j, int permits);
/* availablePermits(), acquiredPermits(), getPermits() */
long long jpermits_available(jpermits *j);
long long jpermits_acquired(jpermits *j);
long long jpermits_total(jpermits *j);

/* tryAcquire(count, 0, lease); lease_ms may be JPERMITS_FOREVER. */
bool jpermits_try(jpermits *j, int count, long long lease_ms, jgrant *ret);
/*
 * tryAcquire(count, wait_ms, lease): a try, then SUBSCRIBE, and tries with
 * waits for a message between them, or for the nearest end of a lease, if the
 * answer told it; then UNSUBSCRIBE.
 */
bool jpermits_acquire(jpermits *j, int count, long long lease_ms,
                      unsigned wait_ms, jgrant *ret);
/* tryRelease(id), tryRelease(ids): how many, all or none. */
bool jpermits_release(jpermits *j, const char *id);
int jpermits_release_all(jpermits *j, const jgrant *grant);
/* updateLeaseTime(id, lease), getLeaseTime(id): or FOREVER, or NONE. */
bool jpermits_update(jpermits *j, const char *id, long long lease_ms);
long long jpermits_lease(jpermits *j, const char *id);

#endif /* LK_TESTS_SUPPORT_JPERMITS_H */
