/* SPDX-License-Identifier: MIT */

/*
 * Connections that break, one of the two or both, before a request, after it,
 * and between its execution and its reply.
 */

#include <latchkey/latchkey.h>

#include <pthread.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/record.h"
#include "support/scene.h"
#include "support/wait.h"

enum { COMMAND = 0, INBOX = 1, NEXT = 2, LOOK_MS = 1000, SLACK_MS = 500 };

/* The ticket of the first in line, as text. */
static long long first_ticket(scene *sc)
{
    redisReply *reply =
        server_command(sc->server, SERVER_LINE("job") " WITHSCORES LIMIT 0 1");
    long long score;

    assert_int_equal(reply->elements, 2);
    score = strtoll(reply->element[1]->str, NULL, 10);
    freeReplyObject(reply);
    return score % SERVER_BAND;
}

/* The far client waits in line behind the near one's hold. */
static attempt *far_waits(scene *sc)
{
    attempt *a = scene_attempt(sc, sc->far_lock, SCENE_MS, NULL);

    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    return a;
}

/* It is granted within a look and a reconnect; then everything is clean. */
static void is_granted_soon(scene *sc, attempt *a)
{
    assert_true(attempt_has_ended(a, LOOK_MS + SLACK_MS));
    assert_status(lk_hold_release(attempt_hold(a)), LK_OK);
    scene_is_clean(sc);
}

/* ---- while waiting ------------------------------------------------------- */

/*
 * No lost wake-up: a message that never arrives is made up for by the next
 * look.
 */
static void a_lost_grant_is_found_by_the_next_look(void **state)
{
    scene *sc = *state;
    lk_hold *hold;
    attempt *a;

    scene_far(sc, NULL);
    hold = scene_hold(sc->near_lock, NULL);
    a = far_waits(sc);
    proxy_swallow(sc->proxy, INBOX, PROXY_REPLIES);
    assert_status(lk_hold_release(hold), LK_OK);
    is_granted_soon(sc, a);
}

/* Order: a waiter skipped for want of an inbox comes back to its place. */
static void a_waiter_without_inbox_keeps_its_place_in_line(void **state)
{
    scene *sc = *state;
    lk_hold *hold;
    attempt *a;
    attempt *behind;
    attempt *last;
    long long before;
    long long inboxes;

    scene_far(sc, NULL);
    hold = scene_hold(sc->near_lock, NULL);
    a = far_waits(sc);
    before = first_ticket(sc);
    behind = scene_attempt(sc, sc->third_lock, SCENE_MS, NULL);
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 2));
    inboxes = server_integer(sc->server, SCENE_INBOXES);
    proxy_refuse(sc->proxy, true);
    scene_deafens(sc, INBOX);
    assert_status(lk_hold_release(hold), LK_OK);
    hold = attempt_hold(behind); /* the far client was skipped */

    proxy_refuse(sc->proxy, false);
    assert_true(scene_becomes(sc, SCENE_INBOXES, inboxes));
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    assert_int_equal(first_ticket(sc), before);
    last = scene_attempt(sc, sc->near_lock, SCENE_MS, NULL);
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 2));
    assert_status(lk_hold_release(hold), LK_OK);
    hold = attempt_hold(a);
    assert_false(attempt_has_ended(last, 1));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_hold_release(attempt_hold(last)), LK_OK);
    scene_is_clean(sc);
}

/*
 * No lost wake-up: a command connection that breaks costs no place and no wake-
 * up.
 */
static void a_waiter_outlives_its_command_connection(void **state)
{
    scene *sc = *state;
    lk_hold *hold;
    attempt *a;

    scene_far(sc, NULL);
    hold = scene_hold(sc->near_lock, NULL);
    a = far_waits(sc);
    proxy_reset(sc->proxy, COMMAND);
    assert_true(scene_connects(sc->far, 3));
    assert_int_equal(server_integer(sc->server, SERVER_WAITERS("job")), 1);
    assert_status(lk_hold_release(hold), LK_OK);
    is_granted_soon(sc, a);
}

/*
 * No lost wake-up: the same for both; every reconnect looks again for every
 * waiter.
 */
static void a_waiter_outlives_both_connections(void **state)
{
    scene *sc = *state;
    lk_hold *hold;
    attempt *a;

    scene_far(sc, NULL);
    hold = scene_hold(sc->near_lock, NULL);
    a = far_waits(sc);
    proxy_refuse(sc->proxy, true);
    proxy_reset(sc->proxy, PROXY_ALL);
    assert_status(lk_hold_release(hold), LK_OK); /* a grant meets nobody */
    assert_false(attempt_has_ended(a, 50));
    proxy_refuse(sc->proxy, false);
    is_granted_soon(sc, a);
}

