/* SPDX-License-Identifier: MIT */
#include "support/flights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/wait.h"

enum { SOON_MS = 10000, JOIN_MS = 20000 };

int flights_start(void **state)
{
    return locking_setup_above(state, sizeof(flights));
}

/* The clients are shut down first, so that no thread waits any more. */
int flights_end(void **state)
{
    flights *f = *state;

    f->engine.held = false;
    locking_end_waits(f->base);
    for (size_t i = 0; i < f->flyer_count; i++) {
        if (!f->flyers[i]->joined)
            (void)pthread_join(f->flyers[i]->thread, NULL);
        free(f->flyers[i]);
    }
    for (size_t i = 0; i < f->handle_count; i++)
        lk_flight_free(f->handles[i]);
    return locking_teardown_above(state);
}

lk_flight *
flights_of(flights *f, lk_client *client, const lk_flight_options *options)
{
    lk_flight *flight = NULL;

    assert_true(f->handle_count < FLIGHTS_HANDLES);
    assert_status(lk_flight_new(&flight, client, "f", options), LK_OK);
    f->handles[f->handle_count++] = flight;
    return flight;
}

lk_flight *flights_one(flights *f)
{
    return flights_of(f, locking_open(f->base, NULL), NULL);
}

/* ---- computing ---- */

static bool is_let_go(void *data)
{
    return !((engine *)data)->held;
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

    assert_status(lk_flight_do(flight, "k", (int64_t)wait_scaled_ms(SOON_MS),
                               NULL, engine_run, e, &value),
                  LK_OK);
    assert_string_equal(value->bytes, text);
    assert_int_equal(value->size, strlen(text));
    lk_flight_value_free(value);
}

/* ---- callers ---- */

static void *fly(void *data)
{
    flyer *t = data;
    lk_flight_value *value = NULL;
    uint64_t began = wait_now_ms();

    t->status = lk_flight_do(t->flight, "k", t->wait_ms, &t->options,
                             engine_run, t->engine, &value);
    t->took_ms = wait_now_ms() - began;
    if (t->status == LK_OK) {
        t->size = value->size;
        (void)snprintf(t->text, sizeof(t->text), "%s",
                       (const char *)value->bytes);
    }
    (void)snprintf(t->words, sizeof(t->words), "%s", lk_last_error());
    lk_flight_value_free(value);
    t->done = true;
    return NULL;
}

flyer *flights_begin(flights *f, lk_flight *flight, engine *e, int64_t wait_ms,
                     const lk_acquire_options *options)
{
    flyer *t = calloc(1, sizeof(*t));

    assert_non_null(t);
    assert_true(f->flyer_count < FLIGHTS_CALLERS);
    t->flight = flight;
    t->engine = e;
    t->wait_ms = wait_ms;
    t->options = options != NULL
                     ? *options
                     : (lk_acquire_options){LK_ACQUIRE_OPTIONS_INIT};
    assert_int_equal(pthread_create(&t->thread, NULL, fly, t), 0);
    f->flyers[f->flyer_count++] = t;
    return t;
}

static bool has_begun(void *data)
{
    return ((engine *)data)->begun > 0;
}

flyer *flights_lead(flights *f, lk_flight *flight, engine *e)
{
    flyer *t;

    e->held = true;
    t = flights_begin(f, flight, e, LK_FOREVER, NULL);
    assert_true(wait_until(has_begun, e, SOON_MS));
    return t;
}

flyer *flights_follow(flights *f, lk_flight *flight, engine *e)
{
    long long before = server_integer(
        f->base->server, "EVAL %s 0",
        "return redis.call('PUBSUB','NUMSUB','latchkey:flight-news:{f:k}')[2]");
    flyer *t = flights_begin(f, flight, e, LK_FOREVER, NULL);

    locking_wait_integer(
        f->base, before + 1, "EVAL %s 0",
        "return redis.call('PUBSUB','NUMSUB','latchkey:flight-news:{f:k}')[2]");
    return t;
}

static bool is_done(void *data)
{
    return ((flyer *)data)->done;
}

lk_status flyer_join(flyer *t)
{
    assert_true(wait_until(is_done, t, JOIN_MS));
    assert_int_equal(pthread_join(t->thread, NULL), 0);
    t->joined = true;
    return t->status;
}
