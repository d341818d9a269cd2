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

static const rw_mode modes[] = {RW_READ, RW_UPGRADEABLE, RW_WRITE};

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

RWLOCK_TEST(a_wait_ends_when_its_time_is_over_and_not_before)
{
    lk_hold *hold = rwlocking_hold(f, rwlocking_new(f), RW_WRITE);
    lk_rwlock *lock = rwlocking_calm(f);
    taker *takers[3];

    for (size_t i = 0; i < 3; i++)
        takers[i] = rwlocking_take(f, lock, modes[i], 1000, NULL);
    for (size_t i = 0; i < 3; i++) {
        assert_status(taker_join(takers[i]), LK_ETIMEDOUT);
        assert_in_range(takers[i]->took_ms, 990, 1100 + wait_scaled_ms(150));
    }
    for (size_t i = 0; i < 3; i++)
        rwlocking_wait_queued(f, modes[i], 0);
    assert_status(lk_hold_release(hold), LK_OK);
    rwlocking_assert_clean(f);
}

/* The others of its client still wait, on the claim that it shared. */
RWLOCK_TEST(a_reader_that_gives_up_costs_its_neighbours_nothing)
{
    lk_hold *hold = rwlocking_hold(f, rwlocking_new(f), RW_WRITE);
    lk_rwlock *lock = rwlocking_calm(f);
    taker *first = rwlocking_take(f, lock, RW_READ, 100, NULL);
    taker *second;

    rwlocking_wait_queued(f, RW_READ, 1);
    second = rwlocking_take(f, lock, RW_READ, LK_FOREVER, NULL);
    assert_status(taker_join(first), LK_ETIMEDOUT);
    rwlocking_wait_queued(f, RW_READ, 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(second), LK_OK);
    rwlocking_assert_clean(f);
}

RWLOCK_TEST(a_writer_that_gives_up_lets_the_readers_in)
{
    lk_hold *hold = rwlocking_hold(f, rwlocking_new(f), RW_READ);
    lk_acquire_options options;
    taker *writer, *reader;
    uint64_t begin;
    lk_rwlock *lock = rwlocking_calm(f);

    options = with_token(f->base->clients[1]);
    writer = rwlocking_take(f, lock, RW_WRITE, LK_FOREVER, &options);
    rwlocking_wait_queued(f, RW_WRITE, 1);
    reader = rwlocking_queue_up(f, rwlocking_calm(f), RW_READ, 1);
    begin = wait_now_ms();
    lk_cancel_fire(options.cancel);
    assert_status(taker_join(writer), LK_ECANCELED);
    assert_status(taker_release(reader), LK_OK);
    assert_in_range(since_ms(begin), 0, wait_scaled_ms(AT_ONCE_MS));
    assert_status(lk_hold_release(hold), LK_OK);
    rwlocking_assert_clean(f);
    lk_cancel_free(options.cancel);
}

/* Whichever comes first: nothing that was granted is left behind. */
RWLOCK_TEST(a_grant_that_meets_a_cancel_goes_to_the_next)
{
    enum { ROUNDS = 30 };
    lk_rwlock *holder = rwlocking_calm(f);
    lk_rwlock *lock = rwlocking_calm(f);
    lk_rwlock *behind = rwlocking_calm(f);

    for (int i = 0; i < ROUNDS; i++) {
        lk_acquire_options options = with_token(f->base->clients[1]);
        lk_hold *hold = rwlocking_hold_of(holder, RW_WRITE, NULL);
        rw_mode mode = i % 4 < 2 ? RW_READ : RW_WRITE;
        taker *t = rwlocking_take(f, lock, mode, LK_FOREVER, &options);
        taker *next;

        rwlocking_wait_queued(f, mode, 1);
        next =
            rwlocking_queue_up(f, behind, RW_WRITE, mode == RW_WRITE ? 2 : 1);
        if (i % 2 == 0)
            lk_cancel_fire(options.cancel);
        assert_status(lk_hold_release(hold), LK_OK);
        lk_cancel_fire(options.cancel);
        if (taker_join(t) == LK_OK)
            assert_status(taker_release(t), LK_OK);
        else
            assert_status(t->status, LK_ECANCELED);
        assert_status(taker_release(next), LK_OK);
        assert_in_range(next->took_ms, 0, wait_scaled_ms(2000));
        rwlocking_assert_clean(f);
        lk_cancel_free(options.cancel);
    }
}

RWLOCK_TEST(who_gives_up_again_and_again_leaves_no_trace)
{
    enum { ROUNDS = 12 };
    lk_hold *hold = rwlocking_hold(f, rwlocking_new(f), RW_WRITE);
    lk_rwlock *lock = rwlocking_calm(f);

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
    rwlocking_assert_clean(f);
}

/* ---- the end of a client ---- */

RWLOCK_TEST(a_shutdown_ends_waits_and_holds)
{
    lk_rwlock *ending = rwlocking_calm(f), *staying = rwlocking_calm(f);
    lk_hold *hold = rwlocking_hold(f, ending, RW_WRITE);
    taker *mine[3];
    taker *reader;
    lk_rwlock_state told;
    lk_hold *none = NULL;

    for (size_t i = 0; i < 3; i++)
        mine[i] = rwlocking_queue_up(f, ending, modes[i], 1);
    reader = rwlocking_queue_up(f, staying, RW_READ, 2);
    assert_status(lk_client_shutdown(f->base->clients[0], 5000), LK_OK);
    for (size_t i = 0; i < 3; i++)
        assert_status(taker_join(mine[i]), LK_ECLOSED);
    assert_status(taker_release(reader), LK_OK);
    assert_status(lk_rwlock_downgrade(hold), LK_ECLOSED);
    assert_status(lk_hold_release(hold), LK_ECLOSED);
    assert_status(lk_rwlock_acquire_read(ending, 0, NULL, &none), LK_ECLOSED);
    assert_status(lk_rwlock_state_get(ending, &told), LK_ECLOSED);
    rwlocking_assert_clean(f);
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

RWLOCK_TEST(a_child_has_nothing_of_its_parents)
{
    lk_rwlock *lock = rwlocking_new(f);
    lk_hold *hold = rwlocking_hold(f, lock, RW_WRITE);
    taker *t = rwlocking_queue_up(f, lock, RW_READ, 1);
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

int main(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