/* ---- a reply that was lost ----------------------------------------------- */

/*
 * No phantom holds: the acquire ran. Asked again, the server says so; nothing
 * counts twice.
 */
static void an_acquire_whose_reply_is_lost_is_one_hold(void **state)
{
    scene *sc = *state;
    lk_hold *hold;

    scene_far(sc, NULL);
    proxy_drop_replies(sc->proxy, COMMAND, true);
    hold = scene_hold(sc->far_lock, NULL);
    assert_int_equal(server_integer(sc->server, "HLEN job"), 1);
    assert_int_equal(scene_stats(sc->far).holding, 1);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(sc);
}

/* Exclusion: what is left of the lease counts from the first time it ran. */
static void
a_repeated_acquire_is_believed_no_longer_than_the_server(void **state)
{
    scene *sc = *state;
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = 400};
    const lk_acquire_options lease = {LK_ACQUIRE_OPTIONS_INIT,
                                      .lease_ms = 20000};
    lk_hold *hold;
    long long left;

    scene_far(sc, &options);
    proxy_drop_replies(sc->proxy, COMMAND, false);
    hold = scene_hold(sc->far_lock, &lease);
    left = server_integer(sc->server, "PTTL job");
    assert_true(lk_hold_remaining_ms(hold) <= (uint64_t)left);
    assert_true(left < 20000 - 300);
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(sc);
}

/*
 * No phantom holds: a try that is not answered says so in time, and is settled
 * behind.
 */
static void a_try_whose_reply_is_lost_is_settled_later(void **state)
{
    scene *sc = *state;
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = 300};
    attempt *a;

    scene_far(sc, &options);
    proxy_drop_replies(sc->proxy, COMMAND, true);
    proxy_refuse(sc->proxy, true);
    a = scene_attempt(sc, sc->far_lock, 0, NULL);
    assert_status(attempt_status(a), LK_EINDOUBT);
    assert_in_range(attempt_took_ms(a), 0, 300 + wait_scaled_ms(SLACK_MS));
    assert_int_equal(server_integer(sc->server, "EXISTS job"), 1);
    proxy_refuse(sc->proxy, false);
    scene_is_clean(sc);
    assert_int_equal(scene_stats(sc->far).holding, 0);
}

/*
 * No phantom holds: the release ran; that it is asked again is nobody else's
 * loss.
 */
static void a_release_whose_reply_is_lost_is_a_release(void **state)
{
    scene *sc = *state;
    lk_hold *hold;
    lk_hold *next;
    attempt *a;

    scene_far(sc, NULL);
    hold = scene_hold(sc->far_lock, NULL);
    a = scene_attempt(sc, sc->near_lock, SCENE_MS, NULL);
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    proxy_drop_replies(sc->proxy, COMMAND, true);
    assert_status(lk_hold_release(hold), LK_OK);
    next = attempt_hold(a);
    assert_status(lk_hold_check(next), LK_OK);
    assert_int_equal(server_integer(sc->server, "HLEN job"), 1);
    assert_status(lk_hold_release(next), LK_OK);
    scene_is_clean(sc);
}

/* Renewal: a renewal without an answer is tried again until the deadline. */
static void a_hold_outlives_lost_replies_to_its_renewals(void **state)
{
    scene *sc = *state;
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms =
                                           wait_scaled_ms(200),
                                       .watchdog_ms =
                                           UINT64_C(2) * wait_lease_ms()};
    lk_hold *hold;

    scene_far(sc, &options);
    hold = scene_hold(sc->far_lock, NULL);
    for (int connection = COMMAND; connection <= NEXT; connection += NEXT) {
        uint64_t connects = scene_stats(sc->far).connects;

        proxy_drop_replies(sc->proxy, connection, true);
        assert_true(scene_connects(sc->far, connects + 1));
        assert_status(lk_hold_check(hold), LK_OK);
    }
    scene_renews(sc->far, 4); /* for longer than the lease */
    assert_status(lk_hold_check(hold), LK_OK);
    assert_int_equal(scene_stats(sc->far).losses, 0);
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(sc);
}

/*
 * Renewal: a renewal into a black hole is given up in time for another one,
 * although nothing tells that the connection is dead.
 */
static void hold_beside_silence(scene *sc, int connection)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms =
                                           wait_scaled_ms(200),
                                       .watchdog_ms =
                                           UINT64_C(2) * wait_lease_ms()};
    lk_hold *hold;

    scene_far(sc, &options);
    hold = scene_hold(sc->far_lock, NULL);
    assert_true(
        scene_connects(sc->far, 3)); /* renewals have one of their own */
    proxy_swallow(sc->proxy, connection, PROXY_REQUESTS);
    assert_true(scene_connects(sc->far, 4));
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    scene_is_clean(sc);
}

