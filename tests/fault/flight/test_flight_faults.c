/* SPDX-License-Identifier: MIT */

/*
 * Flights and what can go wrong on the way: answers and messages that are lost,
 * requests that do not arrive, a server that is flushed, stopped, restarted.
 * Nobody waits for ever, and nothing is computed twice but where the claim was
 * lost. How soon they look is a matter of unit.seam_flight.
 */

#include "support/call.h"
#include "support/check.h"
#include "support/flights.h"
#include "support/proxy.h"
#include "support/wait.h"

enum { COMMAND = 0, INBOX = 1, SOON_MS = 10000 };

static proxy *the_proxy;

static int start(void **state)
{
    if (locking_setup(state) != 0)
        return -1;
    the_proxy = locking_proxy(*state);
    return 0;
}

#define FAULT(name) CHECK_TEST_OF(name, locking *f, start, locking_teardown)

/* A client behind the proxy: connection 0 is for its commands, 1 its inbox. */
static lk_flight *far_with(locking *f, const lk_client_options *options,
                           const lk_flight_options *flight)
{
    return flights_of(f, locking_open_far(f, options), flight);
}

/* A value is there for longer than the slowest machine takes to look. */
static const lk_flight_options lasts = {LK_FLIGHT_OPTIONS_INIT,
                                        .ttl_ms = 60000};

static lk_flight *far(locking *f)
{
    return far_with(f, NULL, &lasts);
}

static lk_flight *near(locking *f)
{
    return flights_of(f, locking_open(f, NULL), &lasts);
}

/* ---- the leader ---- */

FAULT(a_join_whose_answer_is_lost_still_leads)
{
    proxy_drop_replies(the_proxy, COMMAND, true);
    flights_expect(far(f), flights_engine(f), "value");
    assert_int_equal(flights_engine(f)->begun, 1);
}

FAULT(a_join_that_was_answered_and_lost_leads_once)
{
    lk_flight *flight = far(f);

    proxy_drop_replies(the_proxy, COMMAND, true);
    flights_expect(flight, flights_engine(f), "value");
    flights_expect(near(f), flights_engine(f), "value");
    assert_int_equal(flights_engine(f)->begun, 1);
}

/* It is told again, and nobody gets it twice. */
FAULT(a_landing_whose_answer_is_lost_is_told)
{
    engine idle = {.value = "wrong"};
    flyer *leader = flights_lead(f, far(f), flights_engine(f));
    flyer *follower = flights_follow(f, near(f), &idle);

    proxy_drop_replies(the_proxy, COMMAND, true);
    flights_engine(f)->held = false;
    assert_status(flyer_join(follower), LK_OK);
    assert_status(flyer_join(leader), LK_OK);
    assert_string_equal(follower->text, "value");
    flights_expect(near(f), &idle, "value");
    assert_int_equal(idle.begun, 0);
}

/* It goes out once the connection is back. */
FAULT(a_landing_that_did_not_arrive_is_told_later)
{
    engine idle = {.value = "wrong"};
    flyer *leader = flights_lead(f, far(f), flights_engine(f));
    flyer *follower = flights_follow(f, near(f), &idle);

    proxy_refuse(the_proxy, true);
    proxy_reset(the_proxy, PROXY_ALL);
    flights_engine(f)->held = false;
    assert_status(flyer_join(leader), LK_OK);
    assert_false(follower->taker->done);
    proxy_heal(the_proxy);
    assert_status(flyer_join(follower), LK_OK);
    assert_string_equal(follower->text, "value");
    assert_int_equal(idle.begun, 0);
}

/* It was sent, and it is not known whether it arrived. */
FAULT(a_landing_that_was_swallowed_is_told_again)
{
    engine idle = {.value = "wrong"};
    flyer *leader = flights_lead(f, far(f), flights_engine(f));
    flyer *follower = flights_follow(f, near(f), &idle);

    proxy_swallow(the_proxy, COMMAND, PROXY_REQUESTS);
    flights_engine(f)->held = false;
    assert_status(flyer_join(leader), LK_OK);
    proxy_heal(the_proxy);
    assert_status(flyer_join(follower), LK_OK);
    assert_string_equal(follower->text, "value");
    assert_int_equal(idle.begun, 0);
}

/* A renewal that was under way at the landing is answered after it, and says
   nothing to whoever calls by then. */
