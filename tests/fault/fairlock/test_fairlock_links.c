/* SPDX-License-Identifier: MIT */

/*
 * Connections of waiters that break: before a request, between its execution
 * and its reply, while a grant is under way. Nobody loses the place, nobody
 * has two, and all come to their turn in order.
 */

#include <latchkey/latchkey.h>

#include <stdlib.h>

#include "support/check.h"
#include "support/fairline.h"
#include "support/wait.h"

enum { COMMAND = 0, INBOX = 1, LOOK_MS = 1000, SLACK_MS = 500 };

/* The claims in line with their tickets, as one text. Free it. */
static redisReply *places(fairline *l)
{
    redisReply *reply =
        server_command(l->scene->server, SERVER_LINE("job") " WITHSCORES");

    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    return reply;
}

static long long ticket_of(const redisReply *score)
{
    return strtoll(score->str, NULL, 10) % SERVER_BAND;
}

/* Those that are there after are the first of before, with the same tickets,
   parked or not. Frees both. */
static void assert_same_places(redisReply *before, redisReply *after)
{
    assert_true(after->elements <= before->elements);
    for (size_t i = 0; i < after->elements; i += 2) {
        assert_string_equal(before->element[i]->str, after->element[i]->str);
        assert_int_equal(ticket_of(before->element[i + 1]),
                         ticket_of(after->element[i + 1]));
    }
    freeReplyObject(before);
    freeReplyObject(after);
}

/* The near client holds; the far one waits three times, and the third behind
   it. */
static lk_hold *far_waits(fairline *l)
{
    lk_hold *hold;

    fairline_far(l, NULL);
    hold = fairline_hold(l->near, NULL);
    fairline_queue_many(l, l->far, 3);
    (void)fairline_queue(l, l->third);
    return hold;
}

static uint64_t far_looks(fairline *l)
{
    return scene_stats(l->scene->far).rechecks;
}

typedef struct looks {
    fairline *line;
    uint64_t least;
} looks;

static bool has_looked(void *data)
{
    const looks *k = data;

    return far_looks(k->line) >= k->least;
}

static void far_looks_again(fairline *l)
{
    looks k = {l, far_looks(l) + 1};

    assert_true(wait_until(has_looked, &k, SCENE_MS));
}

/* ---- while waiting ------------------------------------------------------- */

/* No lost wake-up: the next touch finds out that a ticket is gone. */
static void a_lost_grant_is_found_by_the_next_touch(void **state)
{
    fairline *l = *state;
    lk_hold *hold = far_waits(l);
    uint64_t began = wait_now_ms();

    proxy_swallow(l->scene->proxy, INBOX, PROXY_REPLIES);
    assert_status(lk_hold_release(hold), LK_OK);
    hold = fairline_granted(l->waits[0]);
    assert_in_range(wait_now_ms() - began, 0,
                    wait_allowed_ms(LOOK_MS + wait_scaled_ms(SLACK_MS)));
    proxy_heal(l->scene->proxy); /* ends the inbox, which has lost a message */
    assert_true(scene_connects(l->scene->far, 3));
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(l, 1);
    scene_is_clean(l->scene);
}

static void a_command_connection_that_breaks_costs_no_place(void **state)
{
    fairline *l = *state;
    lk_hold *hold = far_waits(l);
    redisReply *before = places(l);

    proxy_reset(l->scene->proxy, COMMAND);
    assert_true(scene_connects(l->scene->far, 3));
    far_looks_again(l);
    assert_same_places(before, places(l));
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(l, 0);
    scene_is_clean(l->scene);
}

/* A look that was due meanwhile is made up for at once. */
static void who_comes_back_looks_at_once(void **state)
{
    fairline *l = *state;
    lk_hold *deleted;
    uint64_t back;

    fairline_far(l, NULL);
    deleted = fairline_hold(l->near, NULL);
    fairline_queue_many(l, l->far, 2);
    proxy_refuse(l->scene->proxy, true);
    proxy_reset(l->scene->proxy, COMMAND);
    scene_pass_ms(LOOK_MS + 100);
    scene_command(l->scene, "DEL job");
    proxy_refuse(l->scene->proxy, false);
    assert_true(scene_connects(l->scene->far, 3));
    back = wait_now_ms();
    assert_status(call_wait(l->waits[0], NULL), LK_OK);
    assert_in_range(wait_now_ms() - back, 0,
                    wait_allowed_ms(wait_scaled_ms(250)));
    assert_status(lk_hold_release(deleted), LK_ELOST);
    fairline_serve(l, 0);
    scene_is_clean(l->scene);
}

