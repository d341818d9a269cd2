/* SPDX-License-Identifier: MIT */

/*
 * What it takes to open a latch: from the moment before the last count-down to
 * the moment at which the last of all waiters runs again. Beside it the least
 * that could do the same: one PUBLISH, to clients that wake their threads, or
 * call their callbacks. Both in turn on one private server.
 */

#include <latchkey/latchkey.h>

#include <err.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "measure.h"
#include "server.h"

enum {
    PROCESSES = 64, /* at most */
    ROUNDS = 60,
    QUICK_ROUNDS = 10,
    STEP_NS = 2000000,
    SETTLE_NS = 30000000, /* from "all wait" to the count-down */
    STEPS = 10000         /* the patience */
};

/* How waiters wait: with the product, or with what is bare. */
typedef enum manner { BARE, LATCH } manner;
typedef enum waiter { THREADS, CALLBACKS } waiter;

/* Shared by all processes. Rounds are counted from 1. */
struct scene {
    manner manner;
    waiter waiter;
    unsigned processes, waiters; /* in each process */
    atomic_uint round;           /* waiters may begin this one */
    atomic_uint waiting;         /* processes whose waiters all wait */
    atomic_uint awake; /* waiters that have returned, or were called */
    atomic_ullong last_at;
};

static void await(const atomic_uint *counter, unsigned value)
{
    for (int i = 0; atomic_load(counter) < value; i++) {
        if (i == STEPS)
            errx(1, "%u of %u", atomic_load(counter), value);
        sleep_ns(STEP_NS);
    }
}

static void must(lk_status status, const char *what)
{
    if (status != LK_OK)
        errx(1, "%s: %s", what, lk_last_error());
}

/* ---- one process of waiters ------------------------------------------------- */

struct crew {
    struct scene *scene;
    lk_client *client;
    lk_latch *latch;
    pthread_mutex_t mutex;
    pthread_cond_t begins; /* a round */
    unsigned round;
    /* The bare side: messages are counted, waiters are woken or called. */
    redisContext *redis;
    pthread_cond_t came;
    unsigned messages, asleep;
};

static void round_await(struct crew *crew, unsigned round)
{
    (void)pthread_mutex_lock(&crew->mutex);
    while (crew->round < round)
        (void)pthread_cond_wait(&crew->begins, &crew->mutex);
    (void)pthread_mutex_unlock(&crew->mutex);
}

static void round_begin(struct crew *crew, unsigned round)
{
    (void)pthread_mutex_lock(&crew->mutex);
    crew->round = round;
    (void)pthread_cond_broadcast(&crew->begins);
    (void)pthread_mutex_unlock(&crew->mutex);
}

static void bare_wait(struct crew *crew, unsigned round)
{
    (void)pthread_mutex_lock(&crew->mutex);
    crew->asleep++;
    while (crew->messages < round)
        (void)pthread_cond_wait(&crew->came, &crew->mutex);
    crew->asleep--;
    (void)pthread_mutex_unlock(&crew->mutex);
}

/* The latest of all wins. */
static void note_awake(struct scene *scene)
{
    unsigned long long now = now_ns();
    unsigned long long last = atomic_load(&scene->last_at);

    while (now > last &&
           !atomic_compare_exchange_weak(&scene->last_at, &last, now))
        continue;
    (void)atomic_fetch_add(&scene->awake, 1);
}

static void *bare_read(void *data)
{
    struct crew *crew = data;

    for (;;) {
        void *reply = NULL;
        unsigned calls;

        if (redisGetReply(crew->redis, &reply) != REDIS_OK)
            errx(1, "the subscription broke");
        freeReplyObject(reply);
        (void)pthread_mutex_lock(&crew->mutex);
        crew->messages++;
        (void)pthread_cond_broadcast(&crew->came);
        calls = crew->scene->waiter == CALLBACKS ? crew->asleep : 0;
        crew->asleep -= calls;
        (void)pthread_mutex_unlock(&crew->mutex);
        for (; calls > 0; calls--)
            note_awake(crew->scene);
    }
    return NULL;
}

static void *thread_run(void *data)
{
    struct crew *crew = data;

    for (unsigned round = 1;; round++) {
        round_await(crew, round);
        if (crew->scene->manner == BARE)
            bare_wait(crew, round);
        else if (lk_latch_wait(crew->latch, LK_FOREVER, NULL) != LK_OK)
            errx(1, "a wait: %s", lk_last_error());
        note_awake(crew->scene);
    }
    return NULL;
}

static void on_open(lk_status status, void *data)
{
    if (status != LK_OK)
        errx(1, "a wait: %s", lk_status_name(status));
    note_awake(data);
}

/* Has all callbacks of this process wait. */
static void callbacks_begin(struct crew *crew)
{
    if (crew->scene->manner == BARE) {
        (void)pthread_mutex_lock(&crew->mutex);
        crew->asleep = crew->scene->waiters;
        (void)pthread_mutex_unlock(&crew->mutex);
        return;
    }
    for (unsigned i = 0; i < crew->scene->waiters; i++)
        must(lk_latch_wait_async(crew->latch, LK_FOREVER, NULL, on_open,
                                 crew->scene),
             "wait");
}

/* Whether all waiters of this process wait. */
static bool all_wait(struct crew *crew)
{
    lk_client_stats stats = {.size = sizeof(stats)};
    unsigned asleep;

    if (crew->scene->manner == LATCH) {
        if (lk_client_stats_get(crew->client, &stats) != LK_OK)
            errx(1, "stats: %s", lk_last_error());
        return stats.waiting == crew->scene->waiters && stats.pending == 0;
    }
    (void)pthread_mutex_lock(&crew->mutex);
    asleep = crew->asleep;
    (void)pthread_mutex_unlock(&crew->mutex);
    return asleep == crew->scene->waiters;
}