static void a_hold_outlives_a_silent_connection(void **state)
{
    hold_beside_silence(*state, COMMAND);
}

static void a_hold_outlives_a_silent_road_of_its_renewals(void **state)
{
    hold_beside_silence(*state, NEXT);
}

/* ---- forgotten scripts --------------------------------------------------- */

/*
 * Scripts: a server that forgot the scripts did nothing; they are sent in full.
 */
static void a_server_may_forget_the_scripts_at_any_time(void **state)
{
    scene *sc = *state;
    lk_hold *hold;
    attempt *a;

    scene_far(sc, NULL);
    scene_command(sc, "SCRIPT FLUSH");
    hold = scene_hold(sc->far_lock, NULL);
    scene_command(sc, "SCRIPT FLUSH");
    assert_status(lk_hold_extend(hold, 60000), LK_OK);
    scene_command(sc, "SCRIPT FLUSH");
    assert_status(lk_hold_release(hold), LK_OK);
    hold = scene_hold(sc->near_lock, NULL);
    scene_command(sc, "SCRIPT FLUSH");
    a = far_waits(sc);
    scene_command(sc, "SCRIPT FLUSH");
    scene_looks(sc->far, 1);
    scene_command(sc, "SCRIPT FLUSH");
    assert_status(lk_hold_release(hold), LK_OK);
    hold = attempt_hold(a);
    scene_command(sc, "SCRIPT FLUSH");
    assert_true(scene_reaches(sc, "PTTL job", 20000)); /* its renewal */
    assert_status(lk_hold_release(hold), LK_OK);
    assert_true(scene_stats(sc->far).scripts_lost >= 4);
    scene_is_clean(sc);
}

typedef struct flusher {
    scene *scene;
    _Atomic bool is_over;
} flusher;

static void *flush_often(void *data)
{
    flusher *f = data;

    while (!f->is_over) {
        freeReplyObject(server_command(f->scene->server, "SCRIPT FLUSH"));
        scene_pass_ms(1);
    }
    return NULL;
}

typedef struct taker {
    lk_lock *lock;
    record *record;
    unsigned owner;
    unsigned refusals;
    pthread_t id;
} taker;

static void *take_often(void *data)
{
    taker *t = data;

    for (int i = 0; i < 300; i++) {
        lk_hold *hold;

        if (lk_lock_acquire(t->lock, LK_FOREVER, NULL, &hold) != LK_OK) {
            t->refusals++;
            continue;
        }
        record_enter(t->record, t->owner, lk_hold_fence(hold));
        record_leave(t->record, t->owner);
        t->refusals += lk_hold_release(hold) != LK_OK;
    }
    return NULL;
}

static void scripts_forgotten_under_load_break_nothing(void **state)
{
    scene *sc = *state;
    flusher f = {.scene = sc};
    record r = {0};
    pthread_t id;
    taker takers[3];

    scene_far(sc, NULL);
    assert_int_equal(pthread_create(&id, NULL, flush_often, &f), 0);
    takers[0] = (taker){sc->far_lock, &r, 1, 0, 0};
    takers[1] = (taker){sc->near_lock, &r, 2, 0, 0};
    takers[2] = (taker){sc->third_lock, &r, 3, 0, 0};
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&takers[i].id, NULL, take_often,
                                        &takers[i]),
                         0);
    for (int i = 0; i < 3; i++) {
        pthread_join(takers[i].id, NULL);
        assert_int_equal(takers[i].refusals, 0);
    }
    f.is_over = true;
    pthread_join(id, NULL);
    assert_int_equal(record_violations(&r), 0);
    assert_int_equal(r.grants, 900);
    assert_true(scene_stats(sc->near).scripts_lost > 0);
    scene_is_clean(sc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(a_lost_grant_is_found_by_the_next_look),
        SCENE_TEST(a_waiter_without_inbox_keeps_its_place_in_line),
        SCENE_TEST(a_waiter_outlives_its_command_connection),
        SCENE_TEST(a_waiter_outlives_both_connections),
        SCENE_TEST(an_acquire_whose_reply_is_lost_is_one_hold),
        SCENE_TEST(a_repeated_acquire_is_believed_no_longer_than_the_server),
        SCENE_TEST(a_try_whose_reply_is_lost_is_settled_later),
        SCENE_TEST(a_release_whose_reply_is_lost_is_a_release),
        SCENE_TEST(a_hold_outlives_lost_replies_to_its_renewals),
        SCENE_TEST(a_hold_outlives_a_silent_connection),
        SCENE_TEST(a_hold_outlives_a_silent_road_of_its_renewals),
        SCENE_TEST(a_server_may_forget_the_scripts_at_any_time),
        SCENE_TEST(scripts_forgotten_under_load_break_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
