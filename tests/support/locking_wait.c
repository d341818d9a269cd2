/* SPDX-License-Identifier: MIT */

/* What a test with a real server waits for; see locking.h. */

#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

enum { SOON_MS = 10000 };

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

void locking_wait_clean(locking *f, const char *name)
{
    locking_wait_integer(f, 0, "EXISTS %s", name);
    locking_wait_integer(f, 0, "EXISTS latchkey:{%s}:h", name);
    locking_wait_queued(f, name, 0);
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

static bool has_looked(void *data)
{
    const struct question *q = data;
    lk_client_stats stats = locking_stats(q->client);

    return stats.rechecks > (uint64_t)q->expected && stats.pending == 0;
}

void locking_wait_looks(lk_client *client, uint64_t looks)
{
    struct question q = {.client = client, .expected = (long long)looks};

    if (!wait_until(has_looked, &q, SOON_MS))
        fail_msg("a client does not ask again");
}

void locking_wait_looked(lk_client *client)
{
    locking_wait_looks(client, locking_stats(client).rechecks);
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
