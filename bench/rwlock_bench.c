/* SPDX-License-Identifier: MIT */

/*
 * What the read-write lock costs: the uncontended cycle in each mode beside
 * the lock's, and readers of one process, which share one remote hold, beside
 * as many threads on a lock of the process. Round after round on one private
 * server; medians.
 */

#include <latchkey/latchkey.h>

#include <err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure.h"
#include "server.h"

enum { ROUNDS = 5, QUICK_ROUNDS = 3, MOST_THREADS = 64 };

#define NS_PER_MS UINT64_C(1000000)

typedef struct setting {
    lk_client *client;
    lk_lock *lock;
    lk_rwlock *rwlock;
    pthread_rwlock_t local;
} setting;

typedef struct row {
    const char *what;
    unsigned threads;
    lk_status (*acquire)(setting *s, lk_hold **ret_hold);
    double per_s[ROUNDS], server_us[ROUNDS], commands[ROUNDS];
} row;

/* ---- what is repeated ---------------------------------------------------------- */

static lk_status take_lock(setting *s, lk_hold **ret_hold)
{
    return lk_lock_acquire(s->lock, LK_FOREVER, NULL, ret_hold);
}

static lk_status take_read(setting *s, lk_hold **ret_hold)
{
    return lk_rwlock_acquire_read(s->rwlock, LK_FOREVER, NULL, ret_hold);
}

static lk_status take_upgradeable(setting *s, lk_hold **ret_hold)
{
    return lk_rwlock_acquire_upgradeable(s->rwlock, LK_FOREVER, NULL, ret_hold);
}

static lk_status take_write(setting *s, lk_hold **ret_hold)
{
    return lk_rwlock_acquire_write(s->rwlock, LK_FOREVER, NULL, ret_hold);
}

/* Nobody shares this one: no server is asked, and nothing is released. */
static lk_status take_local(setting *s, lk_hold **ret_hold)
{
    *ret_hold = NULL;
    if (pthread_rwlock_rdlock(&s->local) != 0 ||
        pthread_rwlock_unlock(&s->local) != 0)
        errx(1, "a lock of the process does not work");
    return LK_OK;
}

static row rows[] = {
    {.what = "lock", .threads = 1, .acquire = take_lock},
    {.what = "write", .threads = 1, .acquire = take_write},
    {.what = "read", .threads = 1, .acquire = take_read},
    {.what = "upgradeable", .threads = 1, .acquire = take_upgradeable},
    {.what = "read, 8 threads", .threads = 8, .acquire = take_read},
    {.what = "read, 64 threads", .threads = 64, .acquire = take_read},
    {.what = "lock, 64 threads", .threads = 64, .acquire = take_lock},
    {.what = "local, 64 threads", .threads = 64, .acquire = take_local},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* ---- one measurement ------------------------------------------------------------- */

typedef struct run {
    const row *row;
    setting *setting;
    atomic_bool is_over;
    _Atomic uint64_t cycles;
} run;

static void *thread_run(void *data)
{
    run *r = data;
    uint64_t cycles = 0;

    while (!atomic_load_explicit(&r->is_over, memory_order_relaxed)) {
        lk_hold *hold;

        if (r->row->acquire(r->setting, &hold) != LK_OK ||
            (hold != NULL && lk_hold_release(hold) != LK_OK))
            errx(1, "%s: %s", r->row->what, lk_last_error());
        cycles++;
    }
    (void)atomic_fetch_add(&r->cycles, cycles);
    return NULL;
}

static uint64_t commands_of(const setting *s)
{
    lk_client_stats stats = {.size = sizeof(stats)};

    if (lk_client_stats_get(s->client, &stats) != LK_OK)
        errx(1, "no statistics");
    return stats.commands;
}

static void measure(row *cycle, setting *s, redisContext *redis, unsigned round,
                    uint64_t ns)
{
    run r = {.row = cycle, .setting = s};
    pthread_t threads[MOST_THREADS] = {0};
    uint64_t commands = commands_of(s);
    uint64_t busy = server_busy_ns(redis);
    uint64_t begin = now_ns();
    double cycles;

    for (unsigned i = 0; i < cycle->threads; i++) {
        if (pthread_create(&threads[i], NULL, thread_run, &r) != 0)
            errx(1, "no thread");
    }
    sleep_ns(ns);
    r.is_over = true;
    for (unsigned i = 0; i < cycle->threads; i++)
        (void)pthread_join(threads[i], NULL);
    cycles = r.cycles > 0 ? (double)r.cycles : 1;
    cycle->per_s[round] = cycles * 1e9 / (double)(now_ns() - begin);
    cycle->server_us[round] =
        (double)(server_busy_ns(redis) - busy) / 1e3 / cycles;
    cycle->commands[round] = (double)(commands_of(s) - commands) / cycles;
}

/* ---- all of them ------------------------------------------------------------------ */

static void setting_open(setting *s)
{
    if (lk_client_open(&s->client, server_url(), NULL) != LK_OK ||
        lk_lock_new(&s->lock, s->client, "lock", NULL) != LK_OK ||
        lk_rwlock_new(&s->rwlock, s->client, "rwlock", NULL) != LK_OK ||
        lk_client_wait_ready(s->client, 5000) != LK_OK ||
        pthread_rwlock_init(&s->local, NULL) != 0)
        errx(1, "no client: %s", lk_last_error());
}

static void setting_close(setting *s)
{
    (void)pthread_rwlock_destroy(&s->local);
    lk_rwlock_free(s->rwlock);
    lk_lock_free(s->lock);
    lk_client_free(s->client);
}

static void print(unsigned rounds)
{
    printf("| cycle | per s | server us | commands |\n|---|---|---|---|\n");
    for (unsigned i = 0; i < ROWS; i++)
        printf("| %s | %.0f | %.1f | %.3f |\n", rows[i].what,
               quantile(rows[i].per_s, rounds, 0.5),
               quantile(rows[i].server_us, rounds, 0.5),
               quantile(rows[i].commands, rounds, 0.5));
}

int main(void)
{
    unsigned rounds = is_quick() ? QUICK_ROUNDS : ROUNDS;
    uint64_t ns = scaled_ns(500 * NS_PER_MS);
    redisContext *redis;
    setting s;

    server_start();
    redis = server_connect();
    setting_open(&s);
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < ROWS; i++)
            measure(&rows[i], &s, redis, round, ns);
    }
    print(rounds);
    setting_close(&s);
    redisFree(redis);
    return EXIT_SUCCESS;
}
