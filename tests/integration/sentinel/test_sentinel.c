/* SPDX-License-Identifier: MIT */

/*
 * A master that sentinels name: finding it, and what it takes to believe it. What comes
 * of another one: test_sentinel_switch.c.
 */

#include <latchkey/latchkey.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/made.h"
#include "support/sentinels.h"
#include "support/socket.h"
#include "support/wait.h"

enum { LONG_MS = 60000, BELIEF_MS = 3000 };

static sentinels *group;

static int start(NO_STATE)
{
    group = sentinels_start();
    return group != NULL ? 0 : -1;
}

static int stop(void **state)
{
    (void)made_end(state);
    sentinels_stop(group);
    group = NULL;
    return 0;
}

/* options: NULL: rides out what a busy machine makes of a start. */
static lk_client *open_url(const char *url, const lk_client_options *options)
{
    static const lk_client_options patient = {LK_CLIENT_OPTIONS_INIT,
                                              .offline_ms = LONG_MS};

    return made_client(url, options != NULL ? options : &patient);
}

/* ---- finding it ---------------------------------------------------------------- */

static void assert_taken(const char *url)
{
    lk_client *client = open_url(url, NULL);
    lk_lock *lock = made_lock(client, "n");
    lk_hold *hold = NULL;

    hold = made_hold(lock);
    assert_int_equal(server_integer(group->servers[0], "EXISTS n"), 1);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* Waits so long for a lock, in vain, and why. */
static void
assert_not_taken(const char *url, lk_status status, const char *words)
{
    const lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                                     .offline_ms = wait_limit_ms(1000)};
    lk_client *client = open_url(url, &brief);
    lk_lock *lock = made_lock(client, "n");
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(lock, LONG_MS, NULL, &hold), status);
    if (strstr(lk_last_error(), words) == NULL)
        assert_string_equal(lk_last_error(), words);
    assert_null(hold);
}

static const char *
url_of(char url[256], unsigned a, unsigned b, const char *rest)
{
    (void)snprintf(url, 256, "redis+sentinel://127.0.0.1:%u,127.0.0.1:%u/%s", a,
                   b, rest);
    return url;
}

static unsigned port_of(size_t sentinel)
{
    return server_port(group->sentinels[sentinel]);
}

MADE_TEST(it_is_found)
{
    assert_taken(group->url);
}

MADE_TEST(it_is_found_though_the_first_sentinel_is_dead)
{
    char url[256];

    (void)snprintf(url, sizeof(url),
                   "redis+sentinel://127.0.0.1:%u,127.0.0.1:%u,"
                   "127.0.0.1:%u/m",
                   socket_free_port(), port_of(1), port_of(2));
    assert_taken(url);
}

MADE_TEST(one_of_three_sentinels_is_not_enough)
{
    char url[256];

    (void)snprintf(url, sizeof(url), "redis+sentinel://127.0.0.1:%u/m",
                   port_of(0));
    assert_not_taken(url, LK_EOFFLINE,
                     "1 of 3 sentinels answered, 2 have to; the URL "
                     "names 1");
    assert_not_taken(url_of(url, port_of(0), socket_free_port(), "m"),
                     LK_EOFFLINE,
                     "1 of 3 sentinels answered, 2 have to; 127.0.0.1:");
}

MADE_TEST(where_speed_matters_more_one_is_enough)
{
    char url[256];

    assert_taken(
        url_of(url, port_of(0), socket_free_port(), "m?failover=fast"));
}

MADE_TEST(an_unknown_master_is_told)
{
    char url[256];

    assert_not_taken(url_of(url, port_of(0), port_of(1), "x"), LK_EOFFLINE,
                     "Sentinel's master 'x' cannot be reached: the sentinels "
                     "know no master of that name; write");
}

static bool is_listened_to(void *sentinel)
{
    char *listeners = server_string(sentinel, "CLIENT LIST TYPE pubsub");
    bool is = strstr(listeners, " sub=1 ") != NULL;

    free(listeners);
    return is;
}

