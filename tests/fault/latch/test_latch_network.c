/* SPDX-License-Identifier: MIT */

/*
 * Latches over a network that breaks: replies that are lost, requests that run
 * late, messages that never come or come too late. Each thing counts once, and
 * a wait ends for what happened after it began.
 */

#include <stdlib.h>

#include "support/check.h"
#include "support/latching.h"
#include "support/wait.h"

enum {
    COMMAND = 0,
    INBOX = 1,
    LOOK_MS = 1000,
    SLACK_MS = 500,
    SHORT_MS = 60,
    TIMEOUT_MS = 400
};

/* `far` is the first client, behind the proxy; `near` the second. */
typedef struct sides {
    latching *f;
    lk_latch *far, *near;
} sides;

static sides sides_with(latching *f, const lk_client_options *options)
{
    sides s = {.f = f};

    s.far = latching_latch_for(f, latching_open_far(f, options), 0);
    s.near = latching_latch(f);
    return s;
}

static sides sides_of(latching *f)
{
    return sides_with(f, NULL);
}

static sides impatient_sides_of(latching *f)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = TIMEOUT_MS};

    return sides_with(f, &options);
}

/* The far client waits, has had its answer, and nothing is under way. */
static waiter *far_waits(sides *s)
{
    waiter *w = latching_wait(s->f, s->far, LK_FOREVER, NULL);

    latching_wait_listed(s->f, 1);
    latching_wait_calm(latching_client(s->f, 0));
    return w;
}

/* What runs now is executed; its reply is lost, and the connection with it. */
static void lose_reply(sides *s)
{
    latching_wait_calm(latching_client(s->f, 0));
    proxy_drop_replies(s->f->proxy, PROXY_ALL, true);
}

static bool has_come_back(void *data)
{
    lk_client *client = data;

    return latching_stats(client).connects >= 2;
}

/*
 * The faults are set for the one connection that there is: the next one works.
 */
static void lose_one_reply(sides *s)
{
    latching_wait_calm(latching_client(s->f, 0));
    proxy_drop_replies(s->f->proxy, COMMAND, true);
}

/* ---- replies that are lost ----------------------------------------------- */

LATCHING_TEST(an_arming_whose_reply_is_lost_is_one)
{
    sides s = sides_of(f);

    lose_one_reply(&s);
    assert_status(lk_latch_try_set_count(s.far, 3), LK_OK);
    assert_true(has_come_back(latching_client(s.f, 0)));
    assert_int_equal(latching_count(s.near), 3);
}

LATCHING_TEST(a_count_whose_reply_is_lost_is_one)
{
    sides s = sides_of(f);

    latching_arm(s.near, 3);
    lose_one_reply(&s);
    assert_status(lk_latch_count_down(s.far, 1), LK_OK);
    assert_true(has_come_back(latching_client(s.f, 0)));
    assert_int_equal(latching_count(s.near), 2);
}

LATCHING_TEST(the_last_count_whose_reply_is_lost_opens_once)
{
    sides s = sides_of(f);
    waiter *w;

    latching_arm(s.near, 1);
    w = latching_wait(s.f, s.near, LK_FOREVER, NULL);
    latching_wait_listed(s.f, 1);
    lose_one_reply(&s);
    assert_status(lk_latch_count_down(s.far, 1), LK_OK);
    assert_status(waiter_status(w), LK_OK);
    assert_int_equal(latching_count(s.near), 0);
}

LATCHING_TEST(an_arrival_whose_reply_is_lost_is_one)
{
    sides s = sides_of(f);

    lose_one_reply(&s);
    assert_status(lk_latch_arrive(s.far, 3, "a"), LK_OK);
    assert_true(has_come_back(latching_client(s.f, 0)));
    assert_int_equal(latching_count(s.near), 2);
}

LATCHING_TEST(a_leave_whose_reply_is_lost_is_one)
{
    sides s = sides_of(f);
    bool open = true;

    assert_status(lk_latch_arrive(s.far, 3, "a"), LK_OK);
    assert_status(lk_latch_arrive(s.far, 3, "b"), LK_OK);
    lose_one_reply(&s);
    assert_status(lk_latch_leave(s.far, "a", &open), LK_OK);
    assert_false(open);
    assert_int_equal(latching_count(s.near), 2);
}

