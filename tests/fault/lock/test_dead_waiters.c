/* SPDX-License-Identifier: MIT */

/*
 * Waiters that were killed or stopped: they stand in the queue, but cost the
 * living next to nothing, and what they believe when they go on is true.
 */

#include <latchkey/latchkey.h>

#include <signal.h>

#include "support/check.h"
#include "support/one_server.h"
#include "support/wait.h"
#include "support/worker.h"

enum {
    GROUPS = 4, /* of waiters that are killed */
    GROUP = 50, /* workers started at once */
    FEW = 20,   /* in a group under a sanitizer: still more than the 64 that a
                   call looks at */
    FEWEST = 5, /* where each drags Valgrind along: more of them could not even
                   say once in three seconds that they live */
    CLAIM_LEASE_MS = 3000,
    LOOK_MS = 1000,
    SLACK_MS = 400, /* scaled: a loaded machine */
    SETTLE_MS = 20000
};

/* What a worker tells, and, in the row of nobody, what it is told. */
enum { TOLD_GRANTED_AT, TOLD_STATUS, TOLD_FENCE, TOLD_CHECK, TOLD_PUSHED };
enum { NOBODY = WORKER_MAX - 1, GO = 0 };

static bool is_told(void *data)
{
    return atomic_load((_Atomic uint64_t *)data) != 0;
}

static bool is_over(void *data)
{
    return atomic_load(&((worker_shared *)data)->is_over);
}

/* How many grants came by hand-over, and not by a look of the client's own. */
static uint64_t pushed(lk_client *client)
{
    lk_client_stats stats = {.size = sizeof(stats)};

    return lk_client_stats_get(client, &stats) == LK_OK ? stats.grants : 0;
}

/* Waits for its turn to queue, queues, and tells what it got. */
static int waiter_run(worker_shared *shared, unsigned index, void *data)
{
    _Atomic uint64_t *told = shared->counters[index];
    record *r = &shared->records[0];
    lk_client *client;
    lk_lock *lock;
    lk_hold *hold;
    lk_status status;

    if (!wait_until(is_told, &shared->counters[NOBODY][GO], SETTLE_MS) ||
        lk_client_open(&client, server_url(data), NULL) != LK_OK ||
        lk_lock_new(&lock, client, "line", NULL) != LK_OK)
        return 1;
    status = lk_lock_acquire(lock, LK_FOREVER, NULL, &hold);
    told[TOLD_STATUS] = (uint64_t)-status;
    if (status != LK_OK)
        return 2;
    told[TOLD_CHECK] = (uint64_t)-lk_hold_check(hold);
    record_enter(r, index, lk_hold_fence(hold));
    told[TOLD_FENCE] = lk_hold_fence(hold);
    told[TOLD_PUSHED] = pushed(client);
    told[TOLD_GRANTED_AT] = wait_now_ms();
    if (!wait_until(is_over, shared, SETTLE_MS))
        return 3;
    record_leave(r, index);
    if (lk_hold_release(hold) != LK_OK)
        return 4;
    lk_lock_free(lock);
    lk_client_free(client);
    return 0;
}

/* How many workers make a group in this run. */
static unsigned group_size(void)
{
    if (wait_scale() >= 10.0)
        return FEWEST;
    return wait_scale() > 1.0 ? FEW : GROUP;
}

/* ---- the queue ----------------------------------------------------------- */

typedef struct expectation {
    server *server;
    long long least;
} expectation;

static bool is_queued(void *data)
{
    const expectation *e = data;

    return server_integer(e->server, SERVER_WAITERS("line")) >= e->least;
}

static void queue_reaches(server *s, long long least)
{
    assert_true(wait_until(is_queued, &(expectation){s, least}, SETTLE_MS));
}

/* ---- a holder in this process; begins after every worker was forked ------ */

typedef struct holder {
    lk_client *client;
    lk_lock *lock;
    lk_hold *hold;
} holder;

static void holder_begin(holder *h, const server *s)
{
    assert_status(lk_client_open(&h->client, server_url(s), NULL), LK_OK);
    assert_status(lk_lock_new(&h->lock, h->client, "line", NULL), LK_OK);
    assert_status(lk_lock_acquire(h->lock, 5000, NULL, &h->hold), LK_OK);
}

static void holder_end(holder *h)
{
    lk_lock_free(h->lock);
    lk_client_free(h->client);
}

static void go(workers *w)
{
    workers_shared(w)->counters[NOBODY][GO] = 1;
}

/* When the only or first worker was granted; 0: not in time. */
static uint64_t granted_at(workers *w, unsigned deadline_ms)
{
    _Atomic uint64_t *at = &workers_shared(w)->counters[0][TOLD_GRANTED_AT];

    return wait_until(is_told, at, deadline_ms) ? *at : 0;
}

