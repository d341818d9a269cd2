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
    locking *f;
    lk_latch *far, *near;
} sides;

static sides sides_with(locking *f, const lk_client_options *options)
{
    sides s = {.f = f};

    s.far = locking_of(f, lk_latch, locking_open_far(f, options));
    s.near = locking_new(f, lk_latch);
    return s;
}

static sides sides_of(locking *f)
{
    return sides_with(f, NULL);
}

static sides impatient_sides_of(locking *f)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms =
                                           wait_limit_ms(TIMEOUT_MS)};

    return sides_with(f, &options);
}

/* The far client waits, has had its answer, and nothing is under way. */
static taker *far_waits(sides *s)
{
    taker *w = locking_take(s->f, s->far, LK_FOREVER, NULL);

    latching_wait_listed(s->f, 1);
    locking_wait_calm(s->f->clients[0]);
    return w;
}

/* What runs now is executed; its reply is lost, and the connection with it. */
static void lose_reply(sides *s)
{
    locking_wait_calm(s->f->clients[0]);
    proxy_drop_replies(s->f->proxy, PROXY_ALL, true);
}

static bool has_come_back(void *data)
{
    lk_client *client = data;

    return locking_stats(client).connects >= 2;
}

/*
 * The faults are set for the one connection that there is: the next one works.
 */
static void lose_one_reply(sides *s)
{
    locking_wait_calm(s->f->clients[0]);
    proxy_drop_replies(s->f->proxy, COMMAND, true);
}

/* ---- replies that are lost ----------------------------------------------- */

LOCKS_TEST(an_arming_whose_reply_is_lost_is_one)
{
    sides s = sides_of(f);

    lose_one_reply(&s);
    assert_status(lk_latch_try_set_count(s.far, 3), LK_OK);
    assert_true(has_come_back(s.f->clients[0]));
    assert_int_equal(latching_count(s.near), 3);
}

LOCKS_TEST(a_count_whose_reply_is_lost_is_one)
{
    sides s = sides_of(f);

    latching_arm(s.near, 3);
    lose_one_reply(&s);
    assert_status(lk_latch_count_down(s.far, 1), LK_OK);
    assert_true(has_come_back(s.f->clients[0]));
    assert_int_equal(latching_count(s.near), 2);
}

LOCKS_TEST(the_last_count_whose_reply_is_lost_opens_once)
{
    sides s = sides_of(f);
    taker *w;

    latching_arm(s.near, 1);
    w = locking_take(s.f, s.near, LK_FOREVER, NULL);
    latching_wait_listed(s.f, 1);
    lose_one_reply(&s);
    assert_status(lk_latch_count_down(s.far, 1), LK_OK);
    assert_status(taker_join(w), LK_OK);
    assert_int_equal(latching_count(s.near), 0);
}

LOCKS_TEST(an_arrival_whose_reply_is_lost_is_one)
{
    sides s = sides_of(f);

    lose_one_reply(&s);
    assert_status(lk_latch_arrive(s.far, 3, "a"), LK_OK);
    assert_true(has_come_back(s.f->clients[0]));
    assert_int_equal(latching_count(s.near), 2);
}

LOCKS_TEST(a_leave_whose_reply_is_lost_is_one)
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

LOCKS_TEST(a_reset_whose_reply_is_lost_is_one)
{
    sides s = sides_of(f);
    char *gen, *again;

    latching_arm(s.near, 3);
    lose_one_reply(&s);
    assert_status(lk_latch_reset(s.far, 5), LK_OK);
    assert_true(has_come_back(s.f->clients[0]));
    assert_int_equal(latching_count(s.near), 5);
    gen = server_string(s.f->server, "GET latchkey:{n}:r");
    locking_wait_calm(s.f->clients[0]); /* nothing is to come */
    again = server_string(s.f->server, "GET latchkey:{n}:r");
    assert_string_equal(gen, again);
    free(gen);
    free(again);
}

LOCKS_TEST(a_delete_whose_reply_is_lost_is_one)
{
    sides s = sides_of(f);

    latching_arm(s.near, 3);
    lose_one_reply(&s);
    assert_status(lk_latch_delete(s.far), LK_OK);
    assert_true(has_come_back(s.f->clients[0]));
}

LOCKS_TEST(a_question_whose_reply_is_lost_is_asked_again)
{
    sides s = sides_of(f);

    latching_arm(s.near, 3);
    lose_one_reply(&s);
    assert_int_equal(latching_count(s.far), 3);
    assert_true(has_come_back(s.f->clients[0]));
}

