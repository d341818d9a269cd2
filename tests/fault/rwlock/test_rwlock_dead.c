/* SPDX-License-Identifier: MIT */

/*
 * Readers and writers whose process is killed, or stopped for longer than its
 * lease: whom they keep out, and for how long.
 */

#include <latchkey/latchkey.h>

#include <signal.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/rwlocking.h"
#include "support/wait.h"
#include "support/worker.h"

enum {
    LEASE_MS = 2000,
    TWO_LEASES_MS = 4000,
    LOOK_MS = 1000,
    SEEN_MS = 3000,  /* after which a waiter is not asked */
    CLAIM_MS = 3000, /* a grant that nobody confirms */
    SLACK_MS = 500,  /* scaled */
    SETTLE_MS = 20000
};

/* What a worker tells: the fence that it has, how its hold is found when it is
   over, and what the release answers, as positive numbers. */
enum { TOLD_FENCE, TOLD_CHECK, TOLD_RELEASE, TOLD_WAITS };

/* What the worker does, by its index. */
static rw_mode played_modes[WORKER_MAX];

static bool is_over(void *data)
{
    return atomic_load(&((worker_shared *)data)->is_over);
}

static int player_run(worker_shared *shared, unsigned index, void *data)
{
    _Atomic uint64_t *told = shared->counters[index];
    lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                 .watchdog_ms = LEASE_MS};
    lk_client *client;
    lk_rwlock *lock;
    lk_hold *hold = NULL;

    if (lk_client_open(&client, server_url(data), &options) != LK_OK ||
        lk_rwlock_new(&lock, client, "n", NULL) != LK_OK)
        return 1;
    told[TOLD_WAITS] = 1;
    if (rwlocking_acquire(lock, played_modes[index], LK_FOREVER, NULL, &hold) !=
        LK_OK)
        return 2;
    told[TOLD_FENCE] = lk_hold_fence(hold);
    if (!wait_until(is_over, shared, SETTLE_MS))
        return 3;
    told[TOLD_CHECK] = (uint64_t)-lk_hold_check(hold);
    told[TOLD_RELEASE] = (uint64_t)-lk_hold_release(hold);
    lk_rwlock_free(lock);
    lk_client_free(client);
    return 0;
}

/* ---- the scene ---------------------------------------------------------------- */

typedef struct scene {
    server *server;
    workers *players[4];
    unsigned player_count;
    lk_client *client;
    lk_rwlock *lock;
} scene;

static int setup(void **state)
{
    scene *sc = calloc(1, sizeof(*sc));

    *state = sc;
    if (sc == NULL)
        return 1;
    sc->server = server_start(NULL);
    return sc->server == NULL;
}

static int teardown(void **state)
{
    scene *sc = *state;

    lk_rwlock_free(sc->lock);
    lk_client_free(sc->client);
    for (unsigned i = 0; i < sc->player_count; i++)
        workers_free(sc->players[i]);
    server_stop(sc->server);
    free(sc);
    return 0;
}

static _Atomic uint64_t *told_by(workers *player)
{
    return workers_shared(player)->counters[0];
}

static bool has_hold(void *data)
{
    return told_by(data)[TOLD_FENCE] != 0;
}

/* A process that acquires, before this one has any thread. */
static workers *player_start(scene *sc, rw_mode mode)
{
    workers *player;

    played_modes[0] = mode;
    player = workers_start(1, player_run, sc->server);
    assert_non_null(player);
    sc->players[sc->player_count++] = player;
    return player;
}

static workers *holder_start(scene *sc, rw_mode mode)
{
    workers *player = player_start(sc, mode);

    assert_true(wait_until(has_hold, player, SETTLE_MS));
    return player;
}

struct queued {
    scene *sc;
    const char *band;
    long long count;
};

static bool is_queued(void *data)
{
    const struct queued *q = data;

    return server_integer(q->sc->server, RWLOCKING_WAITING, q->band) ==
           q->count;
}

