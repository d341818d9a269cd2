/* SPDX-License-Identifier: MIT */

/* Flights without blocking, and calls that are wrong. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/call.h"
#include "support/check.h"
#include "support/flights.h"
#include "support/memory.h"
#include "support/wait.h"

/* One async call. */
typedef struct journey {
    atomic_int starts, ends;
    lk_flight_ticket *ticket; /* set before starts */
    bool at_once;             /* completes within start */
    lk_status status;
    char text[32];
    char words[160];
} journey;

static void on_start(lk_flight_ticket *ticket, void *data)
{
    journey *j = data;

    j->ticket = ticket;
    if (j->at_once)
        lk_flight_complete(ticket, lk_flight_ticket_set(ticket, "value", 5));
    (void)atomic_fetch_add(&j->starts, 1);
}

static void on_end(lk_status status, lk_flight_value *value, void *data)
{
    journey *j = data;

    j->status = status;
    if (value != NULL)
        (void)snprintf(j->text, sizeof(j->text), "%s",
                       (const char *)value->bytes);
    lk_flight_value_free(value);
    (void)snprintf(j->words, sizeof(j->words), "%s", lk_last_error());
    (void)atomic_fetch_add(&j->ends, 1);
}

static void begin(lk_flight *flight, journey *j, int64_t wait_ms)
{
    assert_status(lk_flight_do_async(flight, "k", wait_ms, NULL, on_start,
                                     on_end, j),
                  LK_OK);
}

static lk_status finish(journey *j)
{
    call_wait_count(&j->ends, 1, NULL);
    assert_int_equal(j->ends, 1);
    return j->status;
}

LOCKS_TEST(one_starts_and_all_get_its_value)
{
    lk_client *client = locking_open(f, NULL);
    lk_flight *flight = flights_of(f, client, NULL);
    journey first = {0}, second = {0};
    flyer *follower;

    begin(flight, &first, LK_FOREVER);
    call_wait_count(&first.starts, 1, NULL);
    begin(flight, &second, LK_FOREVER);
    follower = flights_follow(f, flights_one(f), flights_engine(f));
    locking_wait_waiting(client, 1);
    assert_int_equal(first.ends, 0);
    assert_status(lk_flight_ticket_set(first.ticket, "first", 5), LK_OK);
    assert_status(lk_flight_ticket_set(first.ticket, "value", 5), LK_OK);
    lk_flight_complete(first.ticket, LK_OK);
    assert_status(finish(&first), LK_OK);
    assert_status(finish(&second), LK_OK);
    assert_status(flyer_join(follower), LK_OK);
    assert_string_equal(first.text, "value");
    assert_string_equal(second.text, "value");
    assert_string_equal(follower->text, "value");
    assert_int_equal(second.starts, 0);
    assert_int_equal(flights_engine(f)->begun, 0);
}

LOCKS_TEST(a_ticket_may_be_completed_at_once)
{
    journey j = {.at_once = true};

    begin(flights_one(f), &j, LK_FOREVER);
    assert_status(finish(&j), LK_OK);
    assert_string_equal(j.text, "value");
}

LOCKS_TEST(a_ticket_may_end_with_an_error)
{
    const lk_flight_options options = {LK_FLIGHT_OPTIONS_INIT, .ttl_ms = 60000,
                                       .error_ttl_ms = 20000};
    lk_flight *flight = flights_of(f, locking_open(f, NULL), &options);
    journey j = {0};
    lk_flight_value *value = NULL;

    begin(flight, &j, LK_FOREVER);
    call_wait_count(&j.starts, 1, NULL);
    lk_flight_ticket_words(j.ticket, "no fuel");
    lk_flight_complete(j.ticket, LK_EGONE);
    assert_status(finish(&j), LK_EGONE);
    assert_string_equal(j.words, "no fuel");
    assert_in_range(locking_pttl(f, "latchkey:flight:{f:k}"), 1, 20000);
    assert_status(lk_flight_do(flight, "k", (int64_t)wait_limit_ms(5000), NULL,
                               engine_run, flights_engine(f), &value),
                  LK_EGONE);
    assert_string_equal(lk_last_error(), "no fuel");
}

