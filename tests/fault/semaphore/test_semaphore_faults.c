/* SPDX-License-Identifier: MIT */

/*
 * Semaphores over a network and on a server that break: whatever is lost, no
 * permit is counted twice, none is lost, and no wait is forgotten.
 */

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/proxy.h"
#include "support/semaphores.h"
#include "support/wait.h"

enum {
    COMMAND = 0,
    INBOX = 1,
    LOOK_MS = 1000,
    SLACK_MS = 500,
    SOON_MS = 10000
};

/* A semaphore n of three permits; `far` is used through the proxy. */
typedef struct scene {
    semaphores *f;
    proxy *proxy;
    lk_client *far_client;
    lk_semaphore *far, *near;
} scene;

/* The far client's inbox stands, and nothing of it is under way. */
static scene scene_open(semaphores *f, const lk_client_options *options)
{
    scene sc = {.f = f, .proxy = locking_proxy(f->base)};

    sc.far_client = locking_open_far(f->base, options);
    assert_status(lk_hold_release(locking_hold(
                      locking_lock(f->base, sc.far_client, "elsewhere"))),
                  LK_OK);
    locking_wait_connects(sc.far_client, 2);
    locking_wait_calm(sc.far_client);
    sc.far = sem_of(f, sc.far_client, 3);
    sc.near = sem_calm(f, 3);
    assert_status(lk_hold_release(sem_hold(sc.near, 1)), LK_OK);
    return sc;
}

/* ---- while waiting ------------------------------------------------------------ */

SEM_TEST(a_lost_grant_is_found_by_the_next_look)
{
    scene sc = scene_open(f, NULL);
    lk_hold *hold = sem_hold(sc.near, 3);
    taker *t = sem_queue_up(sc.f, sc.far, 2, 1);
    uint64_t begin = wait_now_ms();

    proxy_swallow(sc.proxy, INBOX, PROXY_REPLIES);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(LOOK_MS + wait_scaled_ms(SLACK_MS)));
    sem_assert_books(sc.f, 3, 1);
    assert_status(taker_release(t), LK_OK);
    sem_assert_clean(sc.f, 3);
}

SEM_TEST(a_waiter_outlives_its_connections)
{
    scene sc = scene_open(f, NULL);
    lk_hold *hold = sem_hold(sc.near, 3);
    taker *t = sem_queue_up(sc.f, sc.far, 2, 1);

    proxy_refuse(sc.proxy, true);
    proxy_reset(sc.proxy, PROXY_ALL);
    assert_status(lk_hold_release(hold), LK_OK); /* a grant meets nobody */
    proxy_refuse(sc.proxy, false);
    assert_status(taker_release(t), LK_OK);
    sem_assert_clean(sc.f, 3);
}

/* A waiter that was passed by for want of an inbox comes back to its place. */
SEM_TEST(a_large_request_that_was_away_keeps_its_place)
{
    scene sc = scene_open(f, NULL);
    lk_hold *first = sem_hold(sc.near, 1);
    lk_hold *second = sem_hold(sc.near, 2);
    taker *large = sem_queue_up(sc.f, sc.far, 3, 1);
    taker *small = sem_queue_up(sc.f, sc.near, 1, 2);
    taker *last;

    proxy_refuse(sc.proxy, true);
    proxy_reset(sc.proxy, PROXY_ALL);
    assert_status(lk_hold_release(first), LK_OK);
    assert_status(taker_join(small), LK_OK);
    proxy_refuse(sc.proxy, false);
    locking_wait_connects(sc.far_client, 4); /* the inbox is back */
    locking_wait_queued(sc.f->base, "n", 1);
    last = sem_queue_up(sc.f, sc.near, 1, 2);
    assert_status(lk_hold_release(second), LK_OK);
    assert_true(taker_waits(last));
    assert_status(taker_release(small), LK_OK);
    assert_status(taker_release(large), LK_OK);
    assert_status(taker_release(last), LK_OK);
    assert_true(large->turn < last->turn);
    sem_assert_clean(sc.f, 3);
}

/* ---- replies that are lost after the request ran ---------------------------------- */

