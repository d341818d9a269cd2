/* SPDX-License-Identifier: MIT */

/* Flights: one computes, the others share; values, errors, times, cancels. */

#include <stdlib.h>
#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/flights.h"
#include "support/wait.h"

enum { MANY = 100 };

LOCKS_TEST(a_caller_alone_computes)
{
    flights_expect(flights_one(f), flights_engine(f), "value");
    assert_int_equal(flights_engine(f)->begun, 1);
}

LOCKS_TEST(callers_of_one_client_share_a_computation)
{
    lk_flight *flight = flights_one(f);
    flyer *callers[MANY];

    (void)flights_lead(f, flight, flights_engine(f));
    for (int i = 0; i < MANY; i++)
        callers[i] =
            flights_begin(f, flight, flights_engine(f), LK_FOREVER, NULL);
    locking_wait_waiting(f->clients[0], MANY);
    flights_engine(f)->held = false;
    for (int i = 0; i < MANY; i++) {
        assert_status(flyer_join(callers[i]), LK_OK);
        assert_string_equal(callers[i]->text, "value");
    }
    assert_int_equal(flights_engine(f)->begun, 1);
}

LOCKS_TEST(callers_of_other_clients_get_the_value_in_a_message)
{
    lk_client *client = locking_open(f, NULL);
    engine idle = {.value = "wrong"};
    flyer *leader = flights_lead(f, flights_one(f), flights_engine(f));
    flyer *follower = flights_follow(f, flights_of(f, client, NULL), &idle);
    uint64_t commands;

    locking_wait_calm(client);
    commands = locking_stats(client).commands;
    flights_engine(f)->held = false;
    assert_status(flyer_join(follower), LK_OK);
    assert_string_equal(follower->text, "value");
    assert_status(flyer_join(leader), LK_OK);
    assert_int_equal(idle.begun, 0);
    /* It gave the subscription up, and may have looked once. */
    assert_in_range(locking_stats(client).commands, commands, commands + 2);
}

LOCKS_TEST(a_large_value_is_read)
{
    const size_t size = 200000;
    char *bytes = calloc(1, size + 1);
    engine idle = {.value = "wrong"};
    flyer *leader, *follower;

    assert_non_null(bytes);
    memset(bytes, 'x', size);
    flights_engine(f)->value = bytes;
    leader = flights_lead(f, flights_one(f), flights_engine(f));
    follower = flights_follow(f, flights_one(f), &idle);
    flights_engine(f)->held = false;
    assert_status(flyer_join(follower), LK_OK);
    assert_int_equal(follower->size, size);
    assert_memory_equal(follower->text, "xxxx", 4);
    assert_status(flyer_join(leader), LK_OK);
    assert_int_equal(idle.begun, 0);
    free(bytes);
}

LOCKS_TEST(a_value_is_any_bytes)
{
    engine idle = {.value = "wrong"};
    flyer *leader, *follower;

    flights_engine(f)->value = "a\0b\r\n c";
    flights_engine(f)->size = 7;
    leader = flights_lead(f, flights_one(f), flights_engine(f));
    follower = flights_follow(f, flights_one(f), &idle);
    flights_engine(f)->held = false;
    assert_status(flyer_join(follower), LK_OK);
    assert_int_equal(follower->size, 7);
    assert_status(flyer_join(leader), LK_OK);
    assert_int_equal(leader->size, 7);
}

static bool has_landed_is_over(void *data)
{
    return !locking_exists(data, "latchkey:flight:{f:k}");
}

LOCKS_TEST(a_value_can_be_had_for_its_time)
{
    const lk_flight_options options = {LK_FLIGHT_OPTIONS_INIT,
                                       .ttl_ms = wait_lease_ms()};
    lk_flight *flight = flights_of(f, locking_open(f, NULL), &options);

    flights_expect(flight, flights_engine(f), "value");
    flights_expect(flight, flights_engine(f), "value");
    flights_expect(flights_one(f), flights_engine(f), "value");
    assert_int_equal(flights_engine(f)->begun, 1);
    assert_true(wait_until(has_landed_is_over, f, 10000));
    flights_expect(flight, flights_engine(f), "value");
    assert_int_equal(flights_engine(f)->begun, 2);
}

LOCKS_TEST(keys_do_not_share)
{
    lk_flight *flight = flights_one(f);
    lk_flight_value *value = NULL;

    flights_expect(flight, flights_engine(f), "value");
    assert_status(lk_flight_do(flight, "other", LK_FOREVER, NULL, engine_run,
                               flights_engine(f), &value),
                  LK_OK);
    lk_flight_value_free(value);
    assert_int_equal(flights_engine(f)->begun, 2);
}