/* A waiter that was passed by for want of an inbox comes back to its place. */
static void waits_without_an_inbox_keep_their_places(void **state)
{
    fairline *l = *state;
    lk_hold *hold = far_waits(l);
    redisReply *before = places(l);
    redisReply *after;
    long long inboxes = server_integer(l->scene->server, SCENE_INBOXES);

    proxy_refuse(l->scene->proxy, true);
    scene_deafens(l->scene, INBOX);
    assert_status(lk_hold_release(hold), LK_OK);
    hold = fairline_granted(l->waits[3]); /* the far client was passed by */
    proxy_refuse(l->scene->proxy, false);
    assert_true(scene_becomes(l->scene, SCENE_INBOXES, inboxes));
    /* Parked until its next touch: until then it is passed by. */
    assert_true(scene_becomes(l->scene, SERVER_STANDING("job"), 3));
    after = places(l);
    assert_same_places(before, after);
    (void)fairline_queue(l, l->near);
    assert_status(lk_hold_release(hold), LK_OK);
    for (int i = 0; i < 3; i++)
        assert_status(lk_hold_release(fairline_granted(l->waits[i])), LK_OK);
    fairline_serve(l, 4);
    scene_is_clean(l->scene);
}

static void both_connections_may_break_again_and_again(void **state)
{
    enum { ROUNDS = 5 };
    fairline *l = *state;
    lk_hold *hold = far_waits(l);
    redisReply *before = places(l);

    for (int i = 0; i < ROUNDS; i++) {
        uint64_t connects = scene_stats(l->scene->far).connects;

        proxy_reset(l->scene->proxy, PROXY_ALL);
        assert_true(scene_connects(l->scene->far, connects + 2));
    }
    far_looks_again(l);
    assert_same_places(before, places(l));
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(l, 0);
    scene_is_clean(l->scene);
}

static void release_it(call *c)
{
    if (c->hold != NULL && lk_hold_release_async(c->hold, NULL, NULL) == LK_OK)
        c->hold = NULL;
}

/* A grant that meets nobody lasts for the claim lease, not longer. */
static void a_grant_to_who_is_cut_off_passes_on(void **state)
{
    enum { CLAIM_LEASE_MS = 3000 };
    fairline *l = *state;
    lk_hold *hold = far_waits(l);
    uint64_t began;

    for (int i = 0; i < 3; i++)
        l->waits[i]->act = release_it;
    proxy_hold(l->scene->proxy, PROXY_ALL, PROXY_REPLIES);
    proxy_hold(l->scene->proxy, PROXY_ALL, PROXY_REQUESTS);
    began = wait_now_ms();
    assert_status(lk_hold_release(hold), LK_OK);
    hold = fairline_granted(l->waits[3]);
    assert_in_range(wait_now_ms() - began, 0,
                    wait_allowed_ms(CLAIM_LEASE_MS + LOOK_MS +
                                    wait_scaled_ms(SLACK_MS)));
    proxy_heal(l->scene->proxy);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    /* One was granted and lost that; it may stand behind the others now. */
    for (int i = 0; i < 3; i++)
        assert_status(call_wait(l->waits[i], NULL), LK_OK);
    scene_is_clean(l->scene);
}

/* ---- a reply that was lost ----------------------------------------------- */

/* No second ticket: asked again, the server tells the first. */
static void acquires_whose_replies_are_lost_have_one_place_each(void **state)
{
    fairline *l = *state;
    redisReply *before;
    lk_hold *hold;

    fairline_far(l, NULL);
    hold = fairline_hold(l->near, NULL);
    proxy_drop_replies(l->scene->proxy, COMMAND, true);
    for (int i = 0; i < 5; i++)
        (void)fairline_begin(l, l->far, NULL);
    assert_true(fairline_becomes_queued(l, 5));
    before = places(l);
    assert_true(scene_connects(l->scene->far, 3));
    far_looks_again(l);
    assert_same_places(before, places(l));
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(l, 0);
    scene_is_clean(l->scene);
}

static void a_touch_whose_reply_is_lost_costs_no_place(void **state)
{
    fairline *l = *state;
    lk_hold *hold = far_waits(l);
    redisReply *before = places(l);

    proxy_drop_replies(l->scene->proxy, COMMAND, true);
    assert_true(scene_connects(l->scene->far, 3));
    far_looks_again(l);
    assert_same_places(before, places(l));
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(l, 0);
    scene_is_clean(l->scene);
}

/* The name is free; the first is told, asks for it, and hears nothing. */
static void a_look_whose_reply_is_lost_is_a_hold(void **state)
{
    fairline *l = *state;
    lk_hold *deleted = far_waits(l);
    lk_hold *hold;

    proxy_swallow(l->scene->proxy, INBOX, PROXY_REPLIES);
    scene_command(l->scene, "DEL job");
    proxy_drop_replies(l->scene->proxy, COMMAND, true);
    hold = fairline_granted(l->waits[0]);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_int_equal(server_integer(l->scene->server, "HLEN job"), 1);
    assert_int_equal(scene_stats(l->scene->far).holding, 1);
    proxy_heal(l->scene->proxy);
    assert_true(scene_connects(l->scene->far, 4));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_hold_release(deleted), LK_ELOST);
    fairline_serve(l, 1);
    scene_is_clean(l->scene);
}

