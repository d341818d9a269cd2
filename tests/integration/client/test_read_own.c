/* SPDX-License-Identifier: MIT */

/* A caller that waits for an answer while nobody else does reads it itself. */

#include <dirent.h>
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/proxy.h"
#include "support/wait.h"

enum { PAIRS = 2000, WARM = 50, LOOK_MS = 10, DEADLINE_MS = 10000, STOP_S = 5 };

static void pairs(lk_lock *lock, int count)
{
    for (int i = 0; i < count; i++)
        assert_status(lk_hold_release(locking_hold(lock)), LK_OK);
}

/* ---- what it saves ---------------------------------------------------------- */

/* How often the thread of that name, with a newline, went to sleep. */
static long sleeps_of(const char *thread)
{
    static const char field[] = "voluntary_ctxt_switches:";
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *task;
    long sleeps = -1;

    assert_non_null(tasks);
    while ((task = readdir(tasks)) != NULL) {
        char path[300], line[128], name[128] = "";
        FILE *file;

        (void)snprintf(path, sizeof(path), "/proc/self/task/%s/status",
                       task->d_name);
        file = fopen(path, "re");
        while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
            if (strncmp(line, "Name:\t", 6) == 0)
                (void)snprintf(name, sizeof(name), "%s", line + 6);
            if (strcmp(name, thread) == 0 &&
                strncmp(line, field, strlen(field)) == 0)
                sleeps = strtol(line + strlen(field), NULL, 10);
        }
        if (file != NULL)
            (void)fclose(file);
    }
    (void)closedir(tasks);
    return sleeps;
}

/* Two answers a pair, and the loop was woken for each. By itself it looks every 10 ms
   whether the caller still reads; on a slow machine that is often. */
LOCKS_TEST(the_loop_sleeps_while_one_caller_works)
{
    lk_lock *lock = locking_calm(f, lk_lock);
    uint64_t began;
    long before, looks;

    pairs(lock, WARM);
    before = sleeps_of("latchkey\n");
    assert_true(before >= 0);
    began = wait_now_ms();
    pairs(lock, PAIRS);
    looks = (long)((wait_now_ms() - began) / LOOK_MS);
    assert_true(sleeps_of("latchkey\n") - before < PAIRS + 2 * looks);
}

/* ---- how its call ends ------------------------------------------------------- */

/* A client behind a network that answers nothing, and a thread that waits. */
typedef struct silence {
    proxy *proxy;
    lk_client *client;
    lk_lock *lock;
} silence;

static silence silence_of(locking *f)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = 20000,
                                       .watchdog_ms = 3000};
    silence s = {.proxy = proxy_start(server_socket(f->server))};

    assert_non_null(s.proxy);
    s.client = locking_open_url(f, proxy_url(s.proxy), &options);
    assert_status(lk_client_wait_ready(s.client,
                                       (int64_t)wait_limit_ms(DEADLINE_MS)),
                  LK_OK);
    s.lock = locking_lock(f, s.client, "n");
    pairs(s.lock, WARM);
    proxy_hold(s.proxy, PROXY_ALL, PROXY_REPLIES);
    return s;
}

static void silence_end(locking *f, silence *s)
{
    proxy_release(s->proxy, PROXY_ALL, PROXY_REPLIES);
    locking_free(f, s->lock);
    locking_free_client(f, s->client);
    proxy_stop(s->proxy);
}

static taker *
take(locking *f, const silence *s, const lk_acquire_options *options)
{
    taker *t = locking_take(f, s->lock, LK_FOREVER, options);

    locking_wait_waiting(s->client, 1); /* and it has sent */
    return t;
}

LOCKS_TEST(its_time_ends_it)
{
    silence s = silence_of(f);
    taker *t = locking_take(f, s.lock, 50, NULL);

    assert_status(taker_join(t), LK_EINDOUBT);
    silence_end(f, &s);
}

LOCKS_TEST(a_cancel_ends_it)
{
    silence s = silence_of(f);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    lk_cancel *cancel = NULL;
    taker *t;

    assert_status(lk_cancel_new(&cancel, s.client), LK_OK);
    options.cancel = cancel;
    t = take(f, &s, &options);
    lk_cancel_fire(cancel);
    assert_status(taker_join(t), LK_ECANCELED);
    lk_cancel_free(cancel);
    silence_end(f, &s);
}

