/* SPDX-License-Identifier: MIT */

/*
 * The bare counter and its server: one that restarts, forgets its scripts, is
 * full, or denies something; keys in foreign hands. Each permit is counted
 * once, and who cannot have any is told why.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/paths.h"
#include "support/plain.h"
#include "support/wait.h"

enum { SOON_MS = 10000 };

static int end(void **state)
{
    locking *f = *state;

    free(server_string(f->server, "CONFIG SET maxmemory 0"));
    return locking_teardown(state);
}

#define FULL(name) CHECK_TEST_OF(name, locking *f, locking_setup, end)

/* ---- the server ------------------------------------------------------------------------ */

LOCKS_TEST(a_server_that_forgot_all_tells_its_waiters)
{
    lk_plain_semaphore *near = plain_with(f, 0);
    taker *t = plain_queue_up(f, locking_new(f, lk_plain_semaphore), 1, 1);

    assert_true(server_restart(f->server));
    assert_status(taker_join(t), LK_EUNSET);
    assert_status(lk_plain_semaphore_add(near, 1), LK_OK);
    assert_int_equal(plain_value(f), 1);
}

LOCKS_TEST(a_server_that_kept_its_data_keeps_the_queue)
{
    static const char *const kept[] = {"--appendonly", "yes", "--appendfsync",
                                       "always", NULL};
    server *s = server_start(kept);
    lk_client *client = locking_open_url(f, server_url(s), NULL);
    lk_plain_semaphore *semaphore = locking_of(f, lk_plain_semaphore, client);
    taker *t;
    uint64_t until = wait_now_ms() + wait_limit_ms(SOON_MS);

    assert_status(lk_client_wait_ready(client, (int64_t)wait_limit_ms(SOON_MS)),
                  LK_OK);
    assert_status(lk_plain_semaphore_try_set(semaphore, 0, 0), LK_OK);
    t = plain_begin(f, semaphore, 1, LK_FOREVER, NULL);
    while (server_integer(s, SERVER_WAITERS("n")) != 1)
        assert_true(wait_now_ms() < until);
    assert_true(server_restart(s));
    assert_int_equal(server_integer(s, SERVER_WAITERS("n")), 1);
    plain_give(semaphore, 1);
    assert_status(taker_join(t), LK_OK);
    assert_status(lk_client_shutdown(client, 60000), LK_OK);
    server_stop(s);
}

FULL(a_full_server_takes_permits_back)
{
    lk_plain_semaphore *semaphore = plain_with(f, 3);
    taker *t;

    free(server_string(f->server, "CONFIG SET maxmemory 1"));
    assert_status(lk_plain_semaphore_acquire(semaphore, 1, 0, NULL),
                  LK_ESERVERMEM);
    assert_status(lk_plain_semaphore_acquire(semaphore, 4, LK_FOREVER, NULL),
                  LK_ESERVERMEM);
    free(server_string(f->server, "CONFIG SET maxmemory 0"));
    plain_take(semaphore, 2, 0);
    t = plain_queue_up(f, locking_new(f, lk_plain_semaphore), 2, 1);
    free(server_string(f->server, "CONFIG SET maxmemory 1"));
    plain_give(semaphore, 2);
    assert_status(taker_join(t), LK_OK);
    assert_int_equal(plain_value(f), 1);
    plain_give(semaphore, 2);
    assert_status(lk_plain_semaphore_delete(semaphore), LK_OK);
    assert_status(lk_plain_semaphore_try_set(semaphore, 1, 0), LK_ESERVERMEM);
}

/* ---- foreign hands ------------------------------------------------------------------------ */

LOCKS_TEST(a_key_that_is_replaced_ends_its_waiters)
{
    taker *t;

    (void)plain_with(f, 0);
    t = plain_queue_up(f, locking_new(f, lk_plain_semaphore), 1, 1);
    /* In one step: a look in between would find it gone. */
    assert_int_equal(server_integer(f->server,
                                    "EVAL redis.call('DEL',KEYS[1])return("
                                    "redis.call('HSET',KEYS[1],'a','b')) 1 n"),
                     1);
    assert_status(taker_join(t), LK_ETYPE);
    assert_int_equal(server_integer(f->server, "HLEN n"), 1);
}

LOCKS_TEST(the_loss_of_all_side_keys_loses_no_permit)
{
    lk_plain_semaphore *semaphore = plain_with(f, 2);
    taker *t = plain_queue_up(f, locking_new(f, lk_plain_semaphore), 3, 1);

    assert_int_equal(server_integer(f->server,
                                    "DEL latchkey:{n}:q latchkey:{n}:m "
                                    "latchkey:{n}:r"),
                     3);
    plain_give(semaphore, 1);
    assert_status(taker_join(t), LK_OK);
    assert_int_equal(plain_value(f), 0);
}

/* ---- rights --------------------------------------------------------------------------------- */

