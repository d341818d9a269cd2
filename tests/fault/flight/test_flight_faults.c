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
    if (flights_start(state) != 0)
        return -1;
    the_proxy = locking_proxy(((flights *)*state)->base);
    return 0;
}

#define FAULT(f) cmocka_unit_test_setup_teardown(f, start, flights_end)

/* A client behind the proxy: connection 0 is for its commands, 1 its inbox. */
static lk_flight *far_with(flights *f, const lk_client_options *options,
                           const lk_flight_options *flight)
{
    return flights_of(f, locking_open_far(f->base, options), flight);
}

/* A value is there for longer than the slowest machine takes to look. */
static const lk_flight_options lasts = {LK_FLIGHT_OPTIONS_INIT,
                                        .ttl_ms = 60000};

static lk_flight *far(flights *f)
{
    return far_with(f, NULL, &lasts);
}

static lk_flight *near(flights *f)
{
    return flights_of(f, locking_open(f->base, NULL), &lasts);
}

static const lk_client_options hasty = {LK_CLIENT_OPTIONS_INIT,
                                        .command_timeout_ms = 300};

/* ---- the leader ---- */

static void a_join_whose_answer_is_lost_still_leads(void **state)
{
    flights *f = *state;

    proxy_drop_replies(the_proxy, COMMAND, true);
    flights_expect(far(f), &f->engine, "value");
    assert_int_equal(f->engine.begun, 1);
}

static void a_join_that_was_answered_and_lost_leads_once(void **state)
{
    flights *f = *state;
    lk_flight *flight = far(f);

    proxy_drop_replies(the_proxy, COMMAND, true);
    flights_expect(flight, &f->engine, "value");
    flights_expect(near(f), &f->engine, "value");
    assert_int_equal(f->engine.begun, 1);
}

/* It is told again, and nobody gets it twice. */
static void a_landing_whose_answer_is_lost_is_told(void **state)
{
    flights *f = *state;
    engine idle = {.value = "wrong"};
    flyer *leader = flights_lead(f, far(f), &f->engine);
    flyer *follower = flights_follow(f, near(f), &idle);

    proxy_drop_replies(the_proxy, COMMAND, true);
    f->engine.held = false;
    assert_status(flyer_join(follower), LK_OK);
    assert_status(flyer_join(leader), LK_OK);
    assert_string_equal(follower->text, "value");
    flights_expect(near(f), &idle, "value");
    assert_int_equal(idle.begun, 0);
}

/* It goes out once the connection is back. */
static void a_landing_that_did_not_arrive_is_told_later(void **state)
{
    flights *f = *state;
    engine idle = {.value = "wrong"};
    flyer *leader = flights_lead(f, far(f), &f->engine);
    flyer *follower = flights_follow(f, near(f), &idle);

    proxy_refuse(the_proxy, true);
    proxy_reset(the_proxy, PROXY_ALL);
    f->engine.held = false;
    assert_status(flyer_join(leader), LK_OK);
    assert_false(follower->done);
    proxy_heal(the_proxy);
    assert_status(flyer_join(follower), LK_OK);
    assert_string_equal(follower->text, "value");
    assert_int_equal(idle.begun, 0);
}

/* It was sent, and it is not known whether it arrived. */
static void a_landing_that_was_swallowed_is_told_again(void **state)
{
    flights *f = *state;
    engine idle = {.value = "wrong"};
    flyer *leader = flights_lead(f, far(f), &f->engine);
    flyer *follower = flights_follow(f, near(f), &idle);

    proxy_swallow(the_proxy, COMMAND, PROXY_REQUESTS);
    f->engine.held = false;
    assert_status(flyer_join(leader), LK_OK);
    proxy_heal(the_proxy);
    assert_status(flyer_join(follower), LK_OK);
    assert_string_equal(follower->text, "value");
    assert_int_equal(idle.begun, 0);
}

/* A renewal that was under way at the landing is answered after it, and says
   nothing to whoever calls by then. */
