/* SPDX-License-Identifier: MIT */

/* Opening a client: where it connects, as whom, and what it says if not. */

#include <latchkey/latch.h>
#include <latchkey/multilock.h>
#include <latchkey/stripes.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/locking.h"
#include "support/proxy.h"
#include "support/socket.h"
#include "support/wait.h"

enum { READY_MS = 5000, LONG_WAIT_MS = 60000 };

/* The line of CLIENT LIST with this in it; free it. NULL: none. */
static char *connection_with(locking *f, const char *text)
{
    char *list = server_string(f->server, "CLIENT LIST");
    char *rest = NULL;
    char *found = NULL;

    for (char *line = strtok_r(list, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (strstr(line, text) != NULL) {
            found = strdup(line);
            break;
        }
    }
    free(list);
    return found;
}

static void assert_connected_with(locking *f, const char *text)
{
    char *line = connection_with(f, text);

    if (line == NULL)
        fail_msg("no connection with %s", text);
    free(line);
}

/* A user `app` with the password `secret`, who may do everything. */
static void user_make(locking *f)
{
    redisReply *reply =
        server_command(f->server,
                       "ACL SETUSER app on >secret allkeys allchannels +@all");

    assert_int_equal(reply->type, REDIS_REPLY_STATUS);
    freeReplyObject(reply);
}

/* ---- connecting ---- */

LOCKS_TEST(a_client_gets_ready_over_a_unix_socket)
{
    lk_client *client = locking_open(f, NULL);

    assert_status(lk_client_wait_ready(client, 0), LK_OK);
    assert_int_equal(strlen(lk_client_id(client)), 32);
    assert_int_equal(locking_stats(client).connects, 1);
}

LOCKS_TEST(a_client_gets_ready_over_tcp)
{
    const char *url = server_tcp_url(f->server);
    lk_client *client = locking_open_url(f, url, NULL);
    char address[32];

    assert_status(lk_client_wait_ready(client,
                                       (int64_t)wait_limit_ms(READY_MS)),
                  LK_OK);
    (void)snprintf(address, sizeof(address), "laddr=127.0.0.1%s",
                   strrchr(url, ':'));
    assert_connected_with(f, address);
    lk_hold_release(locking_hold(locking_lock(f, client, "n")));
}

LOCKS_TEST(the_name_is_shown_to_operators)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .name = "night-shift"};

    locking_open(f, &options);
    assert_connected_with(f, " name=night-shift ");
}

LOCKS_TEST(without_a_name_the_program_is_shown)
{
    locking_open(f, NULL);
    assert_connected_with(f, " name=test_integratio");
}

LOCKS_TEST(the_database_of_the_url_is_used)
{
    char url[160];
    lk_client *client;
    lk_hold *hold;

    (void)snprintf(url, sizeof(url), "%s/3", server_tcp_url(f->server));
    client = locking_open_url(f, url, NULL);
    assert_status(lk_client_wait_ready(client,
                                       (int64_t)wait_limit_ms(READY_MS)),
                  LK_OK);
    hold = locking_hold(locking_lock(f, client, "n"));
    assert_connected_with(f, " db=3 ");
    assert_false(locking_exists(f, "n"));
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(an_option_beats_the_url)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .db = 5,
                                       .name = "of-the-option"};
    char url[160];
    lk_client *client;

    (void)snprintf(url, sizeof(url), "%s?db=3&name=of-the-url",
                   server_url(f->server));
    client = locking_open_url(f, url, &options);
    assert_status(lk_client_wait_ready(client,
                                       (int64_t)wait_limit_ms(READY_MS)),
                  LK_OK);
    assert_connected_with(f, " name=of-the-option ");
    assert_connected_with(f, " db=5 ");
}

