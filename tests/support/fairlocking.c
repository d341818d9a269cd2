/* SPDX-License-Identifier: MIT */
#include "support/fairlocking.h"

#include <stdlib.h>

#include "support/check.h"
#include "support/wait.h"

int fairlocking_setup(void **state)
{
    return locking_setup_above(state, sizeof(fairlocking));
}

int fairlocking_teardown(void **state)
{
    fairlocking *f = *state;

    locking_end_waits(f->base);
    for (size_t i = 0; i < f->lock_count; i++)
        lk_fairlock_free(f->locks[i]);
    return locking_teardown_above(state);
}

/* ---- locks ---- */

lk_fairlock *
fair_lock_named(fairlocking *f, lk_client *client, const char *name)
{
    lk_fairlock *lock = NULL;

    assert_true(f->lock_count < FAIR_LOCKS);
    assert_status(lk_fairlock_new(&lock, client, name, NULL), LK_OK);
    f->locks[f->lock_count++] = lock;
    return lock;
}

lk_fairlock *fair_lock(fairlocking *f, lk_client *client)
{
    return fair_lock_named(f, client, "n");
}

lk_fairlock *fair_lock_of_new_client(fairlocking *f)
{
    return fair_lock(f, locking_open(f->base, NULL));
}

lk_fairlock *fair_lock_of_calm_client(fairlocking *f)
{
    return fair_lock(f, locking_open_calm(f->base, NULL));
}

lk_hold *fair_hold_for(lk_fairlock *lock, uint64_t lease_ms)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = lease_ms};
    lk_hold *hold = NULL;

    assert_status(lk_fairlock_acquire(lock, 0, &options, &hold), LK_OK);
    return hold;
}

lk_hold *fair_hold(lk_fairlock *lock)
{
    return fair_hold_for(lock, 0);
}

/* ---- threads ---- */

static lk_status acquire(taker *t)
{
    return lk_fairlock_acquire(t->object, t->wait_ms, &t->options, &t->hold);
}

taker *fair_take(fairlocking *f, lk_fairlock *lock, int64_t wait_ms,
                 const lk_acquire_options *options)
{
    return taker_start(&f->base->takers, acquire, lock, 0, wait_ms, options);
}

taker *fair_queue_up(fairlocking *f, lk_fairlock *lock, long long count)
{
    taker *t = fair_take(f, lock, LK_FOREVER, NULL);

    locking_wait_queued(f->base, "n", count);
    return t;
}

/* ---- looking on ---- */

uint64_t fair_since_ms(uint64_t begin)
{
    return wait_now_ms() - begin;
}

void fair_assert_clean(fairlocking *f)
{
    locking_wait_integer(f->base, 0, "EXISTS %s", "n");
    locking_wait_queued(f->base, "n", 0);
    assert_int_equal(server_integer(f->base->server, SERVER_WAITERS("n")), 0);
}
