/* SPDX-License-Identifier: MIT */

/* See redlocking.h. */

#include "support/redlocking.h"

#include <stdlib.h>

#include "support/check.h"
#include "support/wait.h"

/* COMMAND_MS: the default. */
enum { SOON_MS = 5000, COMMAND_MS = 2000 };

/* ---- servers ---------------------------------------------------------------- */

server *redlocking_servers[REDLOCKING_SERVERS];
static bool stopped[REDLOCKING_SERVERS]; /* by redlocking_freeze() */

int redlocking_start_servers(void **state)
{
    (void)state;
    for (size_t i = 0; i < REDLOCKING_SERVERS; i++) {
        redlocking_servers[i] = server_start(NULL);
        if (redlocking_servers[i] == NULL)
            return -1;
    }
    return 0;
}

int redlocking_stop_servers(void **state)
{
    (void)state;
    for (size_t i = 0; i < REDLOCKING_SERVERS; i++)
        server_stop(redlocking_servers[i]);
    return 0;
}

int redlocking_setup(void **state)
{
    for (size_t i = 0; i < REDLOCKING_SERVERS; i++) {
        server *s = redlocking_servers[i];

        if (server_pid(s) == 0 && !server_restart(s))
            return -1;
        server_flush(s);
    }
    return locking_setup(state);
}

/* Nobody but the test itself is connected to any server. */
static bool is_alone(void *data)
{
    size_t lines = 0, servers = 0;

    (void)data;
    for (size_t i = 0; i < REDLOCKING_SERVERS; i++) {
        char *list;

        if (server_pid(redlocking_servers[i]) == 0)
            continue;
        list = server_string(redlocking_servers[i], "CLIENT LIST");
        for (const char *at = list; *at != '\0'; at++)
            lines += *at == '\n';
        free(list);
        servers++;
    }
    return lines == servers;
}

int redlocking_teardown(void **state)
{
    int failed;

    for (size_t i = 0; i < REDLOCKING_SERVERS; i++)
        redlocking_thaw(i);
    failed = locking_teardown(state);
    if (wait_until(is_alone, NULL, SOON_MS))
        return failed;
    print_error("a connection is left at a server\n");
    return -1;
}

void redlocking_freeze(size_t node)
{
    server_freeze(redlocking_servers[node]);
    stopped[node] = true;
}

void redlocking_thaw(size_t node)
{
    if (stopped[node])
        server_thaw(redlocking_servers[node]);
    stopped[node] = false;
}

/* ---- clients and locks --------------------------------------------------------- */

lk_client *redlocking_open_url(locking *f, const char *url,
                               const lk_client_options *options)
{
    lk_client_options usual = {LK_CLIENT_OPTIONS_INIT};
    lk_client *client;

    if (options != NULL)
        usual = *options;
    if (usual.command_timeout_ms == 0)
        usual.command_timeout_ms = COMMAND_MS;
    client = locking_open_url(f, url, &usual);
    assert_status(lk_client_wait_ready(client, (int64_t)wait_limit_ms(SOON_MS)),
                  LK_OK);
    return client;
}

lk_client *
redlocking_open(locking *f, size_t node, const lk_client_options *options)
{
    return redlocking_open_url(f, server_url(redlocking_servers[node]),
                               options);
}

lk_redlock_options redlocking_options(void)
{
    lk_redlock_options options = {LK_REDLOCK_OPTIONS_INIT,
                                  .lease_ms = 2 * (uint64_t)wait_lease_ms(),
                                  .node_timeout_ms = wait_lease_ms() / 2,
                                  .retry_ms = 10, .durable = 1};

    return options;
}

lk_redlock *redlocking_make_of(locking *f, lk_client *const *clients,
                               size_t count, const lk_redlock_options *options)
{
    lk_redlock_options usual = redlocking_options();
    lk_redlock *lock = NULL;

    assert_status(lk_redlock_new(&lock, clients, count, "n",
                                 options != NULL ? options : &usual),
                  LK_OK);
    return locking_keep(f, kinds[KIND_REDLOCK], clients[0], lock);
}

lk_redlock *
redlocking_make(locking *f, size_t count, const lk_redlock_options *options)
{
    lk_client *clients[REDLOCKING_SERVERS];

    assert_in_range(count, 1, REDLOCKING_SERVERS);
    for (size_t i = 0; i < count; i++)
        clients[i] = redlocking_open(f, i, NULL);
    return redlocking_make_of(f, clients, count, options);
}

lk_redlock_answer redlocking_answer(lk_redlock *lock, size_t node)
{
    lk_redlock_outcome outcome = {.size = sizeof(outcome)};

    assert_status(lk_redlock_outcome_get(lock, node, &outcome), LK_OK);
    return outcome.answer;
}

/* ---- what there is --------------------------------------------------------------- */

char *redlocking_token(size_t node)
{
    return server_string(redlocking_servers[node], "GET n");
}

size_t redlocking_planted(size_t count)
{
    size_t planted = 0;

    for (size_t i = 0; i < count; i++) {
        if (server_pid(redlocking_servers[i]) != 0 && !stopped[i])
            planted += server_integer(redlocking_servers[i], "EXISTS n") == 1;
    }
    return planted;
}

typedef struct expected {
    size_t count, planted;
} expected;

static bool is_planted(void *data)
{
    const expected *e = data;

    return redlocking_planted(e->count) == e->planted;
}

void redlocking_wait_planted(size_t count, size_t planted)
{
    expected e = {count, planted};

    if (!wait_until(is_planted, &e, SOON_MS))
        fail_msg("%zu servers have a token, not %zu", redlocking_planted(count),
                 planted);
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
