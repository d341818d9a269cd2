/* SPDX-License-Identifier: MIT */
#include "support/flights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/wait.h"

enum { SOON_MS = 10000 };

lk_flight *
flights_of(locking *f, lk_client *client, const lk_flight_options *options)
{
    lk_flight *flight = NULL;

    assert_status(lk_flight_new(&flight, client, "f", options), LK_OK);
    return locking_keep(f, kinds[KIND_FLIGHT], client, flight);
}

lk_flight *flights_one(locking *f)
{
    return flights_of(f, locking_open(f, NULL), NULL);
}

/* ---- computing ---- */

static const kind kind_engine = {.free = free};

engine *flights_engine(locking *f)
{
    size_t i = 0;

    while (i < f->handle_count && f->kinds[i] != &kind_engine)
        i++;
    if (i == f->handle_count)
        (void)locking_keep(f, &kind_engine, NULL, calloc(1, sizeof(engine)));
    assert_non_null(f->handles[i]);
    return f->handles[i];
}

/* Nobody computes on when the test has ended. */
static bool is_let_go(void *data)
{
    return !((engine *)data)->held || locking_is_over();
}

lk_status engine_run(lk_flight_ticket *ticket, void *data)
{
    engine *e = data;
    const char *value = e->value != NULL ? e->value : "value";
    lk_status status = e->status;

    (void)atomic_fetch_add(&e->begun, 1);
    (void)wait_until(is_let_go, e, 60000);
    if (e->words != NULL)
        lk_flight_ticket_words(ticket, e->words);
    if (status == LK_OK)
        status = lk_flight_ticket_set(ticket, value,
                                      e->size != 0 ? e->size : strlen(value));
    (void)atomic_fetch_add(&e->ended, 1);
    return status;
}

void flights_expect(lk_flight *flight, engine *e, const char *text)
{
    lk_flight_value *value = NULL;

    assert_status(lk_flight_do(flight, "k", (int64_t)wait_limit_ms(SOON_MS),
                               NULL, engine_run, e, &value),
                  LK_OK);
    assert_string_equal(value->bytes, text);
    assert_int_equal(value->size, strlen(text));
    lk_flight_value_free(value);
}

/* ---- callers ---- */

static lk_status fly(void *handle, int64_t wait_ms,
                     const lk_acquire_options *options, lk_hold **ret_hold)
{
    flyer *t = handle;
    lk_flight_value *value = NULL;
    lk_status status = lk_flight_do(t->flight, "k", wait_ms, options,
                                    engine_run, t->engine, &value);

    *ret_hold = NULL;
    if (status == LK_OK) {
        t->size = value->size;
        (void)snprintf(t->text, sizeof(t->text), "%s",
                       (const char *)value->bytes);
    }
    lk_flight_value_free(value);
    return status;
}

static const kind kind_flyer = {.free = free, .acquire = fly};

flyer *flights_begin(locking *f, lk_flight *flight, engine *e, int64_t wait_ms,
                     const lk_acquire_options *options)
{
    flyer *t = locking_keep(f, &kind_flyer, NULL, calloc(1, sizeof(*t)));

    assert_non_null(t);
    t->flight = flight;
    t->engine = e;
    t->taker = locking_take_as(f, &kind_flyer, t, 1, wait_ms, options);
    return t;
}

static bool has_begun(void *data)
{
    return ((engine *)data)->begun > 0;
}

flyer *flights_lead(locking *f, lk_flight *flight, engine *e)
{
    flyer *t;

    e->held = true;
    t = flights_begin(f, flight, e, LK_FOREVER, NULL);
    assert_true(wait_until(has_begun, e, SOON_MS));
    return t;
}

flyer *flights_follow(locking *f, lk_flight *flight, engine *e)
{
    long long before = server_integer(
        f->server, "EVAL %s 0",
        "return redis.call('PUBSUB','NUMSUB','latchkey:flight-news:{f:k}')[2]");
    flyer *t = flights_begin(f, flight, e, LK_FOREVER, NULL);

    locking_wait_integer(
        f, before + 1, "EVAL %s 0",
        "return redis.call('PUBSUB','NUMSUB','latchkey:flight-news:{f:k}')[2]");
    return t;
}

lk_status flyer_join(flyer *t)
{
    return taker_join(t->taker);
}
