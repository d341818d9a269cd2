/* SPDX-License-Identifier: MIT */

/*
 * Ten thousand waits of 64 processes on one name, all the time, while some of
 * the processes are killed and some are cut off. Whoever holds the lock writes
 * down what the server says of its hold. Read afterwards, the fences must grow,
 * and with them the tickets: nobody whose link stood was overtaken.
 *
 * Ten thousand grants; LK_LONG=1 in the environment asks for a hundred
 * thousand. Where everything is slow, both numbers are smaller.
 */

#include <latchkey/latchkey.h>

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "support/check.h"
#include "support/one_server.h"
#include "support/wait.h"
#include "support/worker.h"

enum {
    PROCESSES = 64,
    WAITS = 157, /* of each */
    GRANTS = 10000,
    GRANTS_MOST = 10 * GRANTS + 2 * PROCESSES * WAITS,
    SLOW_PROCESSES = 16,
    SLOW_WAITS = 32,
    SLOW_GRANTS = 2000,
    /* So many times longer than on a machine with time it is slow, too. */
    SLOW_CROWD = 6,
    KILLED = 2, /* the first ones; the next ones are cut off */
    CUT = 2,
    WATCH_MS = 100,
    STILL_MS = 1500,
    PATIENCE_MS = 100000
};

/* In the row of nobody: the parent says that all may begin. */
enum { NOBODY = WORKER_MAX - 1, GO = 7 };
/* What a worker counts. */
enum { COUNT_FAILURES };

/* One grant, written by its holder. All zero: it was killed before. */
typedef struct grant {
    uint64_t fence, ticket;
    uint64_t call; /* the number of the worker's call, from 1 */
    uint64_t begun_ms;
    unsigned worker;
} grant;

/* In memory that all share. */
typedef struct book {
    server *server;
    unsigned processes, waits;
    unsigned long wanted;
    atomic_ulong count;
    /* Of a worker whose link did not stand: the last ticket given by then, and
       when that was; 0: it stood all the time. */
    _Atomic uint64_t cut_ticket[PROCESSES];
    _Atomic uint64_t cut_ms[PROCESSES];
    grant grants[GRANTS_MOST];
} book;

static bool is_long(void)
{
    const char *text = getenv("LK_LONG");

    return text != NULL && strcmp(text, "1") == 0;
}

static book *book_new(server *s)
{
    book *b = mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool slow = wait_scale() > 1 || wait_allowed_ms(1) >= SLOW_CROWD;

    assert_true(b != MAP_FAILED);
    b->server = s;
    b->processes = slow ? SLOW_PROCESSES : PROCESSES;
    b->waits = slow ? SLOW_WAITS : WAITS;
    b->wanted = slow ? SLOW_GRANTS : GRANTS;
    if (is_long())
        b->wanted *= 10;
    return b;
}

/* ---- the workers ---- */

typedef struct crew {
    book *book;
    worker_shared *shared;
    unsigned index;
    uint64_t calls;
    lk_fairlock *lock;
    /* A shutdown gives back what a callback holds, so it has to wait until no
       callback works under it. */
    pthread_mutex_t working;
    bool has_ended;
} crew;

/* A wait that begins again when its hold has been released. */
typedef struct lane {
    crew *crew;
    uint64_t call, begun_ms;
} lane;

static void failed(crew *c)
{
    (void)atomic_fetch_add(&c->shared->counters[c->index][COUNT_FAILURES], 1);
}

/* Asks the server whose turn it is, and writes that down. */
static bool book_write(const lane *l, uint64_t fence)
{
    book *b = l->crew->book;
    unsigned long at = atomic_fetch_add(&b->count, 1);
    char *newest = server_record(b->server, "n", SERVER_FENCE);
    char *ticket = server_record(b->server, "n", SERVER_FLOOR);
    bool good = at < GRANTS_MOST && newest != NULL && ticket != NULL &&
                strtoull(newest, NULL, 10) == fence;

    if (good)
        b->grants[at] = (grant){fence, strtoull(ticket, NULL, 10), l->call,
                                l->begun_ms, l->crew->index};
    free(newest);
    free(ticket);
    return good;
}

