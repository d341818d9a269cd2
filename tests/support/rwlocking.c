/* SPDX-License-Identifier: MIT */
#include "support/rwlocking.h"

#include <stdlib.h>

#include "support/check.h"
#include "support/wait.h"

lk_rwlock *rwlocking_named(locking *f, lk_client *client, const char *name,
                           const lk_rwlock_options *options)
{
    lk_rwlock *lock = NULL;

    assert_status(lk_rwlock_new(&lock, client, name, options), LK_OK);
    return locking_keep(f, kinds[KIND_WRITE], client, lock);
}

lk_status rwlocking_acquire(lk_rwlock *lock, kind_id mode, int64_t wait_ms,
                            const lk_acquire_options *options,
                            lk_hold **ret_hold)
{
    return kinds[mode]->acquire(lock, wait_ms, options, ret_hold);
}

static lk_hold *
hold_at_once(lk_rwlock *lock, kind_id mode, lk_owner *owner, uint64_t lease_ms)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT, .owner = owner,
                                        .lease_ms = lease_ms};

    return locking_hold_as(kinds[mode], lock, 1, &options);
}

lk_hold *rwlocking_hold(locking *f, lk_rwlock *lock, kind_id mode)
{
    return hold_at_once(lock, mode, locking_owner(f, lock), 0);
}

lk_hold *
rwlocking_hold_for(locking *f, lk_rwlock *lock, kind_id mode, uint64_t lease_ms)
{
    return hold_at_once(lock, mode, locking_owner(f, lock), lease_ms);
}

lk_hold *rwlocking_hold_of(lk_rwlock *lock, kind_id mode, lk_owner *owner)
{
    return hold_at_once(lock, mode, owner, 0);
}

lk_status rwlocking_try(locking *f, lk_rwlock *lock, kind_id mode)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .owner = locking_owner(f, lock)};
    lk_hold *hold = NULL;
    lk_status status = rwlocking_acquire(lock, mode, 0, &options, &hold);

    if (status == LK_OK)
        assert_status(lk_hold_release(hold), LK_OK);
    return status;
}

/* ---- threads ---- */

taker *rwlocking_take(locking *f, lk_rwlock *lock, kind_id mode,
                      int64_t wait_ms, const lk_acquire_options *options)
{
    return locking_take_as(f, kinds[mode], lock, 1, wait_ms, options);
}

taker *rwlocking_queue_up(locking *f, lk_rwlock *lock, kind_id mode, int count)
{
    taker *t = rwlocking_take(f, lock, mode, LK_FOREVER, NULL);

    rwlocking_wait_queued(f, mode, count);
    return t;
}

/* ---- looking on ---- */

void rwlocking_wait_queued(locking *f, kind_id mode, int count)
{
    static const char *const bands[] = {[KIND_READ] = RWLOCKING_READERS,
                                        [KIND_UPGRADEABLE] = "2",
                                        [KIND_WRITE] = RWLOCKING_WRITERS};

    locking_wait_integer(f, count, RWLOCKING_WAITING, bands[mode]);
}

void rwlocking_wait_upgrades(locking *f, int count)
{
    locking_wait_integer(f, count, RWLOCKING_WAITING, "0");
}

long long rwlocking_holders(locking *f)
{
    long long fields = server_integer(f->server, "HLEN n");

    return fields > 0 ? fields - 1 : 0;
}