/* Its inbox stands before the connection for commands does. */
LOCKS_TEST(a_wait_hears_whichever_connection_comes_first)
{
    enum { NEXT = 2 };
    sides s = sides_of(f);
    uint64_t opened_at;
    taker *w;

    latching_arm(s.near, 1);
    proxy_hold(s.f->proxy, NEXT, PROXY_REPLIES);
    lose_one_reply(&s);
    w = locking_take(s.f, s.far, LK_FOREVER, NULL);
    assert_true(proxy_wait_accepted(s.f->proxy, NEXT + 1, LATCHING_MS));
    /* The inbox is greeted. */
    assert_true(wait_until(has_come_back, s.f->clients[0], LATCHING_MS));
    proxy_release(s.f->proxy, NEXT, PROXY_REPLIES);
    latching_wait_listed(s.f, 1);
    locking_wait_calm(s.f->clients[0]);
    opened_at = wait_now_ms();
    latching_down(s.near, 1);
    assert_status(taker_join(w), LK_OK);
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
LOCKS_TEST(a_count_in_doubt_counts_once)
{
    sides s = impatient_sides_of(f);
    uint64_t begin;

    latching_arm(s.near, 3);
    lose_reply(&s);
    begin = wait_now_ms();
    assert_status(lk_latch_count_down(s.far, 1), LK_EPENDING);
    assert_in_range(wait_now_ms() - begin, 0, wait_allowed_ms(LATCHING_MS));
    assert_int_equal(latching_count(s.near), 2);
    proxy_heal(s.f->proxy);
    assert_true(wait_until(can_count, s.far, LATCHING_MS));
    locking_wait_calm(s.f->clients[0]);
    assert_int_equal(latching_count(s.near), 2);
}

/* Nothing arrives, until the caller has long gone away. */
LOCKS_TEST(a_count_that_could_not_be_delivered_counts_later)
{
    sides s = impatient_sides_of(f);

    latching_arm(s.near, 1);
    locking_wait_calm(s.f->clients[0]);
    proxy_swallow(s.f->proxy, PROXY_ALL, PROXY_REQUESTS);
    assert_status(lk_latch_count_down(s.far, 1), LK_EPENDING);
    assert_int_equal(latching_count(s.near), 1);
    proxy_heal(s.f->proxy);
    assert_status(lk_latch_wait(s.near, LATCHING_MS, NULL), LK_OK);
}

/* Done late, or repeated, it would end what was armed meanwhile. */
LOCKS_TEST(a_delete_in_doubt_is_not_done_later)
{
    sides s = impatient_sides_of(f);

    latching_arm(s.near, 1);
    locking_wait_calm(s.f->clients[0]);
    proxy_swallow(s.f->proxy, PROXY_ALL, PROXY_REQUESTS);
    assert_status(lk_latch_delete(s.far), LK_EPENDING);
    proxy_heal(s.f->proxy);
    assert_true(wait_until(can_count, s.far, LATCHING_MS));
    locking_wait_calm(s.f->clients[0]);
    assert_int_equal(latching_count(s.near), 1);
}

/* The first copy runs after the second, because it may not be killed. */
LOCKS_TEST(a_count_that_runs_late_counts_once)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "far",
                                       .password = "word",
                                       .command_timeout_ms =
                                           wait_limit_ms(TIMEOUT_MS)};
    lk_status status;
    sides s;

    freeReplyObject(
        server_command(f->server,
                       "ACL SETUSER far on >word ~* &* +@all -client|kill"));
    s = sides_with(f, &options);
    latching_arm(s.near, 5);
    locking_wait_calm(f->clients[0]);
    proxy_hold(f->proxy, COMMAND, PROXY_REQUESTS);
    status = lk_latch_count_down(s.far, 1);
    assert_true(status == LK_OK || status == LK_EPENDING);
    locking_wait_integer(f, 3, "HLEN latchkey:{n}:m", "");
    assert_int_equal(latching_count(s.near), 4);
    proxy_release(f->proxy, COMMAND, PROXY_REQUESTS);
    assert_true(proxy_wait_open(f->proxy, 1, LATCHING_MS));
    assert_int_equal(latching_count(s.near), 4);
    freeReplyObject(server_command(f->server, "ACL DELUSER far"));
}