LOCKS_TEST(a_time_of_the_url_is_obeyed)
{
    char url[160];
    lk_client *client;
    lk_hold *hold;

    (void)snprintf(url, sizeof(url), "%s?watchdog_ms=20s",
                   server_url(f->server));
    client = locking_open_url(f, url, NULL);
    assert_status(lk_client_wait_ready(client,
                                       (int64_t)wait_limit_ms(READY_MS)),
                  LK_OK);
    hold = locking_hold(locking_lock(f, client, "n"));
    assert_in_range(lk_hold_remaining_ms(hold), 1, 19798);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* ---- as whom ---- */

LOCKS_TEST(a_user_logs_in_with_a_password)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "app",
                                       .password = "secret"};

    user_make(f);
    locking_open(f, &options);
    assert_connected_with(f, " user=app ");
}

LOCKS_TEST(a_user_in_the_url_logs_in)
{
    char url[160];
    lk_client *client;

    user_make(f);
    (void)snprintf(url, sizeof(url), "unix://app:secret@%s",
                   server_socket(f->server));
    client = locking_open_url(f, url, NULL);
    assert_status(lk_client_wait_ready(client,
                                       (int64_t)wait_limit_ms(READY_MS)),
                  LK_OK);
    assert_connected_with(f, " user=app ");
}

LOCKS_TEST(a_wrong_password_is_eauth_at_once)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "app",
                                       .password = "wrong"};
    lk_client *client;
    uint64_t begin = wait_now_ms();

    user_make(f);
    client = locking_open_url(f, server_url(f->server), &options);
    assert_status(lk_client_wait_ready(client, 60000), LK_EAUTH);
    assert_in_range(wait_now_ms() - begin, 0, wait_limit_ms(READY_MS));
    assert_non_null(strstr(lk_last_error(), "WRONGPASS"));
}

LOCKS_TEST(an_acquire_with_a_wrong_password_is_eauth)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "app",
                                       .password = "wrong"};
    lk_client *client;
    lk_hold *hold = NULL;

    user_make(f);
    client = locking_open_url(f, server_url(f->server), &options);
    assert_status(lk_lock_acquire(locking_lock(f, client, "n"), 60000, NULL,
                                  &hold),
                  LK_EAUTH);
    assert_null(hold);
}

/* ---- nobody there ---- */

static lk_client *open_to_nobody(locking *f, uint64_t offline_ms)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = 300,
                                       .offline_ms = offline_ms};

    return locking_open_url(f, "unix:/nowhere/redis.sock", &options);
}

LOCKS_TEST(to_wait_for_a_server_that_is_not_there_times_out)
{
    lk_client *client = open_to_nobody(f, 0);
    uint64_t begin = wait_now_ms();
    call c = {0};

    assert_status(lk_client_wait_ready(client, 200), LK_ETIMEDOUT);
    assert_in_range(wait_now_ms() - begin, 200,
                    wait_allowed_ms(200 + wait_scaled_ms(300)));
    assert_status(lk_client_wait_ready(client, 0), LK_ETIMEDOUT);
    assert_status(lk_client_wait_ready_async(client, 50, call_on_done, &c),
                  LK_OK);
    assert_status(call_wait(&c, NULL), LK_ETIMEDOUT);
}

LOCKS_TEST(to_try_without_a_server_is_offline_within_its_time)
{
    lk_client *client = open_to_nobody(f, 0);
    lk_lock *lock = locking_lock(f, client, "n");
    uint64_t begin = wait_now_ms();
    bool locked = false;
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(lock, 0, NULL, &hold), LK_EOFFLINE);
    assert_status(lk_lock_is_locked(lock, &locked), LK_EOFFLINE);
    assert_true(strlen(lk_last_error()) > 0);
    assert_status(lk_lock_force_release(lock), LK_EOFFLINE);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(900 + wait_scaled_ms(600)));
}

LOCKS_TEST(a_wait_shorter_than_the_outage_times_out)
{
    lk_lock *lock = locking_lock(f, open_to_nobody(f, 60000), "n");
    uint64_t begin = wait_now_ms();
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(lock, 200, NULL, &hold), LK_ETIMEDOUT);
    assert_in_range(wait_now_ms() - begin, 200,
                    wait_allowed_ms(200 + wait_scaled_ms(300)));
}

