/* SPDX-License-Identifier: MIT */

/*
 * The read-write lock and what can go wrong on the way: answers that are lost
 * after the change was made, or never come, and connections that break.
 */

#include <latchkey/latchkey.h>

#include "support/check.h"
#include "support/proxy.h"
#include "support/rwlocking.h"
#include "support/wait.h"

enum { COMMAND = 0, INBOX = 1, NEXT = 2, SOON_MS = 10000 };

static proxy *the_proxy;

static int start(void **state)
{
    if (rwlocking_setup(state) != 0)
        return -1;
    the_proxy = locking_proxy(((rwlocking *)*state)->base);
    return 0;
}

#define FAULT(f) cmocka_unit_test_setup_teardown(f, start, rwlocking_teardown)

/* A lock of a client behind the proxy, whose inbox stands. */
static lk_rwlock *far_with(rwlocking *f, const lk_client_options *options)
{
    lk_client *client = locking_open_far(f->base, options);
    lk_rwlock *lock = rwlocking_lock(f, client);

    assert_status(rwlocking_try(f, lock, RW_WRITE), LK_OK);
    locking_wait_connects(client, 2);
    return lock;
}

static lk_rwlock *far(rwlocking *f)
{
    return far_with(f, NULL);
}

static void lose_the_next_answer(void)
{
    proxy_drop_replies(the_proxy, COMMAND, true);
}

/* ---- an answer that is lost ------------------------------------------------- */

static void an_acquire_whose_answer_is_lost_is_one_hold(void **state)
{
    static const rw_mode modes[] = {RW_READ, RW_UPGRADEABLE, RW_WRITE};
    rwlocking *f = *state;

    for (size_t i = 0; i < 3; i++) {
        lk_rwlock *lock = far(f);
        lk_hold *hold = NULL;

        proxy_drop_replies(the_proxy, proxy_accepted(the_proxy) - 2, true);
        assert_status(rwlocking_acquire(lock, modes[i],
                                        (int64_t)wait_scaled_ms(SOON_MS), NULL,
                                        &hold),
                      LK_OK);
        assert_int_equal(rwlocking_holders(f), 1);
        assert_status(lk_hold_release(hold), LK_OK);
        rwlocking_assert_clean(f);
    }
}

static void a_release_whose_answer_is_lost_lets_the_next_in_once(void **state)
{
    rwlocking *f = *state;
    lk_rwlock *lock = far(f), *near = rwlocking_calm(f);
    lk_hold *hold = rwlocking_hold(f, lock, RW_WRITE);
    taker *reader = rwlocking_queue_up(f, near, RW_READ, 1);

    lose_the_next_answer();
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(reader), LK_OK);
    assert_int_equal(rwlocking_holders(f), 1);
    assert_status(taker_release(reader), LK_OK);
    rwlocking_assert_clean(f);
}

static void a_readers_release_whose_answer_is_lost_ends_no_others(void **state)
{
    rwlocking *f = *state;
    lk_hold *hold = rwlocking_hold(f, far(f), RW_READ);
    lk_hold *other = rwlocking_hold(f, rwlocking_new(f), RW_READ);

    lose_the_next_answer();
    assert_status(lk_hold_release(hold), LK_OK);
    assert_int_equal(rwlocking_holders(f), 1);
    assert_status(lk_hold_check(other), LK_OK);
    assert_status(lk_hold_release(other), LK_OK);
    rwlocking_assert_clean(f);
}

static void a_downgrade_whose_answer_is_lost_is_done_once(void **state)
{
    rwlocking *f = *state;
    lk_rwlock *lock = far(f);
    lk_hold *hold = rwlocking_hold(f, lock, RW_WRITE);
    taker *reader = rwlocking_queue_up(f, rwlocking_calm(f), RW_READ, 1);

    lose_the_next_answer();
    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    assert_status(taker_release(reader), LK_OK);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_int_equal(rwlocking_holders(f), 1);
    assert_status(lk_hold_release(hold), LK_OK);
    rwlocking_assert_clean(f);
}

/* ---- no answer in time ------------------------------------------------------- */

/* It was sent, and the server will hear of it; the caller goes on reading. */
static void a_downgrade_without_an_answer_in_time_is_done_later(void **state)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = 300};
    rwlocking *f = *state;
    lk_rwlock *lock = far_with(f, &options);
    lk_hold *hold = rwlocking_hold_of(lock, RW_WRITE, NULL);
    taker *reader = rwlocking_queue_up(f, rwlocking_calm(f), RW_READ, 1);
    lk_hold *none = NULL;

    proxy_swallow(the_proxy, COMMAND, PROXY_REQUESTS);
    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    assert_status(lk_rwlock_acquire_write(lock, 0, NULL, &none), LK_EUPGRADE);
    assert_status(taker_release(reader), LK_OK);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    rwlocking_assert_clean(f);
}

/* Of both its connections; else it may send into one that is dead already. */
static bool knows_it_is_cut_off(void *data)
{
    return locking_stats(data).disconnects >= 2;
}