MADE_TEST(every_sentinel_is_listened_to)
{
    for (size_t i = 0; i < SENTINELS; i++)
        /* The client of the test before is gone, but a sentinel may not have read yet
           that its connections are closed. */
        assert_soon(!is_listened_to(group->sentinels[i]), LONG_MS);
    (void)open_url(group->url, NULL);
    for (size_t i = 0; i < SENTINELS; i++)
        assert_true(wait_until(is_listened_to, group->sentinels[i], LONG_MS));
    assert_int_equal(server_integer(group->sentinels[0],
                                    "CLIENT KILL TYPE pubsub"),
                     1);
    assert_true(wait_until(is_listened_to, group->sentinels[0], LONG_MS));
}

/* A sentinel that has been told of a replica goes on to name it for a while. */
MADE_TEST(a_replica_is_refused)
{
    char config[128], url[256];
    server *sentinel;

    (void)snprintf(config, sizeof(config),
                   "sentinel monitor r 127.0.0.1 %u 1\n",
                   server_port(group->servers[1]));
    sentinel = server_start_sentinel(config);
    assert_non_null(sentinel);
    (void)snprintf(url, sizeof(url), "redis+sentinel://127.0.0.1:%u/r",
                   server_port(sentinel));
    assert_not_taken(url, LK_EREADONLY, "the server is a replica");
    server_stop(sentinel);
}

/* With a user of its own, which may ask for the address and nothing else. Since
   it does not tell how long it has named the master, that has to be seen. */
MADE_TEST(a_sentinel_may_want_a_password)
{
    char config[256], url[256];
    server *sentinel;
    uint64_t began;

    (void)snprintf(config, sizeof(config),
                   "sentinel monitor s 127.0.0.1 %u 1\n"
                   "user app on >secret -@all "
                   "+sentinel|get-master-addr-by-name\n",
                   server_port(group->servers[0]));
    sentinel = server_start_sentinel(config);
    assert_non_null(sentinel);
    (void)snprintf(url, sizeof(url),
                   "redis+sentinel://127.0.0.1:%u/s?sentinel_user=app&"
                   "sentinel_password=wrong",
                   server_port(sentinel));
    assert_not_taken(url, LK_EAUTH, "WRONGPASS");
    (void)snprintf(url, sizeof(url),
                   "redis+sentinel://127.0.0.1:%u/s?sentinel_user=app&"
                   "sentinel_password=secret",
                   server_port(sentinel));
    began = wait_now_ms();
    assert_taken(url);
    assert_true(wait_now_ms() - began >= BELIEF_MS);
    server_stop(sentinel);
}

MADE_TEST(a_server_alone_is_no_master_of_sentinels)
{
    lk_client *client = open_url(server_url(group->servers[0]), NULL);
    lk_master master = {.size = sizeof(master)};

    assert_status(lk_master_get(client, &master), LK_ENOTSUP);
}

MADE_TEST(a_redlock_takes_no_group)
{
    lk_client *client = open_url(group->url, NULL);
    lk_client *clients[] = {client};
    lk_redlock *redlock = NULL;

    assert_status(lk_redlock_new(&redlock, clients, 1, "n", NULL), LK_ENOTSUP);
}

/* ---- a sentinel that does not answer --------------------------------------------- */

/* It takes the client's connections and says nothing, until the client gives them up
   and tries again: meanwhile the master is believed by what the two others say, and
   leases are renewed as before. */
MADE_TEST(one_that_is_silent_holds_up_no_renewal)
{
    const lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                                     .watchdog_ms = wait_limit_ms(1250),
                                     .command_timeout_ms = wait_limit_ms(500)};
    lk_client *client;
    lk_client_stats stats = {.size = sizeof(stats)};
    lk_lock *lock;
    lk_hold *hold = NULL;

    server_freeze(group->sentinels[0]);
    client = open_url(group->url, &brief);
    lock = made_lock(client, "n");
    hold = made_hold(lock);
    do {
        assert_status(lk_hold_check(hold), LK_OK);
        assert_status(lk_client_stats_get(client, &stats), LK_OK);
        (void)poll(NULL, 0, 20);
    } while (stats.renewals < 6 || stats.disconnects < 2);
    assert_int_equal(stats.losses, 0);
    server_thaw(group->sentinels[0]);
    assert_status(lk_hold_release(hold), LK_OK);
}

int test_sentinel(void)
{
    if (getenv("LK_TEST_TLS") != NULL)
        return SERVER_LACKS;
    return check_all(start, stop);
}
