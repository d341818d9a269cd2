/* SPDX-License-Identifier: MIT */

/*
 * The semaphore under load: threads of many processes that want different
 * numbers of the same permits, while some processes are killed at any moment
 * and connections are cut. At every moment no more permits are in use than
 * there are, and at rest all are free. LK_LONG=1 in the environment asks for
 * ten times the grants.
 */

#include <latchkey/latchkey.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/check.h"
#include "support/one_server.h"
#include "support/wait.h"
#include "support/worker.h"

enum {
    PERMITS = 12,
    MOST_AT_ONCE = 4,
    STEADY = 5, /* the workers with a smaller index: their processes stay */
    MORTAL = 3,
    THREADS = 4,
    CREWS = STEADY * THREADS,
    GRANTS = 3000,
    LEASE_MS = 5000, /* of those who die; scaled */
    STALL_MS =
        1000, /* a thread that sleeps so much too long has been starved */
    CUT_MS = 100,
    DEADLINE_MS = 100000
};

/* What a worker counts. */
enum {
    COUNT_GRANTS,
    COUNT_REFUSALS,
    COUNT_LOSSES,
    COUNT_TOO_MANY,
    COUNT_DEATHS,
    COUNT_STALLS
};

/* Where the last worker's counters would be: eight bits for each worker, the
   permits that it uses, in one word, so that they are seen at one moment. */
enum { NOBODY = WORKER_MAX - 1, IN_USE = WORKER_COUNTERS - 1, BITS = 8 };

static bool is_long(void)
{
    const char *text = getenv("LK_LONG");

    return text != NULL && strcmp(text, "1") == 0;
}

static unsigned long wanted_grants(void)
{
    return is_long() ? 10UL * GRANTS : GRANTS;
}

/* ---- what is in use --------------------------------------------------------- */

static _Atomic uint64_t *in_use(worker_shared *shared)
{
    return &shared->counters[NOBODY][IN_USE];
}

static uint64_t sum_of(uint64_t word)
{
    uint64_t sum = 0;

    for (; word != 0; word >>= BITS)
        sum += word & 0xff;
    return sum;
}

static void use_begin(worker_shared *shared, unsigned index, uint64_t count)
{
    uint64_t own = count << (BITS * index);
    uint64_t before = atomic_fetch_add(in_use(shared), own);

    shared->counters[index][COUNT_GRANTS]++;
    if (sum_of(before + own) > PERMITS)
        shared->counters[index][COUNT_TOO_MANY]++;
}

static void use_end(worker_shared *shared, unsigned index, uint64_t count)
{
    (void)atomic_fetch_sub(in_use(shared), count << (BITS * index));
}

/* A process is dead: it uses nothing, whatever the server may still think. */
static void use_forget(worker_shared *shared, unsigned index)
{
    (void)atomic_fetch_and(in_use(shared), ~(UINT64_C(0xff) << (BITS * index)));
}

/* ---- the workers -------------------------------------------------------------- */

typedef struct crew {
    worker_shared *shared;
    unsigned index;
    unsigned thread;
    unsigned long grants; /* of each thread */
    lk_semaphore *semaphore;
    pthread_t id;
} crew;

static void pause_us(unsigned us)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = us * 1000L}, NULL);
}

static void hold_once(const crew *c, uint64_t count)
{
    _Atomic uint64_t *counters = c->shared->counters[c->index];
    lk_hold *hold;
    lk_status status;

    if (lk_semaphore_acquire(c->semaphore, count, LK_FOREVER, NULL, &hold) !=
        LK_OK) {
        counters[COUNT_REFUSALS]++;
        return;
    }
    use_begin(c->shared, c->index, count);
    pause_us(100);
    if (lk_hold_check(hold) != LK_OK)
        counters[COUNT_LOSSES]++;
    use_end(c->shared, c->index, count);
    status = lk_hold_release(hold);
    if (status != LK_OK && status != LK_EINDOUBT && status != LK_EOFFLINE)
        counters[COUNT_LOSSES]++;
}

