/* SPDX-License-Identifier: MIT */

/*
 * Looking at a server on which 100,000 names are held: how long a list of them
 * and a look at one take, and what another client notices of it, which sends a
 * PING every half millisecond. That is measured in turns with and without the
 * looks, so that a busy minute falls on both.
 *
 *   build/strict/bench/inspect_bench
 */

#include <latchkey/latchkey.h>

#include <err.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "measure.h"
#include "pings.h"
#include "server.h"

enum {
    NAMES = 100000,
    CLIENTS = 100,
    ROUNDS = 7,
    TURNS = 40,
    WHO = 2000,
    LIST_WAIT_MS = 30000,
    LEASE_MS = 3600000,
    SETTLE_NS = 50000000
};

/* ---- 100,000 names -------------------------------------------------------------- */

struct owner {
    char id[64];
    char uuid[40];
};

static struct owner owner_of(unsigned i)
{
    struct owner owner;
    unsigned client = i % CLIENTS;

    (void)snprintf(owner.uuid, sizeof(owner.uuid), "%08x-0000-4000-8000-%012x",
                   client, client);
    (void)snprintf(owner.id, sizeof(owner.id), "%s:%u", owner.uuid, i);
    return owner;
}

/* The keys that a hold of the lock leaves, with its record; docs/lock.md. */
static void name_make(redisContext *redis, unsigned i, const char *now_ms)
{
    struct owner owner = owner_of(i);
    char record[256];

    (void)
        snprintf(record, sizeof(record),
                 "2l %s000 0 0 - - - %s %s 0123456789abcdef l 1 %d - p nightly",
                 now_ms, now_ms, owner.id, LEASE_MS);
    redisAppendCommand(redis, "HSET orders:%u %s 1", i, owner.id);
    redisAppendCommand(redis, "PEXPIRE orders:%u %d", i, LEASE_MS);
    redisAppendCommand(redis, "SET latchkey:{orders:%u}:r %s PX %d", i, record,
                       2 * LEASE_MS);
}

static void replies_take(redisContext *redis, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        void *reply;

        if (redisGetReply(redis, &reply) != REDIS_OK)
            errx(1, "redis: %s", redis->errstr);
        freeReplyObject(reply);
    }
}

static void names_make(redisContext *redis)
{
    for (unsigned i = 0; i < NAMES; i++) {
        name_make(redis, i, "1700000000000");
        if (i % 1000 == 999)
            replies_take(redis, 3 * 1000);
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct owner owner = owner_of(i);

        server_do(redis, "SET latchkey:client::%s %s", owner.uuid,
                  "host\n1\nprogram\nuser\nname");
    }
}

/* ---- looking, in a process of its own --------------------------------------------- */

static lk_client *client_open(void)
{
    lk_client *client;

    if (lk_client_open(&client, server_url(), NULL) != LK_OK ||
        lk_client_wait_ready(client, 5000) != LK_OK)
        errx(1, "client: %s", lk_last_error());
    return client;
}

static double list_once(lk_client *client)
{
    uint64_t begin = now_ns();
    lk_listing *listing;
    double ms;

    if (lk_list(client, LIST_WAIT_MS, NULL, &listing) != LK_OK)
        errx(1, "list: %s", lk_last_error());
    ms = (double)(now_ns() - begin) / 1e6;
    if (listing->count != NAMES)
        errx(1, "%zu names were listed", listing->count);
    lk_listing_free(listing);
    return ms;
}

static double who_once(lk_client *client, unsigned i)
{
    uint64_t begin = now_ns();
    char name[32];
    lk_info *info;
    lk_kind kind;

    (void)snprintf(name, sizeof(name), "orders:%u", i);
    if (lk_who(client, name, &kind, &info) != LK_OK)
        errx(1, "who: %s", lk_last_error());
    lk_info_free(info);
    return (double)(now_ns() - begin) / 1e6;
}

static void looks_show(void)
{
    lk_client *client = client_open();
    double lists[ROUNDS];
    double *whos = memory_new(WHO, sizeof(*whos));

    for (unsigned i = 0; i < ROUNDS; i++)
        lists[i] = list_once(client);
    for (unsigned i = 0; i < WHO; i++)
        whos[i] = who_once(client, i * 37 % NAMES);
    printf("list of %d names: median %.0f ms, best %.0f, worst %.0f\n", NAMES,
           quantile(lists, ROUNDS, 0.5), quantile(lists, ROUNDS, 0),
           quantile(lists, ROUNDS, 1));
    printf("who: median %.3f ms, p99 %.3f\n", quantile(whos, WHO, 0.5),
           quantile(whos, WHO, 0.99));
    free(whos);
    lk_client_free(client);
}

/* Lists again and again, until it is killed. */
static pid_t looker_start(void)
{
    pid_t pid = fork();

    if (pid < 0)
        err(1, "fork");
    if (pid == 0) {
        lk_client *client = client_open();

        for (unsigned i = 0;; i++) {
            (void)list_once(client);
            (void)who_once(client, i);
        }
    }
    return pid;
}

/* ---- what another client notices ------------------------------------------------------ */

/* One turn without lists, one with; returns how many processors others used. */
static double
turns_take(pings *alone, pings *beside, redisContext *redis, unsigned turn)
{
    uint64_t begin = now_ns(), machine = machine_busy_ns();
    uint64_t own = own_busy_ns(), server = server_busy_ns(redis);
    pid_t looker;

    pings_turn(alone, &redis, 1, turn);
    looker = looker_start();
    sleep_ns(SETTLE_NS);
    pings_turn(beside, &redis, 1, turn);
    child_kill(looker);
    return foreign_part(machine_busy_ns() - machine, own_busy_ns() - own,
                        server_busy_ns(redis) - server, now_ns() - begin);
}

static void notice_show(void)
{
    pings alone = pings_new(TURNS), beside = pings_new(TURNS);
    redisContext *redis = server_connect();
    unsigned turns = is_quick() ? TURNS / 10 : TURNS;
    double noise[TURNS], sorted[TURNS], limit, cost;

    if (!hurry())
        printf("the PING has no priority: it waits for a processor as well\n");
    for (unsigned i = 0; i < turns; i++)
        sorted[i] = noise[i] = turns_take(&alone, &beside, redis, i);
    limit = quantile(sorted, turns, 0.5);
    pings_settle(&alone, noise, limit, turns);
    pings_settle(&beside, noise, limit, turns);
    printf("the quieter half of %u turns: others used up to %.2f processors\n",
           turns, limit);
    pings_show("alone", &alone);
    pings_show("beside lists without a pause", &beside);
    cost = pings_at(&beside, 0.999) - pings_at(&alone, 0.999);
    printf("p99.9 above its control: %.3f ms\n", cost);
    redisFree(redis);
    pings_free(&alone);
    pings_free(&beside);
}

int main(void)
{
    redisContext *redis;

    server_start();
    redis = server_connect();
    names_make(redis);
    redisFree(redis);
    wait_for_quiet();
    looks_show();
    notice_show();
    return 0;
}
