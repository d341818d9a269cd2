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
#include "support/plain.h"
#include "support/wait.h"

enum { SOON_MS = 10000 };

static int end(void **state)
{
    plain *f = *state;

    free(server_string(f->base->server, "CONFIG SET maxmemory 0"));
    return plain_end(state);
}

/* ---- the server ------------------------------------------------------------------------ */

static void a_server_that_forgot_all_tells_its_waiters(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *near = plain_with(f, 0);
    plain_taker *t = plain_queue_up(f, plain_of_new_client(f), 1, 1);

    assert_true(server_restart(f->base->server));
    assert_status(plain_join(t), LK_EUNSET);
    assert_status(lk_plain_semaphore_add(near, 1), LK_OK);
    assert_int_equal(plain_value(f), 1);
}

static void a_server_that_kept_its_data_keeps_the_queue(void **state)
{
    static const char *const kept[] = {"--appendonly", "yes", "--appendfsync",
                                       "always", NULL};
    plain *f = *state;
    server *s = server_start(kept);
    lk_client *client = locking_open_url(f->base, server_url(s), NULL);
    lk_plain_semaphore *semaphore = plain_of(f, client);
    plain_taker *t;
    uint64_t until = wait_now_ms() + wait_scaled_ms(SOON_MS);

    assert_status(lk_client_wait_ready(client,
                                       (int64_t)wait_scaled_ms(SOON_MS)),
                  LK_OK);
    assert_status(lk_plain_semaphore_try_set(semaphore, 0, 0), LK_OK);
    t = plain_begin(f, semaphore, 1, LK_FOREVER, NULL);
    while (server_integer(s, SERVER_WAITERS("n")) != 1)
        assert_true(wait_now_ms() < until);
    assert_true(server_restart(s));
    assert_int_equal(server_integer(s, SERVER_WAITERS("n")), 1);
    plain_give(semaphore, 1);
    assert_status(plain_join(t), LK_OK);
    assert_status(lk_client_shutdown(client, 1000), LK_OK);
    server_stop(s);
}

static void scripts_that_were_forgotten_are_sent_again(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = plain_with(f, 1);
    int64_t number = 0;
    plain_taker *t;

    free(server_string(f->base->server, "SCRIPT FLUSH"));
    plain_take(semaphore, 1, 0);
    t = plain_queue_up(f, plain_of_new_client(f), 1, 1);
    free(server_string(f->base->server, "SCRIPT FLUSH"));
    plain_give(semaphore, 1);
    assert_status(plain_join(t), LK_OK);
    free(server_string(f->base->server, "SCRIPT FLUSH"));
    assert_status(lk_plain_semaphore_count(semaphore, &number), LK_OK);
    assert_int_equal(number, 0);
    plain_give(semaphore, 1);
    assert_int_equal(plain_value(f), 1);
}

static void a_full_server_takes_permits_back(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = plain_with(f, 3);
    plain_taker *t;

    free(server_string(f->base->server, "CONFIG SET maxmemory 1"));
    assert_status(lk_plain_semaphore_acquire(semaphore, 1, 0, NULL),
                  LK_ESERVERMEM);
    assert_status(lk_plain_semaphore_acquire(semaphore, 4, LK_FOREVER, NULL),
                  LK_ESERVERMEM);
    free(server_string(f->base->server, "CONFIG SET maxmemory 0"));
    plain_take(semaphore, 2, 0);
    t = plain_queue_up(f, plain_of_new_client(f), 2, 1);
    free(server_string(f->base->server, "CONFIG SET maxmemory 1"));
    plain_give(semaphore, 2);
    assert_status(plain_join(t), LK_OK);
    assert_int_equal(plain_value(f), 1);
    plain_give(semaphore, 2);
    assert_status(lk_plain_semaphore_delete(semaphore), LK_OK);
    assert_status(lk_plain_semaphore_try_set(semaphore, 1, 0), LK_ESERVERMEM);
}

/* ---- foreign hands ------------------------------------------------------------------------ */

static void a_key_that_is_replaced_ends_its_waiters(void **state)
{
    plain *f = *state;
    plain_taker *t;

    (void)plain_with(f, 0);
    t = plain_queue_up(f, plain_of_new_client(f), 1, 1);
    /* In one step: a look in between would find it gone. */
    assert_int_equal(server_integer(f->base->server,
                                    "EVAL redis.call('DEL',KEYS[1])return("
                                    "redis.call('HSET',KEYS[1],'a','b')) 1 n"),
                     1);
    assert_status(plain_join(t), LK_ETYPE);
    assert_int_equal(server_integer(f->base->server, "HLEN n"), 1);
}

static void a_queue_that_is_deleted_is_made_anew(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = plain_with(f, 0);
    plain_taker *t = plain_queue_up(f, plain_of_new_client(f), 1, 1);

    assert_int_equal(server_integer(f->base->server, "DEL latchkey:{n}:q"), 1);
    locking_wait_queued(f->base, "n", 1);
    plain_give(semaphore, 1);
    assert_status(plain_join(t), LK_OK);
    assert_int_equal(plain_value(f), 0);
}