LOCKS_TEST(the_shutdown_ends_it)
{
    silence s = silence_of(f);
    taker *t = take(f, &s, NULL);

    (void)lk_client_shutdown(s.client, 1);
    assert_status(taker_join(t), LK_ECLOSED);
    silence_end(f, &s);
}

LOCKS_TEST(a_break_has_it_asked_again)
{
    silence s = silence_of(f);
    taker *t = take(f, &s, NULL);

    proxy_heal(s.proxy);
    proxy_reset(s.proxy, PROXY_ALL);
    assert_status(taker_release(t), LK_OK);
    silence_end(f, &s);
}

LOCKS_TEST(another_caller_is_answered_too)
{
    silence s = silence_of(f);
    lk_lock *other = locking_lock(f, s.client, "other");
    taker *one = take(f, &s, NULL);
    taker *two = locking_take(f, other, LK_FOREVER, NULL);

    locking_wait_waiting(s.client, 2);
    proxy_release(s.proxy, PROXY_ALL, PROXY_REPLIES);
    assert_status(taker_release(one), LK_OK);
    assert_status(taker_release(two), LK_OK);
    locking_free(f, other);
    silence_end(f, &s);
}

/* Ends with answers under way that are nobody's, and the next is answered. */
LOCKS_TEST(what_it_leaves_is_read_by_the_loop)
{
    silence s = silence_of(f);
    taker *t = locking_take(f, s.lock, 50, NULL);

    assert_status(taker_join(t), LK_EINDOUBT);
    proxy_release(s.proxy, PROXY_ALL, PROXY_REPLIES);
    locking_wait_calm(s.client);
    pairs(s.lock, WARM);
    silence_end(f, &s);
}

/* ---- a thread that is not run --------------------------------------------------- */

/* A debugger, or a machine without time, stops one thread of a process. */
static int go_on[2];
static sem_t stopped;

static void stand_still(int sig)
{
    char byte;

    (void)sig;
    (void)sem_post(&stopped);
    (void)!read(go_on[0], &byte, 1);
}

/* ThreadSanitizer keeps a signal from a thread that sleeps in a call which it does not
   know, sem_clockwait(): then nobody stands still. */
static void thread_stop(const taker *t)
{
    const struct sigaction action = {.sa_handler = stand_still};
    struct timespec limit;
    int failed;

    assert_int_equal(pipe(go_on), 0);
    assert_int_equal(sem_init(&stopped, 0, 0), 0);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    assert_int_equal(pthread_kill(t->thread, SIGUSR1), 0);
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &limit), 0);
    limit.tv_sec += STOP_S;
    do
        failed = sem_timedwait(&stopped, &limit);
    while (failed && errno == EINTR);
#ifndef __SANITIZE_THREAD__
    assert_int_equal(failed, 0);
#endif
}

/* Runs it on, to the end. */
static void assert_goes_on(taker *t)
{
    const struct sigaction action = {.sa_handler = SIG_DFL};

    assert_int_equal(write(go_on[1], "", 1), 1);
    assert_status(taker_release(t), LK_OK);
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    (void)close(go_on[0]);
    (void)close(go_on[1]);
}

/* Others call, their answers come, and what is held is renewed. */
static void assert_others_go_on(locking *f, const silence *s)
{
    lk_lock *other = locking_lock(f, s->client, "other");
    lk_hold *hold = locking_hold(other);
    uint64_t least = locking_stats(s->client).renewals + 2;

    assert_soon(locking_stats(s->client).renewals >= least, DEADLINE_MS);
    assert_status(lk_hold_release(hold), LK_OK);
    pairs(other, WARM);
    locking_free(f, other);
}

LOCKS_TEST(one_that_is_stopped_keeps_nothing_from_others)
{
    silence s = silence_of(f);
    taker *t = take(f, &s, NULL);

    thread_stop(t);
    proxy_release(s.proxy, PROXY_ALL, PROXY_REPLIES);
    assert_others_go_on(f, &s);
    assert_goes_on(t);
    silence_end(f, &s);
}

LOCKS_TEST(nor_does_one_whose_stream_has_ended)
{
    silence s = silence_of(f);
    taker *t = take(f, &s, NULL);

    thread_stop(t);
    proxy_heal(s.proxy);
    proxy_reset(s.proxy, PROXY_ALL);
    assert_status(lk_client_wait_ready(s.client,
                                       (int64_t)wait_limit_ms(DEADLINE_MS)),
                  LK_OK);
    assert_others_go_on(f, &s);
    assert_goes_on(t);
    silence_end(f, &s);
}