static workers *waiter_start(scene *sc, rw_mode mode, const char *band)
{
    workers *player = player_start(sc, mode);
    struct queued q = {sc, band, 1};

    assert_true(wait_until(is_queued, &q, SETTLE_MS));
    return player;
}

/* This process' own client, when all others have begun. */
static void open_own(scene *sc)
{
    assert_status(lk_client_open(&sc->client, server_url(sc->server), NULL),
                  LK_OK);
    assert_status(lk_rwlock_new(&sc->lock, sc->client, "n", NULL), LK_OK);
    assert_status(lk_client_wait_ready(sc->client, SETTLE_MS), LK_OK);
}

/* Acquires, which must take no longer than so many ms. */
static void assert_comes_in(scene *sc, rw_mode mode, uint64_t most_ms)
{
    uint64_t begin = wait_now_ms();
    lk_hold *hold = NULL;

    assert_status(rwlocking_acquire(sc->lock, mode, SETTLE_MS, NULL, &hold),
                  LK_OK);
    assert_in_range(wait_now_ms() - begin, 0, wait_allowed_ms(most_ms));
    assert_status(lk_hold_release(hold), LK_OK);
}

static uint64_t slack_ms(void)
{
    return wait_scaled_ms(SLACK_MS);
}

/* ---- killed -------------------------------------------------------------------- */

static void a_killed_reader_keeps_a_writer_out_only_for_its_lease(void **state)
{
    scene *sc = *state;
    workers *dead = holder_start(sc, RW_READ);

    open_own(sc);
    workers_kill(dead, 0, SIGKILL);
    assert_comes_in(sc, RW_WRITE, LEASE_MS + LOOK_MS + slack_ms());
}

/* The others go on, and their renewals do not keep the dead one alive. */
static void a_killed_reader_is_forgotten_beside_living_ones(void **state)
{
    scene *sc = *state;
    workers *alive = holder_start(sc, RW_READ);
    workers *dead = holder_start(sc, RW_READ);
    lk_hold *hold = NULL;

    open_own(sc);
    workers_kill(dead, 0, SIGKILL);
    assert_status(lk_rwlock_acquire_write(sc->lock, TWO_LEASES_MS, NULL, &hold),
                  LK_ETIMEDOUT);
    workers_end(alive);
    assert_comes_in(sc, RW_WRITE, LOOK_MS + slack_ms());
    assert_true(workers_wait(alive, SETTLE_MS));
    assert_int_equal(told_by(alive)[TOLD_RELEASE], 0);
}

static void a_killed_writer_is_followed_within_its_lease(void **state)
{
    scene *sc = *state;
    workers *dead = holder_start(sc, RW_WRITE);

    open_own(sc);
    workers_kill(dead, 0, SIGKILL);
    assert_comes_in(sc, RW_READ, LEASE_MS + LOOK_MS + slack_ms());
}

static void a_killed_upgradeable_reader_makes_room_for_the_next(void **state)
{
    scene *sc = *state;
    workers *dead = holder_start(sc, RW_UPGRADEABLE);

    open_own(sc);
    assert_comes_in(sc, RW_READ, LOOK_MS + slack_ms());
    workers_kill(dead, 0, SIGKILL);
    assert_comes_in(sc, RW_UPGRADEABLE, LEASE_MS + LOOK_MS + slack_ms());
}

/* Nobody listens in its place, which is seen at once. */
static void a_killed_writer_that_waits_keeps_no_reader_out(void **state)
{
    scene *sc = *state;
    workers *reader = holder_start(sc, RW_READ);
    workers *dead = waiter_start(sc, RW_WRITE, RWLOCKING_WRITERS);

    open_own(sc);
    workers_kill(dead, 0, SIGKILL);
    assert_comes_in(sc, RW_READ, LOOK_MS + slack_ms());
    workers_end(reader);
    assert_true(workers_wait(reader, SETTLE_MS));
    assert_int_equal(told_by(reader)[TOLD_RELEASE], 0);
}

