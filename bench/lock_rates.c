/* SPDX-License-Identifier: MIT */

/*
 * Rates: threads that acquire and release until they are stopped. Counted is
 * what they do between two looks while all of them run. A thread's part of the
 * product's rows and of the bare ones differs in nothing but the pair.
 */

#include <err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "lock_rows.h"
#include "measure.h"
#include "server.h"

enum { MANY = 64, WARM_UP_NS = 100000000 };

static const char release_script[] =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then "
    "return redis.call('DEL', KEYS[1]) end return 0";

/* ---- the product ----------------------------------------------------------- */

lk_client *client_open(uint64_t watchdog_ms)
{
    lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                 .watchdog_ms = watchdog_ms};
    lk_client *client;

    if (lk_client_open(&client, server_url(), &options) != LK_OK ||
        lk_client_wait_ready(client, 10000) != LK_OK)
        errx(1, "client: %s", lk_last_error());
    return client;
}

lk_lock *lock_open(lk_client *client, const char *name)
{
    lk_lock *lock;

    if (lk_lock_new(&lock, client, name, NULL) != LK_OK)
        errx(1, "lock: %s", lk_last_error());
    return lock;
}

lk_hold *lock_take(lk_lock *lock)
{
    lk_hold *hold;

    if (lk_lock_acquire(lock, LK_FOREVER, NULL, &hold) != LK_OK)
        errx(1, "acquire: %s", lk_last_error());
    return hold;
}

void lock_give(lk_hold *hold)
{
    if (lk_hold_release(hold) != LK_OK)
        errx(1, "release: %s", lk_last_error());
}

lk_client_stats client_stats(lk_client *client)
{
    lk_client_stats stats = {.size = sizeof(stats)};

    if (lk_client_stats_get(client, &stats) != LK_OK)
        errx(1, "stats: %s", lk_last_error());
    return stats;
}

static void *product_open(void)
{
    return client_open(0);
}

static void product_stats(void *all, lk_client_stats *ret_stats)
{
    *ret_stats = client_stats(all);
}

static void *own_name_open(void *all, unsigned index)
{
    char name[32];

    (void)snprintf(name, sizeof(name), "orders:%u", index);
    return lock_open(all, name);
}

static void *one_name_open(void *all, unsigned index)
{
    (void)index;
    return lock_open(all, "orders");
}

static void product_pair(void *mine)
{
    lock_give(lock_take(mine));
}

/* ---- the bare limit --------------------------------------------------------- */

struct bare {
    redisContext *redis;
    char name[32];
    char sha1[41];
};

static void *nothing_open(void)
{
    return NULL;
}

static void *bare_open(void *all, unsigned index)
{
    struct bare *bare = memory_new(1, sizeof(*bare));
    redisReply *reply;

    (void)all;
    bare->redis = server_connect();
    (void)snprintf(bare->name, sizeof(bare->name), "orders:%u", index);
    reply = redisCommand(bare->redis, "SCRIPT LOAD %s", release_script);
    if (reply == NULL || reply->type != REDIS_REPLY_STRING)
        errx(1, "the script is not taken");
    (void)snprintf(bare->sha1, sizeof(bare->sha1), "%s", reply->str);
    freeReplyObject(reply);
    return bare;
}

static void bare_do(struct bare *bare, int count, const char **args)
{
    redisReply *reply = redisCommandArgv(bare->redis, count, args, NULL);

    if (reply == NULL || reply->type == REDIS_REPLY_ERROR ||
        reply->type == REDIS_REPLY_NIL)
        errx(1, "a bare command failed");
    freeReplyObject(reply);
}

static void bare_pair(void *mine)
{
    static const char token[] = "0123456789abcdef0123456789abcdef";
    struct bare *bare = mine;
    const char *set[] = {"SET", bare->name, token, "NX", "PX", "30000"};
    const char *end[] = {"EVALSHA", bare->sha1, "1", bare->name, token};

    bare_do(bare, 6, set);
    bare_do(bare, 5, end);
}

/* ---- a mutex within the process: first come, first served --------------------- */

struct mutex_waiter {
    struct mutex_waiter *next;
    pthread_cond_t granted;
    bool is_granted;
};

struct mutex {
    pthread_mutex_t guard;
    bool is_held;
    struct mutex_waiter *first, *last;
};

static void *mutex_open(void)
{
    struct mutex *mutex = memory_new(1, sizeof(*mutex));

    (void)pthread_mutex_init(&mutex->guard, NULL);
    return mutex;
}

static void *mutex_share(void *all, unsigned index)
{
    (void)index;
    return all;
}

static void mutex_wait(struct mutex *mutex)
{
    struct mutex_waiter waiter = {.next = NULL};

    (void)pthread_cond_init(&waiter.granted, NULL);
    if (mutex->first == NULL)
        mutex->first = &waiter;
    else
        mutex->last->next = &waiter;
    mutex->last = &waiter;
    while (!waiter.is_granted)
        (void)pthread_cond_wait(&waiter.granted, &mutex->guard);
    (void)pthread_cond_destroy(&waiter.granted);
}

static void mutex_take(struct mutex *mutex)
{
    (void)pthread_mutex_lock(&mutex->guard);
    if (mutex->is_held)
        mutex_wait(mutex);
    else
        mutex->is_held = true;
    (void)pthread_mutex_unlock(&mutex->guard);
}