/* ---- many at once -------------------------------------------------------------- */

enum { THREADS = 64, ROUNDS = 60, ASYNC = 400 };

typedef struct party {
    lk_client *client;
    pthread_t threads[THREADS];
    atomic_uint got, ended, async;
    unsigned wanted; /* of async */
} party;

typedef struct guest {
    party *party;
    unsigned index;
} guest;

/* By turns alone on its name, for a name that others want, and canceled. */
static void guest_do(guest *g, lk_lock *own, lk_lock *shared, int round)
{
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    lk_cancel *cancel = NULL;
    lk_hold *hold = NULL;
    lk_status status;

    assert_status(lk_cancel_new(&cancel, g->party->client), LK_OK);
    options.cancel = cancel;
    if (round % 7 == 3)
        lk_cancel_fire(cancel);
    status = lk_lock_acquire(round % 3 == 0 ? shared : own,
                             round % 5 == 0 ? 1 : LK_FOREVER, &options, &hold);
    if (status == LK_OK)
        assert_status(lk_hold_release(hold), LK_OK);
    g->party->got += status == LK_OK;
    g->party->ended++;
    lk_cancel_free(cancel);
}

static void *guest_main(void *data)
{
    guest *g = data;
    lk_lock *own, *shared;
    char name[32];

    (void)snprintf(name, sizeof(name), "own:%u", g->index);
    assert_status(lk_lock_new(&own, g->party->client, name, NULL), LK_OK);
    assert_status(lk_lock_new(&shared, g->party->client, "shared", NULL),
                  LK_OK);
    for (int round = 0; round < ROUNDS; round++)
        guest_do(g, own, shared, round);
    lk_lock_free(own);
    lk_lock_free(shared);
    return NULL;
}

static void on_given(lk_status status, void *data)
{
    party *p = data;

    (void)status;
    p->async++;
}

static void on_got(lk_status status, lk_hold *hold, void *data)
{
    party *p = data;

    if (status != LK_OK || lk_hold_release_async(hold, on_given, p) != LK_OK)
        p->async++;
}

static bool async_is_over(party *p)
{
    return p->async >= p->wanted;
}

LOCKS_TEST(every_call_of_many_threads_ends_beside_async_work)
{
    party p = {.client = locking_open(f, NULL), .wanted = ASYNC};
    lk_lock *lock = locking_lock(f, p.client, "async");
    guest guests[THREADS];

    for (unsigned i = 0; i < THREADS; i++) {
        guests[i] = (guest){.party = &p, .index = i};
        assert_int_equal(pthread_create(&p.threads[i], NULL, guest_main,
                                        &guests[i]),
                         0);
    }
    for (int i = 0; i < ASYNC; i++)
        assert_status(lk_lock_acquire_async(lock, LK_FOREVER, NULL, on_got, &p),
                      LK_OK);
    for (unsigned i = 0; i < THREADS; i++)
        (void)pthread_join(p.threads[i], NULL);
    assert_soon(async_is_over(&p), DEADLINE_MS);
    assert_int_equal(p.ended, THREADS * ROUNDS);
    assert_true(p.got > 0);
    locking_wait_calm(p.client);
}

/* One thread works, and another has async work done now and then: the stream
   goes to and fro. */
LOCKS_TEST(a_lone_caller_and_async_work_take_turns)
{
    party p = {.client = locking_open(f, NULL), .wanted = ASYNC};
    lk_lock *lock = locking_lock(f, p.client, "async");
    guest g = {.party = &p, .index = 1};

    assert_int_equal(pthread_create(&p.threads[0], NULL, guest_main, &g), 0);
    for (unsigned i = 0; i < ASYNC; i++) {
        assert_status(lk_lock_acquire_async(lock, LK_FOREVER, NULL, on_got, &p),
                      LK_OK);
        p.wanted = i + 1;
        if (i % 16 == 0)
            assert_soon(async_is_over(&p), DEADLINE_MS);
    }
    (void)pthread_join(p.threads[0], NULL);
    assert_soon(async_is_over(&p), DEADLINE_MS);
    assert_int_equal(p.ended, ROUNDS);
    locking_wait_calm(p.client);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
