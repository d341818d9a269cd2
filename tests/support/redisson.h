/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_REDISSON_H
#define LK_TESTS_SUPPORT_REDISSON_H

#include <stdbool.h>

#include "support/server.h"

/*
 * The calls of a Java service with Redisson, one thread of it: RLock, RFencedLock and
 * both sides of RReadWriteLock. Keys, arguments, channels and messages are Redisson's;
 * the scripts say what its scripts do in words of their own. The real one runs in
 * ./dev interop.
 *
 * A call blocks. What cannot be had fails the running test.
 */
typedef struct redisson redisson;

typedef enum redisson_side {
    REDISSON_LOCK,
    REDISSON_FENCED, /* counts grants besides */
    REDISSON_READ,
    REDISSON_WRITE
} redisson_side;

redisson *redisson_new(const server *s, const char *name);
/* Frees all of the running test. What they hold stays. */
void redissons_free(void);

/* "<uuid>:<thread>" */
const char *redisson_owner(const redisson *r);

/* The lease of what it acquires and renews from now on; else 30 s. */
void redisson_set_lease(redisson *r, long long lease_ms);

/* The acquire script: REDISSON_HAS_IT, or the TTL that it waits for. */
enum { REDISSON_HAS_IT = -3 };
long long redisson_acquire(redisson *r, redisson_side side);
/* tryLock(). */
bool redisson_try(redisson *r, redisson_side side);
/* unlock(): 1 it is free, 0 it is held on, -1 another has it. */
int redisson_unlock(redisson *r, redisson_side side);
bool redisson_force(redisson *r, redisson_side side);
/* One round of the watchdog; false: it is not held. */
bool redisson_renew(redisson *r, redisson_side side);
/* RFencedLock.getToken(). */
long long redisson_token(redisson *r);

/* Returns when the server has acknowledged it. */
void redisson_subscribe(redisson *r, redisson_side side);
/* Waits so long, scaled, for a message: its number, or -1 if none came. */
int redisson_hears(redisson *r, unsigned wait_ms);

#endif /* LK_TESTS_SUPPORT_REDISSON_H */
