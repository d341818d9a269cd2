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
static void
a_grant_before_the_answer_to_the_enqueue_waits_for_that(void **state)
{
    scene *sc = *state;
    lk_hold *hold;
    attempt *a;

    scene_far(sc, &patient);
    hold = scene_hold(sc->near_lock, NULL);
    proxy_hold(sc->proxy, COMMAND, PROXY_REPLIES);
    a = scene_attempt(sc, sc->far_lock, SCENE_MS, NULL);
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_false(attempt_has_ended(a, 100));
    proxy_release(sc->proxy, COMMAND, PROXY_REPLIES);
    hold = attempt_hold(a);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_true(scene_reaches(sc, "PTTL job", 20000)); /* it is kept at once */
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(sc);
}

/* The same with a lease of its own: all of it is had. */
static void a_fixed_lease_that_is_found_by_looking_is_had_in_full(void **state)
{
    const lk_acquire_options lease = {LK_ACQUIRE_OPTIONS_INIT,
                                      .lease_ms = 30000};
    scene *sc = *state;
    lk_hold *hold;
    attempt *a;

    scene_far(sc, &patient);
    hold = scene_hold(sc->near_lock, NULL);
    proxy_hold(sc->proxy, COMMAND, PROXY_REPLIES);
    a = scene_attempt(sc, sc->far_lock, SCENE_MS, &lease);
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_false(attempt_has_ended(a, 100));
    proxy_release(sc->proxy, COMMAND, PROXY_REPLIES);
    hold = attempt_hold(a);
    assert_true(scene_reaches(sc, "PTTL job", 20000));
    scene_pass_ms(2 * CLAIM_LEASE_MS);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_in_range(lk_hold_remaining_ms(hold), 1, 27000);
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(sc);
}

/* Has the far client granted, and neither hear of that nor anything else. */
static attempt *grant_in_silence(scene *sc)
{
    lk_hold *hold = scene_hold(sc->near_lock, NULL);
    attempt *a;

    proxy_hold(sc->proxy, COMMAND, PROXY_REPLIES);
    proxy_hold(sc->proxy, INBOX, PROXY_REPLIES);
    a = scene_attempt(sc, sc->far_lock, SCENE_MS, NULL);
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_int_equal(server_integer(sc->server, "EXISTS job"), 1);
    return a;
}

/* The grant was heard, but is believed only after another answer. */
static void confirmed_first(scene *sc, attempt *a)
{
    lk_hold *hold;

    proxy_release(sc->proxy, INBOX, PROXY_REPLIES);
    assert_false(attempt_has_ended(a, 100));
    assert_int_equal(scene_stats(sc->far).grants_late, 1);
    proxy_release(sc->proxy, COMMAND, PROXY_REPLIES);
    assert_true(attempt_has_ended(a, 500));
    hold = attempt_hold(a);
    assert_true(server_integer(sc->server, "PTTL job") > 20000);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(sc);
}

static bool is_answered(void *data)
{
    return scene_stats(data).pending == 0;
}

static bool has_looked(void *data)
{
    return scene_stats(data).pending > 0;
}

/*
 * When a pushed grant is believed: with less than half the claim lease left,
 * one trip to the server comes before the hold is reported. A look that was
 * sent before the grant was heard of does not stand in its way.
 */
static void a_late_grant_is_confirmed_behind_a_look_under_way(void **state)
{
    scene *sc = *state;
    lk_hold *hold;
    attempt *a;

    scene_far(sc, &patient);
    hold = scene_hold(sc->near_lock, NULL);
    a = scene_attempt(sc, sc->far_lock, SCENE_MS, NULL);
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    assert_true(wait_until(is_answered, sc->far, SCENE_MS));
    proxy_hold(sc->proxy, COMMAND, PROXY_REPLIES);
    proxy_hold(sc->proxy, INBOX, PROXY_REPLIES);
    assert_true(wait_until(has_looked, sc->far, SCENE_MS));
    assert_status(lk_hold_release(hold), LK_OK);
    scene_pass_ms(CLAIM_LEASE_MS / 2 + 100);
    confirmed_first(sc, a);
}

/*
 * When a pushed grant is believed: beyond its lease the grant is void, whoever
 * holds by then.
 */
static void a_grant_beyond_its_lease_is_not_believed(void **state)
{
    scene *sc = *state;
    uint64_t fence;
    lk_hold *hold;
    attempt *a;

    scene_far(sc, &patient);
    a = grant_in_silence(sc);
    hold = scene_hold(sc->near_lock, NULL); /* when the grant has run out */
    fence = lk_hold_fence(hold);
    proxy_release(sc->proxy, INBOX, PROXY_REPLIES);
    proxy_release(sc->proxy, COMMAND, PROXY_REPLIES);
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    assert_false(attempt_has_ended(a, 1));
    assert_status(lk_hold_release(hold), LK_OK);
    hold = attempt_hold(a);
    assert_true(lk_hold_fence(hold) > fence);
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(sc);
}

