/* SPDX-License-Identifier: MIT */

/*
 * Flights: a call waits on its key's board (board.h), and either gets what has
 * landed or a ticket: then it computes, and lands it for all.
 */

#include <latchkey/flight.h>

#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "engine/client.h"
#include "flight/board.h"
#include "flight/message.h"
#include "flight/value.h"
#include "handle/handle.h"

enum {
    TTL_DEFAULT = 1000,
    ERROR_TTL_DEFAULT = 100,
    LEASE_DEFAULT = 3000,
    LEASE_MIN = 100,
    SIZE_DEFAULT = 1024 * 1024
};

struct lk_flight {
    lk_client *client;
    lk_flight_options options;
    char name[LK__NAME_MAX + 1];
};

struct lk_flight_ticket {
    lk__place *place; /* pinned */
    lk_flight_options options;
    uint64_t claim;
    lk_flight_value *value; /* what was set; NULL: nothing */
    char words[LK__FLIGHT_WORDS];
};

/* ---- new and free ------------------------------------------------------------ */

static uint64_t or_default(uint64_t value, uint64_t otherwise)
{
    return value != 0 ? value : otherwise;
}

static lk_status
options_take(lk_flight_options *copy, const lk_flight_options *options)
{
    lk_status status = lk__options_copy(copy, sizeof(*copy), options);

    if (status != LK_OK)
        return status;
    copy->ttl_ms = or_default(copy->ttl_ms, TTL_DEFAULT);
    copy->error_ttl_ms = or_default(copy->error_ttl_ms, ERROR_TTL_DEFAULT);
    copy->lease_ms = or_default(copy->lease_ms, LEASE_DEFAULT);
    copy->max_size = or_default(copy->max_size, SIZE_DEFAULT);
    if (copy->ttl_ms > LK__TIME_MAX_MS || copy->error_ttl_ms > LK__TIME_MAX_MS)
        return lk__fail(LK_EINVAL, "a ttl is longer than ten years");
    if (copy->lease_ms < LEASE_MIN || copy->lease_ms > LK__TIME_MAX_MS)
        return lk__fail(LK_EINVAL, "lease_ms is below %d or above ten years",
                        LEASE_MIN);
    if (copy->max_size > LK_FLIGHT_SIZE_MAX)
        return lk__fail(LK_EINVAL, "max_size is more than LK_FLIGHT_SIZE_MAX");
    return LK_OK;
}

lk_status lk_flight_new(lk_flight **ret_flight, lk_client *client,
                        const char *name, const lk_flight_options *options)
{
    lk_flight_options copy;
    lk_flight *flight;
    lk_status status = options_take(&copy, options);

    if (ret_flight == NULL)
        return lk__fail(LK_EINVAL, "ret_flight is NULL");
    if (status == LK_OK)
        status = lk__name_check(name);
    if (status == LK_OK)
        status = lk__client_enter(client);
    if (status != LK_OK)
        return status;
    lk__client_leave(client);
    flight = lk__alloc(sizeof(*flight));
    if (flight == NULL)
        return LK_ENOMEM;
    flight->client = lk__client_ref(client);
    flight->options = copy;
    snprintf(flight->name, sizeof(flight->name), "%s", name);
    *ret_flight = flight;
    return LK_OK;
}

void lk_flight_free(lk_flight *flight)
{
    if (flight == NULL || lk__client_check(flight->client) != LK_OK)
        return;
    lk__client_unref(flight->client);
    lk__free(flight);
}

/* ---- tickets ----------------------------------------------------------------- */

lk_status
lk_flight_ticket_set(lk_flight_ticket *ticket, const void *bytes, size_t size)
{
    lk_flight_value *value;

    if (ticket == NULL || (bytes == NULL && size != 0))
        return lk__fail(LK_EINVAL, "the ticket or the bytes are NULL");
    if (size > ticket->options.max_size)
        return lk__fail(LK_ERANGE,
                        "the value has %zu bytes, more than its max_size",
                        size);
    value = lk__flight_value_new(bytes, size);
    if (value == NULL)
        return LK_ENOMEM;
    lk_flight_value_free(ticket->value);
    ticket->value = value;
    return LK_OK;
}

