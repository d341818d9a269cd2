/* SPDX-License-Identifier: MIT */

/*
 * Grants that come early, late, or too late: the message is the lock only as
 * long as the waiter can tell, by its own clock, that it still is.
 */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/scene.h"
#include "support/wait.h"

enum { COMMAND = 0, INBOX = 1, CLAIM_LEASE_MS = 3000, NONCE = 17 };

/* So that a connection kept silent is not given up meanwhile. */
static const lk_client_options patient = {LK_CLIENT_OPTIONS_INIT,
                                          .command_timeout_ms = 20000};

/*
 * When a pushed grant is believed: it names our ticket, which the answer to the
 * enqueue tells. One that comes before that is looked after behind it.
 */
SCENE_TEST(a_grant_before_the_answer_to_the_enqueue_waits_for_that)
{
    lk_hold *hold;
    taker *a;

    scene_far(f, &patient);
    hold = scene_hold(f->near.lock, NULL);
    proxy_hold(f->proxy, COMMAND, PROXY_REPLIES);
    a = locking_take(f, f->far.lock, SCENE_MS, NULL);
    assert_true(scene_becomes(f, SERVER_WAITERS("job"), 1));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_false(taker_ends(a, 100));
    proxy_release(f->proxy, COMMAND, PROXY_REPLIES);
    hold = taker_hold(a);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_true(scene_reaches(f, "PTTL job", 20000)); /* it is kept at once */
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(f);
}

/* The same with a lease of its own: all of it is had. */
SCENE_TEST(a_fixed_lease_that_is_found_by_looking_is_had_in_full)
{
    const lk_acquire_options lease = {LK_ACQUIRE_OPTIONS_INIT,
                                      .lease_ms = 30000};
    lk_hold *hold;
    taker *a;

    scene_far(f, &patient);
    hold = scene_hold(f->near.lock, NULL);
    proxy_hold(f->proxy, COMMAND, PROXY_REPLIES);
    a = locking_take(f, f->far.lock, SCENE_MS, &lease);
    assert_true(scene_becomes(f, SERVER_WAITERS("job"), 1));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_false(taker_ends(a, 100));
    proxy_release(f->proxy, COMMAND, PROXY_REPLIES);
    hold = taker_hold(a);
    assert_true(scene_reaches(f, "PTTL job", 20000));
    locking_pass_time(2 * CLAIM_LEASE_MS);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_in_range(lk_hold_remaining_ms(hold), 1, 27000);
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(f);
}

/* Has the far client granted, and neither hear of that nor anything else. */
static taker *grant_in_silence(locking *f)
{
    lk_hold *hold = scene_hold(f->near.lock, NULL);
    taker *a;

    proxy_hold(f->proxy, COMMAND, PROXY_REPLIES);
    proxy_hold(f->proxy, INBOX, PROXY_REPLIES);
    a = locking_take(f, f->far.lock, SCENE_MS, NULL);
    assert_true(scene_becomes(f, SERVER_WAITERS("job"), 1));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_int_equal(server_integer(f->server, "EXISTS job"), 1);
    return a;
}

/* The grant was heard, but is believed only after another answer. */
static void confirmed_first(locking *f, taker *a)
{
    lk_hold *hold;

    proxy_release(f->proxy, INBOX, PROXY_REPLIES);
    assert_false(taker_ends(a, 100));
    assert_int_equal(locking_stats(f->far.client).grants_late, 1);
    proxy_release(f->proxy, COMMAND, PROXY_REPLIES);
    assert_true(taker_ends(a, 500));
    hold = taker_hold(a);
    assert_true(server_integer(f->server, "PTTL job") > 20000);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(f);
}

static bool is_answered(void *data)
{
    return locking_stats(data).pending == 0;
}

/*
 * When a pushed grant is believed: with less than half the claim lease left,
 * one trip to the server comes before the hold is reported. A look that was
 * sent before the grant was heard of does not stand in its way.
 */
SCENE_TEST(a_late_grant_is_confirmed_behind_a_look_under_way)
{
    lk_hold *hold;
    taker *a;

    scene_far(f, &patient);
    hold = scene_hold(f->near.lock, NULL);
    a = locking_take(f, f->far.lock, SCENE_MS, NULL);
    assert_true(scene_becomes(f, SERVER_WAITERS("job"), 1));
    assert_true(wait_until(is_answered, f->far.client, SCENE_MS));
    proxy_hold(f->proxy, COMMAND, PROXY_REPLIES);
    proxy_hold(f->proxy, INBOX, PROXY_REPLIES);
    assert_soon(locking_stats(f->far.client).pending > 0, SCENE_MS);
    assert_status(lk_hold_release(hold), LK_OK);
    locking_pass_time(CLAIM_LEASE_MS / 2 + 100);
    confirmed_first(f, a);
}

/*
 * When a pushed grant is believed: beyond its lease the grant is void, whoever
 * holds by then.
 */
