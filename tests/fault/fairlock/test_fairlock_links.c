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
static redisReply *places(locking *f)
{
    redisReply *reply =
        server_command(f->server, SERVER_LINE("job") " WITHSCORES");

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
static lk_hold *far_waits(locking *f)
{
    lk_hold *hold;

    fairline_far(f, NULL);
    hold = fairline_hold(f->near.fairlock, NULL);
    fairline_queue_many(f, f->far.fairlock, 3);
    (void)fairline_queue(f, f->third.fairlock);
    return hold;
}

/* ---- while waiting ------------------------------------------------------- */

/* A look that was due meanwhile is made up for at once. */
FAIRLINE_TEST(who_comes_back_looks_at_once)
{
    lk_hold *deleted;
    uint64_t back;

    fairline_far(f, NULL);
    deleted = fairline_hold(f->near.fairlock, NULL);
    fairline_queue_many(f, f->far.fairlock, 2);
    proxy_refuse(f->proxy, true);
    proxy_reset(f->proxy, COMMAND);
    locking_pass_time(LOOK_MS + 100);
    scene_command(f, "DEL job");
    proxy_refuse(f->proxy, false);
    assert_true(scene_connects(f->far.client, 3));
    back = wait_now_ms();
    assert_status(call_wait(&f->calls[0], NULL), LK_OK);
    assert_in_range(wait_now_ms() - back, 0,
                    wait_allowed_ms(wait_scaled_ms(250)));
    assert_status(lk_hold_release(deleted), LK_ELOST);
    fairline_serve(f, 0);
    scene_is_clean(f);
}

/* A waiter that was passed by for want of an inbox comes back to its place. */
FAIRLINE_TEST(waits_without_an_inbox_keep_their_places)
{
    lk_hold *hold = far_waits(f);
    redisReply *before = places(f);
    redisReply *after;
    long long inboxes = server_integer(f->server, SCENE_INBOXES);

    proxy_refuse(f->proxy, true);
    scene_deafens(f, INBOX);
    assert_status(lk_hold_release(hold), LK_OK);
    hold = locking_granted(&f->calls[3]); /* the far client was passed by */
    proxy_refuse(f->proxy, false);
    assert_true(scene_becomes(f, SCENE_INBOXES, inboxes));
    /* Parked until its next touch: until then it is passed by. */
    assert_true(scene_becomes(f, SERVER_STANDING("job"), 3));
    after = places(f);
    assert_same_places(before, after);
    (void)fairline_queue(f, f->near.fairlock);
    assert_status(lk_hold_release(hold), LK_OK);
    for (int i = 0; i < 3; i++)
        assert_status(lk_hold_release(locking_granted(&f->calls[i])), LK_OK);
    fairline_serve(f, 4);
    scene_is_clean(f);
}

FAIRLINE_TEST(both_connections_may_break_again_and_again)
{
    enum { ROUNDS = 5 };
    lk_hold *hold = far_waits(f);
    redisReply *before = places(f);

    for (int i = 0; i < ROUNDS; i++) {
        uint64_t connects = locking_stats(f->far.client).connects;

        proxy_reset(f->proxy, PROXY_ALL);
        assert_true(scene_connects(f->far.client, connects + 2));
    }
    scene_looks(f->far.client, 1);
    assert_same_places(before, places(f));
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(f, 0);
    scene_is_clean(f);
}

static void release_it(call *c)
{
    if (c->hold != NULL && lk_hold_release_async(c->hold, NULL, NULL) == LK_OK)
        c->hold = NULL;
}

/* A grant that meets nobody lasts for the claim lease, not longer. */
FAIRLINE_TEST(a_grant_to_who_is_cut_off_passes_on)
{
    enum { CLAIM_LEASE_MS = 3000 };
    lk_hold *hold = far_waits(f);
    uint64_t began;

    for (int i = 0; i < 3; i++)
        f->calls[i].act = release_it;
    proxy_hold(f->proxy, PROXY_ALL, PROXY_REPLIES);
    proxy_hold(f->proxy, PROXY_ALL, PROXY_REQUESTS);
    began = wait_now_ms();
    assert_status(lk_hold_release(hold), LK_OK);
    hold = locking_granted(&f->calls[3]);
    assert_in_range(wait_now_ms() - began, 0,
                    wait_allowed_ms(CLAIM_LEASE_MS + LOOK_MS +
                                    wait_scaled_ms(SLACK_MS)));
    proxy_heal(f->proxy);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    /* One was granted and lost that; it may stand behind the others now. */
    for (int i = 0; i < 3; i++)
        assert_status(call_wait(&f->calls[i], NULL), LK_OK);
    scene_is_clean(f);
}

/* ---- a reply that was lost ----------------------------------------------- */

/* No second ticket: asked again, the server tells the first. */
FAIRLINE_TEST(acquires_whose_replies_are_lost_have_one_place_each)
{
    redisReply *before;
    lk_hold *hold;

    fairline_far(f, NULL);
    hold = fairline_hold(f->near.fairlock, NULL);
    proxy_drop_replies(f->proxy, COMMAND, true);
    for (int i = 0; i < 5; i++)
        (void)fairline_begin(f, f->far.fairlock, NULL);
    assert_true(fairline_becomes_queued(f, 5));
    before = places(f);
    assert_true(scene_connects(f->far.client, 3));
    scene_looks(f->far.client, 1);
    assert_same_places(before, places(f));
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(f, 0);
    scene_is_clean(f);
}

FAIRLINE_TEST(a_touch_whose_reply_is_lost_costs_no_place)
{
    lk_hold *hold = far_waits(f);
    redisReply *before = places(f);

    proxy_drop_replies(f->proxy, COMMAND, true);
    assert_true(scene_connects(f->far.client, 3));
    scene_looks(f->far.client, 1);
    assert_same_places(before, places(f));
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(f, 0);
    scene_is_clean(f);
}

/* The name is free; the first is told, asks for it, and hears nothing. */
FAIRLINE_TEST(a_look_whose_reply_is_lost_is_a_hold)
{
    lk_hold *deleted = far_waits(f);
    lk_hold *hold;

    proxy_swallow(f->proxy, INBOX, PROXY_REPLIES);
    scene_command(f, "DEL job");
    proxy_drop_replies(f->proxy, COMMAND, true);
    hold = locking_granted(&f->calls[0]);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_int_equal(server_integer(f->server, "HLEN job"), 1);
    assert_int_equal(locking_stats(f->far.client).holding, 1);
    proxy_heal(f->proxy);
    assert_true(scene_connects(f->far.client, 4));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_hold_release(deleted), LK_ELOST);
    fairline_serve(f, 1);
    scene_is_clean(f);
}

