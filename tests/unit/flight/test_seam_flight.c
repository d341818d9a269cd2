/* SPDX-License-Identifier: MIT */

/*
 * When a flight's waits look, on a virtual clock: at what is news, at once, and
 * not by the look that comes about once a second.
 */

#include <latchkey/flight.h>

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/played.h"

enum { SLOW_MS = 300, LEASE_MS = 3000 };

/* Another computes; its lease has 30 s left, or 200 ms. */
static const char another[] = "*3\r\n:2\r\n:30000\r\n$7\r\nother:1\r\n";
static const char another_ends[] = "*3\r\n:2\r\n:200\r\n$7\r\nother:1\r\n";

static const char landed[] = "*4\r\n:1\r\n:0\r\n$0\r\n\r\n$5\r\nvalue\r\n";

typedef struct scene {
    played *p;
    lk_flight *flight;
    bool keeps;               /* a computation lasts until land() */
    lk_flight_ticket *ticket; /* its */
    int begun, ended;
    lk_status status;
    char text[16];
} scene;

/* The inbox stands. */
static int setup(void **state)
{
    scene *s = calloc(1, sizeof(*s));
    lk_hold *hold = NULL;

    assert_non_null(s);
    s->p = played_new(1, NULL);
    assert_status(lk_flight_new(&s->flight, s->p->client, "f", NULL), LK_OK);
    assert_status(lk_lock_acquire(s->p->lock, 0, NULL, &hold), LK_OK);
    played_run_ms(s->p, 100);
    assert_status(lk_hold_release(hold), LK_OK);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    scene *s = *state;

    lk_flight_free(s->flight);
    played_free(s->p);
    free(s);
    return 0;
}

static void start(lk_flight_ticket *ticket, void *data)
{
    scene *s = data;

    s->begun++;
    if (s->keeps)
        s->ticket = ticket;
    else if (lk_flight_ticket_set(ticket, "own", 3) == LK_OK)
        lk_flight_complete(ticket, LK_OK);
}

static void on_end(lk_status status, lk_flight_value *value, void *data)
{
    scene *s = data;

    s->ended++;
    s->status = status;
    if (status == LK_OK)
        (void)snprintf(s->text, sizeof(s->text), "%.*s", (int)value->size,
                       (const char *)value->bytes);
    lk_flight_value_free(value);
}

static void begin_of(scene *s, lk_flight *flight, int64_t wait_ms)
{
    assert_status(lk_flight_do_async(flight, "k", wait_ms, NULL, start, on_end,
                                     s),
                  LK_OK);
}

static void begin_by(scene *s, int64_t wait_ms)
{
    begin_of(s, s->flight, wait_ms);
}

static void begin(scene *s)
{
    begin_by(s, LK_FOREVER);
}

/* Lets things happen until so many looks have arrived; when the last one did,
   in ms. */
static uint64_t look_ms(played *p, unsigned count)
{
    while (p->counts[PLAYED_JOIN] < count)
        assert_true(fake_world_step(p->world));
    return (p->times[PLAYED_JOIN] - FAKE_START) / FAKE_MS;
}

static void assert_lands(scene *s, const char *text)
{
    played_run_ms(s->p, 5);
    assert_int_equal(s->ended, 1);
    assert_status(s->status, LK_OK);
    assert_string_equal(s->text, text);
}

#define TEST(name) CHECK_TEST_OF(name, scene *s, setup, teardown)

TEST(while_another_computes_it_looks_once_a_second)
{
    uint64_t first;

    s->p->answers[PLAYED_JOIN] = another;
    begin(s);
    played_run_ms(s->p, 10); /* among it the look behind the subscription */
    s->p->counts[PLAYED_JOIN] = 0;
    first = look_ms(s->p, 1);
    s->p->answers[PLAYED_JOIN] = landed;
    assert_in_range(look_ms(s->p, 2) - first, 500, 1003);
    assert_lands(s, "value");
    assert_int_equal(s->begun, 0);
}