LOCKS_TEST(an_error_reaches_everybody)
{
    lk_flight *flight = flights_one(f);
    engine idle = {.value = "wrong"};
    flyer *leader, *local, *follower;

    flights_engine(f)->status = LK_EGONE;
    flights_engine(f)->words = "the moon is not there";
    leader = flights_lead(f, flight, flights_engine(f));
    local = flights_begin(f, flight, &idle, LK_FOREVER, NULL);
    locking_wait_waiting(f->clients[0], 1);
    follower = flights_follow(f, flights_one(f), &idle);
    flights_engine(f)->held = false;
    assert_status(flyer_join(leader), LK_EGONE);
    assert_string_equal(leader->taker->words, flights_engine(f)->words);
    assert_status(flyer_join(local), LK_EGONE);
    assert_string_equal(local->taker->words, flights_engine(f)->words);
    assert_status(flyer_join(follower), LK_EGONE);
    assert_string_equal(follower->taker->words, flights_engine(f)->words);
    assert_int_equal(idle.begun, 0);
    assert_true(wait_until(has_landed_is_over, f, 10000));
    flights_expect(flight, &idle, "wrong");
}

LOCKS_TEST(what_is_no_status_is_an_error)
{
    lk_flight *flight = flights_one(f);
    engine idle = {.value = "wrong"};
    flyer *leader, *follower;

    flights_engine(f)->status = (lk_status)5;
    leader = flights_lead(f, flight, flights_engine(f));
    follower = flights_follow(f, flights_one(f), &idle);
    flights_engine(f)->held = false;
    assert_status(flyer_join(leader), LK_EINVAL);
    assert_status(flyer_join(follower), LK_EINVAL);
    assert_int_equal(idle.begun, 0);
}

LOCKS_TEST(a_value_that_is_too_large_is_an_error)
{
    const lk_flight_options small = {LK_FLIGHT_OPTIONS_INIT, .max_size = 4};
    lk_flight *flight = flights_of(f, locking_open(f, NULL), &small);
    flyer *leader = flights_lead(f, flight, flights_engine(f));
    flyer *local =
        flights_begin(f, flight, flights_engine(f), LK_FOREVER, NULL);

    locking_wait_waiting(f->clients[0], 1);
    flights_engine(f)->held = false;
    assert_status(flyer_join(leader), LK_ERANGE);
    assert_status(flyer_join(local), LK_ERANGE);
}

/* ---- the end of a wait ---- */

LOCKS_TEST(a_waiter_that_ends_leaves_the_others_alone)
{
    const lk_client_options patient = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = 60000};
    lk_client *client = locking_open(f, &patient);
    lk_flight *flight = flights_of(f, client, NULL);
    lk_cancel *cancel = NULL;
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    flyer *leader = flights_lead(f, flights_one(f), flights_engine(f));
    flyer *stays = flights_follow(f, flight, flights_engine(f));
    flyer *cancels, *tires, *tries;

    assert_status(lk_cancel_new(&cancel, client), LK_OK);
    options.cancel = cancel;
    cancels = flights_begin(f, flight, flights_engine(f), LK_FOREVER, &options);
    tires = flights_begin(f, flight, flights_engine(f), 50, NULL);
    assert_status(flyer_join(tires), LK_ETIMEDOUT);
    assert_true(tires->taker->took_ms >= 50);
    lk_cancel_fire(cancel);
    assert_status(flyer_join(cancels), LK_ECANCELED);
    lk_cancel_free(cancel);
    tries = flights_begin(f, flight, flights_engine(f), 0, NULL);
    assert_status(flyer_join(tries), LK_EBUSY);
    flights_engine(f)->held = false;
    assert_status(flyer_join(stays), LK_OK);
    assert_status(flyer_join(leader), LK_OK);
    assert_int_equal(flights_engine(f)->begun, 1);
}

LOCKS_TEST(a_call_that_does_not_wait_computes_or_takes)
{
    lk_flight *flight = flights_one(f);
    lk_flight_value *value = NULL;

    for (int i = 0; i < 2; i++) {
        assert_status(lk_flight_do(flight, "k", 0, NULL, engine_run,
                                   flights_engine(f), &value),
                      LK_OK);
        lk_flight_value_free(value);
    }
    assert_int_equal(flights_engine(f)->begun, 1);
}

