/* SPDX-License-Identifier: MIT */

/*
 * Semaphores over a network and on a server that break: whatever is lost, no
 * permit is counted twice, none is lost, and no wait is forgotten.
 */

#include <stdlib.h>

#include "support/check.h"
#include "support/proxy.h"
#include "support/semaphores.h"
#include "support/wait.h"

enum { COMMAND = 0, SOON_MS = 10000 };

/* A semaphore n of three permits; `far` is used through the proxy. */
typedef struct scene {
    locking *f;
    proxy *proxy;
    lk_client *far_client;
    lk_semaphore *far, *near;
} scene;

/* The far client's inbox stands, and nothing of it is under way. */
static scene scene_open(locking *f, const lk_client_options *options)
{
    scene sc = {.f = f, .proxy = locking_proxy(f)};

    sc.far_client = locking_open_far(f, options);
    assert_status(lk_hold_release(locking_hold(
                      locking_lock(f, sc.far_client, "elsewhere"))),
                  LK_OK);
    locking_wait_connects(sc.far_client, 2);
    locking_wait_calm(sc.far_client);
    sc.far = sem_of(f, sc.far_client, 3);
    sc.near = sem_calm(f, 3);
    assert_status(lk_hold_release(sem_hold(sc.near, 1)), LK_OK);
    return sc;
}

/* ---- while waiting ------------------------------------------------------------ */

/* A waiter that was passed by for want of an inbox comes back to its place. */
LOCKS_TEST(a_large_request_that_was_away_keeps_its_place)
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
    locking_wait_queued(sc.f, "n", 1);
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

LOCKS_TEST(a_resize_whose_reply_is_lost_is_in_doubt)
{
    scene sc = scene_open(f, NULL);

    proxy_drop_replies(sc.proxy, COMMAND, true);
    assert_status(lk_semaphore_resize(sc.far, 5), LK_EINDOUBT);
    sem_assert_books(sc.f, 5, 5);
    assert_status(lk_semaphore_resize(sc.near, 3), LK_OK);
    sem_assert_clean(sc.f, 3);
}

LOCKS_TEST(a_force_whose_reply_is_lost_is_in_doubt)
{
    scene sc = scene_open(f, NULL);
    lk_hold *hold = sem_hold(sc.near, 2);

    proxy_drop_replies(sc.proxy, COMMAND, true);
    assert_status(lk_semaphore_force_release(sc.far, NULL), LK_EPENDING);
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_status(lk_hold_release(hold), LK_ELOST);
    sem_assert_clean(sc.f, 3);
}

/* A question is asked again: it changes nothing. */
LOCKS_TEST(a_count_whose_reply_is_lost_is_answered)
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

/* ---- the server --------------------------------------------------------------------- */

LOCKS_TEST(a_restart_with_its_data_loses_nothing)
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
    client = locking_open_url(f, server_url(kept), NULL);
    semaphore = sem_with(f, client, "n", &options);
    hold = sem_hold(semaphore, 2);
    t = sem_take(f, semaphore, 3, LK_FOREVER, NULL);
    while (server_integer(kept, "ZCARD latchkey:{n}:q") == 0)
        locking_pass_time(1);
    assert_true(server_restart(kept));
    assert_status(lk_client_wait_ready(client, (int64_t)wait_limit_ms(10000)),
                  LK_OK);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_int_equal(server_integer(kept, "INCRBY n 0"), 1);
    assert_true(taker_waits(t));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    assert_int_equal(server_integer(kept, "INCRBY n 0"), 3);
    locking_free_client(f, client);
    server_stop(kept);
}

LOCKS_TEST(a_full_server_keeps_what_it_has)
{
    lk_semaphore *semaphore = sem_calm(f, 3);
    lk_hold *hold = sem_hold(semaphore, 3);
    taker *t = sem_queue_up(f, semaphore, 2, 1);
    lk_hold *none = NULL;

    free(server_string(f->server, "CONFIG SET maxmemory 1"));
    assert_status(lk_hold_extend(hold, 60000), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_status(lk_semaphore_acquire(semaphore, 1, 0, NULL, &none),
                  LK_ESERVERMEM);
    assert_status(lk_semaphore_resize(semaphore, 5), LK_ESERVERMEM);
    assert_null(none);
    sem_assert_books(f, 3, 1);
    assert_status(taker_release(t), LK_OK);
    free(server_string(f->server, "CONFIG SET maxmemory 0"));
    sem_assert_clean(f, 3);
}

/* ---- keys that others touch ------------------------------------------------------------ */

LOCKS_TEST(without_the_record_a_hold_is_lost_and_ends_by_itself)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_lease_ms()};
    lk_semaphore *semaphore = sem_of(f, locking_open_calm(f, &options), 3);
    lk_hold *hold = sem_hold(semaphore, 2);
    taker *t;

    assert_int_equal(server_integer(f->server, "DEL latchkey:{n}:h"), 1);
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_status(lk_hold_release(hold), LK_ELOST);
    t = sem_take(f, semaphore, 3, LK_FOREVER, NULL);
    assert_status(taker_release(t), LK_OK);
    sem_assert_clean(f, 3);
}

LOCKS_TEST(a_counter_that_becomes_a_lock_ends_a_wait)
{
    lk_semaphore *semaphore = sem_calm(f, 1);
    lk_hold *hold = sem_hold(semaphore, 1);
    taker *t = sem_queue_up(f, semaphore, 1, 1);

    assert_int_equal(server_integer(f->server, "DEL n"), 1);
    assert_int_equal(server_integer(f->server, "HSET n a b"), 1);
    assert_status(taker_join(t), LK_ETYPE);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* ---- rights ------------------------------------------------------------------------------- */

static lk_semaphore *sem_without(locking *f, const char *right)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "far",
                                       .password = "word"};

    free(server_string(f->server,
                       "ACL SETUSER far reset on >word ~* &* +@all %s", right));
    return sem_of(f, locking_open(f, &options), 3);
}

LOCKS_TEST(a_right_that_is_missing_is_told)
{
    static const char *const rights[] = {"-zadd", "-incrby", "-mget",   "-set",
                                         "-hget", "-hset",   "-pexpire"};

    assert_status(lk_hold_release(sem_hold(sem_new(f, 3), 1)), LK_OK);
    for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
        lk_semaphore *semaphore = sem_without(f, rights[i]);
        lk_hold *none = NULL;

        assert_denied(lk_semaphore_acquire(semaphore, 1, 0, NULL, &none),
                      LK_EDENIED, rights[i] + 1);
        assert_null(none);
        sem_assert_clean(f, 3);
    }
    assert_int_equal(server_integer(f->server, "ACL DELUSER far"), 1);
}

/* docs/semaphore.md has them. */
LOCKS_TEST(the_rights_of_the_manual_are_enough)
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

    free(server_string(f->server, "ACL LOG RESET"));
    free(server_string(
        f->server,
        "ACL SETUSER far reset on >word ~n* ~{n*}:timeout "
        "~latchkey:{n* ~latchkey:client:*"
        " resetchannels &latchkey:in:* &redisson_sc:*"
        " -@all +@connection +@hash +@sortedset +get +mget +set +del +exists"
        " +incrby +pexpire +pttl +eval +evalsha +publish +subscribe"
        " +pubsub|numsub +time +info"));
    client = locking_open(f, &options);
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
    denied = server_command(f->server, "ACL LOG");
    assert_int_equal(denied->elements, 0);
    freeReplyObject(denied);
    assert_int_equal(server_integer(f->server, "ACL DELUSER far"), 1);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
