/* SPDX-License-Identifier: MIT */

/*
 * Processes that wait for a fair lock, or hold it, and are killed or stopped.
 * Each has several waits in line. The dead cost the living next to nothing, and
 * a process that only stood still has its places again when it goes on.
 */

#include <latchkey/latchkey.h>

#include <signal.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/one_server.h"
#include "support/wait.h"
#include "support/worker.h"

enum {
    WAITS_MOST = 8,
    CLAIM_LEASE_MS = 3000,
    LOOK_MS = 1000,
    SLACK_MS = 500,
    SETTLE_MS = 20000
};

/* In the row of nobody: whose turn it is to begin, counted from 1. */
enum { NOBODY = WORKER_MAX - 1, GO = 7 };
/* What a worker tells. */
enum { TOLD_GRANTS, TOLD_FIRST_AT, TOLD_FAILURES, TOLD_LOSSES };

typedef struct plan {
    server *server;
    unsigned waits; /* of each worker */
    bool keeps;     /* what it is granted, until the end */
} plan;

/* ---- the workers --------------------------------------------------------- */

typedef struct crew {
    worker_shared *shared;
    unsigned index;
    const plan *plan;
    lk_hold *kept;
} crew;

static void on_grant(lk_status status, lk_hold *hold, void *data)
{
    crew *c = data;
    _Atomic uint64_t *told = c->shared->counters[c->index];
    record *r = &c->shared->records[0];

    if (status != LK_OK) {
        told[TOLD_FAILURES] += !atomic_load(&c->shared->is_over);
        return;
    }
    (void)record_enter(r, c->index, lk_hold_fence(hold));
    if (told[TOLD_GRANTS]++ == 0)
        told[TOLD_FIRST_AT] = wait_now_ms();
    if (c->plan->keeps) {
        c->kept = hold;
        return;
    }
    (void)record_leave(r, c->index);
    if (lk_hold_release_async(hold, NULL, NULL) != LK_OK)
        told[TOLD_FAILURES]++;
}

typedef struct turn {
    worker_shared *shared;
    unsigned index;
} turn;

static bool has_come(void *data)
{
    const turn *t = data;

    return atomic_load(&t->shared->counters[NOBODY][GO]) > t->index;
}

static bool is_over(void *data)
{
    return atomic_load(&((worker_shared *)data)->is_over);
}

static int worker_run(worker_shared *shared, unsigned index, void *data)
{
    static crew c;
    const plan *p = data;
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_scaled_ms(1000),
                                       .offline_ms = wait_scaled_ms(SETTLE_MS)};
    turn t = {shared, index};
    lk_client *client;
    lk_fairlock *lock;

    c = (crew){shared, index, p, NULL};
    if (lk_client_open(&client, server_url(p->server), &options) != LK_OK ||
        lk_client_wait_ready(client, wait_scaled_ms(SETTLE_MS)) != LK_OK ||
        lk_fairlock_new(&lock, client, "n", NULL) != LK_OK ||
        !wait_until(has_come, &t, SETTLE_MS))
        return 1;
    for (unsigned i = 0; i < p->waits; i++)
        if (lk_fairlock_acquire_async(lock, LK_FOREVER, NULL, on_grant, &c) !=
            LK_OK)
            return 2;
    if (!wait_until(is_over, shared, SETTLE_MS))
        return 3;
    if (c.kept != NULL && lk_hold_check(c.kept) != LK_OK)
        shared->counters[index][TOLD_LOSSES]++;
    if (lk_client_shutdown(client, wait_scaled_ms(5000)) != LK_OK)
        return 4;
    lk_fairlock_free(lock);
    lk_client_free(client);
    return 0;
}

/* ---- the parent ---------------------------------------------------------- */

typedef struct expectation {
    server *server;
    long long waiting;
    _Atomic uint64_t *counter;
    uint64_t least;
} expectation;

static bool is_queued(void *data)
{
    const expectation *e = data;

    return server_integer(e->server, SERVER_STANDING("n")) == e->waiting;
}

