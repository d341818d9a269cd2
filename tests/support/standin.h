/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_STANDIN_H
#define LK_TESTS_SUPPORT_STANDIN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A stand-in for a Java service with Redisson: one instance, one thread of it,
 * and one lock object. It makes the same steps in the same order with the same
 * keys, arguments and messages; the scripts say them in words of their own. It
 * knows nothing of Latchkey.
 *
 * It blocks, has two connections (commands, and Pub/Sub from the first
 * subscription on), and belongs to one thread. What cannot be had, or an
 * answer later than 10 s (scaled), fails the running test; in a worker it
 * aborts the worker. It does without replicas, so without WAIT.
 */

typedef enum standin_kind {
    STANDIN_LOCK,   /* RLock */
    STANDIN_FENCED, /* RFencedLock: counts grants besides */
    STANDIN_SPIN,   /* its spin lock: listens nowhere, tells nobody */
    STANDIN_FAIR    /* its fair lock, with its own queue */
} standin_kind;

typedef struct standin standin;

/* path is the server's unix socket. */
standin *standin_new(standin_kind kind, const char *path, const char *name);
/* Closes its connections, as a process that ends; a hold stays behind. */
void standin_free(standin *s);
/* Frees all that this process has, for the teardown of a test. */
void standins_free(void);

/* "<uuid>:<thread>" */
const char *standin_owner(const standin *s);

/*
 * A lease for what it acquires from now on, which nobody renews; 0, the
 * default: lockWatchdogTimeout, renewed by standin_keep(). The timeout is 30 s
 * until it is set here.
 */
void standin_set_lease(standin *s, long long lease_ms);
void standin_set_watchdog(standin *s, long long timeout_ms);

/* ---- as its API ---- */

/* tryLock(). */
bool standin_try(standin *s);
/*
 * tryLock(wait_ms): the acquire script; if refused SUBSCRIBE, then a try and a
 * wait for a message, at most for the TTL, in turn; then UNSUBSCRIBE. lock()
 * is a wait_ms < 0. A fair lock gives up its place in the queue at the end.
 */
bool standin_lock(standin *s, long long wait_ms);
/* unlock(): 1 it is free now, 0 still held by re-entry, -1 not the owner. */
int standin_unlock(standin *s);
bool standin_force_unlock(standin *s);
/* RFencedLock.getToken(). */
long long standin_token(standin *s);

/* ---- step by step ---- */

/* The acquire script alone: -3 it has the lock, else the answer, a TTL. */
enum { STANDIN_HAS_IT = -3 };
long long standin_acquire(standin *s);
/* Returns when the server has acknowledged it. */
void standin_subscribe(standin *s);
void standin_unsubscribe(standin *s);
/* Waits so long, scaled, for a message; takes one; true: it came, and was 0. */
bool standin_hears(standin *s, unsigned wait_ms);
/* One round of the watchdog; false: it was not the owner any more. */
bool standin_renew(standin *s);
/* Holds on for so long, renewing in every third of the timeout. */
void standin_keep(standin *s, unsigned ms);
/* Leaves the queue of the fair lock. */
void standin_give_up(standin *s);

#endif /* LK_TESTS_SUPPORT_STANDIN_H */
