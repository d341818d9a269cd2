/* SPDX-License-Identifier: MIT */

/*
 * Local hand-over: the waits of one client pass a hold among themselves
 * without a word to the server, and other clients get their turn all the same.
 */

#include "support/chain.h"
#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

enum { LONG_MS = 60000 };

/* ---- what a pass costs -------------------------------------------------------- */

LOCKS_TEST(a_pass_costs_no_command_and_has_a_fence_of_its_own)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    ledger *l = ledger_new();
    chain c = {.number = 1};
    uint64_t commands = locking_stats(client).commands;
    uint64_t began = wait_now_ms();
    lk_client_stats stats;

    chain_start(&c, lock, l, 5000);
    chain_wait(&c);
    stats = locking_stats(client);
    assert_int_equal(atomic_load(&c.granted), 5000);
    assert_int_equal(atomic_load(&l->count), 5000);
    assert_true(ledger_grows(l));
    assert_in_range(stats.passes, 2500, 5000);
    /* An acquire, a question and a release for each that was no pass, and a
       question every 50 ms. */
    assert_in_range(stats.commands - commands, 3,
                    3 * (5000 - stats.passes) + 10 +
                        (wait_now_ms() - began) / 50);
    assert_int_equal(stats.acquires, stats.releases);
    locking_wait_integer(f, 0, "EXISTS %s", "n");
    ledger_free(l);
}

enum { THREADS = 4, TURNS = 300 };

struct worker {
    pthread_t thread;
    lk_lock *lock;
    ledger *ledger;
    int failed;
};

static void *work(void *data)
{
    struct worker *w = data;

    for (int i = 0; i < TURNS; i++) {
        lk_hold *hold = NULL;

        if (lk_lock_acquire(w->lock, LONG_MS, NULL, &hold) != LK_OK) {
            w->failed++;
            continue;
        }
        ledger_write(w->ledger, hold, 0);
        w->failed += lk_hold_release(hold) != LK_OK;
    }
    return NULL;
}

LOCKS_TEST(threads_of_one_client_pass_it_with_growing_fences)
{
    lk_client *client = locking_open(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    ledger *l = ledger_new();
    struct worker workers[THREADS] = {0};

    for (int i = 0; i < THREADS; i++) {
        workers[i].lock = lock;
        workers[i].ledger = l;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work,
                                        &workers[i]),
                         0);
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].failed, 0);
    }
    assert_int_equal(atomic_load(&l->count), THREADS * TURNS);
    assert_true(ledger_grows(l));
    assert_true(locking_stats(client).passes > 0);
    ledger_free(l);
}

/* ---- others ------------------------------------------------------------------- */

LOCKS_TEST(another_clients_waiter_gets_its_turn)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_lock *other = locking_calm(f, lk_lock);
    ledger *l = ledger_new();
    chain c = {.number = 1};

    chain_start(&c, lock, l, INT32_MAX);
    for (int i = 0; i < 10; i++) {
        lk_hold *hold = NULL;
        uint64_t began;

        chain_wait_granted(&c, 200);
        began = wait_now_ms();
        assert_status(lk_lock_acquire(other, LONG_MS, NULL, &hold), LK_OK);
        /* The last answer is believed for 100 ms. */
        assert_in_range(wait_now_ms() - began, 0,
                        wait_allowed_ms(110 + wait_scaled_ms(100)));
        assert_status(lk_hold_release(hold), LK_OK);
    }
    chain_stop(&c);
    chain_wait(&c);
    ledger_free(l);
}

/* Has two clients contend until each has had so many grants. */
static void
contend(locking *f, ledger *l, bool works, int grants, uint64_t *ret_passes)
{
    lk_client *clients[2] = {locking_open_calm(f, NULL),
                             locking_open_calm(f, NULL)};
    chain chains[2] = {{.number = 0, .works = works},
                       {.number = 1, .works = works}};

    for (int i = 0; i < 2; i++)
        chain_start(&chains[i], locking_lock(f, clients[i], "n"), l, INT32_MAX);
    for (int i = 0; i < 2; i++)
        chain_wait_granted(&chains[i], grants);
    for (int i = 0; i < 2; i++)
        chain_stop(&chains[i]);
    for (int i = 0; i < 2; i++) {
        chain_wait(&chains[i]);
        ret_passes[i] = locking_stats(clients[i]).passes;
    }
}

LOCKS_TEST(fences_of_two_clients_never_overlap)
{
    ledger *l = ledger_new();
    uint64_t passes[2];

    contend(f, l, false, 5000, passes);
    assert_true(atomic_load(&l->count) >= 10000);
    assert_true(ledger_grows(l));
    assert_true(ledger_changes(l) >= 20);
    ledger_free(l);
}