TEST(a_lease_that_ends_is_taken_over_at_once)
{
    uint64_t before;

    s->p->answers[PLAYED_JOIN] = another;
    begin(s);
    played_run_ms(s->p, 10);
    s->p->counts[PLAYED_JOIN] = 0;
    s->p->answers[PLAYED_JOIN] = another_ends;
    before = look_ms(s->p, 1);
    s->p->answers[PLAYED_JOIN] = NULL;
    assert_in_range(look_ms(s->p, 2) - before, 200, 230);
    assert_lands(s, "own");
    assert_int_equal(s->begun, 1);
}

/* A result that says what is no status is not handed on, as a value or otherwise. */
TEST(a_status_that_is_none_is_not_believed)
{
    static const char *const forged[] = {
        "*4\r\n:1\r\n:5\r\n$0\r\n\r\n$5\r\nvalue\r\n",
        "*4\r\n:1\r\n:4294967296\r\n$0\r\n\r\n$5\r\nvalue\r\n",
        "*4\r\n:1\r\n:-4294967296\r\n$0\r\n\r\n$5\r\nvalue\r\n",
    };

    for (unsigned i = 0; i < sizeof(forged) / sizeof(forged[0]); i++) {
        s->p->answers[PLAYED_JOIN] = forged[i];
        begin(s);
        played_run_ms(s->p, 10);
        assert_int_equal(s->ended, i + 1);
        assert_status(s->status, LK_EPROTO);
    }
    assert_int_equal(s->begun, 0);
}

/* What was told while the subscription was on its way was not heard. */
TEST(who_has_subscribed_looks_at_once)
{
    uint64_t subscribed;

    s->p->answers[PLAYED_JOIN] = another;
    fake_stall(s->p->inbox_link,
               fake_world_now(s->p->world) + SLOW_MS * FAKE_MS);
    subscribed = played_now_ms(s->p) + SLOW_MS;
    begin(s);
    played_run_ms(s->p, SLOW_MS - 1);
    assert_int_equal(s->p->counts[PLAYED_JOIN], 1);
    s->p->answers[PLAYED_JOIN] = landed;
    assert_in_range(look_ms(s->p, 2) - subscribed, 0, 3);
    assert_lands(s, "value");
    assert_int_equal(s->begun, 0);
}

/* The look was answered "another computes" just before that one landed, and the
   message overtakes the answer. */
TEST(an_answer_that_a_landing_overtook_is_not_waited_upon)
{
    uint64_t answered;

    s->p->answers[PLAYED_JOIN] = another;
    begin(s);
    played_run_ms(s->p, 10);
    s->p->counts[PLAYED_JOIN] = 0;
    played_ways(s->p, 1, SLOW_MS);
    answered = look_ms(s->p, 1) + SLOW_MS;
    played_ways(s->p, 1, 1);
    s->p->answers[PLAYED_JOIN] = landed;
    played_publish_on(s->p, "latchkey:flight-news:{f:k}", "other:1 look");
    assert_in_range(look_ms(s->p, 2) - answered, 0, 3);
    assert_lands(s, "value");
    assert_int_equal(s->begun, 0);
}

/* The same where the message brings the value: it is for the call that came
   before the look; the one that came later looks once more. */
TEST(a_call_that_a_landing_overtook_looks_again)
{
    uint64_t answered;

    s->p->answers[PLAYED_JOIN] = another;
    begin(s);
    played_run_ms(s->p, 10);
    s->p->counts[PLAYED_JOIN] = 0;
    played_ways(s->p, 1, SLOW_MS);
    begin(s);
    answered = look_ms(s->p, 1) + SLOW_MS;
    played_ways(s->p, 1, 1);
    s->p->answers[PLAYED_JOIN] = landed;
    played_publish_on(s->p, "latchkey:flight-news:{f:k}", "other:1 0 0 told");
    assert_lands(s, "told");
    assert_in_range(look_ms(s->p, 2) - answered, 0, 3);
    played_run_ms(s->p, 1);
    assert_int_equal(s->ended, 2);
    assert_string_equal(s->text, "value");
    assert_int_equal(s->begun, 0);
}

/* ---- a shutdown right after a landing: others wait for that ---- */

static void lead(scene *s)
{
    s->keeps = true;
    begin(s);
    played_run_ms(s->p, 10);
    assert_non_null(s->ticket);
}

static void land(scene *s)
{
    assert_status(lk_flight_ticket_set(s->ticket, "own", 3), LK_OK);
    lk_flight_complete(s->ticket, LK_OK);
}