static void *thread_run(void *data)
{
    const crew *c = data;
    unsigned random = c->index * THREADS + c->thread;

    for (unsigned long i = 0; i < c->grants; i++)
        hold_once(c, 1 + (unsigned)rand_r(&random) % MOST_AT_ONCE);
    return NULL;
}

static atomic_bool watch_is_over; /* of this process */

/* Notes when this process does not get to run: then a hold may well be lost. */
static void *watch_run(void *data)
{
    const crew *c = data;

    while (!atomic_load(&watch_is_over)) {
        uint64_t begin = wait_now_ms();

        pause_us(5000);
        if (wait_now_ms() - begin > STALL_MS)
            c->shared->counters[c->index][COUNT_STALLS]++;
    }
    return NULL;
}

static int
threads_run(worker_shared *shared, unsigned index, lk_semaphore *semaphore)
{
    crew crews[THREADS];
    int failures = 0;

    for (unsigned i = 0; i < THREADS; i++) {
        crews[i] = (crew){.shared = shared,
                          .index = index,
                          .thread = i,
                          .grants = wanted_grants() / CREWS,
                          .semaphore = semaphore};
        failures +=
            pthread_create(&crews[i].id, NULL, thread_run, &crews[i]) != 0;
    }
    for (unsigned i = 0; i < THREADS && failures == 0; i++)
        failures += pthread_join(crews[i].id, NULL) != 0;
    return failures;
}

static bool open_semaphore(const server *s, uint64_t watchdog_ms,
                           lk_client **ret_client, lk_semaphore **ret_semaphore)
{
    const lk_client_options how = {LK_CLIENT_OPTIONS_INIT,
                                   .watchdog_ms = watchdog_ms,
                                   .offline_ms = 60000};
    const lk_semaphore_options options = {LK_SEMAPHORE_OPTIONS_INIT,
                                          .permits = PERMITS};

    return lk_client_open(ret_client, server_url(s), &how) == LK_OK &&
           lk_semaphore_new(ret_semaphore, *ret_client, "stress", &options) ==
               LK_OK;
}

static int steady_run(worker_shared *shared, unsigned index, const server *s)
{
    crew watch = {.shared = shared, .index = index};
    lk_client *client;
    lk_semaphore *semaphore;
    int failures;

    if (!open_semaphore(s, 0, &client, &semaphore) ||
        pthread_create(&watch.id, NULL, watch_run, &watch) != 0)
        return 1;
    failures = threads_run(shared, index, semaphore);
    atomic_store(&watch_is_over, true);
    (void)pthread_join(watch.id, NULL);
    lk_semaphore_free(semaphore);
    failures += lk_client_shutdown(client, 5000) != LK_OK;
    lk_client_free(client);
    return failures;
}

/* Holds and waits until it is killed. */
static _Noreturn void
mortal_live(worker_shared *shared, unsigned index, const server *s)
{
    lk_client *client;
    lk_semaphore *semaphore;
    crew c = {.shared = shared, .index = index};

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!open_semaphore(s, wait_scaled_ms(LEASE_MS), &client, &semaphore))
        _exit(1);
    c.semaphore = semaphore;
    for (;;)
        hold_once(&c, 2);
}

/* One life after the other, each of them ended at any moment. */
static int mortal_run(worker_shared *shared, unsigned index, const server *s)
{
    unsigned random = index;

    while (!atomic_load(&shared->is_over)) {
        pid_t child = fork();

        if (child == 0)
            mortal_live(shared, index, s);
        if (child < 0)
            return 1;
        pause_us(20000 + (unsigned)rand_r(&random) % 100000);
        if (kill(child, SIGKILL) != 0 || waitpid(child, NULL, 0) != child)
            return 2;
        use_forget(shared, index);
        shared->counters[index][COUNT_DEATHS]++;
    }
    return 0;
}