static void a_renewal_that_is_answered_late_leads_nobody(void **state)
{
    flights *f = *state;
    const lk_flight_options quick = {LK_FLIGHT_OPTIONS_INIT, .ttl_ms = 60000,
                                     .lease_ms = 1000};
    lk_flight *flight = far_with(f, NULL, &quick); /* of client 0 */
    flyer *leader = flights_lead(f, flight, &f->engine);
    flyer *later;
    uint64_t before;

    locking_wait_calm(f->base->clients[0]);
    before = proxy_received(the_proxy, COMMAND, PROXY_REQUESTS);
    proxy_hold(the_proxy, COMMAND, PROXY_REQUESTS);
    assert_true(proxy_wait_received(the_proxy, COMMAND, PROXY_REQUESTS,
                                    before + 1, SOON_MS));
    f->engine.held = false;
    assert_status(flyer_join(leader), LK_OK);
    later = flights_begin(f, flight, &f->engine, LK_FOREVER, NULL);
    locking_wait_waiting(f->base->clients[0], 1);
    proxy_release(the_proxy, COMMAND, PROXY_REQUESTS);
    assert_status(flyer_join(later), LK_OK);
    assert_string_equal(later->text, "value");
    locking_wait_calm(f->base->clients[0]);
    assert_false(locking_exists(f->base, "latchkey:flight-claim:{f:k}"));
}

/* It cannot renew: another takes over, and both go on. */
static void a_leader_that_is_cut_off_is_taken_over_from(void **state)
{
    flights *f = *state;
    const lk_flight_options quick = {LK_FLIGHT_OPTIONS_INIT, .lease_ms = 1000};
    engine second = {.value = "second"};
    flyer *leader = flights_lead(f, far_with(f, NULL, &quick), &f->engine);
    flyer *follower;

    proxy_refuse(the_proxy, true);
    proxy_reset(the_proxy, PROXY_ALL);
    follower = flights_begin(f, near(f), &second, LK_FOREVER, NULL);
    assert_status(flyer_join(follower), LK_OK);
    assert_string_equal(follower->text, "second");
    proxy_heal(the_proxy);
    f->engine.held = false;
    assert_status(flyer_join(leader), LK_OK);
    assert_string_equal(leader->text, "value");
    flights_expect(near(f), &second, "second");
    assert_int_equal(second.begun, 1);
}

/* ---- who waits ---- */

enum { LOOK_MS = 1000 }; /* between two looks, at most */

/* The server answered "another computes" just before that one landed, and the
   message overtook the answer. */
static void an_answer_that_a_landing_overtook_is_not_the_last(void **state)
{
    flights *f = *state;
    lk_flight *flight = far(f); /* of client 0 */
    flyer *leader = flights_lead(f, near(f), &f->engine);
    flyer *follower = flights_follow(f, flight, &f->engine);
    flyer *later;
    uint64_t before;

    locking_wait_calm(f->base->clients[0]);
    proxy_hold(the_proxy, COMMAND, PROXY_REPLIES);
    before = proxy_received(the_proxy, COMMAND, PROXY_REPLIES);
    later = flights_begin(f, flight, &f->engine, LK_FOREVER, NULL);
    assert_true(proxy_wait_received(the_proxy, COMMAND, PROXY_REPLIES,
                                    before + 1, SOON_MS));
    f->engine.held = false;
    assert_status(flyer_join(leader), LK_OK);
    assert_status(flyer_join(follower), LK_OK);
    assert_false(later->done);
    proxy_release(the_proxy, COMMAND, PROXY_REPLIES);
    assert_status(flyer_join(later), LK_OK);
    assert_string_equal(later->text, "value");
    assert_int_equal(f->engine.begun, 1);
}

static void a_lease_that_ends_is_taken_over(void **state)
{
    flights *f = *state;
    lk_flight *flight = near(f);
    flyer *caller;

    freeReplyObject(server_command(f->base->server,
                                   "SET latchkey:flight-claim:{f:k} x PX 200"));
    caller = flights_begin(f, flight, &f->engine, LK_FOREVER, NULL);
    assert_status(flyer_join(caller), LK_OK);
    assert_true(caller->took_ms >= 100);
    assert_int_equal(f->engine.begun, 1);
}

/* What was told while the subscription was on its way was not heard. */
static void who_has_subscribed_finds_what_was_not_heard(void **state)
{
    flights *f = *state;
    lk_flight *flight = far(f); /* of client 0 */
    flyer *leader = flights_lead(f, near(f), &f->engine);
    flyer *follower;

    proxy_hold(the_proxy, INBOX, PROXY_REQUESTS);
    follower = flights_begin(f, flight, &f->engine, LK_FOREVER, NULL);
    locking_wait_waiting(f->base->clients[0], 1);
    f->engine.held = false;
    assert_status(flyer_join(leader), LK_OK);
    proxy_release(the_proxy, INBOX, PROXY_REQUESTS);
    assert_status(flyer_join(follower), LK_OK);
    assert_string_equal(follower->text, "value");
    assert_int_equal(f->engine.begun, 1);
}