static void queue_becomes(const plan *p, long long waiting)
{
    expectation e = {p->server, waiting, NULL, 0};

    if (!wait_until(is_queued, &e, SETTLE_MS))
        fail_msg("not %lld waits", waiting);
}

static bool is_reached(void *data)
{
    const expectation *e = data;

    return atomic_load(e->counter) >= e->least;
}

static void
counter_reaches(workers *w, unsigned index, unsigned counter, uint64_t least)
{
    expectation e = {NULL, 0, &workers_shared(w)->counters[index][counter],
                     least};

    if (!wait_until(is_reached, &e, SETTLE_MS))
        fail_msg("worker %u: %llu instead of %llu", index,
                 (unsigned long long)*e.counter, (unsigned long long)least);
}

/* One after the other begins, so that they stand in the order of their
   numbers. The parent holds the lock, or a first worker. */
static void queue_up(workers *w, const plan *p, unsigned first, unsigned count,
                     long long before)
{
    for (unsigned i = first; i < first + count; i++) {
        workers_shared(w)->counters[NOBODY][GO] = i + 1;
        queue_becomes(p, before + (long long)((i - first + 1) * p->waits));
    }
}

/* A holder in this process; begins after every worker was forked, while they
   all connect, which may take long. */
typedef struct holder {
    lk_client *client;
    lk_fairlock *lock;
    lk_hold *hold;
} holder;

static void holder_begin(holder *h, const plan *p)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .offline_ms = wait_scaled_ms(SETTLE_MS)};

    assert_status(lk_client_open(&h->client, server_url(p->server), &options),
                  LK_OK);
    assert_status(lk_fairlock_new(&h->lock, h->client, "n", NULL), LK_OK);
    assert_status(lk_fairlock_acquire(h->lock, wait_scaled_ms(SETTLE_MS), NULL,
                                      &h->hold),
                  LK_OK);
}

static void holder_end(holder *h)
{
    lk_fairlock_free(h->lock);
    lk_client_free(h->client);
}

static uint64_t first_at(workers *w, unsigned index)
{
    counter_reaches(w, index, TOLD_FIRST_AT, 1);
    return workers_shared(w)->counters[index][TOLD_FIRST_AT];
}

static void end_well(workers *w, const plan *p)
{
    workers_end(w);
    assert_true(workers_wait(w, SETTLE_MS));
    assert_int_equal(workers_count(w, TOLD_FAILURES), 0);
    assert_int_equal(workers_shared(w)->records[0].overlaps, 0);
    assert_int_equal(workers_shared(w)->records[0].fence_errors, 0);
    workers_free(w);
    queue_becomes(p, 0);
}

/* ---- tests --------------------------------------------------------------- */

/* 30 processes with 8 waits each are passed by, 64 a call. */
static void killed_waiters_cost_the_next_one_nothing(void **state)
{
    enum { DEAD = 30, ALL = DEAD + 1 };
    plan p = {*state, WAITS_MOST, false};
    workers *w = workers_start(ALL, worker_run, &p);
    uint64_t released_at;
    holder h;

    holder_begin(&h, &p);
    queue_up(w, &p, 0, ALL, 0);
    for (unsigned i = 0; i < DEAD; i++)
        workers_kill(w, i, SIGKILL);
    released_at = wait_now_ms();
    assert_status(lk_hold_release(h.hold), LK_OK);
    assert_in_range(first_at(w, DEAD) - released_at, 0,
                    wait_scaled_ms(SLACK_MS));
    counter_reaches(w, DEAD, TOLD_GRANTS, p.waits);
    holder_end(&h);
    end_well(w, &p);
}

