/* SPDX-License-Identifier: MIT */

/*
 * Processes that are killed or stopped while they use the bare counter: what
 * they took stays taken, and what they wait for costs the living nothing.
 */

#include <latchkey/plain_semaphore.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/one_server.h"
#include "support/wait.h"
#include "support/worker.h"

enum {
    STOPPED = 20,
    SEEN_MS = 3000, /* so long a waiter is believed to live */
    LOOK_MS = 1000,
    SETTLE_MS = 20000,
    COMMAND_MS = 20000
};

static const lk_client_options patient = {LK_CLIENT_OPTIONS_INIT,
                                          .command_timeout_ms = COMMAND_MS};

/* What a worker tells, and, in the row of nobody, what it is told. */
enum { TOLD_TAKEN_AT, TOLD_STATUS };
enum { NOBODY = WORKER_MAX - 1, GO = 0 };

static bool is_told(void *data)
{
    return atomic_load((_Atomic uint64_t *)data) != 0;
}

static bool is_over(void *data)
{
    return atomic_load(&((worker_shared *)data)->is_over);
}

/* Waits for the word, takes one permit, tells so, and keeps it to the end. */
static int taker_run(worker_shared *shared, unsigned index, void *data)
{
    _Atomic uint64_t *told = shared->counters[index];
    lk_client *client;
    lk_plain_semaphore *semaphore;
    lk_status status;

    if (!wait_until(is_told, &shared->counters[NOBODY][GO], SETTLE_MS) ||
        lk_client_open(&client, server_url(data), &patient) != LK_OK ||
        lk_plain_semaphore_new(&semaphore, client, "n") != LK_OK)
        return 1;
    status = lk_plain_semaphore_acquire(semaphore, 1, LK_FOREVER, NULL);
    told[TOLD_STATUS] = (uint64_t)-status;
    if (status != LK_OK)
        return 2;
    told[TOLD_TAKEN_AT] = wait_now_ms();
    if (!wait_until(is_over, shared, SETTLE_MS))
        return 3;
    if (lk_plain_semaphore_release(semaphore, 1) != LK_OK)
        return 4;
    lk_plain_semaphore_free(semaphore);
    lk_client_free(client);
    return 0;
}

static void go(workers *w)
{
    workers_shared(w)->counters[NOBODY][GO] = 1;
}

/* When the index-th worker took; 0: not in time. */
static uint64_t taken_at(workers *w, unsigned index)
{
    _Atomic uint64_t *at = &workers_shared(w)->counters[index][TOLD_TAKEN_AT];

    return wait_until(is_told, at, SETTLE_MS) ? *at : 0;
}

static void end_well(workers *w, unsigned count)
{
    workers_end(w);
    assert_true(workers_wait(w, SETTLE_MS));
    assert_int_equal(workers_succeeded(w), count);
    workers_free(w);
}

/* ---- the queue, and this process; begins after every worker was forked ------ */

typedef struct expectation {
    server *server;
    long long least;
} expectation;

static bool is_queued(const expectation *e)
{
    return server_integer(e->server, SERVER_STANDING("n")) >= e->least;
}

static void queue_reaches(server *s, long long least)
{
    assert_soon(is_queued(&(expectation){s, least}), SETTLE_MS);
}

static lk_client *the_client;
static lk_plain_semaphore *the_semaphore;

static void begin(const server *s, uint64_t permits)
{
    assert_status(lk_client_open(&the_client, server_url(s), &patient), LK_OK);
    assert_status(lk_plain_semaphore_new(&the_semaphore, the_client, "n"),
                  LK_OK);
    assert_status(lk_plain_semaphore_try_set(the_semaphore, permits, 0), LK_OK);
}

static int64_t free_now(void)
{
    int64_t count = -999;

    assert_status(lk_plain_semaphore_count(the_semaphore, &count), LK_OK);
    return count;
}

static void end(void)
{
    lk_plain_semaphore_free(the_semaphore);
    lk_client_free(the_client);
}

/* ---- tests --------------------------------------------------------------- */