static void a_message_that_is_lost_is_made_up_for(void **state)
{
    flights *f = *state;
    engine idle = {.value = "wrong"};
    flyer *leader = flights_lead(f, near(f), &f->engine);
    flyer *follower = flights_follow(f, far(f), &idle);

    proxy_swallow(the_proxy, INBOX, PROXY_REPLIES);
    f->engine.held = false;
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
static void a_message_that_comes_late_is_not_believed(void **state)
{
    flights *f = *state;
    engine first = {.value = "first"};
    lk_flight *flight = far(f); /* of client 0 */
    lk_flight *old = flights_of(f, locking_open(f->base, NULL), &brief);
    flyer *leader = flights_lead(f, old, &first);
    flyer *follower = flights_follow(f, flight, &f->engine);
    flyer *second;

    locking_wait_calm(f->base->clients[0]);
    proxy_hold(the_proxy, INBOX, PROXY_REPLIES);
    proxy_hold(the_proxy, COMMAND, PROXY_REQUESTS);
    first.held = false;
    assert_status(flyer_join(leader), LK_OK);
    assert_true(wait_until(is_over, f->base, SOON_MS));
    second = flights_lead(f, near(f), &f->engine);
    (void)flights_begin(f, flight, &f->engine, LK_FOREVER, NULL);
    locking_wait_waiting(f->base->clients[0], 2);
    proxy_release(the_proxy, COMMAND, PROXY_REQUESTS);
    locking_wait_calm(f->base->clients[0]);
    proxy_release(the_proxy, INBOX, PROXY_REPLIES);
    locking_pass_time(20);
    assert_false(follower->done);
    f->engine.held = false;
    assert_status(flyer_join(follower), LK_OK);
    assert_string_equal(follower->text, "value");
    assert_status(flyer_join(second), LK_OK);
    assert_int_equal(f->engine.begun, 1);
}

/* A message concerns those who waited before the last look that was answered:
   of the others nobody knows whether they came before it was sent. */
static void a_call_that_came_later_looks_by_itself(void **state)
{
    flights *f = *state;
    engine second = {.value = "second"};
    lk_flight *flight = far(f); /* of client 0 */
    lk_flight *old = flights_of(f, locking_open(f->base, NULL), &brief);
    flyer *leader = flights_lead(f, old, &f->engine);
    flyer *follower = flights_follow(f, flight, &second);
    flyer *later;

    locking_wait_calm(f->base->clients[0]);
    proxy_hold(the_proxy, COMMAND, PROXY_REQUESTS);
    later = flights_begin(f, flight, &second, LK_FOREVER, NULL);
    locking_wait_waiting(f->base->clients[0], 2);
    f->engine.held = false;
    assert_status(flyer_join(leader), LK_OK);
    assert_status(flyer_join(follower), LK_OK);
    assert_string_equal(follower->text, "value");
    assert_true(wait_until(is_over, f->base, SOON_MS));
    assert_false(later->done);
    proxy_release(the_proxy, COMMAND, PROXY_REQUESTS);
    assert_status(flyer_join(later), LK_OK);
    assert_string_equal(later->text, "second");
}

/* The answer comes when nobody waits any more: nothing is looked at again. */
static void an_answer_that_nobody_waits_for_ends_it(void **state)
{
    flights *f = *state;
    lk_flight *flight = far(f); /* of client 0 */
    flyer *leader = flights_lead(f, near(f), &f->engine);
    flyer *caller;
    uint64_t commands;

    locking_wait_calm(f->base->clients[0]);
    proxy_hold(the_proxy, COMMAND, PROXY_REPLIES);
    caller = flights_begin(f, flight, &f->engine, 100, NULL);
    assert_status(flyer_join(caller), LK_ETIMEDOUT);
    proxy_release(the_proxy, COMMAND, PROXY_REPLIES);
    locking_wait_calm(f->base->clients[0]);
    commands = locking_stats(f->base->clients[0]).commands;
    locking_pass_time(LOOK_MS + 100);
    assert_int_equal(locking_stats(f->base->clients[0]).commands, commands);
    f->engine.held = false;
    assert_status(flyer_join(leader), LK_OK);
}

static void a_server_that_does_not_answer_keeps_nobody(void **state)
{
    flights *f = *state;
    lk_flight *flight = far_with(f, &hasty, NULL);
    flyer *caller;

    server_freeze(f->base->server);
    caller = flights_begin(f, flight, &f->engine, 500, NULL);
    assert_true(flyer_join(caller) != LK_OK);
    assert_true(caller->took_ms < wait_scaled_ms(2000));
    server_thaw(f->base->server);
    assert_int_equal(f->engine.begun, 0);
    flights_expect(flight, &f->engine, "value");
}

static void an_outage_ends_waits(void **state)
{
    flights *f = *state;
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .offline_ms = wait_scaled_ms(200)};
    lk_flight *flight = far_with(f, &options, NULL);
    flyer *leader = flights_lead(f, near(f), &f->engine);
    flyer *follower = flights_follow(f, flight, &f->engine);

    proxy_refuse(the_proxy, true);
    proxy_reset(the_proxy, PROXY_ALL);
    assert_status(flyer_join(follower), LK_EOFFLINE);
    f->engine.held = false;
    assert_status(flyer_join(leader), LK_OK);
}