LOCKS_TEST(two_clients_that_contend_pass_it_in_turns)
{
    ledger *l = ledger_new();
    uint64_t passes[2];

    contend(f, l, true, 1000, passes);
    assert_true(passes[0] > 0);
    assert_true(passes[1] > 0);
    assert_true(ledger_grows(l));
    assert_true(ledger_changes(l) >= 4);
    ledger_free(l);
}

/* ---- what is not passed ---------------------------------------------------------- */

LOCKS_TEST(a_hold_with_a_lease_of_its_own_is_not_passed)
{
    lk_client *client = locking_open(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_hold *hold = locking_hold_for(lock, 20000);
    taker *t = locking_take(f, lock, LONG_MS, NULL);

    locking_wait_queued(f, "n", 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    assert_int_equal(locking_stats(client).passes, 0);
}

LOCKS_TEST(a_wait_with_a_lease_behind_a_watchdog_hold_queues)
{
    lk_client *client = locking_open(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    const lk_acquire_options leased = {LK_ACQUIRE_OPTIONS_INIT,
                                       .lease_ms = 20000};
    lk_hold *hold = locking_hold(lock);
    taker *t = locking_take(f, lock, LONG_MS, &leased);

    locking_wait_queued(f, "n", 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_int_equal(locking_stats(client).passes, 0);
    assert_in_range(lk_hold_remaining_ms(t->hold), 1, 20000);
    assert_status(taker_release(t), LK_OK);
}

LOCKS_TEST(a_wait_behind_a_watchdog_hold_does_not_queue)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_hold *hold = locking_hold(lock);
    uint64_t fence = lk_hold_fence(hold);
    taker *t = locking_take(f, lock, LONG_MS, NULL);

    locking_wait_waiting(client, 1);
    assert_int_equal(server_integer(f->server, SERVER_WAITERS("n")), 0);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_true(lk_hold_fence(t->hold) > fence);
    assert_status(taker_release(t), LK_OK);
}

LOCKS_TEST(a_lost_hold_is_not_passed)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_lock *operator_lock = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold(lock);
    uint64_t fence = lk_hold_fence(hold);
    taker *t = locking_take(f, lock, LONG_MS, NULL);

    locking_wait_waiting(client, 1);
    assert_status(lk_lock_force_release(operator_lock), LK_OK);
    assert_true(wait_until(hold_is_lost, hold, 5000));
    assert_status(taker_join(t), LK_OK);
    assert_true(lk_hold_fence(t->hold) > fence);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_status(lk_hold_check(t->hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    assert_int_equal(locking_stats(client).passes, 0);
}

/* Once the server does not know the hold any more, passes end as well. */
LOCKS_TEST(a_hold_that_was_deleted_is_passed_no_longer_than_it_is_asked)
{
    lk_lock *lock = locking_new(f, lk_lock);
    ledger *l = ledger_new();
    chain c = {.number = 1};

    chain_start(&c, lock, l, INT32_MAX);
    for (int i = 0; i < 5; i++) {
        chain_wait_granted(&c, 100);
        (void)server_integer(f->server, "DEL n");
        locking_wait_integer(f, 1, "EXISTS %s", "n");
    }
    chain_stop(&c);
    chain_wait(&c);
    assert_true(ledger_grows(l));
    ledger_free(l);
}

/* ---- the server away ---------------------------------------------------------------- */

LOCKS_TEST(while_the_server_stands_still_passes_end_with_the_budget)
{
    lk_lock *lock = locking_new(f, lk_lock);
    ledger *l = ledger_new();
    chain c = {.number = 1};
    int granted;

    chain_start(&c, lock, l, INT32_MAX);
    chain_wait_granted(&c, 500);
    server_freeze(f->server);
    locking_pass_time(150 + wait_scaled_ms(100));
    granted = atomic_load(&c.granted);
    locking_pass_time(200);
    assert_in_range(atomic_load(&c.granted) - granted, 0, 64);
    server_thaw(f->server);
    chain_wait_granted(&c, 500);
    chain_stop(&c);
    chain_wait(&c);
    assert_true(ledger_grows(l));
    locking_wait_integer(f, 0, "EXISTS %s", "n");
    ledger_free(l);
}

LOCKS_TEST(a_server_that_comes_back_empty_goes_on_with_larger_fences)
{
    const lk_client_options patient = {LK_CLIENT_OPTIONS_INIT,
                                       .offline_ms = LONG_MS};
    lk_lock *lock = locking_of(f, lk_lock, locking_open(f, &patient));
    ledger *l = ledger_new();
    chain c = {.number = 1};

    chain_start(&c, lock, l, INT32_MAX);
    chain_wait_granted(&c, 500);
    server_kill(f->server);
    locking_pass_time(150);
    assert_true(server_restart(f->server));
    chain_wait_granted(&c, 500);
    chain_stop(&c);
    chain_wait(&c);
    assert_true(ledger_grows(l));
    locking_wait_integer(f, 0, "EXISTS %s", "n");
    ledger_free(l);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