/* The token is for the wait: there is none. */
LOCKS_TEST(a_leader_is_not_ended)
{
    lk_client *client = locking_open(f, NULL);
    lk_cancel *cancel = NULL;
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    flyer *leader;

    assert_status(lk_cancel_new(&cancel, client), LK_OK);
    options.cancel = cancel;
    flights_engine(f)->held = true;
    leader = flights_begin(f, flights_of(f, client, NULL), flights_engine(f),
                           300, &options);
    while (flights_engine(f)->begun == 0)
        locking_pass_time(1);
    lk_cancel_fire(cancel);
    locking_pass_time(310);
    assert_false(leader->taker->done);
    flights_engine(f)->held = false;
    assert_status(flyer_join(leader), LK_OK);
    lk_cancel_free(cancel);
}

/* It lasts several leases. */
LOCKS_TEST(a_leader_keeps_its_claim_while_it_computes)
{
    const lk_flight_options quick = {LK_FLIGHT_OPTIONS_INIT,
                                     .lease_ms = wait_lease_ms()};
    lk_flight *flight = flights_of(f, locking_open(f, NULL), &quick);
    flyer *leader = flights_lead(f, flight, flights_engine(f));
    flyer *follower = flights_follow(f, flights_one(f), flights_engine(f));

    locking_pass_time(2 * wait_lease_ms());
    assert_int_equal(flights_engine(f)->begun, 1);
    flights_engine(f)->held = false;
    assert_status(flyer_join(follower), LK_OK);
    assert_status(flyer_join(leader), LK_OK);
}

/* ---- how long a dead leader is waited for: as long as it said itself ---- */

enum { OTHER_LEASE_MS = 600000 };

static lk_flight *flight_with_lease(locking *f, lk_client *client, uint64_t ms)
{
    const lk_flight_options options = {LK_FLIGHT_OPTIONS_INIT, .lease_ms = ms};

    return flights_of(f, client, &options);
}

/* Looks at it for longer than until a renewal. */
static void assert_lease_stays(locking *f)
{
    const unsigned lease_ms = wait_lease_ms();

    assert_soon(server_integer(f->server, "PTTL latchkey:flight-claim:{f:k}") >
                    lease_ms - lease_ms / 5,
                10000);
    for (int i = 0; i < 10; i++) {
        assert_in_range(server_integer(f->server,
                                       "PTTL latchkey:flight-claim:{f:k}"),
                        1, lease_ms);
        locking_pass_time(lease_ms / 3 / 5);
    }
}

LOCKS_TEST(callers_leave_the_leader_its_lease)
{
    lk_client *client = locking_open(f, NULL);
    lk_flight *flight = flight_with_lease(f, client, wait_lease_ms());
    lk_flight *other = flight_with_lease(f, client, OTHER_LEASE_MS);
    flyer *leader = flights_lead(f, flight, flights_engine(f)), *local;

    local = flights_begin(f, other, flights_engine(f), LK_FOREVER, NULL);
    locking_wait_waiting(client, 1);
    assert_lease_stays(f);
    flights_engine(f)->held = false;
    assert_status(flyer_join(local), LK_OK);
    assert_status(flyer_join(leader), LK_OK);
}

/* It waited for another client's leader, and others came behind it. A leader whose
   claim is gone claims again at its next renewal; this one has none in that time. */
LOCKS_TEST(who_leads_next_has_its_own_lease)
{
    lk_client *client = locking_open(f, NULL);
    lk_flight *longest =
        flight_with_lease(f, locking_open(f, NULL), OTHER_LEASE_MS);
    lk_flight *flight = flight_with_lease(f, client, wait_lease_ms());
    lk_flight *other = flight_with_lease(f, client, OTHER_LEASE_MS);
    engine next = {.held = true};
    flyer *first = flights_lead(f, longest, flights_engine(f));
    flyer *follower = flights_follow(f, flight, &next), *behind;

    behind = flights_begin(f, other, &next, LK_FOREVER, NULL);
    locking_wait_waiting(client, 2);
    assert_int_equal(server_integer(f->server,
                                    "DEL latchkey:flight-claim:{f:k}"),
                     1);
    assert_soon(next.begun > 0, 10000);
    assert_lease_stays(f);
    next.held = flights_engine(f)->held = false;
    assert_status(flyer_join(follower), LK_OK);
    assert_status(flyer_join(behind), LK_OK);
    assert_status(flyer_join(first), LK_OK);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
