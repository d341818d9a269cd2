/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_LATCH_STANDIN_H
#define LK_TESTS_SUPPORT_LATCH_STANDIN_H

#include <stdbool.h>

/*
 * A stand-in for a Java service with Redisson's RCountDownLatch: the same steps
 * with the same keys and messages, in scripts of its own words. It knows
 * nothing of Latchkey. One belongs to one thread. What cannot be had fails the
 * running test.
 */

typedef struct latch_standin latch_standin;

/* path is the server's unix socket. */
latch_standin *latch_standin_new(const char *path, const char *name);
void latch_standin_free(latch_standin *s);

/* trySetCount(), countDown(), getCount(), delete(). */
bool latch_standin_set(latch_standin *s, long long count);
void latch_standin_down(latch_standin *s);
long long latch_standin_count(latch_standin *s);
bool latch_standin_delete(latch_standin *s);

/*
 * await(wait_ms), in two halves: GET and SUBSCRIBE, which may tell that it is
 * open already; then GET and a wait for a `0`, in turn. wait_ms is scaled.
 */
bool latch_standin_begins(latch_standin *s);
bool latch_standin_waits(latch_standin *s, unsigned wait_ms);

#endif /* LK_TESTS_SUPPORT_LATCH_STANDIN_H */
