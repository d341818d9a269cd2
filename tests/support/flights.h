/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_FLIGHTS_H
#define LK_TESTS_SUPPORT_FLIGHTS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "support/locking.h"

/* For tests of flights: what only they have, beside locking.h. */

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

/* One that the fixture keeps: it ends with the test, whatever it holds. */
engine *flights_engine(locking *f);

/* A thread that calls once, for the key k. */
typedef struct flyer {
    lk_flight *flight;
    engine *engine;
    taker *taker;
    char text[32]; /* the first bytes of the value that it got */
    size_t size;
} flyer;

/* A handle on the flights f; options may be NULL. */
lk_flight *
flights_of(locking *f, lk_client *client, const lk_flight_options *options);
/* The same of a client of its own, which is ready. */
lk_flight *flights_one(locking *f);

/* One blocking call that must get this text. */
void flights_expect(lk_flight *flight, engine *e, const char *text);

/* options may be NULL. */
flyer *flights_begin(locking *f, lk_flight *flight, engine *e, int64_t wait_ms,
                     const lk_acquire_options *options);
/* The same, and its computation has begun. */
flyer *flights_lead(locking *f, lk_flight *flight, engine *e);
/* The same for one that waits for another process' or client's leader, and so
   is subscribed. */
flyer *flights_follow(locking *f, lk_flight *flight, engine *e);
/* Waits for its end, 20 s at most (scaled), and returns the status. */
lk_status flyer_join(flyer *t);

#endif /* LK_TESTS_SUPPORT_FLIGHTS_H */