LOCKS_TEST(a_wait_ends_offline_when_the_outage_lasts)
{
    lk_lock *lock = locking_lock(f, open_to_nobody(f, 200), "n");
    uint64_t begin = wait_now_ms();
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(lock, LONG_WAIT_MS, NULL, &hold),
                  LK_EOFFLINE);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(200 + wait_scaled_ms(300)));
    assert_status(lk_lock_acquire(lock, LONG_WAIT_MS, NULL, &hold),
                  LK_EOFFLINE);
}

/* Both in lk_last_error(), and no password. */
static void assert_tells(const char *where, const char *cause)
{
    const char *words = lk_last_error();

    if (strstr(words, where) == NULL || strstr(words, cause) == NULL ||
        strstr(words, "hush") != NULL)
        fail_msg("\"%s\" does not tell of %s and \"%s\"", words, where, cause);
}

struct expected {
    lk_lock *lock;
    const char *cause;
};

static bool is_cause_known(const struct expected *e)
{
    lk_hold *hold = NULL;

    return lk_lock_acquire(e->lock, 1, NULL, &hold) != LK_OK &&
           strstr(lk_last_error(), e->cause) != NULL;
}

static void
assert_failures_tell(lk_client *client, const char *where, const char *cause)
{
    lk_lock *lock;
    lk_latch *latch;
    lk_stripes *stripes;
    lk_multilock *all;
    lk_hold *hold = NULL;

    assert_status(lk_lock_new(&lock, client, "n", NULL), LK_OK);
    assert_soon(is_cause_known(&(struct expected){lock, cause}), READY_MS);
    assert_status(lk_lock_acquire(lock, 100, NULL, &hold), LK_ETIMEDOUT);
    assert_tells(where, cause);
    assert_status(lk_lock_acquire(lock, 0, NULL, &hold), LK_EOFFLINE);
    assert_tells(where, cause);
    assert_status(lk_latch_new(&latch, client, "l", NULL), LK_OK);
    assert_status(lk_latch_wait(latch, 100, NULL), LK_ETIMEDOUT);
    assert_tells(where, cause);
    assert_status(lk_multilock_new(&all), LK_OK);
    assert_status(lk_multilock_add_lock(all, lock), LK_OK);
    assert_status(lk_multilock_acquire(all, 100, NULL, &hold), LK_ETIMEDOUT);
    assert_tells(where, cause);
    assert_status(lk_stripes_new(&stripes, client, "s", NULL), LK_OK);
    assert_status(lk_stripes_acquire(stripes, "k", 100, NULL, &hold),
                  LK_ETIMEDOUT);
    assert_tells(where, cause);
    assert_status(lk_lock_force_release(lock), LK_EOFFLINE);
    assert_tells(where, cause);
    lk_stripes_free(stripes);
    lk_multilock_free(all);
    lk_latch_free(latch);
    lk_lock_free(lock);
}

LOCKS_TEST(who_does_not_reach_the_server_is_told_which_and_why)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = 300};

    assert_failures_tell(open_to_nobody(f, 0), "unix:/nowhere/redis.sock",
                         "no such file");
    assert_failures_tell(locking_open_url(f, "redis://:hush@127.0.0.1:1",
                                          &options),
                         "127.0.0.1:1 ", "connection refused");
}

/* Both end a stream in the greeting. A server that has greeted before has ended;
   of another one either may be so. */