SCENE_TEST(a_grant_beyond_its_lease_is_not_believed)
{
    uint64_t fence;
    lk_hold *hold;
    taker *a;

    scene_far(f, &patient);
    a = grant_in_silence(f);
    hold = scene_hold(f->near.lock, NULL); /* when the grant has run out */
    fence = lk_hold_fence(hold);
    proxy_release(f->proxy, INBOX, PROXY_REPLIES);
    proxy_release(f->proxy, COMMAND, PROXY_REPLIES);
    assert_true(scene_becomes(f, SERVER_WAITERS("job"), 1));
    assert_false(taker_ends(a, 1));
    assert_status(lk_hold_release(hold), LK_OK);
    hold = taker_hold(a);
    assert_true(lk_hold_fence(hold) > fence);
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(f);
}

/*
 * When a pushed grant is believed: the same when the answer to the look comes
 * before it.
 */
SCENE_TEST(a_grant_is_void_after_a_look_that_denied_it)
{
    lk_hold *hold;
    taker *a;

    scene_far(f, &patient);
    a = grant_in_silence(f);
    hold = scene_hold(f->near.lock, NULL);
    proxy_release(f->proxy, COMMAND, PROXY_REPLIES);
    assert_true(scene_becomes(f, SERVER_WAITERS("job"), 1));
    proxy_release(f->proxy, INBOX, PROXY_REPLIES);
    assert_false(taker_ends(a, 200));
    assert_status(lk_hold_check(hold), LK_OK);
    assert_int_equal(server_integer(f->server, "HLEN job"), 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_hold_release(taker_hold(a)), LK_OK);
    scene_is_clean(f);
}

/*
 * Nothing dropped: nobody waits for it any more, so the next one gets it at
 * once.
 */
SCENE_TEST(a_grant_that_nobody_wants_is_passed_on)
{
    lk_hold *hold;
    taker *a;
    taker *behind;

    scene_far(f, &patient);
    hold = scene_hold(f->near.lock, NULL);
    a = locking_take(f, f->far.lock, 700, NULL);
    assert_true(scene_becomes(f, SERVER_WAITERS("job"), 1));
    behind = locking_take(f, f->third.lock, SCENE_MS, NULL);
    assert_true(scene_becomes(f, SERVER_WAITERS("job"), 2));
    proxy_hold(f->proxy, COMMAND, PROXY_REQUESTS); /* its leave */
    assert_status(taker_join(a), LK_ETIMEDOUT);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_false(taker_ends(behind, 50)); /* far was granted */
    proxy_release(f->proxy, COMMAND, PROXY_REQUESTS);
    assert_true(taker_ends(behind, 1000));
    assert_status(lk_hold_release(taker_hold(behind)), LK_OK);
    scene_is_clean(f);
}

/* Has the far client's inbox told of a grant: ticket, fence and top 1, 60 s. */
/* claim: with its nonce. */
static void publish_grant(locking *f, const char *claim)
{
    char text[160];

    (void)snprintf(text, sizeof(text), "grant 0 lock %s 1 1 0 60000 job",
                   claim);
    assert_int_equal(server_integer(f->server, "PUBLISH latchkey:in::%s %b",
                                    lk_client_id(f->far.client), text,
                                    strlen(text)),
                     1);
}

/*
 * When a pushed grant is believed: a grant names its ticket; that of another
 * one is void.
 */
SCENE_TEST(a_grant_for_another_ticket_is_void)
{
    redisReply *front;
    lk_hold *hold;
    taker *a;
    char claim[64 + NONCE];

    scene_far(f, NULL);
    hold = scene_hold(f->near.lock, NULL);
    a = locking_take(f, f->far.lock, SCENE_MS, NULL);
    assert_true(scene_becomes(f, SERVER_WAITERS("job"), 1));
    assert_true(wait_until(is_answered, f->far.client, SCENE_MS));
    front = server_command(f->server, SERVER_LINE("job") " LIMIT 0 1");
    assert_int_equal(front->elements, 1);
    (void)snprintf(claim, sizeof(claim), "%.*s",
                   (int)(strchr(front->element[0]->str, ' ') + NONCE -
                         front->element[0]->str),
                   front->element[0]->str);
    publish_grant(f, claim);
    freeReplyObject(front);
    assert_false(taker_ends(a, 300));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_hold_release(taker_hold(a)), LK_OK);
    scene_is_clean(f);
}

/*
 * Nothing dropped: a failover or a lost leave may grant a claim that the client
 * no longer knows. It is given back, and does not wait for its lease.
 */
SCENE_TEST(a_grant_for_an_unknown_claim_is_given_back)
{
    char claim[64 + NONCE];

    scene_far(f, NULL);
    assert_status(lk_hold_release(scene_hold(f->far.lock, NULL)), LK_OK);
    (void)snprintf(claim, sizeof(claim), "%s:0000000000000001",
                   lk_client_id(f->far.client));
    assert_int_equal(server_integer(f->server, "HSET job %s 1", claim), 1);
    scene_command(f, "PEXPIRE job 60000");
    (void)snprintf(claim, sizeof(claim), "%s:0000000000000001 0123456789abcdef",
                   lk_client_id(f->far.client));
    publish_grant(f, claim);
    scene_is_clean(f);
    assert_int_equal(locking_stats(f->far.client).grants_void, 1);
}