/* Whoever had a ticket by now may be overtaken. */
static void note_cut(book *b, unsigned worker)
{
    redisReply *last =
        server_command(b->server,
                       "ZRANGE latchkey:{n}:q 562949953421311 281474976710656 "
                       "BYSCORE REV LIMIT 0 1 WITHSCORES");

    if (last->elements == 2)
        b->cut_ticket[worker] =
            strtoull(last->element[1]->str, NULL, 10) % SERVER_BAND;
    b->cut_ms[worker] = wait_now_ms();
    freeReplyObject(last);
}

static void lane_begin(lane *l);

static void work(const lane *l, const lk_hold *hold)
{
    crew *c = l->crew;
    record *r = &c->shared->records[0];

    if (!record_enter(r, c->index, lk_hold_fence(hold)))
        failed(c);
    if (!book_write(l, lk_hold_fence(hold))) {
        /* A process that got no time for a whole lease has lost the hold, and
           knows it: then it was cut off. */
        if (lk_hold_check(hold) == LK_ELOST)
            note_cut(c->book, c->index);
        else
            failed(c);
    }
    if (!record_leave(r, c->index))
        failed(c);
}

static void on_grant(lk_status status, lk_hold *hold, void *data)
{
    lane *l = data;
    crew *c = l->crew;

    if (status != LK_OK) {
        if (!atomic_load(&c->shared->is_over))
            failed(c);
        return;
    }
    (void)pthread_mutex_lock(&c->working);
    if (!c->has_ended)
        work(l, hold);
    if (lk_hold_release_async(hold, NULL, NULL) != LK_OK)
        failed(c);
    (void)pthread_mutex_unlock(&c->working);
    if (!atomic_load(&c->shared->is_over))
        lane_begin(l);
}

static void lane_begin(lane *l)
{
    l->call = ++l->crew->calls;
    l->begun_ms = wait_now_ms();
    if (lk_fairlock_acquire_async(l->crew->lock, LK_FOREVER, NULL, on_grant,
                                  l) != LK_OK)
        failed(l->crew);
}

/*
 * The main thread of a worker sees whether this process and the server go on:
 * a waiter that is not heard of for three seconds is passed by, and rightly. A
 * machine that keeps either waiting for half of that is no place to ask for
 * order.
 */
static void watch_over(crew *c)
{
    uint64_t last = wait_now_ms();

    while (!atomic_load(&c->shared->is_over)) {
        (void)nanosleep(&(struct timespec){.tv_nsec = WATCH_MS * 1000000L},
                        NULL);
        (void)server_integer(c->book->server, "EXISTS n");
        if (wait_now_ms() - last > STILL_MS)
            note_cut(c->book, c->index);
        last = wait_now_ms();
    }
}

static bool is_told(void *data)
{
    return atomic_load((_Atomic uint64_t *)data) != 0;
}

/* The first calls are of this thread, all others of the loop's. */
static void crew_run(crew *c)
{
    static lane lanes[WAITS]; /* callbacks use them to the very end */

    for (unsigned i = 0; i < c->book->waits; i++) {
        lanes[i].crew = c;
        lane_begin(&lanes[i]);
    }
    watch_over(c);
    (void)pthread_mutex_lock(&c->working);
    c->has_ended = true;
    (void)pthread_mutex_unlock(&c->working);
}

/* A client may queue once its inbox stands, which it does after a hold. */
static bool is_calm(void *data)
{
    lk_client_stats stats = {.size = sizeof(stats)};

    return lk_client_stats_get(data, &stats) == LK_OK && stats.connects == 2 &&
           stats.pending == 0;
}

static bool calm_down(lk_client *client, const char *name)
{
    lk_fairlock *lock;
    lk_hold *hold;

    if (lk_fairlock_new(&lock, client, name, NULL) != LK_OK ||
        lk_fairlock_acquire(lock, PATIENCE_MS, NULL, &hold) != LK_OK ||
        lk_hold_release(hold) != LK_OK)
        return false;
    lk_fairlock_free(lock);
    return wait_until(is_calm, client, PATIENCE_MS);
}

