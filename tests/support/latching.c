/* SPDX-License-Identifier: MIT */
#include "support/latching.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/check.h"
#include "support/wait.h"

struct waiter {
    pthread_t thread;
    lk_latch *latch;
    int64_t wait_ms;
    lk_acquire_options options;
    bool joined;
    atomic_bool done;
    lk_status status;
    uint64_t took_ms;
};

static server *the_server;

int latching_start_server(void **state)
{
    (void)state;
    the_server = server_start(NULL);
    return the_server != NULL ? 0 : -1;
}

int latching_stop_server(void **state)
{
    (void)state;
    server_stop(the_server);
    return 0;
}

int latching_setup(void **state)
{
    latching *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return -1;
    f->server = the_server;
    server_flush(the_server);
    *state = f;
    return 0;
}

void latching_own_server(latching *f, const char *const *extra_args)
{
    assert_int_equal(f->client_count, 0);
    f->server = server_start(extra_args);
    assert_non_null(f->server);
}

/* ---- clients and latches ---- */

static lk_client *
open_url(latching *f, const char *url, const lk_client_options *options)
{
    lk_client *client = NULL;

    assert_true(f->client_count < LATCHING_CLIENTS);
    assert_status(lk_client_open(&client, url, options), LK_OK);
    f->clients[f->client_count++] = client;
    assert_status(lk_client_wait_ready(client, wait_scaled_ms(LATCHING_MS)),
                  LK_OK);
    return client;
}

lk_client *latching_open(latching *f, const lk_client_options *options)
{
    return open_url(f, server_url(f->server), options);
}

lk_client *latching_open_far(latching *f, const lk_client_options *options)
{
    if (f->proxy == NULL)
        f->proxy = proxy_start(server_socket(f->server));
    assert_non_null(f->proxy);
    return open_url(f, proxy_url(f->proxy), options);
}

lk_latch *latching_latch_for(latching *f, lk_client *client, uint64_t ttl_ms)
{
    const lk_latch_options options = {LK_LATCH_OPTIONS_INIT, .ttl_ms = ttl_ms};
    lk_latch *latch = NULL;

    assert_true(f->latch_count < LATCHING_LATCHES);
    assert_status(lk_latch_new(&latch, client, "n", &options), LK_OK);
    f->latches[f->latch_count++] = latch;
    return latch;
}

lk_latch *latching_latch(latching *f)
{
    return latching_latch_for(f, latching_open(f, NULL), 0);
}

lk_client *latching_client(latching *f, size_t i)
{
    assert_true(i < f->client_count);
    return f->clients[i];
}

uint64_t latching_count(lk_latch *latch)
{
    uint64_t count = UINT64_MAX;

    assert_status(lk_latch_count(latch, &count), LK_OK);
    return count;
}

void latching_arm(lk_latch *latch, uint64_t count)
{
    assert_status(lk_latch_try_set_count(latch, count), LK_OK);
}

void latching_down(lk_latch *latch, uint64_t count)
{
    assert_status(lk_latch_count_down(latch, count), LK_OK);
}

/* ---- threads ---- */

static void *waiter_run(void *data)
{
    waiter *w = data;
    uint64_t begin = wait_now_ms();

    w->status = lk_latch_wait(w->latch, w->wait_ms, &w->options);
    w->took_ms = wait_now_ms() - begin;
    atomic_store(&w->done, true);
    return NULL;
}

waiter *latching_wait(latching *f, lk_latch *latch, int64_t wait_ms,
                      const lk_acquire_options *options)
{
    waiter *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    assert_true(f->waiter_count < LATCHING_WAITERS);
    w->latch = latch;
    w->wait_ms = wait_ms;
    w->options = (lk_acquire_options){LK_ACQUIRE_OPTIONS_INIT};
    if (options != NULL)
        w->options = *options;
    assert_int_equal(pthread_create(&w->thread, NULL, waiter_run, w), 0);
    f->waiters[f->waiter_count++] = w;
    return w;
}

static bool is_done(void *data)
{
    waiter *w = data;

    return atomic_load(&w->done);
}

bool waiter_has_ended(waiter *w, unsigned deadline_ms)
{
    return wait_until(is_done, w, deadline_ms);
}