static void end_well(workers *w)
{
    workers_end(w);
    assert_true(workers_wait(w, SETTLE_MS));
    assert_int_equal(workers_exit(w, 0), 0);
    workers_free(w);
}

/* ---- tests --------------------------------------------------------------- */

/*
 * Dead waiters cost nothing: an inbox nobody listens to is skipped, unasked, 64
 * a call. So the release itself gets to the living one, which need not look.
 */
static void two_hundred_killed_waiters_cost_the_next_one_nothing(void **state)
{
    const unsigned size = group_size();
    server *s = *state;
    workers *dead[GROUPS];
    workers *live;
    holder h;
    uint64_t released_at;
    uint64_t at;

    for (unsigned i = 0; i < GROUPS; i++)
        dead[i] = workers_start(size, waiter_run, s);
    live = workers_start(1, waiter_run, s);
    holder_begin(&h, s);
    for (unsigned i = 0; i < GROUPS; i++)
        go(dead[i]);
    queue_reaches(s, (long long)GROUPS * size);
    for (unsigned i = 0; i < GROUPS; i++)
        workers_free(dead[i]);
    go(live);
    queue_reaches(s, (long long)GROUPS * size + 1);

    released_at = wait_now_ms();
    assert_status(lk_hold_release(h.hold), LK_OK);
    at = granted_at(live, SETTLE_MS);
    assert_true(at != 0);
    /* A look that was under way may have overtaken the message. */
    assert_true(workers_shared(live)->counters[0][TOLD_PUSHED] == 1 ||
                at - released_at <= wait_scaled_ms(50));
    holder_end(&h);
    end_well(live);
}

/*
 * Dead waiters cost nothing: one not seen for three seconds is not asked.
 * The first one stopped may be granted, and costs its claim lease; the others
 * nothing.
 */
static void stopped_waiters_together_cost_one_claim_lease(void **state)
{
    server *s = *state;
    const unsigned size = group_size();
    workers *stopped = workers_start(size, waiter_run, s);
    workers *live = workers_start(1, waiter_run, s);
    holder h;
    uint64_t released_at;
    uint64_t at;

    holder_begin(&h, s);
    go(stopped);
    queue_reaches(s, size);
    go(live);
    queue_reaches(s, size + 1);
    for (unsigned i = 0; i < size; i++)
        workers_kill(stopped, i, SIGSTOP);

    released_at = wait_now_ms();
    assert_status(lk_hold_release(h.hold), LK_OK);
    at = granted_at(live, SETTLE_MS);
    assert_true(at != 0);
    assert_in_range(at - released_at, 0,
                    CLAIM_LEASE_MS + LOOK_MS + wait_scaled_ms(SLACK_MS));
    holder_end(&h);
    end_well(live);
    workers_free(stopped);
}

/*
 * When a pushed grant is believed: a grant that lay in a socket beyond its
 * lease is not believed. The waiter goes on waiting and is granted later, under
 * a higher fence, when the one that overtook it has released.
 */
static void a_grant_to_a_stopped_waiter_is_void_when_it_goes_on(void **state)
{
    server *s = *state;
    workers *sleeper = workers_start(1, waiter_run, s);
    workers *live = workers_start(1, waiter_run, s);
    _Atomic uint64_t *told = workers_shared(sleeper)->counters[0];
    holder h;
    uint64_t overtaker;

    holder_begin(&h, s);
    go(sleeper);
    queue_reaches(s, 1);
    go(live);
    queue_reaches(s, 2);
    workers_kill(sleeper, 0, SIGSTOP);
    assert_status(lk_hold_release(h.hold), LK_OK);
    assert_true(granted_at(live, SETTLE_MS) != 0);
    overtaker = workers_shared(live)->counters[0][TOLD_FENCE];

    workers_kill(sleeper, 0, SIGCONT);
    queue_reaches(s, 1);
    assert_int_equal(told[TOLD_GRANTED_AT], 0);
    end_well(live);
    assert_true(granted_at(sleeper, SETTLE_MS) != 0);
    assert_int_equal(told[TOLD_CHECK], 0);
    assert_true(told[TOLD_FENCE] > overtaker);
    assert_int_equal(record_violations(&workers_shared(sleeper)->records[0]),
                     0);
    holder_end(&h);
    end_well(sleeper);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FLUSHED_TEST(two_hundred_killed_waiters_cost_the_next_one_nothing),
        FLUSHED_TEST(stopped_waiters_together_cost_one_claim_lease),
        FLUSHED_TEST(a_grant_to_a_stopped_waiter_is_void_when_it_goes_on),
    };

    return cmocka_run_group_tests(tests, one_server_start, one_server_stop);
}
