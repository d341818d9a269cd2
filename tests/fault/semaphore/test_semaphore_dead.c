/* SPDX-License-Identifier: MIT */

/*
 * Holders of permits and waiters for them that were killed or stopped: what
 * they had comes back within their lease, and nobody waits behind the dead.
 */

#include <latchkey/latchkey.h>

#include <signal.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/server.h"
#include "support/wait.h"
#include "support/worker.h"

enum {
    PERMITS = 4,
    LOOK_MS = 1000,
    SEEN_MS = 3000, /* a waiter that does not look for so long is passed by */
    SLACK_MS = 500, /* scaled: a loaded machine */
    SETTLE_MS = 20000
};

enum { TOLD_AT, TOLD_CHECK, TOLD_LOSS, TOLD_RELEASE };

static bool is_told(void *data)
{
    return atomic_load((_Atomic uint64_t *)data) != 0;
}

static bool is_over(void *data)
{
    return atomic_load(&((worker_shared *)data)->is_over);
}

static bool open_semaphore(const server *s, lk_client **ret_client,
                           lk_semaphore **ret_semaphore)
{
    const lk_client_options how = {LK_CLIENT_OPTIONS_INIT,
                                   .watchdog_ms = wait_lease_ms()};
    const lk_semaphore_options options = {LK_SEMAPHORE_OPTIONS_INIT,
                                          .permits = PERMITS};

    return lk_client_open(ret_client, server_url(s), &how) == LK_OK &&
           lk_semaphore_new(ret_semaphore, *ret_client, "post", &options) ==
               LK_OK;
}

/* Acquires three permits, as soon as it can; tells when it has them, and once
   it is over what it believes. */
static int member_run(worker_shared *shared, unsigned index, void *data)
{
    _Atomic uint64_t *told = shared->counters[index];
    lk_client *client;
    lk_semaphore *semaphore;
    lk_hold *hold;

    if (!open_semaphore(data, &client, &semaphore) ||
        lk_semaphore_acquire(semaphore, 3, LK_FOREVER, NULL, &hold) != LK_OK)
        return 1;
    told[TOLD_AT] = wait_now_ms();
    if (!wait_until(is_over, shared, SETTLE_MS))
        return 2;
    told[TOLD_CHECK] = (uint64_t)-lk_hold_check(hold);
    told[TOLD_LOSS] = lk_hold_loss(hold);
    told[TOLD_RELEASE] = (uint64_t)-lk_hold_release(hold);
    lk_semaphore_free(semaphore);
    lk_client_free(client);
    return 0;
}

/* One member holds, the other waits. Which is which is told. */
typedef struct scene {
    server *server;
    workers *members;
    unsigned holder, waiter;
    lk_client *client;
    lk_semaphore *semaphore;
} scene;

static bool one_holds_and_one_waits(void *data)
{
    scene *sc = data;
    worker_shared *shared = workers_shared(sc->members);

    sc->holder = shared->counters[0][TOLD_AT] != 0 ? 0 : 1;
    sc->waiter = 1 - sc->holder;
    return shared->counters[sc->holder][TOLD_AT] != 0 &&
           server_integer(sc->server, SERVER_WAITERS("post")) == 1;
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
    sc->members = workers_start(2, member_run, sc->server);
    return sc->members == NULL ||
           !wait_until(one_holds_and_one_waits, sc, SETTLE_MS) ||
           !open_semaphore(sc->server, &sc->client, &sc->semaphore);
}

static int teardown(void **state)
{
    scene *sc = *state;

    lk_semaphore_free(sc->semaphore);
    lk_client_free(sc->client);
    workers_free(sc->members);
    server_stop(sc->server);
    free(sc);
    return 0;
}

static _Atomic uint64_t *told(scene *sc, unsigned member)
{
    return workers_shared(sc->members)->counters[member];
}

/* Those that are told to go on and then to end do so. */
static void end_well(scene *sc, unsigned member)
{
    workers_end(sc->members);
    workers_kill(sc->members, member, SIGCONT);
    assert_true(workers_wait(sc->members, SETTLE_MS));
}

