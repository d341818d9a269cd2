/* SPDX-License-Identifier: MIT */

/*
 * Connections that break, one of the two or both, before a request, after it,
 * and between its execution and its reply.
 */

#include <latchkey/latchkey.h>

#include <stdlib.h>

#include "support/check.h"
#include "support/scene.h"
#include "support/wait.h"

enum { COMMAND = 0, INBOX = 1, NEXT = 2, LEASE_MS = 1250 };

/* The ticket of the first in line, as text. */
static long long first_ticket(locking *f)
{
    redisReply *reply =
        server_command(f->server, SERVER_LINE("job") " WITHSCORES LIMIT 0 1");
    long long score;

    assert_int_equal(reply->elements, 2);
    score = strtoll(reply->element[1]->str, NULL, 10);
    freeReplyObject(reply);
    return score % SERVER_BAND;
}

/* The far client waits in line behind the near one's hold. */
static taker *far_waits(locking *f)
{
    taker *a = locking_take(f, f->far.lock, SCENE_MS, NULL);

    assert_true(scene_becomes(f, SERVER_WAITERS("job"), 1));
    return a;
}

/* ---- while waiting ------------------------------------------------------- */

enum { INBOXES = 3 }; /* of those clients */

/* Order: a waiter skipped for want of an inbox comes back to its place. */
SCENE_TEST(a_waiter_without_inbox_keeps_its_place_in_line)
{
    lk_hold *hold;
    taker *a;
    taker *behind;
    taker *last;
    long long before;

    scene_far(f, NULL);
    hold = scene_hold(f->near.lock, NULL);
    a = far_waits(f);
    before = first_ticket(f);
    behind = locking_take(f, f->third.lock, SCENE_MS, NULL);
    assert_true(scene_becomes(f, SERVER_WAITERS("job"), 2));
    assert_true(scene_becomes(f, SCENE_INBOXES, INBOXES));
    proxy_refuse(f->proxy, true);
    scene_deafens(f, INBOX);
    assert_status(lk_hold_release(hold), LK_OK);
    hold = taker_hold(behind); /* the far client was skipped */

    proxy_refuse(f->proxy, false);
    assert_true(scene_becomes(f, SCENE_INBOXES, INBOXES));
    /* Parked until its next touch: until then it is passed over. */
    assert_true(scene_becomes(f, SERVER_STANDING("job"), 1));
    assert_int_equal(first_ticket(f), before);
    last = locking_take(f, f->near.lock, SCENE_MS, NULL);
    assert_true(scene_becomes(f, SERVER_WAITERS("job"), 2));
    assert_status(lk_hold_release(hold), LK_OK);
    hold = taker_hold(a);
    assert_false(taker_ends(last, 1));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_hold_release(taker_hold(last)), LK_OK);
    scene_is_clean(f);
}

/* ---- a reply that was lost ----------------------------------------------- */

/* Exclusion: what is left of the lease counts from the first time it ran. */
SCENE_TEST(a_repeated_acquire_is_believed_no_longer_than_the_server)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms =
                                           wait_limit_ms(400)};
    const lk_acquire_options lease = {LK_ACQUIRE_OPTIONS_INIT,
                                      .lease_ms = 20000};
    lk_hold *hold;
    long long left;

    scene_far(f, &options);
    proxy_drop_replies(f->proxy, COMMAND, false);
    hold = scene_hold(f->far.lock, &lease);
    left = server_integer(f->server, "PTTL job");
    assert_true(lk_hold_remaining_ms(hold) <= (uint64_t)left);
    assert_true(left < 20000 - 300);
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(f);
}

/*
 * Renewal: a renewal into a black hole is given up in time for another one,
 * although nothing tells that the connection is dead.
 */
static void hold_beside_silence(locking *f, int connection)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = wait_limit_ms(200),
                                       .watchdog_ms =
                                           wait_limit_ms(2 * LEASE_MS)};
    lk_hold *hold;

    scene_far(f, &options);
    hold = scene_hold(f->far.lock, NULL);
    assert_true(
        scene_connects(f->far.client, 3)); /* renewals have one of their own */
    proxy_swallow(f->proxy, connection, PROXY_REQUESTS);
    assert_true(scene_connects(f->far.client, 4));
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(f);
}

SCENE_TEST(a_hold_outlives_a_silent_connection)
{
    hold_beside_silence(f, COMMAND);
}

SCENE_TEST(a_hold_outlives_a_silent_road_of_its_renewals)
{
    hold_beside_silence(f, NEXT);
}

/*
 * Exclusion: a renewal answered after the deadline does not bring the hold
 * back.
 */
SCENE_TEST(a_late_answer_does_not_revive_a_lost_hold)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_lease_ms(),
                                       .command_timeout_ms = 600000};
    lk_hold *hold;

    scene_far(f, &options);
    hold = scene_hold(f->far.lock, NULL);
    assert_true(scene_connects(f->far.client, 3));
    proxy_hold(f->proxy, NEXT, PROXY_REPLIES);
    assert_true(wait_until(hold_is_lost, hold, SCENE_MS));
    assert_true(locking_stats(f->far.client).pending > 0);
    proxy_release(f->proxy, NEXT, PROXY_REPLIES);
    scene_hears(f->far.client, 1);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_status(lk_hold_release(hold), LK_ELOST);
    scene_is_clean(f);
}