static int worker_run(worker_shared *shared, unsigned index, void *data)
{
    static crew c;
    lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                 .command_timeout_ms = PATIENCE_MS,
                                 .offline_ms = PATIENCE_MS};
    lk_client *client;
    char name[24];
    lk_status status;

    c = (crew){.book = data,
               .shared = shared,
               .index = index,
               .working = PTHREAD_MUTEX_INITIALIZER};
    (void)snprintf(name, sizeof(name), "worker-%u.", index);
    options.name = name;
    if (lk_client_open(&client, server_url(c.book->server), &options) !=
            LK_OK ||
        !calm_down(client, name) ||
        !wait_until(is_told, &shared->counters[NOBODY][GO], PATIENCE_MS) ||
        lk_fairlock_new(&c.lock, client, "n", NULL) != LK_OK)
        return 1;
    crew_run(&c);
    status = lk_client_shutdown(client, (int64_t)wait_limit_ms(20000));
    lk_fairlock_free(c.lock);
    lk_client_free(client);
    return status == LK_OK ? 0 : 2;
}

/* ---- disturbances ---- */

static void worker_kill(workers *w, unsigned worker)
{
    workers_kill(w, worker, SIGKILL);
    (void)record_abandon(&workers_shared(w)->records[0], worker);
}

/* The connections of a worker, inbox first: it is passed by from now on. */
static void worker_cut(book *b, unsigned worker)
{
    static const char *const kinds[] = {"pubsub", "normal"};
    char name[32];

    (void)snprintf(name, sizeof(name), " name=worker-%u. ", worker);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        char *list = server_string(b->server, "CLIENT LIST TYPE %s", kinds[i]);
        char *rest = NULL;

        for (char *line = strtok_r(list, "\n", &rest); line != NULL;
             line = strtok_r(NULL, "\n", &rest)) {
            if (strstr(line, name) != NULL)
                (void)server_integer(b->server, "CLIENT KILL ID %lld",
                                     strtoll(line + strlen("id="), NULL, 10));
        }
        free(list);
    }
    note_cut(b, worker);
}

/* ---- the run ---- */

typedef struct goal {
    book *book;
    unsigned long grants;
    long long queued;
} goal;

static bool is_reached(void *data)
{
    const goal *g = data;

    return atomic_load(&g->book->count) >= g->grants;
}

static bool is_queued(void *data)
{
    const goal *g = data;

    return server_integer(g->book->server, SERVER_WAITERS("n")) >= g->queued;
}

static void reach_percent(book *b, unsigned percent)
{
    goal g = {b, b->wanted / 100 * percent, 0};

    if (!wait_until(is_reached, &g, is_long() ? 10 * PATIENCE_MS : PATIENCE_MS))
        fail_msg("%lu grants of %lu", atomic_load(&b->count), g.grants);
}

/* All of them wait before the first has the lock. */
static void begin(book *b, workers *w)
{
    const lk_client_options patient = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = PATIENCE_MS,
                                       .offline_ms = PATIENCE_MS};
    goal g = {b, 0, (long long)b->processes * b->waits};
    lk_client *client = NULL;
    lk_fairlock *lock = NULL;
    lk_hold *hold = NULL;

    assert_status(lk_client_open(&client, server_url(b->server), &patient),
                  LK_OK);
    assert_status(lk_fairlock_new(&lock, client, "n", NULL), LK_OK);
    assert_status(lk_fairlock_acquire(lock, PATIENCE_MS, NULL, &hold), LK_OK);
    workers_shared(w)->counters[NOBODY][GO] = 1;
    if (!wait_until(is_queued, &g, PATIENCE_MS))
        fail_msg("not %lld waits", g.queued);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_fairlock_free(lock);
    lk_client_free(client);
}

static void run(book *b, workers *w)
{
    uint64_t began = wait_now_ms();
    uint64_t ms;

    reach_percent(b, 20);
    worker_kill(w, 0);
    reach_percent(b, 40);
    worker_cut(b, KILLED);
    reach_percent(b, 60);
    worker_kill(w, 1);
    reach_percent(b, 80);
    worker_cut(b, KILLED + 1);
    reach_percent(b, 100);
    ms = wait_now_ms() - began;
    print_message("%lu grants in %" PRIu64 " ms\n", b->wanted, ms);
    workers_end(w);
    assert_true(workers_wait(w, PATIENCE_MS));
}