static lk_plain_semaphore *denied(locking *f, const char *right)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "u",
                                       .password = "word"};
    lk_client *client;

    free(server_string(f->server,
                       "ACL SETUSER u reset on >word ~* &* +@all -%s", right));
    client = locking_open(f, &options);
    return locking_of(f, lk_plain_semaphore, client);
}

LOCKS_TEST(a_right_that_is_missing_is_told_and_nothing_is_changed)
{
    lk_plain_semaphore *semaphore = denied(f, "incrby");
    int64_t number = 0;

    (void)plain_with(f, 3);
    assert_status(lk_plain_semaphore_acquire(semaphore, 1, 0, NULL),
                  LK_EDENIED);
    assert_status(lk_plain_semaphore_release(semaphore, 1), LK_EDENIED);
    assert_status(lk_plain_semaphore_drain(semaphore, &number), LK_EDENIED);
    assert_status(lk_plain_semaphore_count(semaphore, &number), LK_OK);
    assert_int_equal(number, 3);
}

LOCKS_TEST(without_the_right_to_ask_waiters_still_get_permits)
{
    lk_plain_semaphore *blind = denied(f, "pubsub");
    taker *takers[2];

    (void)plain_with(f, 0);
    takers[0] = plain_queue_up(f, blind, 1, 1);
    takers[1] = plain_queue_up(f, locking_new(f, lk_plain_semaphore), 1, 2);
    plain_give(blind, 2);
    assert_status(taker_join(takers[0]), LK_OK);
    assert_status(taker_join(takers[1]), LK_OK);
    assert_int_equal(plain_value(f), 0);
}

/* The rights as the page of the manual gives them, as one line. */
static char *rights_of_the_manual(void)
{
    static const char path[] = LK_SOURCE_DIR "/docs/plain_semaphore.md";
    char *page = calloc(1, 65536);
    FILE *file = fopen(path, "r");
    char *begin, *finish;

    assert_non_null(page);
    assert_non_null(file);
    assert_in_range(fread(page, 1, 65535, file), 1, 65534);
    assert_int_equal(fclose(file), 0);
    begin = strstr(page, "ACL SETUSER");
    assert_non_null(begin);
    finish = strstr(begin, "```");
    assert_non_null(finish);
    *finish = '\0';
    memmove(page, begin, strlen(begin) + 1);
    return page;
}

static void set_rights(locking *f, char *rights)
{
    const char *words[128];
    size_t count = 0;
    char *rest = NULL;
    redisContext *context = redisConnectUnix(server_socket(f->server));
    redisReply *reply;

    for (char *word = strtok_r(rights, " \n", &rest);
         word != NULL && count < 128; word = strtok_r(NULL, " \n", &rest))
        words[count++] = word;
    reply = redisCommandArgv(context, (int)count, words, NULL);
    assert_non_null(reply);
    assert_string_equal(reply->str, "OK");
    freeReplyObject(reply);
    redisFree(context);
}

LOCKS_TEST(the_rights_in_the_manual_are_enough)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "app",
                                       .password = "secret"};
    char *rights = rights_of_the_manual();
    lk_plain_semaphore *semaphore;
    lk_info *info = NULL;
    int64_t number = 0;
    taker *t;

    set_rights(f, rights);
    free(rights);
    semaphore = locking_named(f, lk_plain_semaphore, locking_open(f, &options),
                              "jobs:1");
    assert_status(lk_plain_semaphore_try_set(semaphore, 1, 600000), LK_OK);
    plain_take(semaphore, 1, 0);
    t = plain_begin(f, semaphore, 1, LK_FOREVER, NULL);
    locking_wait_queued(f, "jobs:1", 1);
    assert_status(lk_plain_semaphore_info(semaphore, &info), LK_OK);
    lk_info_free(info);
    plain_give(semaphore, 1);
    assert_status(taker_join(t), LK_OK);
    assert_in_range(t->took_ms, 0, wait_allowed_ms(wait_scaled_ms(5000)));
    assert_status(lk_plain_semaphore_add(semaphore, 2), LK_OK);
    assert_status(lk_plain_semaphore_acquire(semaphore, 3, wait_scaled_ms(300),
                                             NULL),
                  LK_ETIMEDOUT);
    assert_status(lk_plain_semaphore_count(semaphore, &number), LK_OK);
    assert_status(lk_plain_semaphore_drain(semaphore, &number), LK_OK);
    assert_int_equal(number, 2);
    /* What the library forgets when it is time for that. */
    assert_int_equal(server_integer(f->server,
                                    "HSET latchkey:{jobs:1}:m old %b # %b",
                                    "1 1 0", (size_t)5, "1 0", (size_t)3),
                     1);
    plain_give(semaphore, 1);
    assert_int_equal(server_integer(f->server,
                                    "HEXISTS latchkey:{jobs:1}:m old"),
                     0);
    assert_status(lk_plain_semaphore_delete(semaphore), LK_OK);
}

int test_plain_server(void)
{
#undef FULL

    return check_all(locking_start_server, locking_stop_server);
}