static void mutex_give(struct mutex *mutex)
{
    struct mutex_waiter *waiter;

    (void)pthread_mutex_lock(&mutex->guard);
    waiter = mutex->first;
    if (waiter == NULL) {
        mutex->is_held = false;
    } else {
        mutex->first = waiter->next;
        waiter->is_granted = true;
        (void)pthread_cond_signal(&waiter->granted);
    }
    (void)pthread_mutex_unlock(&mutex->guard);
}

static void mutex_pair(void *mine)
{
    mutex_take(mine);
    mutex_give(mine);
}

/* ---- the cases ------------------------------------------------------------------ */

const rate_case rate_one_bare = {.threads = 1,
                                 .open = nothing_open,
                                 .thread_open = bare_open,
                                 .pair = bare_pair};

const rate_case rate_one_lock = {.threads = 1,
                                 .open = product_open,
                                 .thread_open = own_name_open,
                                 .pair = product_pair,
                                 .stats = product_stats};

const rate_case rate_many_bare = {.threads = MANY,
                                  .open = nothing_open,
                                  .thread_open = bare_open,
                                  .pair = bare_pair};

const rate_case rate_many_lock = {.threads = MANY,
                                  .open = product_open,
                                  .thread_open = own_name_open,
                                  .pair = product_pair,
                                  .stats = product_stats};

const rate_case rate_local_bare = {.threads = MANY,
                                   .open = mutex_open,
                                   .thread_open = mutex_share,
                                   .pair = mutex_pair};

const rate_case rate_local_lock = {.threads = MANY,
                                   .open = product_open,
                                   .thread_open = one_name_open,
                                   .pair = product_pair,
                                   .stats = product_stats};

/* ---- the measurement ---------------------------------------------------------------- */

struct worker {
    _Alignas(64) atomic_ullong count; /* a cache line of its own */
    void (*pair)(void *mine);
    void *mine;
};

struct measurement {
    const rate_case *of;
    int cpu;
    uint64_t ns;
    rate result;
};

/* All that is counted, at one moment. */
struct look {
    uint64_t at, pairs, own_ns, server_ns, machine_ns;
    lk_client_stats stats;
};

static void *worker_run(void *data)
{
    struct worker *worker = data;

    for (;;) {
        worker->pair(worker->mine);
        atomic_fetch_add_explicit(&worker->count, 1, memory_order_relaxed);
    }
    return NULL;
}

static struct worker *workers_start(const rate_case *of, void *all)
{
    struct worker *workers =
        aligned_alloc(_Alignof(struct worker), of->threads * sizeof(*workers));
    pthread_t thread;

    if (workers == NULL)
        errx(1, "no memory");
    memset(workers, 0, of->threads * sizeof(*workers));
    for (unsigned i = 0; i < of->threads; i++) {
        workers[i].pair = of->pair;
        workers[i].mine = of->thread_open(all, i);
    }
    for (unsigned i = 0; i < of->threads; i++) {
        if (pthread_create(&thread, NULL, worker_run, &workers[i]) != 0)
            errx(1, "cannot start a thread");
    }
    return workers;
}

static struct look look(const rate_case *of, void *all, redisContext *redis,
                        struct worker *workers)
{
    struct look now = {.server_ns = server_busy_ns(redis)};

    if (of->stats != NULL)
        of->stats(all, &now.stats);
    for (unsigned i = 0; i < of->threads; i++)
        now.pairs += atomic_load(&workers[i].count);
    now.own_ns = own_busy_ns();
    now.machine_ns = machine_busy_ns();
    now.at = now_ns();
    return now;
}

static rate difference(const struct look *a, const struct look *b)
{
    double pairs = (double)(b->pairs - a->pairs);
    double ns = (double)(b->at - a->at);
    double own = (double)(b->own_ns - a->own_ns);
    double server = (double)(b->server_ns - a->server_ns);
    rate out = {.per_s = pairs / ns * 1e9};

    out.foreign =
        foreign_part(b->machine_ns - a->machine_ns, b->own_ns - a->own_ns,
                     b->server_ns - a->server_ns, b->at - a->at);
    if (pairs == 0)
        errx(1, "nothing was acquired");
    out.client_us = own / pairs / 1e3;
    out.server_us = server / pairs / 1e3;
    out.commands = (double)(b->stats.commands - a->stats.commands) / pairs;
    out.writes = (double)(b->stats.writes - a->stats.writes) / pairs;
    return out;
}

/* The threads are ended with the process, in the midst of what they do. */
static void measure(void *data)
{
    struct measurement *m = data;
    redisContext *redis;
    struct worker *workers;
    struct look begin, end;
    void *all;

    pin(0, m->cpu);
    redis = server_connect();
    server_do(redis, "FLUSHALL");
    all = m->of->open();
    workers = workers_start(m->of, all);
    sleep_ns(WARM_UP_NS);
    begin = look(m->of, all, redis, workers);
    sleep_ns(m->ns);
    end = look(m->of, all, redis, workers);
    m->result = difference(&begin, &end);
}

int place_take(place at)
{
    server_pin(at == FREE ? ANY_CPU : cpu_nth(0));
    if (at == FREE)
        return ANY_CPU;
    return cpu_nth(at == CROSS ? 1 : 0);
}

rate rate_measure(const rate_case *of, place at, uint64_t ns)
{
    struct measurement *m = shared_new(sizeof(*m));
    rate result;

    m->of = of;
    m->cpu = place_take(at);
    m->ns = ns;
    wait_for_quiet();
    run_apart(measure, m);
    result = m->result;
    shared_free(m, sizeof(*m));
    return result;
}
