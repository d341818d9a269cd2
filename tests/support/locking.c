/* SPDX-License-Identifier: MIT */
#include "support/locking.h"

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/wait.h"

/* COMMAND_MS: on a machine without time an answer takes seconds. */
enum { SOON_MS = 5000, COMMAND_MS = 20000 };

static server *the_server;

int locking_start_server(void **state)
{
    (void)state;
    the_server = server_start_tcp(NULL);
    return the_server != NULL ? 0 : -1;
}

int locking_stop_server(void **state)
{
    (void)state;
    server_stop(the_server);
    return 0;
}

int locking_setup(void **state)
{
    locking *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return -1;
    f->server = the_server;
    server_flush(the_server);
    *state = f;
    return 0;
}

/* ---- clients and locks ---- */

lk_client *
locking_open_url(locking *f, const char *url, const lk_client_options *options)
{
    lk_client_options patient = {LK_CLIENT_OPTIONS_INIT};
    lk_client *client = NULL;

    if (options != NULL)
        patient = *options;
    if (patient.command_timeout_ms == 0)
        patient.command_timeout_ms = COMMAND_MS;
    assert_true(f->client_count < LOCKING_CLIENTS);
    assert_status(lk_client_open(&client, url, &patient), LK_OK);
    f->clients[f->client_count++] = client;
    return client;
}

lk_client *locking_open(locking *f, const lk_client_options *options)
{
    lk_client *client = locking_open_url(f, server_url(f->server), options);

    assert_status(lk_client_wait_ready(client, wait_scaled_ms(SOON_MS)), LK_OK);
    return client;
}

lk_client *locking_open_watchdog(locking *f)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_lease_ms()};

    return locking_open(f, &options);
}

lk_client *locking_open_calm(locking *f, const lk_client_options *options)
{
    lk_client *client = locking_open(f, options);
    lk_lock *lock = NULL;

    assert_status(lk_lock_new(&lock, client, "calm", NULL), LK_OK);
    assert_status(lk_hold_release(locking_hold(lock)), LK_OK);
    lk_lock_free(lock);
    locking_wait_connects(client, 2);
    locking_wait_integer(f, 1, "DEL %s", "latchkey:{calm}:r");
    return client;
}

proxy *locking_proxy(locking *f)
{
    if (f->proxy == NULL)
        f->proxy = proxy_start(server_socket(f->server));
    assert_non_null(f->proxy);
    return f->proxy;
}

lk_client *locking_open_far(locking *f, const lk_client_options *options)
{
    lk_client *client =
        locking_open_url(f, proxy_url(locking_proxy(f)), options);

    assert_status(lk_client_wait_ready(client, wait_scaled_ms(SOON_MS)), LK_OK);
    return client;
}

void locking_free_client(locking *f, lk_client *client)
{
    for (size_t i = 0; i < f->client_count; i++) {
        if (f->clients[i] == client)
            f->clients[i] = NULL;
    }
    lk_client_free(client);
}

lk_lock *locking_lock(locking *f, lk_client *client, const char *name)
{
    lk_lock *lock = NULL;

    assert_true(f->lock_count < LOCKING_LOCKS);
    assert_status(lk_lock_new(&lock, client, name, NULL), LK_OK);
    f->locks[f->lock_count++] = lock;
    return lock;
}

void locking_free_lock(locking *f, lk_lock *lock)
{
    for (size_t i = 0; i < f->lock_count; i++) {
        if (f->locks[i] == lock)
            f->locks[i] = NULL;
    }
    lk_lock_free(lock);
}

lk_hold *locking_hold(lk_lock *lock)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(lock, 0, NULL, &hold), LK_OK);
    return hold;
}

lk_hold *locking_hold_for(lk_lock *lock, uint64_t lease_ms)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = lease_ms};
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(lock, 0, &options, &hold), LK_OK);
    return hold;
}

void locking_export(lk_hold *hold, char text[LK_EXPORT_SIZE])
{
    assert_status(lk_hold_export(hold, text, LK_EXPORT_SIZE), LK_OK);
}

lk_hold *locking_import(lk_lock *lock, const char *text)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_import(lock, text, NULL, &hold), LK_OK);
    return hold;
}

lk_client_stats locking_stats(lk_client *client)
{
    lk_client_stats stats = {.size = sizeof(stats)};

    assert_status(lk_client_stats_get(client, &stats), LK_OK);
    return stats;
}

/* ---- threads ---- */

static lk_status acquire(taker *t)
{
    return lk_lock_acquire(t->object, t->wait_ms, &t->options, &t->hold);
}

