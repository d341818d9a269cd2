/* SPDX-License-Identifier: MIT */
#include "support/fairlocking.h"

#include <stdlib.h>

#include "support/check.h"
#include "support/wait.h"

enum { JOIN_MS = 10000 };

int fairlocking_setup(void **state)
{
    void *base = NULL;
    fairlocking *f = calloc(1, sizeof(*f));

    if (f == NULL || locking_setup(&base) != 0) {
        free(f);
        return -1;
    }
    f->base = base;
    *state = f;
    return 0;
}

/* The clients are shut down by now, so no thread waits any more. */
static void takers_end(fairlocking *f)
{
    for (size_t i = 0; i < f->taker_count; i++) {
        fair_taker *t = f->takers[i];

        if (!t->joined)
            (void)pthread_join(t->thread, NULL);
        if (t->hold != NULL)
            (void)lk_hold_release(t->hold);
        free(t);
    }
}

int fairlocking_teardown(void **state)
{
    fairlocking *f = *state;
    void *base = f->base;

    for (size_t i = 0; i < f->base->client_count; i++) {
        if (f->base->clients[i] != NULL)
            (void)lk_client_shutdown(f->base->clients[i], 1000);
    }
    takers_end(f);
    for (size_t i = 0; i < f->lock_count; i++)
        lk_fairlock_free(f->locks[i]);
    free(f);
    return locking_teardown(&base);
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

static void *taker_run(void *data)
{
    fair_taker *t = data;
    uint64_t begin = wait_now_ms();

    t->status = lk_fairlock_acquire(t->lock, t->wait_ms, &t->options, &t->hold);
    if (t->status == LK_OK)
        t->turn = atomic_fetch_add(t->turns, 1) + 1;
    t->took_ms = fair_since_ms(begin);
    atomic_store(&t->done, true);
    return NULL;
}

fair_taker *fair_take(fairlocking *f, lk_fairlock *lock, int64_t wait_ms,
                      const lk_acquire_options *options)
{
    fair_taker *t = calloc(1, sizeof(*t));

    assert_non_null(t);
    assert_true(f->taker_count < FAIR_TAKERS);
    t->lock = lock;
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

fair_taker *fair_queue_up(fairlocking *f, lk_fairlock *lock, long long count)
{
    fair_taker *t = fair_take(f, lock, LK_FOREVER, NULL);

    locking_wait_queued(f->base, "n", count);
    return t;
}

static bool is_done(void *data)
{
    fair_taker *t = data;

    return atomic_load(&t->done);
}

lk_status fair_join(fair_taker *t)
{
    if (!wait_until(is_done, t, JOIN_MS))
        fail_msg("a thread does not come back");
    if (!t->joined)
        (void)pthread_join(t->thread, NULL);
    t->joined = true;
    return t->status;
}

lk_status fair_release(fair_taker *t)
{
    lk_hold *hold;

    assert_status(fair_join(t), LK_OK);
    hold = t->hold;
    t->hold = NULL;
    return lk_hold_release(hold);
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
