/* SPDX-License-Identifier: MIT */
#include "peers_owners.h"

#include <latchkey/latchkey.h>

#include <err.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure.h"
#include "server.h"

enum { STEP_NS = 1000000, READY_MS = 5000 };

/* What an owner does goes on in the callbacks until it is over. */
typedef struct owner {
    lk_lock *lock;
    const atomic_bool *is_over;
    atomic_ullong pairs;
    atomic_bool has_ended;
} owner;

static void must(lk_status status)
{
    if (status != LK_OK)
        errx(1, "%s: %s", lk_status_text(status), lk_last_error());
}

static void on_grant(lk_status status, lk_hold *hold, void *data);

static void on_release(lk_status status, void *data)
{
    owner *o = data;

    must(status);
    (void)atomic_fetch_add(&o->pairs, 1);
    if (atomic_load(o->is_over))
        atomic_store(&o->has_ended, true);
    else
        must(lk_lock_acquire_async(o->lock, LK_FOREVER, NULL, on_grant, o));
}

static void on_grant(lk_status status, lk_hold *hold, void *data)
{
    must(status);
    must(lk_hold_release_async(hold, on_release, data));
}

static unsigned long long pairs_of(const owner *all, unsigned count)
{
    unsigned long long pairs = 0;

    for (unsigned i = 0; i < count; i++)
        pairs += atomic_load(&all[i].pairs);
    return pairs;
}

static void owners_end(owner *all, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        while (!atomic_load(&all[i].has_ended))
            sleep_ns(STEP_NS);
        lk_lock_free(all[i].lock);
    }
    free(all);
}

owners_result owners_measure(unsigned owners, uint64_t ns)
{
    redisContext *redis = server_connect();
    owner *all = memory_new(owners, sizeof(*all));
    atomic_bool is_over = false;
    unsigned long long pairs;
    uint64_t busy, begin;
    owners_result result;
    lk_client *client;

    must(lk_client_open(&client, server_url(), NULL));
    must(lk_client_wait_ready(client, READY_MS));
    for (unsigned i = 0; i < owners; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "owner:%u", i);
        must(lk_lock_new(&all[i].lock, client, name, NULL));
        all[i].is_over = &is_over;
        must(lk_lock_acquire_async(all[i].lock, LK_FOREVER, NULL, on_grant,
                                   &all[i]));
    }
    sleep_ns(ns / 5);
    pairs = pairs_of(all, owners);
    busy = server_busy_ns(redis);
    begin = now_ns();
    sleep_ns(ns);
    pairs = pairs_of(all, owners) - pairs;
    result.per_s = (double)pairs * 1e9 / (double)(now_ns() - begin);
    result.server_us =
        (double)(server_busy_ns(redis) - busy) / 1e3 / (double)pairs;
    atomic_store(&is_over, true);
    owners_end(all, owners);
    lk_client_free(client);
    redisFree(redis);
    return result;
}

/* ---- the bare side ---------------------------------------------------------------- */

static void read_all(redisContext *redis, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        void *reply = NULL;

        if (redisGetReply(redis, &reply) != REDIS_OK ||
            ((redisReply *)reply)->type == REDIS_REPLY_ERROR)
            errx(1, "the bare side");
        freeReplyObject(reply);
    }
}

static void bare_round(redisContext *redis, unsigned owners, const char *sha)
{
    for (unsigned i = 0; i < owners; i++)
        (void)redisAppendCommand(redis, "SET owner:%u token NX PX 30000", i);
    read_all(redis, owners);
    for (unsigned i = 0; i < owners; i++)
        (void)redisAppendCommand(redis, "EVALSHA %s 1 owner:%u token", sha, i);
    read_all(redis, owners);
}

static redisReply *bare_load(redisContext *redis)
{
    static const char text[] = "if redis.call('get', KEYS[1]) == ARGV[1] then "
                               "return redis.call('del', KEYS[1]) end return 0";
    redisReply *sha = redisCommand(redis, "SCRIPT LOAD %s", text);

    if (sha == NULL || sha->type != REDIS_REPLY_STRING)
        errx(1, "a script does not load");
    return sha;
}

owners_result owners_bare(unsigned owners, uint64_t ns)
{
    redisContext *redis = server_connect();
    redisReply *sha = bare_load(redis);
    uint64_t busy = server_busy_ns(redis), begin = now_ns(), took;
    unsigned long long pairs = 0;
    owners_result result;

    do {
        bare_round(redis, owners, sha->str);
        pairs += owners;
        took = now_ns() - begin;
    } while (took < ns);
    result.per_s = (double)pairs * 1e9 / (double)took;
    result.server_us =
        (double)(server_busy_ns(redis) - busy) / 1e3 / (double)pairs;
    freeReplyObject(sha);
    redisFree(redis);
    return result;
}
