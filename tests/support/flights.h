/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_FLIGHTS_H
#define LK_TESTS_SUPPORT_FLIGHTS_H

#include <latchkey/flight.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "support/locking.h"

/*
 * For tests of flights: what locking.h has, and handles and threads beside it.
 * Whatever cannot be had fails the running test.
 */

enum { FLIGHTS_HANDLES = 32, FLIGHTS_CALLERS = 160 };

/* What a computation does; the data of a call. Zero: it returns at once. */
typedef struct engine {
    atomic_int begun, ended; /* computations */
    atomic_bool held;        /* they last until this is false */
    const char *value;       /* NULL: "value" */
    size_t size;             /* 0: of that text */
    lk_status status;
    const char *words;
} engine;

/* The function of a blocking call. */
lk_status engine_run(lk_flight_ticket *ticket, void *data);

/* A thread that calls once, for the key k. */
typedef struct flyer {
    pthread_t thread;
    lk_flight *flight;
    engine *engine;
    int64_t wait_ms;
    lk_acquire_options options;
    bool joined;
    /* What became of it, once done. */
    atomic_bool done;
    lk_status status;
    char text[32]; /* the value's first bytes */
    size_t size;
    char words[160];
    uint64_t took_ms;
} flyer;

typedef struct flights {
    locking *base;
    lk_flight *handles[FLIGHTS_HANDLES];
    size_t handle_count;
    flyer *flyers[FLIGHTS_CALLERS];
    size_t flyer_count;
    engine engine; /* ends with the test, whatever it holds */
} flights;

/* For cmocka; the server is locking_start_server()'s. */
int flights_start(void **state);
int flights_end(void **state);

#define FLIGHTS_CASE(name)                                                     \
    CHECK_TEST_OF(name, flights *f, flights_start, flights_end)

/* A handle on the flights f; options may be NULL. */
lk_flight *
flights_of(flights *f, lk_client *client, const lk_flight_options *options);
/* The same of a client of its own, which is ready. */
lk_flight *flights_one(flights *f);

/* One blocking call that must get this text. */
void flights_expect(lk_flight *flight, engine *e, const char *text);

/* options may be NULL. */
flyer *flights_begin(flights *f, lk_flight *flight, engine *e, int64_t wait_ms,
                     const lk_acquire_options *options);
/* The same, and its computation has begun. */
flyer *flights_lead(flights *f, lk_flight *flight, engine *e);
/* The same for one that waits for another process' or client's leader, and so
   is subscribed. */
flyer *flights_follow(flights *f, lk_flight *flight, engine *e);
/* Waits for its end, 20 s at most (scaled), and returns the status. */
lk_status flyer_join(flyer *t);

#endif /* LK_TESTS_SUPPORT_FLIGHTS_H */