SEM_TEST(an_acquire_whose_reply_is_lost_is_one_hold)
{
    scene sc = scene_open(f, NULL);
    taker *t;

    proxy_drop_replies(sc.proxy, COMMAND, true);
    t = sem_take(sc.f, sc.far, 2, SOON_MS, NULL);
    assert_status(taker_join(t), LK_OK);
    sem_assert_books(sc.f, 3, 1);
    assert_int_equal(locking_stats(sc.far_client).holding, 1);
    assert_status(taker_release(t), LK_OK);
    sem_assert_clean(sc.f, 3);
}

SEM_TEST(a_try_whose_reply_is_lost_is_given_back)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = 400};
    scene sc = scene_open(f, &options);
    lk_hold *none = NULL;
    lk_status status;

    proxy_drop_replies(sc.proxy, PROXY_ALL, false);
    status = lk_semaphore_acquire(sc.far, 2, 0, NULL, &none);
    assert_status(status, LK_EINDOUBT);
    assert_null(none);
    proxy_heal(sc.proxy);
    sem_assert_clean(sc.f, 3);
}

SEM_TEST(a_release_whose_reply_is_lost_is_made_once)
{
    scene sc = scene_open(f, NULL);
    lk_hold *hold = sem_hold(sc.far, 2);

    locking_wait_calm(sc.far_client);
    proxy_drop_replies(sc.proxy, COMMAND, true);
    assert_status(lk_hold_release(hold), LK_OK);
    sem_assert_clean(sc.f, 3);
}

SEM_TEST(a_resize_whose_reply_is_lost_is_in_doubt)
{
    scene sc = scene_open(f, NULL);

    proxy_drop_replies(sc.proxy, COMMAND, true);
    assert_status(lk_semaphore_resize(sc.far, 5), LK_EINDOUBT);
    sem_assert_books(sc.f, 5, 5);
    assert_status(lk_semaphore_resize(sc.near, 3), LK_OK);
    sem_assert_clean(sc.f, 3);
}

SEM_TEST(a_force_whose_reply_is_lost_is_in_doubt)
{
    scene sc = scene_open(f, NULL);
    lk_hold *hold = sem_hold(sc.near, 2);

    proxy_drop_replies(sc.proxy, COMMAND, true);
    assert_status(lk_semaphore_force_release(sc.far, NULL), LK_EINDOUBT);
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_status(lk_hold_release(hold), LK_ELOST);
    sem_assert_clean(sc.f, 3);
}

/* A question is asked again: it changes nothing. */
SEM_TEST(a_count_whose_reply_is_lost_is_answered)
{
    scene sc = scene_open(f, NULL);
    uint64_t permits = 0;
    int64_t free = 0;

    proxy_drop_replies(sc.proxy, COMMAND, true);
    assert_status(lk_semaphore_count(sc.far, &permits, &free), LK_OK);
    assert_int_equal(permits, 3);
    assert_int_equal(free, 3);
    sem_assert_clean(sc.f, 3);
}

SEM_TEST(a_renewal_that_is_not_answered_is_tried_again)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_lease_ms()};
    scene sc = scene_open(f, &options);
    lk_hold *hold = sem_hold(sc.far, 3);

    for (int i = 0; i < 3; i++) {
        locking_pass_time(wait_lease_ms() / 2);
        proxy_reset(sc.proxy, PROXY_ALL);
    }
    locking_pass_time(wait_lease_ms());
    assert_status(lk_hold_check(hold), LK_OK);
    sem_assert_books(sc.f, 3, 0);
    assert_status(lk_hold_release(hold), LK_OK);
    sem_assert_clean(sc.f, 3);
}

/* ---- the server --------------------------------------------------------------------- */

SEM_TEST(scripts_that_are_forgotten_are_sent_again)
{
    scene sc = scene_open(f, NULL);
    lk_hold *hold = sem_hold(sc.near, 3);
    taker *t = sem_queue_up(sc.f, sc.far, 2, 1);

    free(server_string(sc.f->base->server, "SCRIPT FLUSH"));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    assert_status(lk_semaphore_resize(sc.near, 3), LK_OK);
    sem_assert_clean(sc.f, 3);
}