FAULT(a_renewal_that_is_answered_late_leads_nobody)
{
    const lk_flight_options quick = {LK_FLIGHT_OPTIONS_INIT, .ttl_ms = 60000,
                                     .lease_ms = wait_lease_ms()};
    lk_flight *flight = far_with(f, NULL, &quick); /* of client 0 */
    flyer *leader = flights_lead(f, flight, flights_engine(f));
    flyer *later;
    uint64_t before;

    locking_wait_calm(f->clients[0]);
    before = proxy_received(the_proxy, COMMAND, PROXY_REQUESTS);
    proxy_hold(the_proxy, COMMAND, PROXY_REQUESTS);
    assert_true(proxy_wait_received(the_proxy, COMMAND, PROXY_REQUESTS,
                                    before + 1, SOON_MS));
    flights_engine(f)->held = false;
    assert_status(flyer_join(leader), LK_OK);
    later = flights_begin(f, flight, flights_engine(f), LK_FOREVER, NULL);
    locking_wait_waiting(f->clients[0], 1);
    proxy_release(the_proxy, COMMAND, PROXY_REQUESTS);
    assert_status(flyer_join(later), LK_OK);
    assert_string_equal(later->text, "value");
    locking_wait_calm(f->clients[0]);
    assert_false(locking_exists(f, "latchkey:flight-claim:{f:k}"));
}

/* It cannot renew: another takes over, and both go on. */
FAULT(a_leader_that_is_cut_off_is_taken_over_from)
{
    const lk_flight_options quick = {LK_FLIGHT_OPTIONS_INIT,
                                     .lease_ms = wait_lease_ms()};
    engine second = {.value = "second"};
    flyer *leader =
        flights_lead(f, far_with(f, NULL, &quick), flights_engine(f));
    flyer *follower;

    proxy_refuse(the_proxy, true);
    proxy_reset(the_proxy, PROXY_ALL);
    follower = flights_begin(f, near(f), &second, LK_FOREVER, NULL);
    assert_status(flyer_join(follower), LK_OK);
    assert_string_equal(follower->text, "second");
    proxy_heal(the_proxy);
    flights_engine(f)->held = false;
    assert_status(flyer_join(leader), LK_OK);
    assert_string_equal(leader->text, "value");
    flights_expect(near(f), &second, "second");
    assert_int_equal(second.begun, 1);
}

/* ---- who waits ---- */

enum { LOOK_MS = 1000 }; /* between two looks, at most */

/* The server answered "another computes" just before that one landed, and the
   message overtook the answer. */
FAULT(an_answer_that_a_landing_overtook_is_not_the_last)
{
    lk_flight *flight = far(f); /* of client 0 */
    flyer *leader = flights_lead(f, near(f), flights_engine(f));
    flyer *follower = flights_follow(f, flight, flights_engine(f));
    flyer *later;
    uint64_t before;

    locking_wait_calm(f->clients[0]);
    proxy_hold(the_proxy, COMMAND, PROXY_REPLIES);
    before = proxy_received(the_proxy, COMMAND, PROXY_REPLIES);
    later = flights_begin(f, flight, flights_engine(f), LK_FOREVER, NULL);
    assert_true(proxy_wait_received(the_proxy, COMMAND, PROXY_REPLIES,
                                    before + 1, SOON_MS));
    flights_engine(f)->held = false;
    assert_status(flyer_join(leader), LK_OK);
    assert_status(flyer_join(follower), LK_OK);
    assert_false(later->taker->done);
    proxy_release(the_proxy, COMMAND, PROXY_REPLIES);
    assert_status(flyer_join(later), LK_OK);
    assert_string_equal(later->text, "value");
    assert_int_equal(flights_engine(f)->begun, 1);
}

FAULT(a_lease_that_ends_is_taken_over)
{
    lk_flight *flight = near(f);
    flyer *caller;

    freeReplyObject(
        server_command(f->server, "SET latchkey:flight-claim:{f:k} x PX 200"));
    caller = flights_begin(f, flight, flights_engine(f), LK_FOREVER, NULL);
    assert_status(flyer_join(caller), LK_OK);
    assert_true(caller->taker->took_ms >= 100);
    assert_int_equal(flights_engine(f)->begun, 1);
}