static void the_loss_of_all_side_keys_loses_no_permit(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = plain_with(f, 2);
    plain_taker *t = plain_queue_up(f, plain_of_new_client(f), 3, 1);

    assert_int_equal(server_integer(f->base->server,
                                    "DEL latchkey:{n}:q latchkey:{n}:m "
                                    "latchkey:{n}:r"),
                     3);
    plain_give(semaphore, 1);
    assert_status(plain_join(t), LK_OK);
    assert_int_equal(plain_value(f), 0);
}

/* ---- rights --------------------------------------------------------------------------------- */

static lk_plain_semaphore *denied(plain *f, const char *right)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "u",
                                       .password = "word"};
    lk_client *client;

    free(server_string(f->base->server,
                       "ACL SETUSER u reset on >word ~* &* +@all -%s", right));
    client = locking_open(f->base, &options);
    return plain_of(f, client);
}

static void a_right_that_is_missing_is_told_and_nothing_is_changed(void **state)
{
    plain *f = *state;
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

/* Nobody is told, and nobody can be asked: each looks for itself. */
static void without_the_right_to_publish_waiters_still_get_permits(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *mute = denied(f, "publish");
    plain_taker *takers[2];

    (void)plain_with(f, 0);
    takers[0] = plain_queue_up(f, plain_of_new_client(f), 1, 1);
    takers[1] = plain_queue_up(f, mute, 1, 2);
    plain_give(mute, 2);
    assert_status(plain_join(takers[0]), LK_OK);
    assert_status(plain_join(takers[1]), LK_OK);
    assert_int_equal(plain_value(f), 0);
}

static void without_the_right_to_ask_waiters_still_get_permits(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *blind = denied(f, "pubsub");
    plain_taker *takers[2];

    (void)plain_with(f, 0);
    takers[0] = plain_queue_up(f, blind, 1, 1);
    takers[1] = plain_queue_up(f, plain_of_new_client(f), 1, 2);
    plain_give(blind, 2);
    assert_status(plain_join(takers[0]), LK_OK);
    assert_status(plain_join(takers[1]), LK_OK);
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

static void set_rights(plain *f, char *rights)
{
    const char *words[128];
    size_t count = 0;
    char *rest = NULL;
    redisContext *context = redisConnectUnix(server_socket(f->base->server));
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

static void the_rights_in_the_manual_are_enough(void **state)
{
    plain *f = *state;
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "app",
                                       .password = "secret"};
    char *rights = rights_of_the_manual();
    lk_plain_semaphore *semaphore;
    lk_info *info = NULL;
    int64_t number = 0;
    plain_taker *t;

    set_rights(f, rights);
    free(rights);
    semaphore = plain_named(f, locking_open(f->base, &options), "jobs:1");
    assert_status(lk_plain_semaphore_try_set(semaphore, 1, 600000), LK_OK);
    plain_take(semaphore, 1, 0);
    t = plain_begin(f, semaphore, 1, LK_FOREVER, NULL);
    locking_wait_queued(f->base, "jobs:1", 1);
    assert_status(lk_plain_semaphore_info(semaphore, &info), LK_OK);
    lk_info_free(info);
    plain_give(semaphore, 1);
    assert_status(plain_join(t), LK_OK);
    assert_in_range(t->took_ms, 0, wait_scaled_ms(5000));
    assert_status(lk_plain_semaphore_add(semaphore, 2), LK_OK);
    assert_status(lk_plain_semaphore_acquire(semaphore, 3, wait_scaled_ms(300),
                                             NULL),
                  LK_ETIMEDOUT);
    assert_status(lk_plain_semaphore_count(semaphore, &number), LK_OK);
    assert_status(lk_plain_semaphore_drain(semaphore, &number), LK_OK);
    assert_int_equal(number, 2);
    /* What the library forgets when it is time for that. */
    assert_int_equal(server_integer(f->base->server,
                                    "HSET latchkey:{jobs:1}:m old %b # %b",
                                    "1 1 0", (size_t)5, "1 0", (size_t)3),
                     1);
    plain_give(semaphore, 1);
    assert_int_equal(server_integer(f->base->server,
                                    "HEXISTS latchkey:{jobs:1}:m old"),
                     0);
    assert_status(lk_plain_semaphore_delete(semaphore), LK_OK);
}

int main(void)
{
#define FULL(f) cmocka_unit_test_setup_teardown(f, plain_start, end)
    const struct CMUnitTest tests[] = {
        PLAIN_CASE(a_server_that_forgot_all_tells_its_waiters),
        PLAIN_CASE(a_server_that_kept_its_data_keeps_the_queue),
        PLAIN_CASE(scripts_that_were_forgotten_are_sent_again),
        FULL(a_full_server_takes_permits_back),
        PLAIN_CASE(a_key_that_is_replaced_ends_its_waiters),
        PLAIN_CASE(a_queue_that_is_deleted_is_made_anew),
        PLAIN_CASE(the_loss_of_all_side_keys_loses_no_permit),
        PLAIN_CASE(a_right_that_is_missing_is_told_and_nothing_is_changed),
        PLAIN_CASE(without_the_right_to_publish_waiters_still_get_permits),
        PLAIN_CASE(without_the_right_to_ask_waiters_still_get_permits),
        PLAIN_CASE(the_rights_in_the_manual_are_enough),
    };
#undef FULL

    return cmocka_run_group_tests_name("plain_server", tests,
                                       locking_start_server,
                                       locking_stop_server);
}