LATCHING_TEST(a_reset_whose_reply_is_lost_is_one)
{
    sides s = sides_of(f);
    char *gen, *again;

    latching_arm(s.near, 3);
    lose_one_reply(&s);
    assert_status(lk_latch_reset(s.far, 5), LK_OK);
    assert_true(has_come_back(latching_client(s.f, 0)));
    assert_int_equal(latching_count(s.near), 5);
    gen = server_string(s.f->server, "GET latchkey:{n}:r");
    latching_wait_calm(latching_client(s.f, 0)); /* nothing is to come */
    again = server_string(s.f->server, "GET latchkey:{n}:r");
    assert_string_equal(gen, again);
    free(gen);
    free(again);
}

LATCHING_TEST(a_delete_whose_reply_is_lost_is_one)
{
    sides s = sides_of(f);

    latching_arm(s.near, 3);
    lose_one_reply(&s);
    assert_status(lk_latch_delete(s.far), LK_OK);
    assert_true(has_come_back(latching_client(s.f, 0)));
}

LATCHING_TEST(a_question_whose_reply_is_lost_is_asked_again)
{
    sides s = sides_of(f);

    latching_arm(s.near, 3);
    lose_one_reply(&s);
    assert_int_equal(latching_count(s.far), 3);
    assert_true(has_come_back(latching_client(s.f, 0)));
}

LATCHING_TEST(a_wait_whose_reply_is_lost_goes_on)
{
    sides s = sides_of(f);
    waiter *w;

    latching_arm(s.near, 1);
    lose_one_reply(&s);
    w = far_waits(&s);
    latching_down(s.near, 1);
    assert_status(waiter_status(w), LK_OK);
}

/* Its inbox stands before the connection for commands does. */
LATCHING_TEST(a_wait_hears_whichever_connection_comes_first)
{
    enum { NEXT = 2 };
    sides s = sides_of(f);
    uint64_t opened_at;
    waiter *w;

    latching_arm(s.near, 1);
    proxy_hold(s.f->proxy, NEXT, PROXY_REPLIES);
    lose_one_reply(&s);
    w = latching_wait(s.f, s.far, LK_FOREVER, NULL);
    assert_true(proxy_wait_accepted(s.f->proxy, NEXT + 1, LATCHING_MS));
    /* The inbox is greeted. */
    assert_true(
        wait_until(has_come_back, latching_client(s.f, 0), LATCHING_MS));
    proxy_release(s.f->proxy, NEXT, PROXY_REPLIES);
    latching_wait_listed(s.f, 1);
    latching_wait_calm(latching_client(s.f, 0));
    opened_at = wait_now_ms();
    latching_down(s.near, 1);
    assert_status(waiter_status(w), LK_OK);
    assert_in_range(wait_now_ms() - opened_at, 0,
                    wait_allowed_ms(wait_scaled_ms(SLACK_MS)));
}

/* ---- doubt --------------------------------------------------------------- */

static bool can_count(void *data)
{
    uint64_t count;

    return lk_latch_count(data, &count) == LK_OK;
}

/* Nothing comes back: the caller is told in time, and the library goes on. */
LATCHING_TEST(a_count_in_doubt_counts_once)
{
    sides s = impatient_sides_of(f);
    uint64_t begin;

    latching_arm(s.near, 3);
    lose_reply(&s);
    begin = wait_now_ms();
    assert_status(lk_latch_count_down(s.far, 1), LK_EINDOUBT);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(TIMEOUT_MS + wait_scaled_ms(SLACK_MS)));
    assert_int_equal(latching_count(s.near), 2);
    proxy_heal(s.f->proxy);
    assert_true(wait_until(can_count, s.far, LATCHING_MS));
    latching_wait_calm(latching_client(s.f, 0));
    assert_int_equal(latching_count(s.near), 2);
}

/* Nothing arrives, until the caller has long gone away. */
LATCHING_TEST(a_count_that_could_not_be_delivered_counts_later)
{
    sides s = impatient_sides_of(f);

    latching_arm(s.near, 1);
    latching_wait_calm(latching_client(s.f, 0));
    proxy_swallow(s.f->proxy, PROXY_ALL, PROXY_REQUESTS);
    assert_status(lk_latch_count_down(s.far, 1), LK_EINDOUBT);
    assert_int_equal(latching_count(s.near), 1);
    proxy_heal(s.f->proxy);
    assert_status(lk_latch_wait(s.near, LATCHING_MS, NULL), LK_OK);
}