/* Its caller does not wait for that: the place is given back behind. */
FAIRLINE_TEST(a_leave_whose_reply_is_lost_leaves_nothing_behind)
{
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    lk_hold *hold;
    call *leaving;

    fairline_far(f, NULL);
    hold = fairline_hold(f->near.fairlock, NULL);
    assert_status(lk_cancel_new(&options.cancel, f->far.client), LK_OK);
    leaving = fairline_begin(f, f->far.fairlock, &options);
    assert_true(fairline_becomes_queued(f, 1));
    fairline_queue_many(f, f->far.fairlock, 2);
    proxy_drop_replies(f->proxy, COMMAND, true);
    lk_cancel_fire(options.cancel);
    assert_status(call_wait(leaving, NULL), LK_ECANCELED);
    assert_true(fairline_becomes_queued(f, 2));
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(f, 1);
    scene_is_clean(f);
    lk_cancel_free(options.cancel);
}

/* ---- slow lines ---------------------------------------------------------- */

FAIRLINE_TEST(a_slow_line_changes_no_order)
{
    lk_hold *hold;

    fairline_far(f, NULL);
    hold = fairline_hold(f->near.fairlock, NULL);
    proxy_delay(f->proxy, PROXY_ALL, PROXY_REQUESTS, 30);
    proxy_delay(f->proxy, PROXY_ALL, PROXY_REPLIES, 30);
    for (int i = 0; i < 6; i++)
        (void)fairline_queue(f,
                             i % 3 == 1 ? f->third.fairlock : f->far.fairlock);
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(f, 0);
    proxy_heal(f->proxy);
    scene_is_clean(f);
}

/* Its inbox stands only later; calls before, during and after that. */
FAIRLINE_TEST(the_first_calls_of_a_far_client_keep_their_order)
{
    enum { CALLS = 40 };
    lk_hold *hold = fairline_hold(f->near.fairlock, NULL);

    proxy_delay(f->proxy, PROXY_ALL, PROXY_REQUESTS, 20);
    proxy_delay(f->proxy, PROXY_ALL, PROXY_REPLIES, 20);
    fairline_open_far(f, NULL);
    for (int i = 0; i < CALLS; i++) {
        (void)fairline_begin(f, f->far.fairlock, NULL);
        locking_pass_time(5);
    }
    assert_true(fairline_becomes_queued(f, CALLS));
    proxy_heal(f->proxy);
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(f, 0);
    scene_is_clean(f);
}
