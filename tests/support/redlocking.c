/* SPDX-License-Identifier: MIT */

/* See redlocking.h. */

#include "support/redlocking.h"

#include <stdlib.h>

#include "support/check.h"
#include "support/wait.h"

enum { SOON_MS = 5000 };

/* ---- servers ---------------------------------------------------------------- */

int redlocking_start_servers(void **state)
{
    redlocking *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return -1;
    *state = f;
    for (size_t i = 0; i < REDLOCKING_SERVERS; i++) {
        f->servers[i] = server_start(NULL);
        if (f->servers[i] == NULL)
            return -1;
    }
    return 0;
}

int redlocking_stop_servers(void **state)
{
    redlocking *f = *state;

    for (size_t i = 0; i < REDLOCKING_SERVERS; i++)
        server_stop(f->servers[i]);
    free(f);
    return 0;
}

int redlocking_setup(void **state)
{
    redlocking *f = *state;

    for (size_t i = 0; i < REDLOCKING_SERVERS; i++) {
        if (server_pid(f->servers[i]) == 0 && !server_restart(f->servers[i]))
            return -1;
        server_flush(f->servers[i]);
    }
    return 0;
}

/* Nobody but the test itself is connected to any server. */
static bool is_alone(void *data)
{
    redlocking *f = data;
    size_t lines = 0, servers = 0;

    for (size_t i = 0; i < REDLOCKING_SERVERS; i++) {
        char *list;

        if (server_pid(f->servers[i]) == 0)
            continue;
        list = server_string(f->servers[i], "CLIENT LIST");
        for (const char *at = list; *at != '\0'; at++)
            lines += *at == '\n';
        free(list);
        servers++;
    }
    return lines == servers;
}

int redlocking_teardown(void **state)
{
    redlocking *f = *state;
    bool alone;

    for (size_t i = 0; i < REDLOCKING_SERVERS; i++)
        redlocking_thaw(f, i);
    for (size_t i = 0; i < f->lock_count; i++)
        lk_redlock_free(f->locks[i]);
    for (size_t i = 0; i < f->client_count; i++)
        lk_client_free(f->clients[i]);
    f->lock_count = 0;
    f->client_count = 0;
    alone = wait_until(is_alone, f, SOON_MS);
    if (!alone)
        print_error("a connection is left at a server\n");
    return alone ? 0 : -1;
}

void redlocking_freeze(redlocking *f, size_t node)
{
    server_freeze(f->servers[node]);
    f->stopped[node] = true;
}

void redlocking_thaw(redlocking *f, size_t node)
{
    if (f->stopped[node])
        server_thaw(f->servers[node]);
    f->stopped[node] = false;
}

/* ---- clients and locks --------------------------------------------------------- */

lk_client *redlocking_open_url(redlocking *f, const char *url,
                               const lk_client_options *options)
{
    lk_client *client = NULL;

    assert_in_range(f->client_count, 0, REDLOCKING_CLIENTS - 1);
    assert_status(lk_client_open(&client, url, options), LK_OK);
    f->clients[f->client_count++] = client;
    assert_status(lk_client_wait_ready(client, wait_scaled_ms(SOON_MS)), LK_OK);
    return client;
}

lk_client *
redlocking_open(redlocking *f, size_t node, const lk_client_options *options)
{
    return redlocking_open_url(f, server_url(f->servers[node]), options);
}

lk_redlock_options redlocking_options(void)
{
    lk_redlock_options options = {LK_REDLOCK_OPTIONS_INIT,
                                  .lease_ms = 2 * (uint64_t)wait_lease_ms(),
                                  .node_timeout_ms = wait_lease_ms() / 2,
                                  .retry_ms = 10, .durable = 1};

    return options;
}

lk_redlock *redlocking_make_of(redlocking *f, lk_client *const *clients,
                               size_t count, const lk_redlock_options *options)
{
    lk_redlock_options usual = redlocking_options();
    lk_redlock *lock = NULL;

    assert_in_range(f->lock_count, 0, REDLOCKING_LOCKS - 1);
    assert_status(lk_redlock_new(&lock, clients, count, "n",
                                 options != NULL ? options : &usual),
                  LK_OK);
    f->locks[f->lock_count++] = lock;
    return lock;
}

lk_redlock *
redlocking_make(redlocking *f, size_t count, const lk_redlock_options *options)
{
    lk_client *clients[REDLOCKING_SERVERS];

    assert_in_range(count, 1, REDLOCKING_SERVERS);
    for (size_t i = 0; i < count; i++)
        clients[i] = redlocking_open(f, i, NULL);
    return redlocking_make_of(f, clients, count, options);
}

lk_hold *redlocking_hold(lk_redlock *lock)
{
    lk_hold *hold = NULL;

    assert_status(lk_redlock_acquire(lock, 0, NULL, &hold), LK_OK);
    assert_non_null(hold);
    return hold;
}

lk_redlock_answer redlocking_answer(lk_redlock *lock, size_t node)
{
    lk_redlock_outcome outcome = {.size = sizeof(outcome)};

    assert_status(lk_redlock_outcome_get(lock, node, &outcome), LK_OK);
    return outcome.answer;
}

/* ---- what there is --------------------------------------------------------------- */

char *redlocking_token(redlocking *f, size_t node)
{
    return server_string(f->servers[node], "GET n");
}

size_t redlocking_planted(redlocking *f, size_t count)
{
    size_t planted = 0;

    for (size_t i = 0; i < count; i++) {
        if (server_pid(f->servers[i]) != 0 && !f->stopped[i])
            planted += server_integer(f->servers[i], "EXISTS n") == 1;
    }
    return planted;
}

typedef struct expected {
    redlocking *f;
    size_t count, planted;
} expected;

static bool is_planted(void *data)
{
    const expected *e = data;

    return redlocking_planted(e->f, e->count) == e->planted;
}

void redlocking_wait_planted(redlocking *f, size_t count, size_t planted)
{
    expected e = {f, count, planted};

    if (!wait_until(is_planted, &e, SOON_MS))
        fail_msg("%zu servers have a token, not %zu",
                 redlocking_planted(f, count), planted);
}

void redlocking_wait_lost(lk_hold *hold)
{
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
}

typedef struct stay {
    lk_hold *hold;
    uint64_t until;
} stay;

static bool is_over(void *data)
{
    const stay *s = data;

    return wait_now_ms() >= s->until || lk_hold_check(s->hold) != LK_OK;
}

void redlocking_keep(lk_hold *hold, uint64_t ms)
{
    stay s = {hold, wait_now_ms() + ms};

    assert_true(wait_until(is_over, &s, (unsigned)ms + SOON_MS));
    assert_status(lk_hold_check(hold), LK_OK);
}