/* What was told while the subscription was on its way was not heard. */
FAULT(who_has_subscribed_finds_what_was_not_heard)
{
    lk_flight *flight = far(f); /* of client 0 */
    flyer *leader = flights_lead(f, near(f), flights_engine(f));
    flyer *follower;

    proxy_hold(the_proxy, INBOX, PROXY_REQUESTS);
    follower = flights_begin(f, flight, flights_engine(f), LK_FOREVER, NULL);
    locking_wait_waiting(f->clients[0], 1);
    flights_engine(f)->held = false;
    assert_status(flyer_join(leader), LK_OK);
    proxy_release(the_proxy, INBOX, PROXY_REQUESTS);
    assert_status(flyer_join(follower), LK_OK);
    assert_string_equal(follower->text, "value");
    assert_int_equal(flights_engine(f)->begun, 1);
}

FAULT(a_message_that_is_lost_is_made_up_for)
{
    engine idle = {.value = "wrong"};
    flyer *leader = flights_lead(f, near(f), flights_engine(f));
    flyer *follower = flights_follow(f, far(f), &idle);

    proxy_swallow(the_proxy, INBOX, PROXY_REPLIES);
    flights_engine(f)->held = false;
    assert_status(flyer_join(leader), LK_OK);
    assert_status(flyer_join(follower), LK_OK);
    assert_string_equal(follower->text, "value");
    assert_int_equal(idle.begun, 0);
}

static const lk_flight_options brief = {LK_FLIGHT_OPTIONS_INIT, .ttl_ms = 1};

static bool is_over(void *data)
{
    return !locking_exists(data, "latchkey:flight:{f:k}");
}

/* It lay in a socket while its leader's value came to an end: whoever waits for
   another leader by then gets that one's. */
FAULT(a_message_that_comes_late_is_not_believed)
{
    engine first = {.value = "first"};
    lk_flight *flight = far(f); /* of client 0 */
    lk_flight *old = flights_of(f, locking_open(f, NULL), &brief);
    flyer *leader = flights_lead(f, old, &first);
    flyer *follower = flights_follow(f, flight, flights_engine(f));
    flyer *second;

    locking_wait_calm(f->clients[0]);
    proxy_hold(the_proxy, INBOX, PROXY_REPLIES);
    proxy_hold(the_proxy, COMMAND, PROXY_REQUESTS);
    first.held = false;
    assert_status(flyer_join(leader), LK_OK);
    assert_true(wait_until(is_over, f, SOON_MS));
    second = flights_lead(f, near(f), flights_engine(f));
    (void)flights_begin(f, flight, flights_engine(f), LK_FOREVER, NULL);
    locking_wait_waiting(f->clients[0], 2);
    proxy_release(the_proxy, COMMAND, PROXY_REQUESTS);
    locking_wait_calm(f->clients[0]);
    proxy_release(the_proxy, INBOX, PROXY_REPLIES);
    locking_pass_time(20);
    assert_false(follower->taker->done);
    flights_engine(f)->held = false;
    assert_status(flyer_join(follower), LK_OK);
    assert_string_equal(follower->text, "value");
    assert_status(flyer_join(second), LK_OK);
    assert_int_equal(flights_engine(f)->begun, 1);
}

/* A message concerns those who waited before the last look that was answered:
   of the others nobody knows whether they came before it was sent. */
FAULT(a_call_that_came_later_looks_by_itself)
{
    engine second = {.value = "second"};
    lk_flight *flight = far(f); /* of client 0 */
    lk_flight *old = flights_of(f, locking_open(f, NULL), &brief);
    flyer *leader = flights_lead(f, old, flights_engine(f));
    flyer *follower = flights_follow(f, flight, &second);
    flyer *later;

    locking_wait_calm(f->clients[0]);
    proxy_hold(the_proxy, COMMAND, PROXY_REQUESTS);
    later = flights_begin(f, flight, &second, LK_FOREVER, NULL);
    locking_wait_waiting(f->clients[0], 2);
    flights_engine(f)->held = false;
    assert_status(flyer_join(leader), LK_OK);
    assert_status(flyer_join(follower), LK_OK);
    assert_string_equal(follower->text, "value");
    assert_true(wait_until(is_over, f, SOON_MS));
    assert_false(later->taker->done);
    proxy_release(the_proxy, COMMAND, PROXY_REQUESTS);
    assert_status(flyer_join(later), LK_OK);
    assert_string_equal(later->text, "second");
}