LOCKS_TEST(an_async_wait_ends_in_time)
{
    flyer *leader = flights_lead(f, flights_one(f), flights_engine(f));
    journey j = {0};

    begin(flights_one(f), &j, 50);
    assert_status(finish(&j), LK_ETIMEDOUT);
    assert_int_equal(j.starts, 0);
    flights_engine(f)->held = false;
    assert_status(flyer_join(leader), LK_OK);
}

LOCKS_TEST(a_handle_may_be_freed_while_a_call_is_under_way)
{
    lk_client *client = locking_open(f, NULL);
    lk_flight *flight = NULL;
    journey j = {0};

    assert_status(lk_flight_new(&flight, client, "f", NULL), LK_OK);
    begin(flight, &j, LK_FOREVER);
    lk_flight_free(flight);
    call_wait_count(&j.starts, 1, NULL);
    lk_flight_complete(j.ticket, LK_OK);
    assert_status(finish(&j), LK_OK);
    assert_string_equal(j.text, "");
}

LOCKS_TEST(a_shutdown_ends_waits_and_leaves_the_leader_its_value)
{
    lk_client *client = locking_open(f, NULL);
    lk_flight *flight = flights_of(f, client, NULL);
    journey leads = {0}, waits = {0};

    begin(flight, &leads, LK_FOREVER);
    call_wait_count(&leads.starts, 1, NULL);
    begin(flight, &waits, LK_FOREVER);
    locking_wait_waiting(client, 1);
    assert_status(lk_client_shutdown(client, 5000), LK_OK);
    assert_status(finish(&waits), LK_ECLOSED);
    assert_status(lk_flight_ticket_set(leads.ticket, "value", 5), LK_OK);
    lk_flight_complete(leads.ticket, LK_OK);
    assert_status(finish(&leads), LK_OK);
    assert_string_equal(leads.text, "value");
}

LOCKS_TEST(a_ticket_outlives_its_client)
{
    lk_client *client = locking_open(f, NULL);
    lk_flight *flight = NULL;
    journey j = {0};

    assert_status(lk_flight_new(&flight, client, "f", NULL), LK_OK);
    begin(flight, &j, LK_FOREVER);
    call_wait_count(&j.starts, 1, NULL);
    lk_flight_free(flight);
    locking_free_client(f, client);
    lk_flight_complete(j.ticket, lk_flight_ticket_set(j.ticket, "value", 5));
    assert_status(finish(&j), LK_OK);
    assert_string_equal(j.text, "value");
}

LOCKS_TEST(a_client_with_dispatch_calls_back_there)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .dispatch = 1};
    lk_client *client = locking_open(f, &options);
    journey j = {.at_once = true};

    begin(flights_of(f, client, NULL), &j, LK_FOREVER);
    call_wait_count(&j.ends, 1, client);
    assert_status(j.status, LK_OK);
    assert_string_equal(j.text, "value");
}

/* ---- misuse ---- */

static lk_status do_key(lk_flight *flight, const char *key, engine *e)
{
    lk_flight_value *value = NULL;
    lk_status status = lk_flight_do(flight, key, (int64_t)wait_limit_ms(5000),
                                    NULL, engine_run, e, &value);

    lk_flight_value_free(value);
    return status;
}