/* The holder is told, the waiter begins anew, and N is set again. */
SEM_TEST(a_restart_without_data_is_lived_through)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_lease_ms()};
    lk_client *client = locking_open_calm(f->base, &options);
    lk_semaphore *semaphore = sem_of(f, client, 3);
    lk_hold *hold = sem_hold(semaphore, 3);
    taker *t = sem_queue_up(f, semaphore, 2, 1);

    assert_true(server_restart(f->base->server));
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_status(taker_join(t), LK_OK);
    sem_assert_books(f, 3, 1);
    assert_status(taker_release(t), LK_OK);
    sem_assert_clean(f, 3);
}

SEM_TEST(a_restart_with_its_data_loses_nothing)
{
    static const char *const args[] = {"--appendonly", "yes", "--appendfsync",
                                       "always", NULL};
    server *kept = server_start(args);
    const lk_semaphore_options options = {LK_SEMAPHORE_OPTIONS_INIT,
                                          .permits = 3};
    lk_client *client;
    lk_semaphore *semaphore;
    lk_hold *hold;
    taker *t;

    assert_non_null(kept);
    client = locking_open_url(f->base, server_url(kept), NULL);
    semaphore = sem_with(f, client, "n", &options);
    hold = sem_hold(semaphore, 2);
    t = sem_take(f, semaphore, 3, LK_FOREVER, NULL);
    while (server_integer(kept, "ZCARD latchkey:{n}:q") == 0)
        locking_pass_time(1);
    assert_true(server_restart(kept));
    assert_status(lk_client_wait_ready(client, 10000), LK_OK);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_int_equal(server_integer(kept, "INCRBY n 0"), 1);
    assert_true(taker_waits(t));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    assert_int_equal(server_integer(kept, "INCRBY n 0"), 3);
    locking_free_client(f->base, client);
    server_stop(kept);
}

SEM_TEST(a_full_server_keeps_what_it_has)
{
    lk_semaphore *semaphore = sem_calm(f, 3);
    lk_hold *hold = sem_hold(semaphore, 3);
    taker *t = sem_queue_up(f, semaphore, 2, 1);
    lk_hold *none = NULL;

    free(server_string(f->base->server, "CONFIG SET maxmemory 1"));
    assert_status(lk_hold_extend(hold, 60000), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_status(lk_semaphore_acquire(semaphore, 1, 0, NULL, &none),
                  LK_ESERVERMEM);
    assert_status(lk_semaphore_resize(semaphore, 5), LK_ESERVERMEM);
    assert_null(none);
    sem_assert_books(f, 3, 1);
    assert_status(taker_release(t), LK_OK);
    free(server_string(f->base->server, "CONFIG SET maxmemory 0"));
    sem_assert_clean(f, 3);
}

/* ---- keys that others touch ------------------------------------------------------------ */

SEM_TEST(without_the_record_a_hold_is_lost_and_ends_by_itself)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_lease_ms()};
    lk_semaphore *semaphore =
        sem_of(f, locking_open_calm(f->base, &options), 3);
    lk_hold *hold = sem_hold(semaphore, 2);
    taker *t;

    assert_int_equal(server_integer(f->base->server, "DEL latchkey:{n}:h"), 1);
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_status(lk_hold_release(hold), LK_ELOST);
    t = sem_take(f, semaphore, 3, LK_FOREVER, NULL);
    assert_status(taker_release(t), LK_OK);
    sem_assert_clean(f, 3);
}

SEM_TEST(a_queue_that_is_deleted_is_made_again)
{
    lk_semaphore *semaphore = sem_calm(f, 3);
    lk_hold *hold = sem_hold(semaphore, 3);
    taker *t = sem_queue_up(f, semaphore, 2, 1);

    assert_int_equal(server_integer(f->base->server, "DEL latchkey:{n}:q"), 1);
    locking_wait_queued(f->base, "n", 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    sem_assert_clean(f, 3);
}

SEM_TEST(a_counter_that_becomes_a_lock_ends_a_wait)
{
    lk_semaphore *semaphore = sem_calm(f, 1);
    lk_hold *hold = sem_hold(semaphore, 1);
    taker *t = sem_queue_up(f, semaphore, 1, 1);

    assert_int_equal(server_integer(f->base->server, "DEL n"), 1);
    assert_int_equal(server_integer(f->base->server, "HSET n a b"), 1);
    assert_status(taker_join(t), LK_ETYPE);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* ---- rights ------------------------------------------------------------------------------- */

static lk_semaphore *sem_without(semaphores *f, const char *right)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "far",
                                       .password = "word"};

    free(server_string(f->base->server,
                       "ACL SETUSER far reset on >word ~* &* +@all %s", right));
    return sem_of(f, locking_open(f->base, &options), 3);
}

