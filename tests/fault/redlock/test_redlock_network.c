/* SPDX-License-Identifier: MIT */

/* The lock over several servers, on a network that loses and keeps bytes. */

#include <string.h>

#include "support/check.h"
#include "support/proxy.h"
#include "support/redlocking.h"
#include "support/wait.h"

enum { SOON_MS = 5000, NODE_MS = 100 };

static lk_redlock_options quick(void)
{
    lk_redlock_options options = redlocking_options();

    options.lease_ms = 600000; /* what is left behind does not go by itself */
    options.node_timeout_ms = wait_limit_ms(NODE_MS);
    return options;
}

typedef struct cable {
    proxy *proxies[3];
    lk_client *clients[3];
    lk_redlock *lock;
} cable;

static cable cable_start(locking *f, const lk_redlock_options *options)
{
    cable c;
    const lk_client_options impatient = {LK_CLIENT_OPTIONS_INIT,
                                         .command_timeout_ms =
                                             wait_limit_ms(400)};

    for (size_t i = 0; i < 3; i++) {
        c.proxies[i] = proxy_start(server_socket(redlocking_servers[i]));
        assert_non_null(c.proxies[i]);
        c.clients[i] =
            redlocking_open_url(f, proxy_url(c.proxies[i]), &impatient);
    }
    c.lock = redlocking_make_of(f, c.clients, 3, options);
    return c;
}

/* A stream that has lost bytes must not go on. */
static void cable_mend(cable *c)
{
    for (size_t i = 0; i < 3; i++) {
        proxy_heal(c->proxies[i]);
        proxy_reset(c->proxies[i], PROXY_ALL);
    }
}

static void cable_free(cable *c)
{
    for (size_t i = 0; i < 3; i++)
        proxy_stop(c->proxies[i]);
}

static lk_client_stats stats_of(lk_client *client)
{
    lk_client_stats stats = {.size = sizeof(stats)};

    assert_status(lk_client_stats_get(client, &stats), LK_OK);
    return stats;
}

static bool is_calm(void *client)
{
    lk_client_stats stats = stats_of(client);

    return stats.connects >= 2 && stats.pending == 0 &&
           lk_client_wait_ready(client, 0) == LK_OK;
}

/* Each client has connected again, and everything it asked was answered. */
static void cable_wait_calm(cable *c)
{
    for (size_t i = 0; i < 3; i++)
        assert_true(wait_until(is_calm, c->clients[i], SOON_MS));
}

/* Both were lost. Over the next connection the delete alone is said again. */
REDLOCKING_TEST(an_acquire_is_not_said_again_behind_its_delete)
{
    lk_redlock_options options = quick();
    cable c = cable_start(f, &options);
    lk_hold *hold = NULL;

    for (size_t i = 0; i < 2; i++)
        proxy_swallow(c.proxies[i], PROXY_ALL, PROXY_REQUESTS);
    assert_status(lk_redlock_acquire(c.lock, 0, NULL, &hold), LK_EQUORUM);
    cable_mend(&c);
    cable_wait_calm(&c);
    assert_int_equal(redlocking_planted(3), 0);
    cable_free(&c);
}

REDLOCKING_TEST(a_cut_after_the_acquire_leaves_nothing_behind)
{
    lk_redlock_options options = quick();
    cable c = cable_start(f, &options);
    lk_hold *hold = NULL;

    for (size_t i = 0; i < 2; i++)
        proxy_drop_replies(c.proxies[i], PROXY_ALL, true);
    assert_status(lk_redlock_acquire(c.lock, 0, NULL, &hold), LK_EQUORUM);
    cable_mend(&c);
    redlocking_wait_planted(3, 0);
    cable_free(&c);
}

/* The network keeps the requests until after the client has given up. */
REDLOCKING_TEST(an_acquire_that_arrives_late_leaves_nothing_behind)
{
    lk_redlock_options options = quick();
    cable c = cable_start(f, &options);
    lk_hold *hold = NULL;

    for (size_t i = 0; i < 2; i++)
        proxy_hold(c.proxies[i], PROXY_ALL, PROXY_REQUESTS);
    assert_status(lk_redlock_acquire(c.lock, 0, NULL, &hold), LK_EQUORUM);
    for (size_t i = 0; i < 2; i++)
        proxy_release(c.proxies[i], PROXY_ALL, PROXY_REQUESTS);
    assert_status(lk_redlock_acquire(c.lock, (int64_t)wait_limit_ms(SOON_MS),
                                     NULL, &hold),
                  LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    redlocking_wait_planted(3, 0);
    cable_free(&c);
}

REDLOCKING_TEST(a_release_in_doubt_goes_on_in_the_background)
{
    lk_redlock_options options = quick();
    cable c = cable_start(f, &options);
    lk_hold *hold = locking_hold(c.lock);

    redlocking_wait_planted(3, 3);
    for (size_t i = 0; i < 2; i++)
        proxy_swallow(c.proxies[i], PROXY_ALL, PROXY_REQUESTS);
    assert_status(lk_hold_release(hold), LK_EPENDING);
    for (size_t i = 0; i < 2; i++)
        /* Each server was found silent, and the connection given up for it. */
        assert_soon(stats_of(c.clients[i]).disconnects >= 1, SOON_MS);
    assert_int_equal(redlocking_planted(2), 2);
    cable_mend(&c);
    redlocking_wait_planted(3, 0);
    cable_free(&c);
}

/* Of the connections that there are; those to come are whole. */
static void cable_lose_the_next_replies(cable *c)
{
    for (size_t i = 0; i < 3; i++) {
        for (int n = 0; n < proxy_accepted(c->proxies[i]); n++)
            proxy_drop_replies(c->proxies[i], n, true);
    }
}

/* Each server has taken the token away, says so to nobody, and finds none when it is
   asked again over the next connection. The second time with DELIFEQ, where that is. */
REDLOCKING_TEST(a_release_whose_answers_are_lost_finds_no_loss)
{
    lk_redlock_options options = redlocking_options();
    cable c = cable_start(f, &options);

    for (int round = 0; round < 2; round++) {
        lk_hold *hold = locking_hold(c.lock);

        redlocking_wait_planted(3, 3);
        cable_lose_the_next_replies(&c);
        assert_status(lk_hold_release(hold), LK_OK);
        redlocking_wait_planted(3, 0);
        assert_status(lk_hold_release(locking_hold(c.lock)), LK_OK);
    }
    cable_free(&c);
}

/* The answers are good, but too little is left of the lease by then. */
REDLOCKING_TEST(a_grant_that_is_not_useful_any_more_is_given_back)
{
    lk_redlock_options options = redlocking_options();
    cable c;
    lk_hold *hold = NULL;

    options.lease_ms = 20000;
    options.node_timeout_ms = 15000;
    options.useful_ms = options.lease_ms - options.lease_ms / 80;
    c = cable_start(f, &options);
    for (size_t i = 0; i < 2; i++)
        proxy_delay(c.proxies[i], PROXY_ALL, PROXY_REPLIES,
                    (unsigned)options.lease_ms / 80);
    assert_status(lk_redlock_acquire(c.lock, 0, NULL, &hold), LK_EQUORUM);
    if (strstr(lk_last_error(), "useful_ms") == NULL)
        assert_string_equal(lk_last_error(), "useful_ms");
    redlocking_wait_planted(3, 0);
    cable_free(&c);
}

CHECK_GROUP(redlocking_start_servers, redlocking_stop_servers)