static void a_killed_reader_that_waits_keeps_no_writer_out(void **state)
{
    scene *sc = *state;
    workers *writer = holder_start(sc, RW_WRITE);
    workers *dead = waiter_start(sc, RW_READ, RWLOCKING_READERS);

    open_own(sc);
    workers_kill(dead, 0, SIGKILL);
    workers_end(writer);
    assert_comes_in(sc, RW_WRITE, LOOK_MS + slack_ms());
}

/* ---- stopped -------------------------------------------------------------------- */

static void a_reader_stopped_beyond_its_lease_knows_at_once(void **state)
{
    scene *sc = *state;
    workers *stopped = holder_start(sc, RW_READ);
    _Atomic uint64_t *told = told_by(stopped);
    lk_hold *hold = NULL;

    open_own(sc);
    workers_kill(stopped, 0, SIGSTOP);
    assert_status(lk_rwlock_acquire_write(sc->lock, SETTLE_MS, NULL, &hold),
                  LK_OK);
    assert_true(lk_hold_fence(hold) > told[TOLD_FENCE]);
    workers_end(stopped);
    workers_kill(stopped, 0, SIGCONT);
    assert_true(workers_wait(stopped, SETTLE_MS));
    assert_int_equal(told[TOLD_CHECK], -LK_ELOST);
    assert_int_equal(told[TOLD_RELEASE], -LK_ELOST);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* It looks no more, so after a while it counts as dead. */
static void
a_stopped_writer_that_waits_keeps_readers_out_for_seconds(void **state)
{
    scene *sc = *state;
    workers *reader = holder_start(sc, RW_READ);
    workers *stopped = waiter_start(sc, RW_WRITE, RWLOCKING_WRITERS);

    open_own(sc);
    workers_kill(stopped, 0, SIGSTOP);
    assert_comes_in(sc, RW_READ, SEEN_MS + LOOK_MS + slack_ms());
    workers_kill(stopped, 0, SIGCONT);
    workers_end(stopped);
    workers_end(reader);
    assert_true(workers_wait(stopped, SETTLE_MS));
    assert_int_equal(told_by(stopped)[TOLD_RELEASE], 0);
}

/* A grant to one that stands still ends by itself. */
static void a_stopped_reader_that_is_let_in_costs_its_claim_lease(void **state)
{
    scene *sc = *state;
    workers *writer = holder_start(sc, RW_WRITE);
    workers *stopped = waiter_start(sc, RW_READ, RWLOCKING_READERS);

    open_own(sc);
    workers_kill(stopped, 0, SIGSTOP);
    workers_end(writer);
    assert_comes_in(sc, RW_WRITE, CLAIM_MS + LOOK_MS + slack_ms());
    workers_kill(stopped, 0, SIGKILL);
}

#define DEAD_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEAD_TEST(a_killed_reader_keeps_a_writer_out_only_for_its_lease),
        DEAD_TEST(a_killed_reader_is_forgotten_beside_living_ones),
        DEAD_TEST(a_killed_writer_is_followed_within_its_lease),
        DEAD_TEST(a_killed_upgradeable_reader_makes_room_for_the_next),
        DEAD_TEST(a_killed_writer_that_waits_keeps_no_reader_out),
        DEAD_TEST(a_killed_reader_that_waits_keeps_no_writer_out),
        DEAD_TEST(a_reader_stopped_beyond_its_lease_knows_at_once),
        DEAD_TEST(a_stopped_writer_that_waits_keeps_readers_out_for_seconds),
        DEAD_TEST(a_stopped_reader_that_is_let_in_costs_its_claim_lease),
    };

    return cmocka_run_group_tests_name("rwlock_dead", tests, NULL, NULL);
}
