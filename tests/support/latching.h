/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_LATCHING_H
#define LK_TESTS_SUPPORT_LATCHING_H

#include <latchkey/latchkey.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "support/proxy.h"
#include "support/server.h"

/*
 * For tests of latches: one server for the program, and for each test the
 * clients, latches and threads that it made, which end with it, also when it
 * failed. Every latch is called "n". Whatever cannot be had fails the running
 * test.
 */

enum { LATCHING_CLIENTS = 12, LATCHING_LATCHES = 24, LATCHING_WAITERS = 256 };

/* The patience of all waits here; scaled. */
enum { LATCHING_MS = 10000 };

/* A thread that waits once. */
typedef struct waiter waiter;

typedef struct latching {
    server *server;
    proxy *proxy; /* NULL until somebody is far */
    lk_client *clients[LATCHING_CLIENTS];
    size_t client_count;
    lk_latch *latches[LATCHING_LATCHES];
    size_t latch_count;
    waiter *waiters[LATCHING_WAITERS];
    size_t waiter_count;
} latching;

int latching_start_server(void **state);
int latching_stop_server(void **state);
int latching_setup(void **state);
int latching_teardown(void **state);

#define LATCHING_TEST(name)                                                    \
    CHECK_TEST_OF(name, latching *f, latching_setup, latching_teardown)

/* For this test another server, before any client is opened; see server.h. */
void latching_own_server(latching *f, const char *const *extra_args);

/* A client that is ready; options may be NULL. A far one talks through the
   proxy: there, the first one's connection 0 is for commands, 1 its inbox. */
lk_client *latching_open(latching *f, const lk_client_options *options);
lk_client *latching_open_far(latching *f, const lk_client_options *options);

/* A latch of that client; ttl_ms 0: none. */
lk_latch *latching_latch_for(latching *f, lk_client *client, uint64_t ttl_ms);
/* A latch of a client of its own. */
lk_latch *latching_latch(latching *f);
/* The client of a latch made so, or the i-th that was opened. */
lk_client *latching_client(latching *f, size_t i);

/* What is left to count. */
uint64_t latching_count(lk_latch *latch);
/* An operation that must succeed. */
void latching_arm(lk_latch *latch, uint64_t count);
void latching_down(lk_latch *latch, uint64_t count);

/* ---- threads ---- */

/* options may be NULL. */
waiter *latching_wait(latching *f, lk_latch *latch, int64_t wait_ms,
                      const lk_acquire_options *options);
/* Whether it has ended; waits up to deadline_ms, scaled. */
bool waiter_has_ended(waiter *w, unsigned deadline_ms);
/* Its end, waited for. */
lk_status waiter_status(waiter *w);
/* How long it took; it has ended. */
uint64_t waiter_took_ms(const waiter *w);

/* ---- what is waited for ---- */

/* So many clients are listed as waiting. */
void latching_wait_listed(latching *f, long long count);
/* So many waits are under way in a client. */
void latching_wait_waiting(lk_client *client, uint64_t count);
/* A client has looked once more, since now or more often than looks, and what
   it learned is known to every wait that was under way in it. */
void latching_wait_looked(lk_client *client);
void latching_wait_looks(lk_client *client, uint64_t looks);
/* No request is under way in a client. */
void latching_wait_calm(lk_client *client);
/* A command without arguments answers this integer. */
void latching_wait_integer(latching *f, const char *command,
                           long long expected);

lk_client_stats latching_stats(lk_client *client);

/* Sleeps, for a test whose subject is a span of time. */
void latching_pass_ms(unsigned ms);

#endif /* LK_TESTS_SUPPORT_LATCHING_H */