/* As the header's first line says; and what is to be done about it. */
FLUSHED_TEST(a_killed_process_keeps_its_permits)
{
    workers *w = workers_start(2, taker_run, redis);

    begin(redis, 2);
    go(w);
    assert_true(taken_at(w, 0) != 0);
    assert_true(taken_at(w, 1) != 0);
    workers_kill(w, 0, SIGKILL);
    assert_int_equal(free_now(), 0);
    assert_status(lk_plain_semaphore_acquire(the_semaphore, 1, 1500, NULL),
                  LK_ETIMEDOUT);
    assert_int_equal(free_now(), 0);
    assert_status(lk_plain_semaphore_add(the_semaphore, 1), LK_OK);
    assert_status(lk_plain_semaphore_acquire(the_semaphore, 1,
                                             (int64_t)wait_limit_ms(1500),
                                             NULL),
                  LK_OK);
    assert_int_equal(free_now(), 0);
    end();
    workers_free(w);
}

/* So many scripts were run by clients, without those that came before and were not
   read yet: a server answers behind all that it has found at once. */
static long scripts_run(server *s)
{
    static const char begin[] = "cmdstat_evalsha:calls=";
    char *stats;
    const char *at;
    long calls;

    freeReplyObject(server_command(s, "PING"));
    stats = server_string(s, "INFO commandstats");
    at = strstr(stats, begin);
    calls = at != NULL ? strtol(at + sizeof(begin) - 1, NULL, 10) : 0;
    free(stats);
    return calls;
}

/* None of them has anything, so none of them can take anything away. Who lives looks
   once a second, and no more often than one stopped waiter would cost, or on a machine
   that stood still two. */
FLUSHED_TEST(stopped_waiters_together_cost_some_seconds)
{
    workers *stopped = workers_start(STOPPED, taker_run, redis);
    workers *live = workers_start(1, taker_run, redis);
    uint64_t released_at, at;
    long before;

    begin(redis, 0);
    go(stopped);
    queue_reaches(redis, STOPPED);
    go(live);
    queue_reaches(redis, STOPPED + 1);
    for (unsigned i = 0; i < STOPPED; i++)
        workers_kill(stopped, i, SIGSTOP);
    before = scripts_run(redis);
    released_at = wait_now_ms();
    assert_status(lk_plain_semaphore_release(the_semaphore, 1), LK_OK);
    at = taken_at(live, 0);
    assert_true(at != 0);
    assert_in_range(scripts_run(redis) - before, 2, STOPPED);
    assert_in_range(at - released_at, 0,
                    wait_limit_ms(SEEN_MS + LOOK_MS + 1500));
    assert_int_equal(free_now(), 0);
    end_well(live, 1);
    end();
    workers_free(stopped);
}

/* It goes on where it stopped: it takes if there is something to take. */
FLUSHED_TEST(a_stopped_waiter_that_goes_on_takes_in_its_turn)
{
    workers *sleeper = workers_start(1, taker_run, redis);
    workers *live = workers_start(1, taker_run, redis);

    begin(redis, 0);
    go(sleeper);
    queue_reaches(redis, 1);
    go(live);
    queue_reaches(redis, 2);
    workers_kill(sleeper, 0, SIGSTOP);
    assert_status(lk_plain_semaphore_release(the_semaphore, 1), LK_OK);
    assert_true(taken_at(live, 0) != 0);
    workers_kill(sleeper, 0, SIGCONT);
    assert_status(lk_plain_semaphore_release(the_semaphore, 1), LK_OK);
    assert_true(taken_at(sleeper, 0) != 0);
    assert_int_equal(free_now(), 0);
    end_well(live, 1);
    end_well(sleeper, 1);
    assert_int_equal(free_now(), 2);
    end();
}

/* It was told, and dies before it comes: nothing was given to it. */
FLUSHED_TEST(the_next_waiter_may_die_when_it_is_told)
{
    workers *doomed = workers_start(1, taker_run, redis);
    workers *live = workers_start(1, taker_run, redis);

    begin(redis, 0);
    go(doomed);
    queue_reaches(redis, 1);
    go(live);
    queue_reaches(redis, 2);
    workers_kill(doomed, 0, SIGSTOP);
    assert_status(lk_plain_semaphore_release(the_semaphore, 1), LK_OK);
    workers_kill(doomed, 0, SIGKILL);
    assert_true(taken_at(live, 0) != 0);
    assert_int_equal(free_now(), 0);
    end_well(live, 1);
    assert_int_equal(free_now(), 1);
    end();
    workers_free(doomed);
}

CHECK_GROUP(one_server_start, one_server_stop)
