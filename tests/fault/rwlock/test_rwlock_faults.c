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

enum { COMMAND = 0, SOON_MS = 10000 };

static proxy *the_proxy;

static int start(void **state)
{
    if (locking_setup(state) != 0)
        return -1;
    the_proxy = locking_proxy(*state);
    return 0;
}

#define FAULT(name) CHECK_TEST_OF(name, locking *f, start, locking_teardown)

/* A lock of a client behind the proxy, whose inbox stands. */
static lk_rwlock *far_with(locking *f, const lk_client_options *options)
{
    lk_client *client = locking_open_far(f, options);
    lk_rwlock *lock = locking_of(f, lk_rwlock, client);

    assert_status(rwlocking_try(f, lock, KIND_WRITE), LK_OK);
    locking_wait_connects(client, 2);
    return lock;
}

static lk_rwlock *far(locking *f)
{
    return far_with(f, NULL);
}

static void lose_the_next_answer(void)
{
    proxy_drop_replies(the_proxy, COMMAND, true);
}

/* ---- an answer that is lost ------------------------------------------------- */

FAULT(a_readers_release_whose_answer_is_lost_ends_no_others)
{
    lk_hold *hold = rwlocking_hold(f, far(f), KIND_READ);
    lk_hold *other = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_READ);

    lose_the_next_answer();
    assert_status(lk_hold_release(hold), LK_OK);
    assert_int_equal(rwlocking_holders(f), 1);
    assert_status(lk_hold_check(other), LK_OK);
    assert_status(lk_hold_release(other), LK_OK);
    locking_wait_clean(f, "n");
}

FAULT(a_downgrade_whose_answer_is_lost_is_done_once)
{
    lk_rwlock *lock = far(f);
    lk_hold *hold = rwlocking_hold(f, lock, KIND_WRITE);
    taker *reader =
        rwlocking_queue_up(f, locking_calm(f, lk_rwlock), KIND_READ, 1);

    lose_the_next_answer();
    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    assert_status(taker_release(reader), LK_OK);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_int_equal(rwlocking_holders(f), 1);
    assert_status(lk_hold_release(hold), LK_OK);
    locking_wait_clean(f, "n");
}

/* ---- no answer in time ------------------------------------------------------- */

/* It was sent, and the server will hear of it; the caller goes on reading. */
FAULT(a_downgrade_without_an_answer_in_time_is_done_later)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms =
                                           wait_limit_ms(300)};
    lk_rwlock *lock = far_with(f, &options);
    lk_hold *hold = rwlocking_hold_of(lock, KIND_WRITE, NULL);
    taker *reader =
        rwlocking_queue_up(f, locking_calm(f, lk_rwlock), KIND_READ, 1);
    lk_hold *none = NULL;

    proxy_swallow(the_proxy, COMMAND, PROXY_REQUESTS);
    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    assert_status(lk_rwlock_acquire_write(lock, 0, NULL, &none), LK_EUPGRADE);
    assert_status(taker_release(reader), LK_OK);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    locking_wait_clean(f, "n");
}

/* Nothing was sent, so nothing has changed; it may be asked for again. */
FAULT(a_downgrade_without_a_server_leaves_the_writer)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = wait_limit_ms(300),
                                       .offline_ms = wait_scaled_ms(200)};
    lk_rwlock *lock = far_with(f, &options);
    lk_hold *hold = rwlocking_hold_of(lock, KIND_WRITE, NULL);
    lk_hold *again = NULL;

    proxy_refuse(the_proxy, true);
    proxy_reset(the_proxy, PROXY_ALL);
    /* Of both its connections; else it may send into one that is dead already. */
    assert_soon(locking_stats(f->clients[0]).disconnects >= 2, SOON_MS);
    assert_int_not_equal(lk_rwlock_downgrade(hold), LK_OK);
    assert_status(lk_rwlock_acquire_write(lock, 0, NULL, &again), LK_OK);
    proxy_refuse(the_proxy, false);
    assert_status(lk_client_wait_ready(f->clients[0],
                                       (int64_t)wait_limit_ms(SOON_MS)),
                  LK_OK);
    assert_status(lk_hold_release(again), LK_OK);
    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    assert_status(rwlocking_try(f, locking_new(f, lk_rwlock), KIND_READ),
                  LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    locking_wait_clean(f, "n");
}

CHECK_GROUP(locking_start_server, locking_stop_server)