void lk_flight_ticket_words(lk_flight_ticket *ticket, const char *words)
{
    if (ticket != NULL && words != NULL)
        snprintf(ticket->words, sizeof(ticket->words), "%s", words);
}

/* Tells everybody. Returns what the leader's own caller gets; the value is
   counted for it. */
static lk_status land(lk_flight_ticket *ticket, lk_status status)
{
    lk__landing landing = {.claim = ticket->claim,
                           .ttl_ms = ticket->options.ttl_ms};

    if (status > LK_OK) /* no error of ours */
        status = LK_EINVAL;
    if (status == LK_OK && ticket->value == NULL)
        status = lk_flight_ticket_set(ticket, NULL, 0);
    landing.status = status;
    if (status == LK_OK) {
        landing.value = ticket->value;
    } else {
        landing.ttl_ms = ticket->options.error_ttl_ms;
        landing.words = ticket->words[0] != '\0' ? ticket->words : NULL;
    }
    lk__board_land(ticket->place, &landing);
    if (status == LK_OK)
        return LK_OK;
    lk_flight_value_free(ticket->value);
    ticket->value = NULL;
    return lk__fail(status, "%s",
                    landing.words != NULL ? landing.words
                                          : lk_status_text(status));
}

/* ---- places ------------------------------------------------------------------ */

static lk__place *place_get(lk_client *client, const char *name)
{
    lk__place *place = lk__place_get(client, &lk__kind_flight, name);

    if (place == NULL || lk__board_make(place) == LK_OK)
        return place;
    lk__place_unref(place);
    return NULL;
}

/* The place of a key, pinned; enters and leaves the monitor. NULL: *ret_status
   says why. */
static lk__place *
place_take(const lk_flight *flight, const char *key, lk_status *ret_status)
{
    char name[LK__NAME_MAX + 2];
    lk__place *place;

    if (flight == NULL || key == NULL) {
        *ret_status = lk__fail(LK_EINVAL, "the handle or the key is NULL");
        return NULL;
    }
    snprintf(name, sizeof(name), "%s:%s", flight->name, key);
    *ret_status = lk__client_check(flight->client);
    if (*ret_status == LK_OK)
        *ret_status = lk__name_check_slot(name);
    if (*ret_status == LK_OK)
        *ret_status = lk__client_enter(flight->client);
    if (*ret_status != LK_OK)
        return NULL;
    place = place_get(flight->client, name);
    lk__client_leave(flight->client);
    if (place == NULL)
        *ret_status = LK_ENOMEM;
    return place;
}

static void place_drop(lk__place *place)
{
    lk_client *client = place->client;

    lk__client_lock(client);
    lk__place_unref(place);
    lk__client_leave(client);
}

static lk__wish wish_of(lk__place *place, int64_t wait_ms,
                        const lk_acquire_options *options,
                        lk__boarding *boarding)
{
    return (lk__wish){.place = place,
                      .wait_ms = wait_ms,
                      .options = options,
                      .line = LK__LINE_KIND,
                      .own = boarding};
}

/* ---- blocking ---------------------------------------------------------------- */

/* The caller leads. */
static lk_status compute(const lk_flight_options *options, lk__place *place,
                         uint64_t claim, lk_flight_fn fn, void *data,
                         lk_flight_value **ret_value)
{
    lk_flight_ticket ticket = {.place = place,
                               .options = *options,
                               .claim = claim};
    lk_status status = land(&ticket, fn(&ticket, data));

    if (status == LK_OK)
        *ret_value = ticket.value;
    return status;
}