static void assert_all_free(scene *sc)
{
    lk_hold *hold = NULL;

    assert_status(lk_semaphore_acquire(sc->semaphore, PERMITS,
                                       wait_scaled_ms(SETTLE_MS), NULL, &hold),
                  LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_int_equal(server_integer(sc->server, "INCRBY post 0"), PERMITS);
    assert_int_equal(server_integer(sc->server, "EXISTS {post}:timeout"), 0);
}

/* ---- holders ----------------------------------------------------------------- */

static void what_a_killed_holder_had_comes_back_within_its_lease(void **state)
{
    scene *sc = *state;
    uint64_t killed_at;

    workers_kill(sc->members, sc->holder, SIGKILL);
    killed_at = wait_now_ms();
    assert_true(wait_until(is_told, &told(sc, sc->waiter)[TOLD_AT], SETTLE_MS));
    assert_in_range(told(sc, sc->waiter)[TOLD_AT] - killed_at, 0,
                    wait_lease_ms() + LOOK_MS + wait_scaled_ms(SLACK_MS));
    end_well(sc, sc->waiter);
    assert_int_equal(told(sc, sc->waiter)[TOLD_RELEASE], -LK_OK);
    assert_all_free(sc);
}

/* The first check after it goes on tells it, by the clock; what it then says
   to the server changes nothing of the next one's permits. */
static void a_holder_stopped_beyond_its_lease_knows_at_once(void **state)
{
    scene *sc = *state;

    workers_kill(sc->members, sc->holder, SIGSTOP);
    assert_true(wait_until(is_told, &told(sc, sc->waiter)[TOLD_AT], SETTLE_MS));
    end_well(sc, sc->holder);
    assert_int_equal(told(sc, sc->holder)[TOLD_CHECK], -LK_ELOST);
    assert_true(told(sc, sc->holder)[TOLD_LOSS] != LK_LOSS_NONE);
    assert_int_equal(told(sc, sc->holder)[TOLD_RELEASE], -LK_ELOST);
    assert_int_equal(told(sc, sc->waiter)[TOLD_CHECK], -LK_OK);
    assert_int_equal(told(sc, sc->waiter)[TOLD_RELEASE], -LK_OK);
    assert_all_free(sc);
}

/* ---- waiters ----------------------------------------------------------------- */

/* Its request does not fit, but nobody stands behind the dead. */
static void nobody_waits_behind_a_killed_waiter(void **state)
{
    scene *sc = *state;
    uint64_t begin;
    lk_hold *hold = NULL;

    workers_kill(sc->members, sc->waiter, SIGKILL);
    begin = wait_now_ms();
    assert_status(lk_semaphore_acquire(sc->semaphore, 1, SETTLE_MS, NULL,
                                       &hold),
                  LK_OK);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(wait_scaled_ms(SLACK_MS)));
    assert_status(lk_hold_release(hold), LK_OK);
    end_well(sc, sc->holder);
    assert_int_equal(told(sc, sc->holder)[TOLD_RELEASE], -LK_OK);
    assert_all_free(sc);
}

/* It is asked for as long as its client is believed to live. */
static void a_stopped_waiter_costs_three_seconds(void **state)
{
    scene *sc = *state;
    uint64_t begin;
    lk_hold *hold = NULL;

    workers_kill(sc->members, sc->waiter, SIGSTOP);
    begin = wait_now_ms();
    assert_status(lk_semaphore_acquire(sc->semaphore, 1, SETTLE_MS, NULL,
                                       &hold),
                  LK_OK);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(SEEN_MS + LOOK_MS +
                                    wait_scaled_ms(SLACK_MS)));
    assert_status(lk_hold_release(hold), LK_OK);
    workers_kill(sc->members, sc->waiter, SIGCONT);
    end_well(sc, sc->holder);
    assert_int_equal(workers_exit(sc->members, sc->waiter), 0);
    assert_all_free(sc);
}

/* What was handed over to one who cannot take it goes on to the next. */
static void permits_handed_to_a_stopped_waiter_go_on(void **state)
{
    scene *sc = *state;
    uint64_t begin;
    lk_hold *hold = NULL;

    workers_kill(sc->members, sc->waiter, SIGSTOP);
    workers_kill(sc->members, sc->holder, SIGKILL);
    begin = wait_now_ms();
    assert_status(lk_semaphore_acquire(sc->semaphore, PERMITS, SETTLE_MS, NULL,
                                       &hold),
                  LK_OK);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(SEEN_MS + 2 * wait_lease_ms() + LOOK_MS +
                                    wait_scaled_ms(SLACK_MS)));
    assert_status(lk_hold_check(hold), LK_OK);
    workers_kill(sc->members, sc->waiter, SIGCONT);
    assert_status(lk_hold_release(hold), LK_OK);
    end_well(sc, sc->waiter);
    assert_int_equal(workers_exit(sc->members, sc->waiter), 0);
    assert_all_free(sc);
}

#define DEAD_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEAD_TEST(what_a_killed_holder_had_comes_back_within_its_lease),
        DEAD_TEST(a_holder_stopped_beyond_its_lease_knows_at_once),
        DEAD_TEST(nobody_waits_behind_a_killed_waiter),
        DEAD_TEST(a_stopped_waiter_costs_three_seconds),
        DEAD_TEST(permits_handed_to_a_stopped_waiter_go_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
