/* SPDX-License-Identifier: MIT */

/*
 * Processes that are killed or stopped while they hold a siglock or wait for
 * it: the living wait for a lease or a look, and not for longer.
 */

#include <latchkey/siglock.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/one_server.h"
#include "support/wait.h"
#include "support/worker.h"

enum { LOOK_MS = 1000, SLACK_MS = 500, SETTLE_MS = 20000 };

/* What a worker tells, and, in the row of nobody, what it is told. */
enum { TOLD_TAKEN_AT, TOLD_CHECK };
enum { NOBODY = WORKER_MAX - 1, GO = 0, ASK = 1 };

static uint64_t lease_ms(void)
{
    return wait_lease_ms();
}

static bool is_told(void *data)
{
    return atomic_load((_Atomic uint64_t *)data) != 0;
}

static bool is_over(void *data)
{
    return atomic_load(&((worker_shared *)data)->is_over);
}

/* Waits for the word, locks with a lease that is renewed, tells so, and on
   request whether it still holds. */
static int holder_run(worker_shared *shared, unsigned index, void *data)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = lease_ms()};
    _Atomic uint64_t *told = shared->counters[index];
    lk_client *client;
    lk_siglock *lock;
    lk_hold *hold;

    if (!wait_until(is_told, &shared->counters[NOBODY][GO], SETTLE_MS) ||
        lk_client_open(&client, server_url(data), &options) != LK_OK ||
        lk_siglock_new(&lock, client, "n", NULL) != LK_OK ||
        lk_siglock_acquire(lock, LK_FOREVER, NULL, &hold) != LK_OK)
        return 1;
    told[TOLD_TAKEN_AT] = wait_now_ms();
    if (!wait_until(is_told, &shared->counters[NOBODY][ASK], SETTLE_MS))
        return 2;
    told[TOLD_CHECK] = lk_hold_check(hold) == LK_OK ? 1 : 2;
    (void)wait_until(is_over, shared, SETTLE_MS);
    (void)lk_hold_release(hold);
    lk_siglock_free(lock);
    lk_client_free(client);
    return 0;
}

static void go(workers *w)
{
    workers_shared(w)->counters[NOBODY][GO] = 1;
}

/* When the worker took; the test fails if it does not. */
static uint64_t taken_at(workers *w)
{
    _Atomic uint64_t *at = &workers_shared(w)->counters[0][TOLD_TAKEN_AT];

    assert_true(wait_until(is_told, at, SETTLE_MS));
    return *at;
}

static uint64_t check_of(workers *w)
{
    _Atomic uint64_t *told = &workers_shared(w)->counters[0][TOLD_CHECK];

    workers_shared(w)->counters[NOBODY][ASK] = 1;
    assert_true(wait_until(is_told, told, SETTLE_MS));
    return *told;
}

typedef struct expectation {
    server *server;
    const char *blocked;
} expectation;

static bool is_blocked(void *data)
{
    const expectation *e = data;
    char *info = server_string(e->server, "INFO clients");
    bool is_so = strstr(info, e->blocked) != NULL;

    free(info);
    return is_so;
}

/* So many connections stand in a blocking command; blocked says it. */
static void wait_blocked(server *s, const char *blocked)
{
    assert_true(wait_until(is_blocked, &(expectation){s, blocked}, SETTLE_MS));
}

static void end_well(workers *w)
{
    (void)check_of(w);
    workers_end(w);
    assert_true(workers_wait(w, SETTLE_MS));
    assert_int_equal(workers_succeeded(w), 1);
    workers_free(w);
}

static void assert_within(uint64_t began, uint64_t at, uint64_t ms)
{
    assert_in_range(at < began ? 0 : at - began, 0,
                    ms + wait_scaled_ms(SLACK_MS));
}

/* ---- holders ---------------------------------------------------------------- */

static void a_killed_holder_is_waited_for_until_its_lease_ends(void **state)
{
    server *s = *state;
    workers *doomed = workers_start(1, holder_run, s);
    workers *live = workers_start(1, holder_run, s);
    uint64_t killed_at;

    go(doomed);
    (void)taken_at(doomed);
    go(live);
    wait_blocked(s, "\nblocked_clients:1\r");
    killed_at = wait_now_ms();
    workers_kill(doomed, 0, SIGKILL);
    assert_within(killed_at, taken_at(live), lease_ms());
    end_well(live);
    workers_free(doomed);
}

/* It learns of that as soon as it asks. */
static void a_stopped_holder_has_lost_it_when_it_goes_on(void **state)
{
    server *s = *state;
    workers *sleeper = workers_start(1, holder_run, s);
    workers *live = workers_start(1, holder_run, s);
    uint64_t stopped_at;

    go(sleeper);
    (void)taken_at(sleeper);
    go(live);
    wait_blocked(s, "\nblocked_clients:1\r");
    stopped_at = wait_now_ms();
    workers_kill(sleeper, 0, SIGSTOP);
    assert_within(stopped_at, taken_at(live), lease_ms());
    workers_kill(sleeper, 0, SIGCONT);
    assert_int_equal(check_of(sleeper), 2);
    assert_int_equal(check_of(live), 1);
    end_well(live);
    end_well(sleeper);
}

/* ---- waiters ----------------------------------------------------------------- */

/* The other one waits behind it: the signal is the stopped one's, and no use
   to anybody. */
static void waits_behind(server *s, workers *first, workers *live, int signal,
                         lk_hold *hold)
{
    uint64_t began;

    go(first);
    wait_blocked(s, "\nblocked_clients:1\r");
    go(live);
    wait_blocked(s, "\nblocked_clients:2\r");
    workers_kill(first, 0, signal);
    began = wait_now_ms();
    assert_status(lk_hold_release(hold), LK_OK);
    assert_within(began, taken_at(live), LOOK_MS);
}

static lk_client *the_client;
static lk_siglock *the_lock;

static lk_hold *begin(const server *s)
{
    lk_hold *hold = NULL;

    assert_status(lk_client_open(&the_client, server_url(s), NULL), LK_OK);
    assert_status(lk_siglock_new(&the_lock, the_client, "n", NULL), LK_OK);
    assert_status(lk_siglock_acquire(the_lock, SETTLE_MS, NULL, &hold), LK_OK);
    return hold;
}

static void end(void)
{
    lk_siglock_free(the_lock);
    lk_client_free(the_client);
}

static void a_killed_waiter_costs_the_others_nothing(void **state)
{
    server *s = *state;
    workers *doomed = workers_start(1, holder_run, s);
    workers *live = workers_start(1, holder_run, s);

    waits_behind(s, doomed, live, SIGKILL, begin(s));
    end_well(live);
    end();
    workers_free(doomed);
}

static void a_stopped_waiter_costs_the_others_a_look(void **state)
{
    server *s = *state;
    workers *sleeper = workers_start(1, holder_run, s);
    workers *live = workers_start(1, holder_run, s);

    waits_behind(s, sleeper, live, SIGSTOP, begin(s));
    workers_kill(sleeper, 0, SIGCONT);
    end_well(live);
    assert_true(taken_at(sleeper) != 0);
    assert_int_equal(check_of(sleeper), 1);
    end_well(sleeper);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FLUSHED_TEST(a_killed_holder_is_waited_for_until_its_lease_ends),
        FLUSHED_TEST(a_stopped_holder_has_lost_it_when_it_goes_on),
        FLUSHED_TEST(a_killed_waiter_costs_the_others_nothing),
        FLUSHED_TEST(a_stopped_waiter_costs_the_others_a_look),
    };

    return cmocka_run_group_tests(tests, one_server_start, one_server_stop);
}
