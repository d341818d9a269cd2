/* SPDX-License-Identifier: MIT */

/* The lock over several servers when its holder is killed or stopped, and when
   the servers are while it is held. */

#include <signal.h>

#include "support/check.h"
#include "support/redlocking.h"
#include "support/wait.h"
#include "support/worker.h"

enum { SOON_MS = 10000, NODES = 3 };

/* What the holder counts: it has it; it was told that it lost it. */
enum { HELD, LOST };

static bool is_over(void *data)
{
    return ((worker_shared *)data)->is_over;
}

/* Acquires, says so, and when it is told to end, looks at what it has. */
static int holder_run(worker_shared *shared, unsigned index, void *data)
{
    redlocking *f = data;
    lk_redlock_options options = redlocking_options();
    lk_client *clients[NODES];
    lk_redlock *lock;
    lk_hold *hold;

    options.lease_ms = wait_lease_ms();
    options.node_timeout_ms = options.lease_ms / 2;
    for (size_t i = 0; i < NODES; i++) {
        if (lk_client_open(&clients[i], server_url(f->servers[i]), NULL) !=
            LK_OK)
            return 1;
    }
    if (lk_redlock_new(&lock, clients, NODES, "n", &options) != LK_OK ||
        lk_redlock_acquire(lock, wait_scaled_ms(SOON_MS), NULL, &hold) != LK_OK)
        return 2;
    shared->counters[index][HELD] = 1;
    if (!wait_until(is_over, shared, SOON_MS))
        return 3;
    shared->counters[index][LOST] = lk_hold_check(hold) == LK_ELOST;
    lk_hold_release(hold);
    lk_redlock_free(lock);
    for (size_t i = 0; i < NODES; i++)
        lk_client_free(clients[i]);
    return 0;
}

static bool is_held(void *data)
{
    return workers_shared(data)->counters[0][HELD] != 0;
}

static workers *start_holder(redlocking *f)
{
    workers *w = workers_start(1, holder_run, f);

    assert_non_null(w);
    assert_true(wait_until(is_held, w, SOON_MS));
    return w;
}

static void a_killed_holders_lock_comes_free_with_its_lease(void **state)
{
    redlocking *f = *state;
    workers *w = start_holder(f);
    lk_redlock *lock = redlocking_make(f, NODES, NULL);
    lk_hold *hold = NULL;

    assert_status(lk_redlock_acquire(lock, 0, NULL, &hold), LK_EBUSY);
    workers_kill(w, 0, SIGKILL);
    assert_status(lk_redlock_acquire(lock, wait_scaled_ms(SOON_MS), NULL,
                                     &hold),
                  LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    redlocking_wait_planted(f, NODES, 0);
    workers_free(w);
}

/* It wakes up with another holder there: its first look says so, and it takes
   nothing away that is not its own. */
static void a_stopped_holder_finds_out_with_its_first_look(void **state)
{
    redlocking *f = *state;
    workers *w = start_holder(f);
    lk_redlock *lock = redlocking_make(f, NODES, NULL);
    lk_hold *hold = NULL;

    workers_kill(w, 0, SIGSTOP);
    assert_status(lk_redlock_acquire(lock, wait_scaled_ms(SOON_MS), NULL,
                                     &hold),
                  LK_OK);
    workers_end(w);
    workers_kill(w, 0, SIGCONT);
    assert_true(workers_wait(w, SOON_MS));
    assert_int_equal(workers_exit(w, 0), 0);
    assert_int_equal(workers_shared(w)->counters[0][LOST], 1);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_in_range(redlocking_planted(f, NODES), NODES - 1, NODES);
    assert_status(lk_hold_release(hold), LK_OK);
    workers_free(w);
}

static void a_hold_outlives_a_minority_of_its_servers(void **state)
{
    redlocking *f = *state;
    lk_redlock_options options = redlocking_options();
    lk_redlock *lock;
    lk_hold *hold;

    options.lease_ms = wait_lease_ms();
    options.node_timeout_ms = options.lease_ms / 2;
    lock = redlocking_make(f, 5, &options);
    hold = redlocking_hold(lock);
    redlocking_wait_planted(f, 5, 5);
    server_kill(f->servers[3]);
    redlocking_freeze(f, 4);
    redlocking_keep(hold, options.lease_ms + options.lease_ms / 4);
    assert_int_equal(redlocking_planted(f, 5), 3);
    assert_status(lk_hold_release(hold), LK_OK);
    redlocking_thaw(f, 4);
    redlocking_wait_planted(f, 5, 0);
}

static void a_hold_without_most_of_its_servers_is_lost_in_time(void **state)
{
    redlocking *f = *state;
    lk_redlock_options options = redlocking_options();
    lk_hold *hold;

    options.lease_ms = wait_lease_ms();
    options.node_timeout_ms = options.lease_ms / 2;
    hold = redlocking_hold(redlocking_make(f, 3, &options));
    redlocking_wait_planted(f, 3, 3);
    redlocking_freeze(f, 0);
    redlocking_freeze(f, 1);
    redlocking_wait_lost(hold);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_UNREACHABLE);
    assert_status(lk_hold_release(hold), LK_ELOST);
    redlocking_thaw(f, 0);
    redlocking_thaw(f, 1);
    redlocking_wait_planted(f, 3, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REDLOCKING_TEST(a_killed_holders_lock_comes_free_with_its_lease),
        REDLOCKING_TEST(a_stopped_holder_finds_out_with_its_first_look),
        REDLOCKING_TEST(a_hold_outlives_a_minority_of_its_servers),
        REDLOCKING_TEST(a_hold_without_most_of_its_servers_is_lost_in_time),
    };

    return cmocka_run_group_tests(tests, redlocking_start_servers,
                                  redlocking_stop_servers);
}