taker *locking_take(locking *f, lk_lock *lock, int64_t wait_ms,
                    const lk_acquire_options *options)
{
    return taker_start(&f->takers, acquire, lock, 0, wait_ms, options);
}

/* ---- the end of a test ---- */

void locking_end_waits(locking *f)
{
    if (f->proxy != NULL)
        proxy_heal(f->proxy);
    for (size_t i = 0; i < f->client_count; i++) {
        if (f->clients[i] != NULL)
            (void)lk_client_shutdown(f->clients[i], 1000);
    }
    takers_end(&f->takers);
}

/* Only the connection that asks is left, and replicas. */
static bool is_alone(void *data)
{
    locking *f = data;
    char *list = server_string(f->server, "CLIENT LIST");
    int others = -1;

    for (const char *line = list; line != NULL && *line != '\0';) {
        const char *end = strchr(line, '\n');
        const char *replica = strstr(line, " flags=S ");

        others += replica == NULL || (end != NULL && replica > end);
        line = end != NULL ? end + 1 : NULL;
    }
    free(list);
    return others == 0;
}

int locking_teardown(void **state)
{
    locking *f = *state;
    bool alone;

    locking_end_waits(f);
    for (size_t i = 0; i < f->lock_count; i++)
        lk_lock_free(f->locks[i]);
    for (size_t i = 0; i < f->client_count; i++)
        lk_client_free(f->clients[i]);
    proxy_stop(f->proxy);
    alone = wait_until(is_alone, f, SOON_MS);
    free(f);
    if (!alone)
        print_error("a connection is left at the server\n");
    return alone ? 0 : -1;
}

int locking_setup_above(void **state, size_t size)
{
    void *base = NULL;
    locking **f = calloc(1, size);

    if (f == NULL || locking_setup(&base) != 0) {
        free(f);
        return -1;
    }
    *f = base;
    *state = f;
    return 0;
}

int locking_teardown_above(void **state)
{
    locking **f = *state;
    void *base = *f;

    free(f);
    return locking_teardown(&base);
}

/* ---- waiting ---- */

struct question {
    locking *f;
    lk_client *client;
    const char *format, *argument;
    long long expected;
};

static bool is_answered(void *data)
{
    const struct question *q = data;
    redisReply *reply = server_command(q->f->server, q->format, q->argument);
    bool equal =
        reply->type == REDIS_REPLY_INTEGER && reply->integer == q->expected;

    freeReplyObject(reply);
    return equal;
}

void locking_wait_integer(locking *f, long long expected, const char *format,
                          const char *argument)
{
    struct question q = {f, NULL, format, argument, expected};

    if (!wait_until(is_answered, &q, SOON_MS))
        fail_msg("%s %s does not become %lld", format, argument, expected);
}

void locking_wait_queued(locking *f, const char *name, long long count)
{
    locking_wait_integer(f, count, "ZCOUNT latchkey:{%s}:q 0 (2533274790395904",
                         name);
}

static bool is_waiting(void *data)
{
    const struct question *q = data;

    return locking_stats(q->client).waiting == (uint64_t)q->expected;
}

void locking_wait_waiting(lk_client *client, uint64_t count)
{
    struct question q = {.client = client, .expected = (long long)count};

    if (!wait_until(is_waiting, &q, SOON_MS))
        fail_msg("not %llu waits", (unsigned long long)count);
}

long long locking_pttl(locking *f, const char *key)
{
    return server_integer(f->server, "PTTL %s", key);
}

bool locking_exists(locking *f, const char *key)
{
    return server_integer(f->server, "EXISTS %s", key) == 1;
}

static bool is_connected(void *data)
{
    const struct question *q = data;
    lk_client_stats stats = locking_stats(q->client);

    return stats.connects >= (uint64_t)q->expected && stats.pending == 0;
}

static bool is_calm(void *data)
{
    return locking_stats(data).pending == 0;
}

void locking_wait_calm(lk_client *client)
{
    if (!wait_until(is_calm, client, SOON_MS))
        fail_msg("requests are under way");
}

void locking_wait_connects(lk_client *client, uint64_t count)
{
    struct question q = {.client = client, .expected = (long long)count};

    if (!wait_until(is_connected, &q, SOON_MS))
        fail_msg("not %llu connections", (unsigned long long)count);
}

static bool is_past(void *data)
{
    const uint64_t *end = data;

    return wait_now_ms() >= *end;
}

void locking_pass_time(unsigned ms)
{
    uint64_t end = wait_now_ms() + ms;

    (void)wait_until(is_past, &end, ms + 1000);
}
