/* SPDX-License-Identifier: MIT */

/*
 * Every way in which a wait for the read-write lock ends without it: it leaves
 * the queue, and whom it kept out comes in.
 */

#include <latchkey/latchkey.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/rwlocking.h"
#include "support/wait.h"

enum { AT_ONCE_MS = 250 };

static const kind_id modes[] = {KIND_READ, KIND_UPGRADEABLE, KIND_WRITE};

static lk_acquire_options with_token(lk_client *client)
{
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};

    assert_status(lk_cancel_new(&options.cancel, client), LK_OK);
    return options;
}

static uint64_t since_ms(uint64_t begin)
{
    return wait_now_ms() - begin;
}

/* ---- time ---- */

LOCKS_TEST(a_wait_ends_when_its_time_is_over_and_not_before)
{
    lk_hold *hold = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_WRITE);
    lk_rwlock *lock = locking_calm(f, lk_rwlock);
    taker *takers[3];

    for (size_t i = 0; i < 3; i++)
        takers[i] = rwlocking_take(f, lock, modes[i], 1000, NULL);
    for (size_t i = 0; i < 3; i++) {
        assert_status(taker_join(takers[i]), LK_ETIMEDOUT);
        assert_in_range(takers[i]->took_ms, 990,
                        wait_allowed_ms(1100 + wait_scaled_ms(150)));
    }
    for (size_t i = 0; i < 3; i++)
        rwlocking_wait_queued(f, modes[i], 0);
    assert_status(lk_hold_release(hold), LK_OK);
    locking_wait_clean(f, "n");
}

/* The others of its client still wait, on the claim that it shared. */
LOCKS_TEST(a_reader_that_gives_up_costs_its_neighbours_nothing)
{
    lk_hold *hold = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_WRITE);
    lk_rwlock *lock = locking_calm(f, lk_rwlock);
    taker *first = rwlocking_take(f, lock, KIND_READ, 100, NULL);
    taker *second;

    rwlocking_wait_queued(f, KIND_READ, 1);
    second = rwlocking_take(f, lock, KIND_READ, LK_FOREVER, NULL);
    assert_status(taker_join(first), LK_ETIMEDOUT);
    rwlocking_wait_queued(f, KIND_READ, 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(second), LK_OK);
    locking_wait_clean(f, "n");
}

LOCKS_TEST(a_writer_that_gives_up_lets_the_readers_in)
{
    lk_hold *hold = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_READ);
    lk_acquire_options options;
    taker *writer, *reader;
    uint64_t begin;
    lk_rwlock *lock = locking_calm(f, lk_rwlock);

    options = with_token(f->clients[1]);
    writer = rwlocking_take(f, lock, KIND_WRITE, LK_FOREVER, &options);
    rwlocking_wait_queued(f, KIND_WRITE, 1);
    reader = rwlocking_queue_up(f, locking_calm(f, lk_rwlock), KIND_READ, 1);
    begin = wait_now_ms();
    lk_cancel_fire(options.cancel);
    assert_status(taker_join(writer), LK_ECANCELED);
    assert_status(taker_release(reader), LK_OK);
    assert_in_range(since_ms(begin), 0,
                    wait_allowed_ms(wait_scaled_ms(AT_ONCE_MS)));
    assert_status(lk_hold_release(hold), LK_OK);
    locking_wait_clean(f, "n");
    lk_cancel_free(options.cancel);
}

/* Whichever comes first: nothing that was granted is left behind. */
LOCKS_TEST(a_grant_that_meets_a_cancel_goes_to_the_next)
{
    enum { ROUNDS = 30 };
    lk_rwlock *holder = locking_calm(f, lk_rwlock);
    lk_rwlock *lock = locking_calm(f, lk_rwlock);
    lk_rwlock *behind = locking_calm(f, lk_rwlock);

    for (int i = 0; i < ROUNDS; i++) {
        lk_acquire_options options = with_token(f->clients[1]);
        lk_hold *hold = rwlocking_hold_of(holder, KIND_WRITE, NULL);
        kind_id mode = i % 4 < 2 ? KIND_READ : KIND_WRITE;
        taker *t = rwlocking_take(f, lock, mode, LK_FOREVER, &options);
        taker *next;

        rwlocking_wait_queued(f, mode, 1);
        next = rwlocking_queue_up(f, behind, KIND_WRITE,
                                  mode == KIND_WRITE ? 2 : 1);
        if (i % 2 == 0)
            lk_cancel_fire(options.cancel);
        assert_status(lk_hold_release(hold), LK_OK);
        lk_cancel_fire(options.cancel);
        if (taker_join(t) == LK_OK)
            assert_status(taker_release(t), LK_OK);
        else
            assert_status(t->status, LK_ECANCELED);
        assert_status(taker_release(next), LK_OK);
        assert_in_range(next->took_ms, 0,
                        wait_allowed_ms(wait_scaled_ms(2000)));
        locking_wait_clean(f, "n");
        lk_cancel_free(options.cancel);
    }
}