/* ---- what the book says ---- */

/* Its link did not stand while it had the ticket. */
static bool may_be_late(const book *b, const grant *g)
{
    return g->ticket <= b->cut_ticket[g->worker];
}

static unsigned count_cut(const book *b)
{
    unsigned count = 0;

    for (unsigned i = KILLED; i < b->processes; i++)
        count += b->cut_ticket[i] != 0;
    return count;
}

static void assert_order(const book *b, unsigned long count)
{
    uint64_t fence = 0;
    uint64_t ticket = 0;
    unsigned long late = 0;

    for (unsigned long i = 0; i < count; i++) {
        const grant *g = &b->grants[i];

        if (g->fence == 0)
            continue;
        assert_true(g->fence > fence);
        fence = g->fence;
        if (g->ticket <= ticket && may_be_late(b, g)) {
            late++;
            continue;
        }
        if (g->ticket <= ticket)
            fail_msg("grant %lu of worker %u: ticket %" PRIu64
                     " behind %" PRIu64,
                     i, g->worker, g->ticket, ticket);
        ticket = g->ticket;
    }
    print_message("%lu came late, of %u that were cut off\n", late,
                  count_cut(b));
}

/* Without a link the order of calls is not yet one of tickets. */
static bool may_be_early(const book *b, const grant *g)
{
    return g->begun_ms < b->cut_ms[g->worker] + wait_scaled_ms(2000);
}

/* The order of a process' calls is that of its tickets. */
static void assert_call_order(const book *b, unsigned long count)
{
    uint64_t calls[PROCESSES] = {0};

    for (unsigned long i = 0; i < count; i++) {
        const grant *g = &b->grants[i];

        if (g->fence == 0)
            continue;
        assert_true(g->call > calls[g->worker] || may_be_early(b, g));
        if (g->call > calls[g->worker])
            calls[g->worker] = g->call;
    }
}

/* All have the same number of waits, so in order means in equal shares. */
static void assert_shares(const book *b, unsigned long count)
{
    unsigned long shares[PROCESSES] = {0};
    unsigned long least = count, most = 0;

    for (unsigned long i = 0; i < count; i++)
        shares[b->grants[i].worker] += b->grants[i].fence != 0;
    for (unsigned i = KILLED + CUT; i < b->processes; i++) {
        least = shares[i] < least ? shares[i] : least;
        most = shares[i] > most ? shares[i] : most;
    }
    print_message("shares of %lu to %lu\n", least, most);
    if (count_cut(b) == CUT)
        assert_in_range(most - least, 0, b->waits);
}

static void assert_nothing_is_left(server *s)
{
    assert_int_equal(server_integer(s, "EXISTS n"), 0);
    assert_int_equal(server_integer(s, SERVER_STANDING("n")), 0);
    assert_true(server_integer(s, "PTTL latchkey:{n}:r") > 0);
}

static void nobody_whose_link_stands_is_overtaken(void **state)
{
    book *b = book_new(*state);
    workers *w = workers_start(b->processes, worker_run, b);
    unsigned long count;
    record *r;

    assert_non_null(w);
    begin(b, w);
    run(b, w);
    r = &workers_shared(w)->records[0];
    assert_int_equal(workers_count(w, COUNT_FAILURES), 0);
    assert_int_equal(r->overlaps, 0);
    assert_int_equal(r->fence_errors, 0);
    for (unsigned i = 0; i < b->processes; i++)
        assert_int_equal(workers_exit(w, i), i < KILLED ? -SIGKILL : 0);
    count = atomic_load(&b->count);
    assert_order(b, count);
    assert_call_order(b, count);
    assert_shares(b, b->wanted);
    workers_free(w);
    assert_nothing_is_left(b->server);
    assert_int_equal(munmap(b, sizeof(*b)), 0);
}

int test_fairlock_order(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_whose_link_stands_is_overtaken),
    };

    return cmocka_run_group_tests(tests, one_server_start, one_server_stop);
}