static void thread_start(void *(*run)(void *data), struct crew *crew)
{
    pthread_t id;

    if (pthread_create(&id, NULL, run, crew) != 0)
        errx(1, "no thread");
}

static void crew_open(struct crew *crew)
{
    (void)pthread_mutex_init(&crew->mutex, NULL);
    (void)pthread_cond_init(&crew->begins, NULL);
    (void)pthread_cond_init(&crew->came, NULL);
    if (crew->scene->manner == LATCH) {
        if (lk_client_open(&crew->client, server_url(), NULL) != LK_OK ||
            lk_latch_new(&crew->latch, crew->client, "gate", NULL) != LK_OK)
            errx(1, "open: %s", lk_last_error());
        return;
    }
    crew->redis = server_connect();
    server_do(crew->redis, "SUBSCRIBE gate");
    thread_start(bare_read, crew);
}

_Noreturn static void crew_run(struct scene *scene)
{
    struct crew crew = {.scene = scene};

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    crew_open(&crew);
    for (unsigned i = 0; scene->waiter == THREADS && i < scene->waiters; i++)
        thread_start(thread_run, &crew);
    for (unsigned round = 1;; round++) {
        await(&scene->round, round);
        if (scene->waiter == THREADS)
            round_begin(&crew, round);
        else
            callbacks_begin(&crew);
        while (!all_wait(&crew))
            sleep_ns(STEP_NS);
        (void)atomic_fetch_add(&scene->waiting, 1);
        while (atomic_load(&scene->round) == round)
            sleep_ns(STEP_NS);
    }
}

/* ---- who opens ----------------------------------------------------------------- */

struct opener {
    lk_client *client;
    lk_latch *latch;
    redisContext *redis;
};

/* One round; the time from the last count to the last waiter, in us. */
static double
open_once(struct scene *scene, struct opener *opener, unsigned round)
{
    uint64_t begin;

    must(lk_latch_reset(opener->latch, 1), "reset");
    atomic_store(&scene->awake, 0);
    atomic_store(&scene->waiting, 0);
    atomic_store(&scene->last_at, 0);
    atomic_store(&scene->round, round);
    await(&scene->waiting, scene->processes);
    sleep_ns(SETTLE_NS);
    begin = now_ns();
    if (scene->manner == BARE)
        server_do(opener->redis, "PUBLISH gate go");
    else
        must(lk_latch_count_down(opener->latch, 1), "count_down");
    await(&scene->awake, scene->processes * scene->waiters);
    return (double)(atomic_load(&scene->last_at) - begin) / 1e3;
}

struct row {
    unsigned processes, waiters; /* in each process */
    waiter waiter;
};

static void measure(manner which, const struct row *row, struct opener *opener,
                    unsigned rounds, double *samples)
{
    struct scene *scene = shared_new(sizeof(*scene));
    pid_t children[PROCESSES];

    scene->manner = which;
    scene->waiter = row->waiter;
    scene->processes = row->processes;
    scene->waiters = row->waiters;
    for (unsigned i = 0; i < row->processes; i++) {
        children[i] = fork();
        if (children[i] == 0)
            crew_run(scene);
        if (children[i] < 0)
            errx(1, "no process");
    }
    wait_for_quiet();
    for (unsigned i = 0; i < rounds; i++)
        samples[i] = open_once(scene, opener, i + 1);
    for (unsigned i = 0; i < row->processes; i++)
        child_kill(children[i]);
    shared_free(scene, sizeof(*scene));
}

/* ---- the table ------------------------------------------------------------------ */

static void play(const struct row *row, struct opener *opener)
{
    unsigned rounds = is_quick() ? QUICK_ROUNDS : ROUNDS;
    double bare[ROUNDS], ours[ROUNDS];
    double middle;

    measure(BARE, row, opener, rounds, bare);
    measure(LATCH, row, opener, rounds, ours);
    middle = quantile(bare, rounds, 0.5);
    printf("| %u | %u %s | %.0f | %.0f | %.0f | %.0f | %.2f |\n",
           row->processes, row->waiters,
           row->waiter == THREADS ? "threads" : "callbacks", middle,
           quantile(bare, rounds, 0.95), quantile(ours, rounds, 0.5),
           quantile(ours, rounds, 0.95), quantile(ours, rounds, 0.5) / middle);
    (void)fflush(stdout);
}

int main(void)
{
    static const struct row rows[] = {{1, 1, THREADS},    {1, 100, THREADS},
                                      {1, 1000, THREADS}, {1, 1000, CALLBACKS},
                                      {8, 1, THREADS},    {64, 1, THREADS}};
    struct opener opener = {NULL, NULL, NULL};

    server_start();
    must(lk_client_open(&opener.client, server_url(), NULL), "open");
    must(lk_latch_new(&opener.latch, opener.client, "gate", NULL), "latch");
    opener.redis = server_connect();
    printf("From the last count-down to the last waiter, in us; bare: one "
           "PUBLISH.\n\n| processes | waiters of each | bare p50 | p95 "
           "| latch p50 | p95 | ratio |\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        play(&rows[i], &opener);
    redisFree(opener.redis);
    lk_latch_free(opener.latch);
    lk_client_free(opener.client);
    return 0;
}
