/* SPDX-License-Identifier: MIT */
#include "support/rwlocking.h"

#include <stdlib.h>

#include "support/check.h"
#include "support/wait.h"

int rwlocking_setup(void **state)
{
    return locking_setup_above(state, sizeof(rwlocking));
}

int rwlocking_teardown(void **state)
{
    rwlocking *f = *state;

    locking_end_waits(f->base);
    for (size_t i = 0; i < f->lock_count; i++)
        lk_rwlock_free(f->locks[i]);
    for (size_t i = 0; i < f->owner_count; i++)
        lk_owner_free(f->owners[i]);
    return locking_teardown_above(state);
}

/* ---- locks and owners ---- */

lk_rwlock *rwlocking_named(rwlocking *f, lk_client *client, const char *name,
                           const lk_rwlock_options *options)
{
    lk_rwlock *lock = NULL;

    assert_true(f->lock_count < RW_LOCKS);
    assert_status(lk_rwlock_new(&lock, client, name, options), LK_OK);
    f->clients[f->lock_count] = client;
    f->locks[f->lock_count++] = lock;
    return lock;
}

lk_rwlock *rwlocking_lock(rwlocking *f, lk_client *client)
{
    return rwlocking_named(f, client, "n", NULL);
}

lk_rwlock *rwlocking_new(rwlocking *f)
{
    return rwlocking_lock(f, locking_open(f->base, NULL));
}

lk_rwlock *rwlocking_calm(rwlocking *f)
{
    return rwlocking_lock(f, locking_open_calm(f->base, NULL));
}

lk_owner *rwlocking_owner(rwlocking *f, const lk_rwlock *lock)
{
    lk_owner *owner = NULL;
    size_t i = 0;

    while (f->locks[i] != lock)
        i++;
    assert_true(f->owner_count < RW_OWNERS);
    assert_status(lk_owner_new(&owner, f->clients[i]), LK_OK);
    f->owners[f->owner_count++] = owner;
    return owner;
}

/* ---- holds ---- */

lk_status rwlocking_acquire(lk_rwlock *lock, rw_mode mode, int64_t wait_ms,
                            const lk_acquire_options *options,
                            lk_hold **ret_hold)
{
    if (mode == RW_READ)
        return lk_rwlock_acquire_read(lock, wait_ms, options, ret_hold);
    if (mode == RW_WRITE)
        return lk_rwlock_acquire_write(lock, wait_ms, options, ret_hold);
    return lk_rwlock_acquire_upgradeable(lock, wait_ms, options, ret_hold);
}

static lk_hold *
hold_at_once(lk_rwlock *lock, rw_mode mode, lk_owner *owner, uint64_t lease_ms)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT, .owner = owner,
                                        .lease_ms = lease_ms};
    lk_hold *hold = NULL;

    assert_status(rwlocking_acquire(lock, mode, 0, &options, &hold), LK_OK);
    return hold;
}

lk_hold *rwlocking_hold(rwlocking *f, lk_rwlock *lock, rw_mode mode)
{
    return hold_at_once(lock, mode, rwlocking_owner(f, lock), 0);
}

lk_hold *rwlocking_hold_for(rwlocking *f, lk_rwlock *lock, rw_mode mode,
                            uint64_t lease_ms)
{
    return hold_at_once(lock, mode, rwlocking_owner(f, lock), lease_ms);
}

lk_hold *rwlocking_hold_of(lk_rwlock *lock, rw_mode mode, lk_owner *owner)
{
    return hold_at_once(lock, mode, owner, 0);
}

lk_status rwlocking_try(rwlocking *f, lk_rwlock *lock, rw_mode mode)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .owner = rwlocking_owner(f, lock)};
    lk_hold *hold = NULL;
    lk_status status = rwlocking_acquire(lock, mode, 0, &options, &hold);

    if (status == LK_OK)
        assert_status(lk_hold_release(hold), LK_OK);
    return status;
}

/* ---- threads ---- */

static lk_status acquire(taker *t)
{
    return rwlocking_acquire(t->object, (rw_mode)t->share, t->wait_ms,
                             &t->options, &t->hold);
}

taker *rwlocking_take(rwlocking *f, lk_rwlock *lock, rw_mode mode,
                      int64_t wait_ms, const lk_acquire_options *options)
{
    return taker_start(&f->base->takers, acquire, lock, mode, wait_ms, options);
}

taker *
rwlocking_queue_up(rwlocking *f, lk_rwlock *lock, rw_mode mode, int count)
{
    taker *t = rwlocking_take(f, lock, mode, LK_FOREVER, NULL);

    rwlocking_wait_queued(f, mode, count);
    return t;
}

/* ---- looking on ---- */

void rwlocking_wait_queued(rwlocking *f, rw_mode mode, int count)
{
    static const char *const bands[] = {[RW_READ] = RWLOCKING_READERS,
                                        [RW_UPGRADEABLE] = "2",
                                        [RW_WRITE] = RWLOCKING_WRITERS};

    locking_wait_integer(f->base, count, RWLOCKING_WAITING, bands[mode]);
}

void rwlocking_wait_upgrades(rwlocking *f, int count)
{
    locking_wait_integer(f->base, count, RWLOCKING_WAITING, "0");
}

long long rwlocking_holders(rwlocking *f)
{
    long long fields = server_integer(f->base->server, "HLEN n");

    return fields > 0 ? fields - 1 : 0;
}

void rwlocking_assert_clean(rwlocking *f)
{
    locking_wait_integer(f->base, 0, "EXISTS %s", "n");
    rwlocking_wait_queued(f, RW_READ, 0);
    rwlocking_wait_queued(f, RW_UPGRADEABLE, 0);
    rwlocking_wait_queued(f, RW_WRITE, 0);
    rwlocking_wait_upgrades(f, 0);
    locking_wait_integer(f->base, 0, "EXISTS %s", "latchkey:{n}:h");
    locking_wait_queued(f->base, "n", 0);
}