LOCKS_TEST(what_cannot_be_is_refused)
{
    lk_client *client = locking_open(f, NULL);
    lk_flight *flight = flights_of(f, client, NULL), *other = NULL;
    lk_flight_options options = {LK_FLIGHT_OPTIONS_INIT, .lease_ms = 99};
    lk_acquire_options acquire = {LK_ACQUIRE_OPTIONS_INIT, .lease_ms = 5};
    lk_flight_value *value = NULL;
    char key[600] = "";

    assert_einval(lk_flight_new(&other, client, "f", &options), "lease_ms");
    options.lease_ms = 0;
    options.max_size = LK_FLIGHT_SIZE_MAX + 1;
    assert_einval(lk_flight_new(&other, client, "f", &options), "max_size");
    options.max_size = 0;
    options.ttl_ms = UINT64_MAX;
    assert_einval(lk_flight_new(&other, client, "f", &options), "ttl");
    assert_einval(lk_flight_new(NULL, client, "f", NULL), "NULL");
    assert_status(lk_flight_new(&other, client, "", NULL), LK_EINVAL);
    assert_status(lk_flight_new(&other, NULL, "f", NULL), LK_EINVAL);
    assert_einval(do_key(flight, NULL, flights_engine(f)), "key");
    memset(key, 'x', sizeof(key) - 1);
    assert_einval(do_key(flight, key, flights_engine(f)), "512");
    assert_einval(do_key(NULL, "k", flights_engine(f)), "handle");
    assert_einval(lk_flight_do(flight, "k", 0, NULL, NULL, NULL, &value),
                  "function");
    assert_einval(lk_flight_do(flight, "k", 0, NULL, engine_run, NULL, NULL),
                  "ret_value");
    assert_einval(lk_flight_do(flight, "k", -7, NULL, engine_run, NULL, &value),
                  "wait_ms");
    assert_einval(lk_flight_do(flight, "k", 0, &acquire, engine_run, NULL,
                               &value),
                  "lease");
    assert_einval(lk_flight_do_async(flight, "k", 0, NULL, NULL, on_end, NULL),
                  "callback");
    assert_einval(lk_flight_do_async(flight, "k", 0, NULL, on_start, NULL,
                                     NULL),
                  "callback");
    assert_einval(lk_flight_ticket_set(NULL, "x", 1), "ticket");
    lk_flight_complete(NULL, LK_OK);
    lk_flight_ticket_words(NULL, "x");
    lk_flight_value_free(NULL);
    lk_flight_free(NULL);
    assert_int_equal(flights_engine(f)->begun, 0);
}

LOCKS_TEST(a_key_of_another_kind_is_not_touched)
{
    lk_flight *flight = flights_one(f);

    freeReplyObject(server_command(f->server, "SET latchkey:flight:{f:k} x"));
    assert_says(do_key(flight, "k", flights_engine(f)), LK_ETYPE,
                "not a flight");
    assert_int_equal(flights_engine(f)->begun, 0);
}

LOCKS_TEST(a_closed_or_forked_client_is_refused)
{
    lk_client *client = locking_open(f, NULL);
    lk_flight *flight = flights_of(f, client, NULL);
    int answer = 0;
    pid_t child = fork();

    if (child == 0) {
        lk_status status = do_key(flight, "k", flights_engine(f));

        lk_flight_free(flight);
        _exit(status == LK_EFORKED ? 0 : 1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &answer, 0), child);
    assert_int_equal(answer, 0);
    assert_status(lk_client_shutdown(client, 5000), LK_OK);
    assert_status(do_key(flight, "k", flights_engine(f)), LK_ECLOSED);
    assert_int_equal(flights_engine(f)->begun, 0);
}

static void call_within(call *c)
{
    engine e = {0};

    c->status = do_key(c->data, "k", &e);
}

LOCKS_TEST(a_blocking_call_in_a_callback_is_refused)
{
    lk_client *client = locking_open(f, NULL);
    call c = {.act = call_within, .data = flights_of(f, client, NULL)};

    assert_status(lk_client_wait_ready_async(client, 5000, call_on_done, &c),
                  LK_OK);
    assert_status(call_wait(&c, NULL), LK_ECALLBACK);
}

/* ---- memory ---- */

/* A landing that could not be told for want of memory leaves the claim to its
   lease: hence a key for each. */
static lk_status do_async(void *flight)
{
    static unsigned number;
    journey j = {.at_once = true};
    char key[32];
    lk_status status;

    (void)snprintf(key, sizeof(key), "%u", number++);
    status = lk_flight_do_async(flight, key, (int64_t)wait_limit_ms(5000), NULL,
                                on_start, on_end, &j);
    return status == LK_OK ? finish(&j) : status;
}

LOCKS_TEST(each_allocation_that_fails_is_told_of)
{
    lk_flight *flight = flights_one(f);

    flights_expect(flight, flights_engine(f), "value");
    memory_fails_each("do", do_async, NULL, flight);
    server_flush(f->server);
}

int test_flight_async(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