/* The first of those stopped may be granted, and costs its claim lease. */
static void stopped_waiters_together_cost_one_claim_lease(void **state)
{
    enum { STOPPED = 20, ALL = STOPPED + 1 };
    plan p = {*state, WAITS_MOST, false};
    workers *w = workers_start(ALL, worker_run, &p);
    uint64_t released_at;
    holder h;

    holder_begin(&h, &p);
    queue_up(w, &p, 0, ALL, 0);
    for (unsigned i = 0; i < STOPPED; i++)
        workers_kill(w, i, SIGSTOP);
    released_at = wait_now_ms();
    assert_status(lk_hold_release(h.hold), LK_OK);
    assert_in_range(first_at(w, STOPPED) - released_at, 0,
                    CLAIM_LEASE_MS + LOOK_MS + wait_scaled_ms(SLACK_MS));
    holder_end(&h);
    for (unsigned i = 0; i < STOPPED; i++)
        workers_kill(w, i, SIGKILL);
    workers_end(w);
    assert_true(workers_wait(w, SETTLE_MS));
    assert_int_equal(workers_exit(w, STOPPED), 0);
    workers_free(w);
}

/* It stood still for four seconds while another held, and nobody had to be
   served: its places are what they were. */
static void who_stood_still_has_its_places_again(void **state)
{
    plan p = {*state, 4, false};
    workers *w = workers_start(3, worker_run, &p);
    redisReply *before, *after;
    holder h;

    holder_begin(&h, &p);
    queue_up(w, &p, 0, 3, 0);
    before = server_command(p.server, SERVER_LINE("n") " WITHSCORES");
    workers_kill(w, 0, SIGSTOP);
    locking_pass_time(4000);
    workers_kill(w, 0, SIGCONT);
    after = server_command(p.server, SERVER_LINE("n") " WITHSCORES");
    assert_int_equal(before->elements, after->elements);
    for (size_t i = 0; i < before->elements; i++)
        assert_string_equal(before->element[i]->str, after->element[i]->str);
    freeReplyObject(before);
    freeReplyObject(after);
    assert_status(lk_hold_release(h.hold), LK_OK);
    for (unsigned i = 0; i < 3; i++)
        counter_reaches(w, i, TOLD_GRANTS, p.waits);
    holder_end(&h);
    end_well(w, &p);
}

/* It holds by a lease that it renews: that ends, and the next has it. */
static void
a_holder_that_is_killed_is_followed_when_its_lease_ends(void **state)
{
    plan p = {*state, 1, true};
    workers *w = workers_start(2, worker_run, &p);
    uint64_t killed_at;

    workers_shared(w)->counters[NOBODY][GO] = 1;
    (void)first_at(w, 0);
    queue_up(w, &p, 1, 1, 0);
    workers_kill(w, 0, SIGKILL);
    killed_at = wait_now_ms();
    (void)record_abandon(&workers_shared(w)->records[0], 0);
    assert_in_range(first_at(w, 1) - killed_at, 0,
                    wait_scaled_ms(1000) + LOOK_MS + wait_scaled_ms(SLACK_MS));
    end_well(w, &p);
}

/* It goes on when another has it: its own clock tells it so. */
static void a_holder_that_stood_still_finds_that_it_is_lost(void **state)
{
    plan p = {*state, 1, true};
    workers *w = workers_start(2, worker_run, &p);

    workers_shared(w)->counters[NOBODY][GO] = 1;
    (void)first_at(w, 0);
    queue_up(w, &p, 1, 1, 0);
    workers_kill(w, 0, SIGSTOP);
    (void)record_abandon(&workers_shared(w)->records[0], 0);
    (void)first_at(w, 1);
    workers_kill(w, 0, SIGCONT);
    workers_end(w);
    counter_reaches(w, 0, TOLD_LOSSES, 1);
    assert_int_equal(workers_shared(w)->counters[1][TOLD_LOSSES], 0);
    end_well(w, &p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FLUSHED_TEST(killed_waiters_cost_the_next_one_nothing),
        FLUSHED_TEST(stopped_waiters_together_cost_one_claim_lease),
        FLUSHED_TEST(who_stood_still_has_its_places_again),
        FLUSHED_TEST(a_holder_that_is_killed_is_followed_when_its_lease_ends),
        FLUSHED_TEST(a_holder_that_stood_still_finds_that_it_is_lost),
    };

    return cmocka_run_group_tests(tests, one_server_start, one_server_stop);
}