static int run(worker_shared *shared, unsigned index, void *data)
{
    return index < STEADY ? steady_run(shared, index, data)
                          : mortal_run(shared, index, data);
}

/* ---- the test ------------------------------------------------------------------- */

static bool steady_are_done(workers *w)
{
    for (unsigned i = 0; i < STEADY; i++) {
        if (workers_exit(w, i) == WORKER_RUNS)
            return false;
    }
    return true;
}

/* Cuts all connections of a kind, in turn, until the steady ones are done. */
static bool cut_until_done(server *s, workers *w, unsigned deadline_ms)
{
    uint64_t begin = wait_now_ms();

    for (int i = 0; !steady_are_done(w); i++) {
        if (wait_now_ms() - begin > wait_scaled_ms(deadline_ms))
            return false;
        pause_us(CUT_MS * 1000);
        (void)server_integer(s, "CLIENT KILL TYPE %s SKIPME yes",
                             i % 2 == 0 ? "normal" : "pubsub");
    }
    return true;
}

/* What the dead had comes back with their leases: then all permits are had. */
static void assert_at_rest(server *s)
{
    lk_client *client = NULL;
    lk_semaphore *semaphore = NULL;
    lk_hold *hold = NULL;

    assert_true(open_semaphore(s, 0, &client, &semaphore));
    assert_status(lk_semaphore_acquire(semaphore, PERMITS,
                                       wait_scaled_ms(4 * LEASE_MS), NULL,
                                       &hold),
                  LK_OK);
    assert_int_equal(server_integer(s, "INCRBY stress 0"), 0);
    assert_int_equal(server_integer(s, "ZCARD {stress}:timeout"), PERMITS);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_int_equal(server_integer(s, "INCRBY stress 0"), PERMITS);
    assert_int_equal(server_integer(s, "EXISTS {stress}:timeout"), 0);
    assert_int_equal(server_integer(s, "EXISTS latchkey:{stress}:h"), 0);
    assert_int_equal(server_integer(s, "ZCOUNT latchkey:{stress}:q 0 "
                                       "(2251799813685248"),
                     0);
    assert_true(server_integer(s, "PTTL latchkey:{stress}:r") > 0);
    lk_semaphore_free(semaphore);
    assert_status(lk_client_shutdown(client, 5000), LK_OK);
    lk_client_free(client);
}

static void no_more_permits_are_in_use_than_there_are(void **state)
{
    server *s = *state;
    workers *w = workers_start(STEADY + MORTAL, run, s);

    assert_non_null(w);
    assert_true(
        cut_until_done(s, w, is_long() ? 10 * DEADLINE_MS : DEADLINE_MS));
    workers_end(w);
    assert_true(workers_wait(w, DEADLINE_MS));
    assert_int_equal(workers_succeeded(w), STEADY + MORTAL);
    print_message("%llu grants, %llu deaths, %llu stalls\n",
                  (unsigned long long)workers_count(w, COUNT_GRANTS),
                  (unsigned long long)workers_count(w, COUNT_DEATHS),
                  (unsigned long long)workers_count(w, COUNT_STALLS));
    assert_int_equal(workers_count(w, COUNT_TOO_MANY), 0);
    assert_int_equal(workers_count(w, COUNT_REFUSALS), 0);
    if (workers_count(w, COUNT_STALLS) == 0)
        assert_int_equal(workers_count(w, COUNT_LOSSES), 0);
    assert_true(workers_count(w, COUNT_GRANTS) >= wanted_grants() - CREWS);
    assert_true(workers_count(w, COUNT_DEATHS) > 5);
    assert_int_equal(sum_of(*in_use(workers_shared(w))), 0);
    workers_free(w);
    assert_at_rest(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_more_permits_are_in_use_than_there_are),
    };

    return cmocka_run_group_tests(tests, one_server_start, one_server_stop);
}