LOCKS_TEST(who_gives_up_again_and_again_leaves_no_trace)
{
    enum { ROUNDS = 12 };
    lk_hold *hold = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_WRITE);
    lk_rwlock *lock = locking_calm(f, lk_rwlock);

    for (int i = 0; i < ROUNDS; i++) {
        taker *takers[3];

        for (size_t j = 0; j < 3; j++)
            takers[j] = rwlocking_take(f, lock, modes[j], 20, NULL);
        for (size_t j = 0; j < 3; j++) {
            /* Its request may be under way when its time is over. */
            if (taker_join(takers[j]) != LK_EINDOUBT)
                assert_status(takers[j]->status, LK_ETIMEDOUT);
        }
    }
    for (size_t j = 0; j < 3; j++)
        rwlocking_wait_queued(f, modes[j], 0);
    assert_status(lk_hold_release(hold), LK_OK);
    locking_wait_clean(f, "n");
}

/* ---- the end of a client ---- */

LOCKS_TEST(a_shutdown_ends_waits_and_holds)
{
    lk_rwlock *ending = locking_calm(f, lk_rwlock),
              *staying = locking_calm(f, lk_rwlock);
    lk_hold *hold = rwlocking_hold(f, ending, KIND_WRITE);
    taker *mine[3];
    taker *reader;
    lk_rwlock_state told;
    lk_hold *none = NULL;

    for (size_t i = 0; i < 3; i++)
        mine[i] = rwlocking_queue_up(f, ending, modes[i], 1);
    reader = rwlocking_queue_up(f, staying, KIND_READ, 2);
    assert_status(lk_client_shutdown(f->clients[0], 5000), LK_OK);
    for (size_t i = 0; i < 3; i++)
        assert_status(taker_join(mine[i]), LK_ECLOSED);
    assert_status(taker_release(reader), LK_OK);
    assert_status(lk_rwlock_downgrade(hold), LK_ECLOSED);
    assert_status(lk_hold_release(hold), LK_ECLOSED);
    assert_status(lk_rwlock_acquire_read(ending, 0, NULL, &none), LK_ECLOSED);
    assert_status(lk_rwlock_state_get(ending, &told), LK_ECLOSED);
    locking_wait_clean(f, "n");
}

/* In a child cmocka's ways end nowhere: it tells by how it ends. */
static void child_run(lk_rwlock *lock, lk_hold *hold)
{
    lk_hold *none = NULL;
    lk_rwlock_state told;
    bool good = lk_rwlock_acquire_read(lock, 0, NULL, &none) == LK_EFORKED &&
                lk_rwlock_acquire_write(lock, 0, NULL, &none) == LK_EFORKED &&
                lk_rwlock_state_get(lock, &told) == LK_EFORKED &&
                lk_rwlock_force_release(lock) == LK_EFORKED &&
                lk_hold_check(hold) == LK_EFORKED &&
                lk_rwlock_downgrade(hold) == LK_EFORKED;

    lk_rwlock_free(lock);
    if (!good)
        _exit(1);
    (void)raise(SIGKILL); /* so that no tool looks for leaks */
}

LOCKS_TEST(a_child_has_nothing_of_its_parents)
{
    lk_rwlock *lock = locking_new(f, lk_rwlock);
    lk_hold *hold = rwlocking_hold(f, lock, KIND_WRITE);
    taker *t = rwlocking_queue_up(f, lock, KIND_READ, 1);
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        child_run(lock, hold);
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