/* Its caller says it again. Done late, it would end what was armed meanwhile. */
LATCHING_TEST(a_delete_in_doubt_is_not_done_later)
{
    sides s = impatient_sides_of(f);

    latching_arm(s.near, 1);
    latching_wait_calm(latching_client(s.f, 0));
    proxy_swallow(s.f->proxy, PROXY_ALL, PROXY_REQUESTS);
    assert_status(lk_latch_delete(s.far), LK_EINDOUBT);
    proxy_heal(s.f->proxy);
    assert_true(wait_until(can_count, s.far, LATCHING_MS));
    latching_wait_calm(latching_client(s.f, 0));
    assert_int_equal(latching_count(s.near), 1);
}

/* The first copy runs after the second, because it may not be killed. */
LATCHING_TEST(a_count_that_runs_late_counts_once)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "far",
                                       .password = "word",
                                       .command_timeout_ms = TIMEOUT_MS};
    lk_status status;
    sides s;

    freeReplyObject(
        server_command(f->server,
                       "ACL SETUSER far on >word ~* &* +@all -client|kill"));
    s = sides_with(f, &options);
    latching_arm(s.near, 5);
    latching_wait_calm(latching_client(f, 0));
    proxy_hold(f->proxy, COMMAND, PROXY_REQUESTS);
    status = lk_latch_count_down(s.far, 1);
    assert_true(status == LK_OK || status == LK_EINDOUBT);
    latching_wait_integer(f, "HLEN latchkey:{n}:m", 3);
    assert_int_equal(latching_count(s.near), 4);
    proxy_release(f->proxy, COMMAND, PROXY_REQUESTS);
    assert_true(proxy_wait_open(f->proxy, 1, LATCHING_MS));
    assert_int_equal(latching_count(s.near), 4);
    freeReplyObject(server_command(f->server, "ACL DELUSER far"));
}

static bool has_disconnected(void *data)
{
    return latching_stats(data).disconnects > 0;
}

LATCHING_TEST(an_operation_that_was_not_sent_is_not_done_later)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = TIMEOUT_MS,
                                       .offline_ms = wait_scaled_ms(300)};
    sides s = sides_with(f, &options);

    latching_arm(s.near, 3);
    latching_wait_calm(latching_client(s.f, 0));
    proxy_refuse(s.f->proxy, true);
    proxy_reset(s.f->proxy, PROXY_ALL);
    assert_true(
        wait_until(has_disconnected, latching_client(s.f, 0), LATCHING_MS));
    assert_status(lk_latch_count_down(s.far, 1), LK_EOFFLINE);
    assert_status(lk_latch_wait(s.far, 5000, NULL), LK_EOFFLINE);
    proxy_heal(s.f->proxy);
    assert_status(lk_client_wait_ready(latching_client(s.f, 0), LATCHING_MS),
                  LK_OK);
    assert_int_equal(latching_count(s.far), 3);
}

LATCHING_TEST(a_shutdown_does_not_wait_for_what_is_in_doubt)
{
    sides s = impatient_sides_of(f);
    uint64_t begin;

    latching_arm(s.near, 3);
    latching_wait_calm(latching_client(s.f, 0));
    proxy_swallow(s.f->proxy, PROXY_ALL, PROXY_REQUESTS);
    assert_status(lk_latch_count_down(s.far, 1), LK_EINDOUBT);
    begin = wait_now_ms();
    (void)lk_client_shutdown(latching_client(s.f, 0), 100);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(100 + wait_scaled_ms(SLACK_MS)));
}

/* ---- waits --------------------------------------------------------------- */

static void ends_soon(waiter *w, lk_status status)
{
    assert_true(waiter_has_ended(w, LOOK_MS + SLACK_MS));
    assert_status(waiter_status(w), status);
}

LATCHING_TEST(a_message_that_is_lost_costs_a_look)
{
    sides s = sides_of(f);
    waiter *w;

    latching_arm(s.near, 1);
    w = far_waits(&s);
    proxy_swallow(s.f->proxy, INBOX, PROXY_REPLIES);
    latching_down(s.near, 1);
    ends_soon(w, LK_OK);
}

LATCHING_TEST(a_delete_whose_message_is_lost_is_found_by_a_look)
{
    sides s = sides_of(f);
    waiter *w;

    latching_arm(s.near, 1);
    w = far_waits(&s);
    proxy_swallow(s.f->proxy, INBOX, PROXY_REPLIES);
    assert_status(lk_latch_delete(s.near), LK_OK);
    ends_soon(w, LK_EGONE);
}