SEM_TEST(a_right_that_is_missing_is_told)
{
    static const char *const rights[] = {"-zadd", "-incrby", "-mget",   "-set",
                                         "-hget", "-hset",   "-pexpire"};

    assert_status(lk_hold_release(sem_hold(sem_new(f, 3), 1)), LK_OK);
    for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
        lk_semaphore *semaphore = sem_without(f, rights[i]);
        lk_hold *none = NULL;

        assert_status(lk_semaphore_acquire(semaphore, 1, 0, NULL, &none),
                      LK_EDENIED);
        assert_non_null(strstr(lk_last_error(), "can't"));
        assert_null(none);
        sem_assert_clean(f, 3);
    }
    assert_int_equal(server_integer(f->base->server, "ACL DELUSER far"), 1);
}

/* Those of docs/semaphore.md. */
SEM_TEST(the_rights_of_the_manual_are_enough)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "far",
                                       .password = "word",
                                       .watchdog_ms = wait_lease_ms()};
    lk_client *client;
    lk_semaphore *semaphore;
    lk_info *info = NULL;
    lk_hold *hold;
    taker *t;
    redisReply *denied;

    free(server_string(f->base->server, "ACL LOG RESET"));
    free(server_string(
        f->base->server,
        "ACL SETUSER far reset on >word ~n* ~{n*}:timeout "
        "~latchkey:{n* ~latchkey:client:*"
        " resetchannels &latchkey:in:* &redisson_sc:*"
        " -@all +@connection +@hash +@sortedset +get +mget +set +del +exists"
        " +incrby +pexpire +pttl +eval +evalsha +publish +subscribe"
        " +pubsub|numsub +time +info"));
    client = locking_open(f->base, &options);
    semaphore = sem_of(f, client, 3);
    hold = sem_hold(semaphore, 2);
    t = sem_queue_up(f, semaphore, 2, 1);
    locking_pass_time(wait_lease_ms());
    assert_status(lk_hold_extend(hold, 60000), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_status(lk_semaphore_info(semaphore, &info), LK_OK);
    assert_int_equal(info->holder_count, 1);
    lk_info_free(info);
    assert_status(lk_semaphore_resize(semaphore, 4), LK_OK);
    assert_status(lk_semaphore_force_release(semaphore, NULL), LK_OK);
    assert_true(wait_until(hold_is_lost, t->hold, SOON_MS));
    /* A renewal may find it out before the message has come. */
    assert_in_range(lk_hold_loss(t->hold), LK_LOSS_DELETED, LK_LOSS_REVOKED);
    assert_status(taker_release(t), LK_ELOST);
    sem_assert_clean(f, 4);
    denied = server_command(f->base->server, "ACL LOG");
    assert_int_equal(denied->elements, 0);
    freeReplyObject(denied);
    assert_int_equal(server_integer(f->base->server, "ACL DELUSER far"), 1);
}

/* Slower, but nobody is forgotten: each looks for itself. */
SEM_TEST(without_the_right_to_publish_waiters_look_for_themselves)
{
    static const char *const rights[] = {"-publish", "-pubsub"};

    for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
        lk_semaphore *semaphore = sem_without(f, rights[i]);
        lk_hold *hold = sem_hold(semaphore, 3);
        taker *t = sem_take(f, semaphore, 2, LK_FOREVER, NULL);
        uint64_t begin;

        locking_wait_queued(f->base, "n", 1);
        begin = wait_now_ms();
        assert_status(lk_hold_release(hold), LK_OK);
        assert_status(taker_join(t), LK_OK);
        assert_in_range(wait_now_ms() - begin, 0,
                        wait_allowed_ms(LOOK_MS + wait_scaled_ms(SLACK_MS)));
        assert_status(taker_release(t), LK_OK);
        sem_assert_clean(f, 3);
    }
    assert_int_equal(server_integer(f->base->server, "ACL DELUSER far"), 1);
}

int main(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