TEST(a_landing_under_way_is_waited_for)
{
    uint64_t before;

    lead(s);
    played_ways(s->p, 1, SLOW_MS);
    before = played_now_ms(s->p);
    land(s);
    assert_status(lk_client_shutdown(s->p->client, LK_FOREVER), LK_OK);
    assert_int_equal(s->p->counts[PLAYED_LAND], 1);
    assert_int_equal(played_now_ms(s->p) - before, 1 + SLOW_MS);
    assert_lands(s, "own");
}

/* The connection was cut just before. */
TEST(a_landing_that_was_not_sent_is_sent_before_the_end)
{
    lead(s);
    played_break(s->p);
    played_run_ms(s->p, 0);
    land(s);
    assert_int_equal(s->p->counts[PLAYED_LAND], 0);
    assert_status(lk_client_shutdown(s->p->client, LK_FOREVER), LK_OK);
    assert_int_equal(s->p->counts[PLAYED_LAND], 1);
    assert_lands(s, "own");
}

/* It could be had for as long as its claim lasts at the server. */
TEST(a_landing_is_owed_no_longer_than_its_lease)
{
    uint64_t before;

    lead(s);
    s->p->connect_answer = SIM_SILENT;
    played_break(s->p);
    land(s);
    before = played_now_ms(s->p);
    (void)lk_client_shutdown(s->p->client, LK_FOREVER);
    assert_int_equal(played_now_ms(s->p) - before, LEASE_MS);
    assert_int_equal(s->p->counts[PLAYED_LAND], 0);
    assert_lands(s, "own");
}

/* ---- a leader's lease ---- */

enum { BRIEF_MS = 300, TRIP_MS = 20 };

/* The claim that the one before it asked for becomes one of its own in time. */
TEST(who_leads_in_anothers_place_has_its_own_lease)
{
    const lk_flight_options brief = {LK_FLIGHT_OPTIONS_INIT,
                                     .lease_ms = BRIEF_MS};
    lk_flight *other = NULL;
    uint64_t led, renewed;

    s->keeps = true;
    assert_status(lk_flight_new(&other, s->p->client, "f", &brief), LK_OK);
    played_ways(s->p, 1, TRIP_MS);
    begin_of(s, other, TRIP_MS / 2);
    begin(s);
    led = look_ms(s->p, 1) + TRIP_MS;
    played_ways(s->p, 1, 1);
    renewed = look_ms(s->p, 2);
    assert_int_equal(s->ended, 1);
    assert_status(s->status, LK_ETIMEDOUT);
    assert_non_null(s->ticket);
    assert_in_range(renewed - led, BRIEF_MS / 3 - 1, BRIEF_MS / 3 + 3);
    assert_in_range(look_ms(s->p, 3) - renewed, LEASE_MS / 3 - 1,
                    LEASE_MS / 3 + 3);
    played_run_ms(s->p, 5);
    land(s);
    played_run_ms(s->p, 5);
    lk_flight_free(other);
}

/* ---- calls that do not wait, beside this client's own leader ---- */

static void assert_is_busy(scene *s)
{
    assert_int_equal(s->ended, 1);
    assert_status(s->status, LK_EBUSY);
    assert_int_equal(s->begun, 1);
    land(s);
    played_run_ms(s->p, 5);
    assert_int_equal(s->ended, 2);
    assert_status(s->status, LK_OK);
}

/* The server need not be asked. */
TEST(a_try_beside_the_own_leader_is_busy_at_once)
{
    lead(s);
    begin_by(s, 0);
    played_run_ms(s->p, 0);
    assert_int_equal(s->p->counts[PLAYED_JOIN], 1);
    assert_is_busy(s);
}

/* It was there before that led, behind the look or before it. */
TEST(a_try_that_the_own_leader_overtook_is_busy_at_once)
{
    s->keeps = true;
    begin(s);
    begin_by(s, 0);
    played_run_ms(s->p, 3);
    assert_non_null(s->ticket);
    assert_is_busy(s);
}

TEST(a_try_that_comes_first_leads)
{
    s->keeps = true;
    begin_by(s, 0);
    begin_by(s, 0);
    played_run_ms(s->p, 3);
    assert_non_null(s->ticket);
    assert_is_busy(s);
}
