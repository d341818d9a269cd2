/* SPDX-License-Identifier: MIT */
#include "support/locking.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/check.h"
#include "support/wait.h"

/* COMMAND_MS: on a machine without time an answer takes seconds. */
enum { SOON_MS = 5000, JOIN_MS = 10000, COMMAND_MS = 20000 };

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

static void *taker_run(void *data)
{
    taker *t = data;
    uint64_t begin = wait_now_ms();

    t->status = lk_lock_acquire(t->lock, t->wait_ms, &t->options, &t->hold);
    t->took_ms = wait_now_ms() - begin;
    (void)snprintf(t->words, sizeof(t->words), "%s", lk_last_error());
    atomic_store(&t->done, true);
    return NULL;
}

taker *locking_take(locking *f, lk_lock *lock, int64_t wait_ms,
                    const lk_acquire_options *options)
{
    taker *t = calloc(1, sizeof(*t));

    assert_non_null(t);
    assert_true(f->taker_count < LOCKING_TAKERS);
    t->lock = lock;
    t->wait_ms = wait_ms;
    t->options = options != NULL
                     ? *options
                     : (lk_acquire_options){LK_ACQUIRE_OPTIONS_INIT};
    f->takers[f->taker_count] = t;
    assert_int_equal(pthread_create(&t->thread, NULL, taker_run, t), 0);
    f->taker_count++;
    return t;
}

static bool is_done(void *data)
{
    taker *t = data;

    return atomic_load(&t->done);
}

lk_status taker_join(taker *t)
{
    if (!wait_until(is_done, t, JOIN_MS))
        fail_msg("a thread does not come back");
    if (!t->joined)
        (void)pthread_join(t->thread, NULL);
    t->joined = true;
    return t->status;
}

lk_status taker_release(taker *t)
{
    lk_hold *hold;

    assert_status(taker_join(t), LK_OK);
    hold = t->hold;
    t->hold = NULL;
    return lk_hold_release(hold);
}

/* ---- the end of a test ---- */

/* The clients are shut down by now, so no thread waits any more. */
static void takers_end(locking *f)
{
    for (size_t i = 0; i < f->taker_count; i++) {
        taker *t = f->takers[i];

        if (!t->joined)
            (void)pthread_join(t->thread, NULL);
        if (t->hold != NULL)
            (void)lk_hold_release(t->hold);
        free(t);
    }
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

    for (size_t i = 0; i < f->client_count; i++) {
        if (f->clients[i] != NULL)
            (void)lk_client_shutdown(f->clients[i], 1000);
    }
    takers_end(f);
    for (size_t i = 0; i < f->lock_count; i++)
        lk_lock_free(f->locks[i]);
    for (size_t i = 0; i < f->client_count; i++)
        lk_client_free(f->clients[i]);
    alone = wait_until(is_alone, f, SOON_MS);
    free(f);
    if (!alone)
        print_error("a connection is left at the server\n");
    return alone ? 0 : -1;
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