lk_status lk_flight_do(lk_flight *flight, const char *key, int64_t wait_ms,
                       const lk_acquire_options *options, lk_flight_fn fn,
                       void *data, lk_flight_value **ret_value)
{
    lk_flight_options own;
    lk__boarding boarding = {0};
    lk_client *client;
    lk__place *place;
    lk__wish wish;
    lk_status status;

    if (fn == NULL || ret_value == NULL)
        return lk__fail(LK_EINVAL, "the function or ret_value is NULL");
    place = place_take(flight, key, &status);
    if (place == NULL)
        return status;
    own = flight->options; /* the handle may be freed meanwhile */
    client = lk__client_ref(place->client);
    boarding.lease_ms = own.lease_ms;
    wish = wish_of(place, wait_ms, options, &boarding);
    status = lk__wait_for(&wish);
    if (status == LK_OK && boarding.claim != 0)
        status = compute(&own, place, boarding.claim, fn, data, ret_value);
    else if (status == LK_OK)
        *ret_value = boarding.value;
    place_drop(place);
    lk__client_unref(client);
    return status;
}

/* ---- async ------------------------------------------------------------------- */

/* One async call, from its begin to its callback. */
typedef struct passenger {
    lk_flight_ticket ticket; /* first; its place is pinned from the begin */
    lk__boarding boarding;
    lk_client *client; /* counted */
    lk_flight_start_fn start;
    lk_flight_cb cb;
    void *data;
    lk__post post; /* once a ticket is completed */
    lk_status status;
} passenger;

static void passenger_free(passenger *p)
{
    lk_client *client = p->client;

    place_drop(p->ticket.place);
    lk__free(p);
    lk__client_unref(client);
}

static void on_boarded(lk_status status, void *data)
{
    passenger *p = data;

    if (status == LK_OK && p->boarding.claim != 0) {
        p->ticket.claim = p->boarding.claim;
        p->start(&p->ticket, p->data);
        return;
    }
    p->cb(status, p->boarding.value, p->data);
    passenger_free(p);
}

static void run_landed(lk__post *post)
{
    passenger *p = LK__CONTAINER_OF(post, passenger, post);

    if (p->status != LK_OK)
        lk__error_set(p->ticket.words);
    p->cb(p->status, p->ticket.value, p->data);
    passenger_free(p);
}

void lk_flight_complete(lk_flight_ticket *ticket, lk_status status)
{
    passenger *p = (passenger *)(void *)ticket;
    lk_client *client;

    if (ticket == NULL || lk__client_check(p->client) != LK_OK)
        return;
    client = p->client;
    p->status = land(ticket, status);
    if (p->status != LK_OK && ticket->words[0] == '\0')
        lk_flight_ticket_words(ticket, lk_status_text(p->status));
    lk__client_lock(client);
    lk__client_post(client, &p->post);
    lk__client_leave(client);
}

/* NULL: *ret_status says why. */
static passenger *
passenger_new(const lk_flight *flight, const char *key, lk_status *ret_status)
{
    passenger *p = lk__alloc(sizeof(*p));

    *ret_status = LK_ENOMEM;
    if (p == NULL)
        return NULL;
    p->ticket.place = place_take(flight, key, ret_status);
    if (p->ticket.place == NULL) {
        lk__free(p);
        return NULL;
    }
    p->ticket.options = flight->options;
    p->boarding.lease_ms = flight->options.lease_ms;
    p->client = lk__client_ref(flight->client);
    p->post.run = run_landed;
    return p;
}

lk_status lk_flight_do_async(lk_flight *flight, const char *key,
                             int64_t wait_ms, const lk_acquire_options *options,
                             lk_flight_start_fn start, lk_flight_cb cb,
                             void *data)
{
    passenger *p;
    lk__wish wish;
    lk_status status;

    if (start == NULL || cb == NULL)
        return lk__fail(LK_EINVAL, "a callback is NULL");
    p = passenger_new(flight, key, &status);
    if (p == NULL)
        return status;
    p->start = start;
    p->cb = cb;
    p->data = data;
    wish = wish_of(p->ticket.place, wait_ms, options, &p->boarding);
    status = lk__wait_for_async(&wish, on_boarded, p);
    if (status != LK_OK)
        passenger_free(p);
    return status;
}
