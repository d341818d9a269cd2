/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_RW_STANDIN_H
#define LK_TESTS_SUPPORT_RW_STANDIN_H

#include <stdbool.h>

/*
 * A stand-in for a Java service with Redisson's RReadWriteLock: one instance,
 * one thread of it, both locks of one name. It makes the same steps with the
 * same keys, arguments and messages; the scripts say them in words of their
 * own. It knows nothing of Latchkey.
 *
 * It blocks, and belongs to one thread. What cannot be had, or an answer later
 * than 10 s (scaled), fails the running test; in a worker it aborts the worker.
 */
typedef struct rw_standin rw_standin;

typedef enum rw_standin_side {
    RW_STANDIN_READ,
    RW_STANDIN_WRITE
} rw_standin_side;

/* path is the server's unix socket. */
rw_standin *rw_standin_new(const char *path, const char *name);
/* Closes its connections, as a process that ends; its holds stay behind. */
void rw_standin_free(rw_standin *s);
/* Frees all that this process has, for the teardown of a test. */
void rw_standins_free(void);

/* "<uuid>:<thread>" */
const char *rw_standin_owner(const rw_standin *s);

/* The lease of what it acquires from now on; else 30 s. */
void rw_standin_set_lease(rw_standin *s, long long lease_ms);

/* The acquire script alone: RW_STANDIN_HAS_IT, or a TTL. */
enum { RW_STANDIN_HAS_IT = -3 };
long long rw_standin_acquire(rw_standin *s, rw_standin_side side);
/* tryLock(). */
bool rw_standin_try(rw_standin *s, rw_standin_side side);
/* tryLock(wait_ms); lock() if that is < 0. */
bool rw_standin_lock(rw_standin *s, rw_standin_side side, long long wait_ms);
/* unlock(): 1 free, 0 held on, -1 not the owner. */
int rw_standin_unlock(rw_standin *s, rw_standin_side side);
bool rw_standin_force(rw_standin *s, rw_standin_side side);
/* One round of the watchdog, for 30 s or the lease that was set. */
bool rw_standin_renew(rw_standin *s, rw_standin_side side);

/* Returns when the server has acknowledged it. */
void rw_standin_subscribe(rw_standin *s);
/* Waits so long, scaled, for a message: 0 or 1, or -1 if none came. */
int rw_standin_hears(rw_standin *s, unsigned wait_ms);

#endif /* LK_TESTS_SUPPORT_RW_STANDIN_H */