/*
 * When a pushed grant is believed: the same when the answer to the look comes
 * before it.
 */
static void a_grant_is_void_after_a_look_that_denied_it(void **state)
{
    scene *sc = *state;
    lk_hold *hold;
    attempt *a;

    scene_far(sc, &patient);
    a = grant_in_silence(sc);
    hold = scene_hold(sc->near_lock, NULL);
    proxy_release(sc->proxy, COMMAND, PROXY_REPLIES);
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    proxy_release(sc->proxy, INBOX, PROXY_REPLIES);
    assert_false(attempt_has_ended(a, 200));
    assert_status(lk_hold_check(hold), LK_OK);
    assert_int_equal(server_integer(sc->server, "HLEN job"), 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_hold_release(attempt_hold(a)), LK_OK);
    scene_is_clean(sc);
}

/*
 * Nothing dropped: nobody waits for it any more, so the next one gets it at
 * once.
 */
static void a_grant_that_nobody_wants_is_passed_on(void **state)
{
    scene *sc = *state;
    lk_hold *hold;
    attempt *a;
    attempt *behind;

    scene_far(sc, &patient);
    hold = scene_hold(sc->near_lock, NULL);
    a = scene_attempt(sc, sc->far_lock, 700, NULL);
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    behind = scene_attempt(sc, sc->third_lock, SCENE_MS, NULL);
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 2));
    proxy_hold(sc->proxy, COMMAND, PROXY_REQUESTS); /* its leave */
    assert_status(attempt_status(a), LK_ETIMEDOUT);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_false(attempt_has_ended(behind, 50)); /* far was granted */
    proxy_release(sc->proxy, COMMAND, PROXY_REQUESTS);
    assert_true(attempt_has_ended(behind, 1000));
    assert_status(lk_hold_release(attempt_hold(behind)), LK_OK);
    scene_is_clean(sc);
}

/* Has the far client's inbox told of a grant: ticket, fence and top 1, 60 s. */
/* claim: with its nonce. */
static void publish_grant(scene *sc, const char *claim)
{
    char text[160];

    (void)snprintf(text, sizeof(text), "grant 0 lock %s 1 1 0 60000 job",
                   claim);
    assert_int_equal(server_integer(sc->server, "PUBLISH latchkey:in::%s %b",
                                    lk_client_id(sc->far), text, strlen(text)),
                     1);
}

/*
 * When a pushed grant is believed: a grant names its ticket; that of another
 * one is void.
 */
static void a_grant_for_another_ticket_is_void(void **state)
{
    scene *sc = *state;
    redisReply *front;
    lk_hold *hold;
    attempt *a;
    char claim[64 + NONCE];

    scene_far(sc, NULL);
    hold = scene_hold(sc->near_lock, NULL);
    a = scene_attempt(sc, sc->far_lock, SCENE_MS, NULL);
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    assert_true(wait_until(is_answered, sc->far, SCENE_MS));
    front = server_command(sc->server, SERVER_LINE("job") " LIMIT 0 1");
    assert_int_equal(front->elements, 1);
    (void)snprintf(claim, sizeof(claim), "%.*s",
                   (int)(strchr(front->element[0]->str, ' ') + NONCE -
                         front->element[0]->str),
                   front->element[0]->str);
    publish_grant(sc, claim);
    freeReplyObject(front);
    assert_false(attempt_has_ended(a, 300));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_hold_release(attempt_hold(a)), LK_OK);
    scene_is_clean(sc);
}

/*
 * Nothing dropped: a failover or a lost leave may grant a claim that the client
 * no longer knows. It is given back, and does not wait for its lease.
 */
static void a_grant_for_an_unknown_claim_is_given_back(void **state)
{
    scene *sc = *state;
    char claim[64 + NONCE];

    scene_far(sc, NULL);
    assert_status(lk_hold_release(scene_hold(sc->far_lock, NULL)), LK_OK);
    (void)snprintf(claim, sizeof(claim), "%s:1", lk_client_id(sc->far));
    assert_int_equal(server_integer(sc->server, "HSET job %s 1", claim), 1);
    scene_command(sc, "PEXPIRE job 60000");
    (void)snprintf(claim, sizeof(claim), "%s:1 0123456789abcdef",
                   lk_client_id(sc->far));
    publish_grant(sc, claim);
    scene_is_clean(sc);
    assert_int_equal(scene_stats(sc->far).grants_void, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(a_grant_before_the_answer_to_the_enqueue_waits_for_that),
        SCENE_TEST(a_fixed_lease_that_is_found_by_looking_is_had_in_full),
        SCENE_TEST(a_late_grant_is_confirmed_behind_a_look_under_way),
        SCENE_TEST(a_grant_beyond_its_lease_is_not_believed),
        SCENE_TEST(a_grant_is_void_after_a_look_that_denied_it),
        SCENE_TEST(a_grant_that_nobody_wants_is_passed_on),
        SCENE_TEST(a_grant_for_another_ticket_is_void),
        SCENE_TEST(a_grant_for_an_unknown_claim_is_given_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