/* The answer comes when nobody waits any more: nothing is looked at again. */
FAULT(an_answer_that_nobody_waits_for_ends_it)
{
    lk_flight *flight = far(f); /* of client 0 */
    flyer *leader = flights_lead(f, near(f), flights_engine(f));
    flyer *caller;
    uint64_t commands;

    locking_wait_calm(f->clients[0]);
    proxy_hold(the_proxy, COMMAND, PROXY_REPLIES);
    caller = flights_begin(f, flight, flights_engine(f), 100, NULL);
    assert_status(flyer_join(caller), LK_ETIMEDOUT);
    proxy_release(the_proxy, COMMAND, PROXY_REPLIES);
    locking_wait_calm(f->clients[0]);
    commands = locking_stats(f->clients[0]).commands;
    locking_pass_time(LOOK_MS + 100);
    assert_int_equal(locking_stats(f->clients[0]).commands, commands);
    flights_engine(f)->held = false;
    assert_status(flyer_join(leader), LK_OK);
}

FAULT(a_server_that_does_not_answer_keeps_nobody)
{
    lk_flight *flight = far_with(f, locking_hasty(), NULL);
    flyer *caller;

    server_freeze(f->server);
    caller = flights_begin(f, flight, flights_engine(f), 500, NULL);
    assert_true(flyer_join(caller) != LK_OK);
    assert_true(caller->taker->took_ms < wait_allowed_ms(wait_scaled_ms(2000)));
    server_thaw(f->server);
    assert_int_equal(flights_engine(f)->begun, 0);
    flights_expect(flight, flights_engine(f), "value");
}

FAULT(an_outage_ends_waits)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .offline_ms = wait_scaled_ms(200)};
    lk_flight *flight = far_with(f, &options, NULL);
    flyer *leader = flights_lead(f, near(f), flights_engine(f));
    flyer *follower = flights_begin(f, flight, flights_engine(f), 60000, NULL);

    proxy_refuse(the_proxy, true);
    proxy_reset(the_proxy, PROXY_ALL);
    assert_status(flyer_join(follower), LK_EOFFLINE);
    flights_engine(f)->held = false;
    assert_status(flyer_join(leader), LK_OK);
}

/* ---- the server ---- */

/* No renewal makes up for a claim that is gone. */
static const lk_flight_options lasting = {LK_FLIGHT_OPTIONS_INIT,
                                          .lease_ms = 600000};

/* The claim is gone, and with it what the leader lands for others: its own
   caller has it, and the other one computes. */
FAULT(a_flush_lets_a_second_one_compute)
{
    engine second = {.value = "second"};
    engine third = {.value = "third"};
    lk_flight *flight = flights_of(f, locking_open(f, NULL), &lasting);
    flyer *leader = flights_lead(f, flight, flights_engine(f));
    flyer *follower = flights_follow(f, near(f), &second);

    server_flush(f->server);
    flights_engine(f)->held = false;
    assert_status(flyer_join(leader), LK_OK);
    assert_string_equal(leader->text, "value");
    assert_status(flyer_join(follower), LK_OK);
    assert_string_equal(follower->text, "second");
    flights_expect(near(f), &third, "second");
    assert_int_equal(flights_engine(f)->begun, 1);
    assert_int_equal(second.begun, 1);
    assert_int_equal(third.begun, 0);
}

/* The leader may have renewed its claim before it landed: then it landed for
   the other one as well. */
FAULT(a_restart_is_ridden_out)
{
    engine second = {.value = "second"};
    flyer *leader = flights_lead(f, near(f), flights_engine(f));
    flyer *follower = flights_follow(f, near(f), &second);

    assert_true(server_restart(f->server));
    flights_engine(f)->held = false;
    assert_status(flyer_join(leader), LK_OK);
    assert_string_equal(leader->text, "value");
    assert_status(flyer_join(follower), LK_OK);
    assert_string_equal(follower->text, second.begun == 0 ? "value" : "second");
    assert_in_range(second.begun, 0, 1);
    assert_int_equal(flights_engine(f)->begun, 1);
}

/* Nobody is left to compute: the claim is given back. */
FAULT(a_claim_that_comes_too_late_is_given_back)
{
    const lk_client_options patient = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = 30000};
    lk_flight *flight = far_with(f, &patient, NULL);
    flyer *caller;

    proxy_hold(the_proxy, COMMAND, PROXY_REQUESTS);
    caller = flights_begin(f, flight, flights_engine(f), 50, NULL);
    assert_status(flyer_join(caller), LK_ETIMEDOUT);
    proxy_release(the_proxy, COMMAND, PROXY_REQUESTS);
    locking_wait_calm(f->clients[0]);
    assert_false(locking_exists(f, "latchkey:flight-claim:{f:k}"));
    flights_expect(near(f), flights_engine(f), "value");
    assert_int_equal(flights_engine(f)->begun, 1);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