LOCKS_TEST(an_operation_that_was_not_sent_is_not_done_later)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms =
                                           wait_limit_ms(TIMEOUT_MS),
                                       .offline_ms = wait_scaled_ms(300)};
    sides s = sides_with(f, &options);

    latching_arm(s.near, 3);
    locking_wait_calm(s.f->clients[0]);
    proxy_refuse(s.f->proxy, true);
    proxy_reset(s.f->proxy, PROXY_ALL);
    assert_soon(locking_stats(s.f->clients[0]).disconnects > 0, LATCHING_MS);
    assert_status(lk_latch_count_down(s.far, 1), LK_EOFFLINE);
    assert_status(lk_latch_wait(s.far, 600000, NULL), LK_EOFFLINE);
    proxy_heal(s.f->proxy);
    assert_status(lk_client_wait_ready(s.f->clients[0],
                                       (int64_t)wait_limit_ms(LATCHING_MS)),
                  LK_OK);
    assert_int_equal(latching_count(s.far), 3);
}

LOCKS_TEST(a_shutdown_does_not_wait_for_what_is_in_doubt)
{
    sides s = impatient_sides_of(f);
    uint64_t begin;

    latching_arm(s.near, 3);
    locking_wait_calm(s.f->clients[0]);
    proxy_swallow(s.f->proxy, PROXY_ALL, PROXY_REQUESTS);
    assert_status(lk_latch_count_down(s.far, 1), LK_EPENDING);
    begin = wait_now_ms();
    (void)lk_client_shutdown(s.f->clients[0], 100);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(100 + wait_scaled_ms(SLACK_MS)));
}

/* ---- waits --------------------------------------------------------------- */

static void ends_soon(taker *w, lk_status status)
{
    assert_true(taker_ends(w, (unsigned)wait_limit_ms(LOOK_MS + SLACK_MS)));
    assert_status(taker_join(w), status);
}

LOCKS_TEST(a_delete_whose_message_is_lost_is_found_by_a_look)
{
    sides s = sides_of(f);
    taker *w;

    latching_arm(s.near, 1);
    w = far_waits(&s);
    proxy_swallow(s.f->proxy, INBOX, PROXY_REPLIES);
    assert_status(lk_latch_delete(s.near), LK_OK);
    ends_soon(w, LK_EGONE);
}

/* It opened, was reset and deleted, and the waiter heard nothing of it. */
LOCKS_TEST(what_happened_unheard_is_told_apart)
{
    sides s = sides_of(f);
    taker *w;

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

/*
 * The message lies in the network. A wait that begins meanwhile, on the same
 * client, after a reset, is not ended by it.
 */
LOCKS_TEST(a_message_that_comes_late_ends_no_later_wait)
{
    sides s = sides_of(f);
    taker *early, *late;

    latching_arm(s.near, 1);
    early = far_waits(&s);
    proxy_hold(s.f->proxy, INBOX, PROXY_REPLIES);
    proxy_hold(s.f->proxy, COMMAND, PROXY_REQUESTS);
    latching_down(s.near, 1);
    assert_status(lk_latch_reset(s.near, 1), LK_OK);
    late = locking_take(s.f, s.far, LK_FOREVER, NULL);
    locking_wait_waiting(s.f->clients[0], 2);
    proxy_release(s.f->proxy, INBOX, PROXY_REPLIES);
    assert_status(taker_join(early), LK_OK);
    assert_false(taker_ends(late, SHORT_MS));
    proxy_release(s.f->proxy, COMMAND, PROXY_REQUESTS);
    assert_false(taker_ends(late, LOOK_MS + SLACK_MS));
    latching_down(s.near, 1);
    assert_status(taker_join(late), LK_OK);
}

/* The same where it is the answer of a look that is late. */
LOCKS_TEST(a_look_that_is_answered_late_ends_no_later_wait)
{
    sides s = sides_of(f);
    taker *early, *late;
    uint64_t seen;

    latching_arm(s.near, 1);
    early = far_waits(&s);
    proxy_swallow(s.f->proxy, INBOX, PROXY_REPLIES);
    locking_wait_looked(s.f->clients[0]);
    seen = proxy_received(s.f->proxy, COMMAND, PROXY_REPLIES);
    proxy_hold(s.f->proxy, COMMAND, PROXY_REPLIES);
    latching_down(s.near, 1);
    assert_true(proxy_wait_received(s.f->proxy, COMMAND, PROXY_REPLIES,
                                    seen + 1, LATCHING_MS));
    assert_status(lk_latch_reset(s.near, 1), LK_OK);
    late = locking_take(s.f, s.far, LK_FOREVER, NULL);
    locking_wait_waiting(s.f->clients[0], 2);
    proxy_release(s.f->proxy, COMMAND, PROXY_REPLIES);
    assert_status(taker_join(early), LK_OK);
    assert_false(taker_ends(late, LOOK_MS + SLACK_MS));
    assert_status(lk_latch_delete(s.near), LK_OK);
    ends_soon(late, LK_EGONE);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