static void waiter_join(waiter *w)
{
    if (!w->joined)
        (void)pthread_join(w->thread, NULL);
    w->joined = true;
}

lk_status waiter_status(waiter *w)
{
    if (!waiter_has_ended(w, LATCHING_MS))
        fail_msg("a wait does not end");
    waiter_join(w);
    return w->status;
}

uint64_t waiter_took_ms(const waiter *w)
{
    return w->took_ms;
}

/* ---- the end of a test ---- */

/* Only the connection that asks is left. */
static bool is_alone(void *data)
{
    latching *f = data;
    char *list = server_string(f->server, "CLIENT LIST");
    const char *first = strchr(list, '\n');
    bool alone = first == NULL || first[1] == '\0';

    free(list);
    return alone;
}

int latching_teardown(void **state)
{
    latching *f = *state;
    bool alone;

    if (f->proxy != NULL)
        proxy_heal(f->proxy);
    for (size_t i = 0; i < f->client_count; i++)
        (void)lk_client_shutdown(f->clients[i], 1000);
    for (size_t i = 0; i < f->waiter_count; i++) {
        waiter_join(f->waiters[i]);
        free(f->waiters[i]);
    }
    for (size_t i = 0; i < f->latch_count; i++)
        lk_latch_free(f->latches[i]);
    for (size_t i = 0; i < f->client_count; i++)
        lk_client_free(f->clients[i]);
    proxy_stop(f->proxy);
    alone = wait_until(is_alone, f, LATCHING_MS);
    if (f->server != the_server)
        server_stop(f->server);
    free(f);
    if (!alone)
        print_error("a connection is left at the server\n");
    return alone ? 0 : -1;
}

/* ---- waiting ---- */

lk_client_stats latching_stats(lk_client *client)
{
    lk_client_stats stats = {.size = sizeof(stats)};

    assert_status(lk_client_stats_get(client, &stats), LK_OK);
    return stats;
}

struct question {
    latching *f;
    lk_client *client;
    const char *command;
    long long expected;
};

static bool is_answered(void *data)
{
    const struct question *q = data;
    redisReply *reply = server_command(q->f->server, q->command);
    bool equal =
        reply->type == REDIS_REPLY_INTEGER && reply->integer == q->expected;

    freeReplyObject(reply);
    return equal;
}

void latching_wait_integer(latching *f, const char *command, long long expected)
{
    struct question q = {.f = f, .command = command, .expected = expected};

    if (!wait_until(is_answered, &q, LATCHING_MS))
        fail_msg("%s does not become %lld", command, expected);
}

void latching_wait_listed(latching *f, long long count)
{
    latching_wait_integer(f, SERVER_WAITERS("n"), count);
}

static bool is_waiting(void *data)
{
    const struct question *q = data;

    return latching_stats(q->client).waiting == (uint64_t)q->expected;
}

void latching_wait_waiting(lk_client *client, uint64_t count)
{
    struct question q = {.client = client, .expected = (long long)count};

    if (!wait_until(is_waiting, &q, LATCHING_MS))
        fail_msg("not %llu waits", (unsigned long long)count);
}

static bool has_looked(void *data)
{
    const struct question *q = data;
    lk_client_stats stats = latching_stats(q->client);

    return stats.rechecks > (uint64_t)q->expected && stats.pending == 0;
}

void latching_wait_looks(lk_client *client, uint64_t looks)
{
    struct question q = {.client = client, .expected = (long long)looks};

    if (!wait_until(has_looked, &q, LATCHING_MS))
        fail_msg("a client does not look");
}

void latching_wait_looked(lk_client *client)
{
    latching_wait_looks(client, latching_stats(client).rechecks);
}

static bool is_calm(void *data)
{
    return latching_stats(data).pending == 0;
}

void latching_wait_calm(lk_client *client)
{
    if (!wait_until(is_calm, client, LATCHING_MS))
        fail_msg("requests are under way");
}

void latching_pass_ms(unsigned ms)
{
    struct timespec span = {.tv_sec = ms / 1000,
                            .tv_nsec = (long)(ms % 1000) * 1000000};

    (void)nanosleep(&span, NULL);
}