/* Nothing was sent, so nothing has changed; it may be asked for again. */
static void a_downgrade_without_a_server_leaves_the_writer(void **state)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = 300,
                                       .offline_ms = wait_scaled_ms(200)};
    rwlocking *f = *state;
    lk_rwlock *lock = far_with(f, &options);
    lk_hold *hold = rwlocking_hold_of(lock, RW_WRITE, NULL);
    lk_hold *again = NULL;

    proxy_refuse(the_proxy, true);
    proxy_reset(the_proxy, PROXY_ALL);
    assert_true(wait_until(knows_it_is_cut_off, f->base->clients[0], SOON_MS));
    assert_int_not_equal(lk_rwlock_downgrade(hold), LK_OK);
    assert_status(lk_rwlock_acquire_write(lock, 0, NULL, &again), LK_OK);
    proxy_refuse(the_proxy, false);
    assert_status(lk_client_wait_ready(f->base->clients[0], SOON_MS), LK_OK);
    assert_status(lk_hold_release(again), LK_OK);
    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    assert_status(rwlocking_try(f, rwlocking_new(f), RW_READ), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    rwlocking_assert_clean(f);
}

/* ---- connections that break --------------------------------------------------- */

/* The message is lost with the inbox; a look finds the hold. */
static void grants_that_were_lost_are_found(void **state)
{
    static const rw_mode modes[] = {RW_READ, RW_WRITE, RW_UPGRADEABLE};
    rwlocking *f = *state;
    lk_rwlock *lock = far(f), *near = rwlocking_new(f);

    for (size_t i = 0; i < 3; i++) {
        lk_hold *hold = rwlocking_hold_of(near, RW_WRITE, NULL);
        taker *t = rwlocking_queue_up(f, lock, modes[i], 1);
        int inbox = proxy_accepted(the_proxy) - 1;

        proxy_hold(the_proxy, inbox, PROXY_REPLIES);
        assert_status(lk_hold_release(hold), LK_OK);
        assert_status(taker_join(t), LK_OK);
        assert_in_range(t->took_ms, 0, wait_scaled_ms(5000));
        assert_status(taker_release(t), LK_OK);
        proxy_release(the_proxy, inbox, PROXY_REPLIES);
        rwlocking_assert_clean(f);
    }
}

static void waiters_of_all_modes_survive_a_broken_connection(void **state)
{
    rwlocking *f = *state;
    lk_rwlock *lock = far(f), *near = rwlocking_new(f);
    lk_hold *hold = rwlocking_hold(f, near, RW_WRITE);
    taker *writer = rwlocking_queue_up(f, lock, RW_WRITE, 1);
    taker *upgradeable = rwlocking_queue_up(f, lock, RW_UPGRADEABLE, 1);
    taker *readers[2] = {rwlocking_queue_up(f, lock, RW_READ, 1)};

    readers[1] = rwlocking_take(f, lock, RW_READ, LK_FOREVER, NULL);
    locking_wait_waiting(f->base->clients[0], 4);
    proxy_reset(the_proxy, PROXY_ALL);
    locking_wait_connects(f->base->clients[0], 4);
    assert_status(lk_hold_release(hold), LK_OK);
    for (size_t i = 0; i < 2; i++)
        assert_status(taker_release(readers[i]), LK_OK);
    assert_status(taker_release(writer), LK_OK);
    assert_status(taker_release(upgradeable), LK_OK);
    rwlocking_assert_clean(f);
}

static void holds_survive_a_broken_connection(void **state)
{
    rwlocking *f = *state;
    lk_rwlock *lock = far(f);
    lk_owner *owner = rwlocking_owner(f, lock);
    lk_hold *base = rwlocking_hold_of(lock, RW_UPGRADEABLE, owner);
    lk_hold *write = rwlocking_hold_of(lock, RW_WRITE, owner);

    proxy_reset(the_proxy, PROXY_ALL);
    locking_wait_connects(f->base->clients[0], 4);
    assert_status(lk_hold_check(base), LK_OK);
    assert_status(lk_hold_check(write), LK_OK);
    assert_status(lk_rwlock_downgrade(write), LK_OK);
    assert_status(lk_hold_release(write), LK_OK);
    assert_status(lk_hold_release(base), LK_OK);
    rwlocking_assert_clean(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAULT(an_acquire_whose_answer_is_lost_is_one_hold),
        FAULT(a_release_whose_answer_is_lost_lets_the_next_in_once),
        FAULT(a_readers_release_whose_answer_is_lost_ends_no_others),
        FAULT(a_downgrade_whose_answer_is_lost_is_done_once),
        FAULT(a_downgrade_without_an_answer_in_time_is_done_later),
        FAULT(a_downgrade_without_a_server_leaves_the_writer),
        FAULT(grants_that_were_lost_are_found),
        FAULT(waiters_of_all_modes_survive_a_broken_connection),
        FAULT(holds_survive_a_broken_connection),
    };

    return cmocka_run_group_tests_name("rwlock_faults", tests,
                                       locking_start_server,
                                       locking_stop_server);
}
