/* SPDX-License-Identifier: MIT */
#include "support/rwlocking.h"

#include <stdlib.h>

#include "support/check.h"
#include "support/wait.h"

enum { JOIN_MS = 10000 };

int rwlocking_setup(void **state)
{
    void *base = NULL;
    rwlocking *f = calloc(1, sizeof(*f));

    if (f == NULL || locking_setup(&base) != 0) {
        free(f);
        return -1;
    }
    f->base = base;
    *state = f;
    return 0;
}

/* The clients are shut down by now, so no thread waits any more. */
static void takers_end(rwlocking *f)
{
    for (size_t i = 0; i < f->taker_count; i++) {
        rw_taker *t = f->takers[i];

        if (!t->joined)
            (void)pthread_join(t->thread, NULL);
        if (t->hold != NULL)
            (void)lk_hold_release(t->hold);
        free(t);
    }
}

int rwlocking_teardown(void **state)
{
    rwlocking *f = *state;
    void *base = f->base;

    for (size_t i = 0; i < f->base->client_count; i++) {
        if (f->base->clients[i] != NULL)
            (void)lk_client_shutdown(f->base->clients[i], 1000);
    }
    takers_end(f);
    for (size_t i = 0; i < f->lock_count; i++)
        lk_rwlock_free(f->locks[i]);
    for (size_t i = 0; i < f->owner_count; i++)
        lk_owner_free(f->owners[i]);
    free(f);
    return locking_teardown(&base);
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

static void *taker_run(void *data)
{
    rw_taker *t = data;
    uint64_t begin = wait_now_ms();

    t->status =
        rwlocking_acquire(t->lock, t->mode, t->wait_ms, &t->options, &t->hold);
    if (t->status == LK_OK)
        t->turn = atomic_fetch_add(t->turns, 1) + 1;
    t->took_ms = wait_now_ms() - begin;
    atomic_store(&t->done, true);
    return NULL;
}

rw_taker *rwlocking_take(rwlocking *f, lk_rwlock *lock, rw_mode mode,
                         int64_t wait_ms, const lk_acquire_options *options)
{
    rw_taker *t = calloc(1, sizeof(*t));

    assert_non_null(t);
    assert_true(f->taker_count < RW_TAKERS);
    t->lock = lock;
    t->mode = mode;
    t->wait_ms = wait_ms;
    t->turns = &f->turns;
    t->options = options != NULL
                     ? *options
                     : (lk_acquire_options){LK_ACQUIRE_OPTIONS_INIT};
    f->takers[f->taker_count] = t;
    assert_int_equal(pthread_create(&t->thread, NULL, taker_run, t), 0);
    f->taker_count++;
    return t;
}

rw_taker *
rwlocking_queue_up(rwlocking *f, lk_rwlock *lock, rw_mode mode, int count)
{
    rw_taker *t = rwlocking_take(f, lock, mode, LK_FOREVER, NULL);

    rwlocking_wait_queued(f, mode, count);
    return t;
}

static bool is_done(void *data)
{
    rw_taker *t = data;

    return atomic_load(&t->done);
}

lk_status rwlocking_join(rw_taker *t)
{
    if (!wait_until(is_done, t, JOIN_MS))
        fail_msg("a thread does not come back");
    if (!t->joined)
        (void)pthread_join(t->thread, NULL);
    t->joined = true;
    return t->status;
}

lk_status rwlocking_release(rw_taker *t)
{
    lk_hold *hold;

    assert_status(rwlocking_join(t), LK_OK);
    hold = t->hold;
    t->hold = NULL;
    return lk_hold_release(hold);
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
