/* SPDX-License-Identifier: MIT */

/* Holders that were killed or stopped, and what a fence is good for. */

#include <latchkey/latchkey.h>

#include <signal.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/server.h"
#include "support/wait.h"
#include "support/worker.h"

enum {
    LEASE_MS = 1000,
    LOOK_MS = 1000,
    SLACK_MS = 400, /* scaled: a loaded machine */
    SETTLE_MS = 20000
};

enum { TOLD_FENCE, TOLD_CHECK, TOLD_LOSS, TOLD_WRITTEN, TOLD_RELEASE };
enum { NOBODY = WORKER_MAX - 1, REGISTER = 0 };

/* A resource that refuses a write under a fence lower than the last one. */
static bool guarded_write(worker_shared *shared, uint64_t fence)
{
    _Atomic uint64_t *last = &shared->counters[NOBODY][REGISTER];
    uint64_t seen = atomic_load(last);

    while (fence >= seen)
        if (atomic_compare_exchange_weak(last, &seen, fence))
            return true;
    return false;
}

static bool is_over(void *data)
{
    return atomic_load(&((worker_shared *)data)->is_over);
}

/*
 * Holds until it is over; then tells what it believes and writes all the same.
 */
static int holder_run(worker_shared *shared, unsigned index, void *data)
{
    _Atomic uint64_t *told = shared->counters[index];
    lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                 .watchdog_ms = LEASE_MS};
    lk_client *client;
    lk_lock *lock;
    lk_hold *hold;

    if (lk_client_open(&client, server_url(data), &options) != LK_OK ||
        lk_lock_new(&lock, client, "post", NULL) != LK_OK ||
        lk_lock_acquire(lock, 5000, NULL, &hold) != LK_OK)
        return 1;
    told[TOLD_FENCE] = lk_hold_fence(hold);
    if (!wait_until(is_over, shared, SETTLE_MS))
        return 2;
    told[TOLD_CHECK] = (uint64_t)-lk_hold_check(hold);
    told[TOLD_LOSS] = lk_hold_loss(hold);
    told[TOLD_WRITTEN] = guarded_write(shared, lk_hold_fence(hold));
    told[TOLD_RELEASE] = (uint64_t)-lk_hold_release(hold);
    lk_lock_free(lock);
    lk_client_free(client);
    return 0;
}

typedef struct scene {
    server *server;
    workers *holder;
    lk_client *client;
    lk_lock *lock;
} scene;

static bool is_held(void *data)
{
    const scene *sc = data;

    return workers_shared(sc->holder)->counters[0][TOLD_FENCE] != 0;
}

static int setup(void **state)
{
    scene *sc = calloc(1, sizeof(*sc));

    *state = sc;
    if (sc == NULL)
        return 1;
    sc->server = server_start(NULL);
    if (sc->server == NULL)
        return 1;
    sc->holder = workers_start(1, holder_run, sc->server);
    return sc->holder == NULL || !wait_until(is_held, sc, SETTLE_MS) ||
           lk_client_open(&sc->client, server_url(sc->server), NULL) != LK_OK ||
           lk_lock_new(&sc->lock, sc->client, "post", NULL) != LK_OK;
}

static int teardown(void **state)
{
    scene *sc = *state;

    lk_lock_free(sc->lock);
    lk_client_free(sc->client);
    workers_free(sc->holder);
    server_stop(sc->server);
    free(sc);
    return 0;
}

/* No phantom holds: nobody renews for the dead; the lease bounds the wait. */
static void a_killed_holder_is_followed_within_its_lease(void **state)
{
    scene *sc = *state;
    uint64_t killed_at;
    lk_hold *hold;

    workers_kill(sc->holder, 0, SIGKILL);
    killed_at = wait_now_ms();
    assert_status(lk_lock_acquire(sc->lock, SETTLE_MS, NULL, &hold), LK_OK);
    assert_in_range(wait_now_ms() - killed_at, 0,
                    wait_allowed_ms(LEASE_MS + LOOK_MS +
                                    wait_scaled_ms(SLACK_MS)));
    assert_true(lk_hold_fence(hold) >
                workers_shared(sc->holder)->counters[0][TOLD_FENCE]);
    assert_status(lk_hold_release(hold), LK_OK);
}

/*
 * No silent loss: the first check after it goes on tells, by the clock, before
 * any reply.
 */
static void a_holder_stopped_beyond_its_lease_knows_at_once(void **state)
{
    scene *sc = *state;
    worker_shared *shared = workers_shared(sc->holder);
    _Atomic uint64_t *told = shared->counters[0];
    lk_hold *hold;

    workers_kill(sc->holder, 0, SIGSTOP);
    assert_status(lk_lock_acquire(sc->lock, SETTLE_MS, NULL, &hold), LK_OK);
    workers_end(sc->holder);
    workers_kill(sc->holder, 0, SIGCONT);
    assert_true(workers_wait(sc->holder, SETTLE_MS));
    assert_int_equal(workers_exit(sc->holder, 0), 0);
    assert_int_equal(told[TOLD_CHECK], -LK_ELOST);
    assert_true(told[TOLD_LOSS] != LK_LOSS_NONE);
    assert_int_equal(told[TOLD_RELEASE], -LK_ELOST);
    /* Its late renewal and its release did nothing to the next one's hold. */
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* The fence: whoever does not check is stopped by the resource. */
static void a_fenced_register_refuses_the_write_of_a_late_holder(void **state)
{
    scene *sc = *state;
    worker_shared *shared = workers_shared(sc->holder);
    lk_hold *hold;

    workers_kill(sc->holder, 0, SIGSTOP);
    assert_status(lk_lock_acquire(sc->lock, SETTLE_MS, NULL, &hold), LK_OK);
    assert_true(guarded_write(shared, lk_hold_fence(hold)));
    workers_end(sc->holder);
    workers_kill(sc->holder, 0, SIGCONT);
    assert_true(workers_wait(sc->holder, SETTLE_MS));
    assert_int_equal(shared->counters[0][TOLD_WRITTEN], 0);
    assert_true(guarded_write(shared, lk_hold_fence(hold)));
    assert_status(lk_hold_release(hold), LK_OK);
}

#define HOLDER_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOLDER_TEST(a_killed_holder_is_followed_within_its_lease),
        HOLDER_TEST(a_holder_stopped_beyond_its_lease_knows_at_once),
        HOLDER_TEST(a_fenced_register_refuses_the_write_of_a_late_holder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