/* ---- the server ---- */

/* No renewal makes up for a claim that is gone. */
static const lk_flight_options lasting = {LK_FLIGHT_OPTIONS_INIT,
                                          .lease_ms = 600000};

/* The claim is gone, and with it what the leader lands for others: its own
   caller has it, and the other one computes. */
static void a_flush_lets_a_second_one_compute(void **state)
{
    flights *f = *state;
    engine second = {.value = "second"};
    engine third = {.value = "third"};
    lk_flight *flight = flights_of(f, locking_open(f->base, NULL), &lasting);
    flyer *leader = flights_lead(f, flight, &f->engine);
    flyer *follower = flights_follow(f, near(f), &second);

    server_flush(f->base->server);
    f->engine.held = false;
    assert_status(flyer_join(leader), LK_OK);
    assert_string_equal(leader->text, "value");
    assert_status(flyer_join(follower), LK_OK);
    assert_string_equal(follower->text, "second");
    flights_expect(near(f), &third, "second");
    assert_int_equal(f->engine.begun, 1);
    assert_int_equal(second.begun, 1);
    assert_int_equal(third.begun, 0);
}

/* The leader may have renewed its claim before it landed: then it landed for
   the other one as well. */
static void a_restart_is_ridden_out(void **state)
{
    flights *f = *state;
    engine second = {.value = "second"};
    flyer *leader = flights_lead(f, near(f), &f->engine);
    flyer *follower = flights_follow(f, near(f), &second);

    assert_true(server_restart(f->base->server));
    f->engine.held = false;
    assert_status(flyer_join(leader), LK_OK);
    assert_string_equal(leader->text, "value");
    assert_status(flyer_join(follower), LK_OK);
    assert_string_equal(follower->text, second.begun == 0 ? "value" : "second");
    assert_in_range(second.begun, 0, 1);
    assert_int_equal(f->engine.begun, 1);
}

/* Nobody is left to compute: the claim is given back. */
static void a_claim_that_comes_too_late_is_given_back(void **state)
{
    flights *f = *state;
    const lk_client_options patient = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = 30000};
    lk_flight *flight = far_with(f, &patient, NULL);
    flyer *caller;

    proxy_hold(the_proxy, COMMAND, PROXY_REQUESTS);
    caller = flights_begin(f, flight, &f->engine, 50, NULL);
    assert_status(flyer_join(caller), LK_ETIMEDOUT);
    proxy_release(the_proxy, COMMAND, PROXY_REQUESTS);
    locking_wait_calm(f->base->clients[0]);
    assert_false(locking_exists(f->base, "latchkey:flight-claim:{f:k}"));
    flights_expect(near(f), &f->engine, "value");
    assert_int_equal(f->engine.begun, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAULT(a_join_whose_answer_is_lost_still_leads),
        FAULT(a_join_that_was_answered_and_lost_leads_once),
        FAULT(a_landing_whose_answer_is_lost_is_told),
        FAULT(a_landing_that_did_not_arrive_is_told_later),
        FAULT(a_landing_that_was_swallowed_is_told_again),
        FAULT(a_renewal_that_is_answered_late_leads_nobody),
        FAULT(a_leader_that_is_cut_off_is_taken_over_from),
        FAULT(a_lease_that_ends_is_taken_over),
        FAULT(who_has_subscribed_finds_what_was_not_heard),
        FAULT(an_answer_that_a_landing_overtook_is_not_the_last),
        FAULT(a_message_that_is_lost_is_made_up_for),
        FAULT(a_message_that_comes_late_is_not_believed),
        FAULT(a_call_that_came_later_looks_by_itself),
        FAULT(an_answer_that_nobody_waits_for_ends_it),
        FAULT(a_server_that_does_not_answer_keeps_nobody),
        FAULT(an_outage_ends_waits),
        FAULT(a_flush_lets_a_second_one_compute),
        FAULT(a_restart_is_ridden_out),
        FAULT(a_claim_that_comes_too_late_is_given_back),
    };

    return cmocka_run_group_tests_name("flight_faults", tests,
                                       locking_start_server,
                                       locking_stop_server);
}