/* It opened, was reset and deleted, and the waiter heard nothing of it. */
LATCHING_TEST(what_happened_unheard_is_told_apart)
{
    sides s = sides_of(f);
    waiter *w;

    latching_arm(s.near, 1);
    w = far_waits(&s);
    proxy_swallow(s.f->proxy, INBOX, PROXY_REPLIES);
    proxy_stall(s.f->proxy, COMMAND, PROXY_REQUESTS);
    latching_down(s.near, 1);
    assert_status(lk_latch_reset(s.near, 1), LK_OK);
    assert_status(lk_latch_delete(s.near), LK_OK);
    proxy_release(s.f->proxy, COMMAND, PROXY_REQUESTS);
    ends_soon(w, LK_OK);
}

LATCHING_TEST(a_wait_outlives_its_connections)
{
    sides s = sides_of(f);
    waiter *w;

    latching_arm(s.near, 2);
    w = far_waits(&s);
    proxy_reset(s.f->proxy, INBOX);
    latching_down(s.near, 1);
    proxy_reset(s.f->proxy, COMMAND);
    assert_false(waiter_has_ended(w, SHORT_MS));
    latching_down(s.near, 1);
    ends_soon(w, LK_OK);
}

LATCHING_TEST(what_opened_while_nobody_could_hear_is_found)
{
    sides s = sides_of(f);
    waiter *w;

    latching_arm(s.near, 1);
    w = far_waits(&s);
    proxy_refuse(s.f->proxy, true);
    proxy_reset(s.f->proxy, PROXY_ALL);
    latching_down(s.near, 1);
    assert_status(lk_latch_reset(s.near, 1), LK_OK);
    assert_false(waiter_has_ended(w, SHORT_MS));
    proxy_refuse(s.f->proxy, false);
    ends_soon(w, LK_OK);
}

/*
 * The message lies in the network. A wait that begins meanwhile, on the same
 * client, after a reset, is not ended by it.
 */
LATCHING_TEST(a_message_that_comes_late_ends_no_later_wait)
{
    sides s = sides_of(f);
    waiter *early, *late;

    latching_arm(s.near, 1);
    early = far_waits(&s);
    proxy_hold(s.f->proxy, INBOX, PROXY_REPLIES);
    proxy_hold(s.f->proxy, COMMAND, PROXY_REQUESTS);
    latching_down(s.near, 1);
    assert_status(lk_latch_reset(s.near, 1), LK_OK);
    late = latching_wait(s.f, s.far, LK_FOREVER, NULL);
    latching_wait_waiting(latching_client(s.f, 0), 2);
    proxy_release(s.f->proxy, INBOX, PROXY_REPLIES);
    assert_status(waiter_status(early), LK_OK);
    assert_false(waiter_has_ended(late, SHORT_MS));
    proxy_release(s.f->proxy, COMMAND, PROXY_REQUESTS);
    assert_false(waiter_has_ended(late, LOOK_MS + SLACK_MS));
    latching_down(s.near, 1);
    assert_status(waiter_status(late), LK_OK);
}

/* The same where it is the answer of a look that is late. */
LATCHING_TEST(a_look_that_is_answered_late_ends_no_later_wait)
{
    sides s = sides_of(f);
    waiter *early, *late;
    uint64_t seen;

    latching_arm(s.near, 1);
    early = far_waits(&s);
    proxy_swallow(s.f->proxy, INBOX, PROXY_REPLIES);
    latching_wait_looked(latching_client(s.f, 0));
    seen = proxy_received(s.f->proxy, COMMAND, PROXY_REPLIES);
    proxy_hold(s.f->proxy, COMMAND, PROXY_REPLIES);
    latching_down(s.near, 1);
    assert_true(proxy_wait_received(s.f->proxy, COMMAND, PROXY_REPLIES,
                                    seen + 1, LATCHING_MS));
    assert_status(lk_latch_reset(s.near, 1), LK_OK);
    late = latching_wait(s.f, s.far, LK_FOREVER, NULL);
    latching_wait_waiting(latching_client(s.f, 0), 2);
    proxy_release(s.f->proxy, COMMAND, PROXY_REPLIES);
    assert_status(waiter_status(early), LK_OK);
    assert_false(waiter_has_ended(late, LOOK_MS + SLACK_MS));
    assert_status(lk_latch_delete(s.near), LK_OK);
    ends_soon(late, LK_EGONE);
}

int main(void)
{
    return check_all(latching_start_server, latching_stop_server);
}