LOCKS_TEST(a_server_that_ends_is_not_taken_for_one_with_tls)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .offline_ms = 300,
                                       .command_timeout_ms = 300};
    proxy *p = proxy_start_tcp(server_socket(f->server));
    lk_client *client = locking_open_url(f, proxy_url(p), &options);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_hold *hold = NULL;

    assert_status(lk_client_wait_ready(client,
                                       (int64_t)wait_limit_ms(READY_MS)),
                  LK_OK);
    proxy_cut(p, PROXY_ALL, PROXY_REQUESTS, 0);
    proxy_reset(p, PROXY_ALL);
    assert_status(lk_lock_acquire(lock, LONG_WAIT_MS, NULL, &hold),
                  LK_EOFFLINE);
    assert_null(strstr(lk_last_error(), "TLS"));
    client = locking_open_url(f, proxy_url(p), &options);
    assert_status(lk_lock_acquire(locking_lock(f, client, "n"), LONG_WAIT_MS,
                                  NULL, &hold),
                  LK_EOFFLINE);
    assert_non_null(strstr(lk_last_error(),
                           "perhaps the port speaks TLS: rediss://, or it has "
                           "just ended"));
    proxy_stop(p);
}

LOCKS_TEST(a_client_gets_ready_when_the_server_comes)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .offline_ms = 100};
    lk_client *client;
    lk_hold *hold = NULL;

    server_kill(f->server);
    client = locking_open_url(f, server_url(f->server), &options);
    assert_status(lk_lock_acquire(locking_lock(f, client, "n"), LONG_WAIT_MS,
                                  NULL, &hold),
                  LK_EOFFLINE);
    assert_true(server_restart(f->server));
    assert_status(lk_client_wait_ready(client,
                                       (int64_t)wait_limit_ms(READY_MS)),
                  LK_OK);
    assert_status(lk_hold_release(locking_hold((lk_lock *)f->handles[0])),
                  LK_OK);
}

/* What was offline once has its time again at the next outage. */
LOCKS_TEST(a_short_outage_is_ridden_out_after_a_long_one)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .offline_ms = wait_scaled_ms(1000)};
    lk_client *client;
    lk_lock *lock;
    lk_hold *hold = NULL;
    taker *t;

    server_kill(f->server);
    client = locking_open_url(f, server_url(f->server), &options);
    lock = locking_lock(f, client, "n");
    assert_status(lk_lock_acquire(lock, LONG_WAIT_MS, NULL, &hold),
                  LK_EOFFLINE);
    assert_true(server_restart(f->server));
    assert_status(lk_client_wait_ready(client,
                                       (int64_t)wait_limit_ms(READY_MS)),
                  LK_OK);
    hold = locking_hold(locking_new(f, lk_lock));
    t = locking_take(f, lock, LK_FOREVER, NULL);
    locking_wait_queued(f, "n", 1);
    freeReplyObject(server_command(f->server, "CLIENT KILL TYPE normal"));
    locking_wait_connects(client, 3);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
}

/* ---- the URL ---- */

static void assert_url_is_refused(const char *url, lk_status status)
{
    lk_client *client = (void *)1;

    assert_status(lk_client_open(&client, url, NULL), status);
    assert_ptr_equal(client, (void *)1);
    assert_true(strlen(lk_last_error()) > 0);
}

CHECK_TEST_OF(a_malformed_url_is_refused_with_words, NO_STATE, locking_setup,
              locking_teardown)
{
    assert_url_is_refused("", LK_EURL);
    assert_url_is_refused("localhost", LK_EURL);
    assert_url_is_refused("redis://host:port", LK_EURL);
    assert_url_is_refused("redis://host/x", LK_EURL);
    assert_url_is_refused("redis://host?colour=red", LK_EURL);
    assert_url_is_refused("redis://host?watchdog_ms=soon", LK_EURL);
    assert_url_is_refused("unix:relative", LK_EURL);
    assert_url_is_refused(NULL, LK_EURL);
    assert_url_is_refused("redis-cluster://host/1", LK_EURL);
}

CHECK_TEST_OF(the_words_on_a_url_keep_the_password, NO_STATE, locking_setup,
              locking_teardown)
{
    assert_url_is_refused("redis://app:hush-hush@host:port", LK_EURL);
    assert_null(strstr(lk_last_error(), "hush"));
}

CHECK_GROUP(locking_start_server, locking_stop_server)