/* Its caller does not wait for that: the place is given back behind. */
static void a_leave_whose_reply_is_lost_leaves_nothing_behind(void **state)
{
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    fairline *l = *state;
    lk_hold *hold;
    call *leaving;

    fairline_far(l, NULL);
    hold = fairline_hold(l->near, NULL);
    assert_status(lk_cancel_new(&options.cancel, l->scene->far), LK_OK);
    leaving = fairline_begin(l, l->far, &options);
    assert_true(fairline_becomes_queued(l, 1));
    fairline_queue_many(l, l->far, 2);
    proxy_drop_replies(l->scene->proxy, COMMAND, true);
    lk_cancel_fire(options.cancel);
    assert_status(call_wait(leaving, NULL), LK_ECANCELED);
    assert_true(fairline_becomes_queued(l, 2));
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(l, 1);
    scene_is_clean(l->scene);
    lk_cancel_free(options.cancel);
}

static bool is_calm(void *data)
{
    return scene_stats(data).pending == 0;
}

static void a_release_whose_reply_is_lost_is_one_release(void **state)
{
    fairline *l = *state;
    lk_hold *hold;

    fairline_far(l, NULL);
    hold = fairline_hold(l->far, NULL);
    fairline_queue_many(l, l->near, 2);
    proxy_drop_replies(l->scene->proxy, COMMAND, true);
    assert_status(lk_hold_release(hold), LK_OK);
    hold = fairline_granted(l->waits[0]);
    assert_true(fairline_waits(l->waits[1]));
    assert_true(scene_connects(l->scene->far, 3));
    assert_true(wait_until(is_calm, l->scene->far, SCENE_MS));
    assert_true(fairline_waits(l->waits[1])); /* nothing was released twice */
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(l, 1);
    scene_is_clean(l->scene);
}

/* ---- slow lines ---------------------------------------------------------- */

static void a_slow_line_changes_no_order(void **state)
{
    fairline *l = *state;
    lk_hold *hold;

    fairline_far(l, NULL);
    hold = fairline_hold(l->near, NULL);
    proxy_delay(l->scene->proxy, PROXY_ALL, PROXY_REQUESTS, 30);
    proxy_delay(l->scene->proxy, PROXY_ALL, PROXY_REPLIES, 30);
    for (int i = 0; i < 6; i++)
        (void)fairline_queue(l, i % 3 == 1 ? l->third : l->far);
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(l, 0);
    proxy_heal(l->scene->proxy);
    scene_is_clean(l->scene);
}

/* Its inbox stands only later; calls before, during and after that. */
static void the_first_calls_of_a_far_client_keep_their_order(void **state)
{
    enum { CALLS = 40 };
    fairline *l = *state;
    lk_hold *hold = fairline_hold(l->near, NULL);

    proxy_delay(l->scene->proxy, PROXY_ALL, PROXY_REQUESTS, 20);
    proxy_delay(l->scene->proxy, PROXY_ALL, PROXY_REPLIES, 20);
    fairline_open_far(l, NULL);
    for (int i = 0; i < CALLS; i++) {
        (void)fairline_begin(l, l->far, NULL);
        scene_pass_ms(5);
    }
    assert_true(fairline_becomes_queued(l, CALLS));
    proxy_heal(l->scene->proxy);
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(l, 0);
    scene_is_clean(l->scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAIRLINE_TEST(a_lost_grant_is_found_by_the_next_touch),
        FAIRLINE_TEST(a_command_connection_that_breaks_costs_no_place),
        FAIRLINE_TEST(who_comes_back_looks_at_once),
        FAIRLINE_TEST(waits_without_an_inbox_keep_their_places),
        FAIRLINE_TEST(both_connections_may_break_again_and_again),
        FAIRLINE_TEST(a_grant_to_who_is_cut_off_passes_on),
        FAIRLINE_TEST(acquires_whose_replies_are_lost_have_one_place_each),
        FAIRLINE_TEST(a_touch_whose_reply_is_lost_costs_no_place),
        FAIRLINE_TEST(a_look_whose_reply_is_lost_is_a_hold),
        FAIRLINE_TEST(a_leave_whose_reply_is_lost_leaves_nothing_behind),
        FAIRLINE_TEST(a_release_whose_reply_is_lost_is_one_release),
        FAIRLINE_TEST(a_slow_line_changes_no_order),
        FAIRLINE_TEST(the_first_calls_of_a_far_client_keep_their_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
