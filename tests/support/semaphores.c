/* SPDX-License-Identifier: MIT */
#include "support/semaphores.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/wait.h"

enum { BOOKS_MS = 5000 };

int semaphores_setup(void **state)
{
    return locking_setup_above(state, sizeof(semaphores));
}

int semaphores_teardown(void **state)
{
    semaphores *f = *state;

    locking_end_waits(f->base);
    for (size_t i = 0; i < f->handle_count; i++)
        lk_semaphore_free(f->handles[i]);
    return locking_teardown_above(state);
}

/* ---- handles ---- */

lk_semaphore *sem_with(semaphores *f, lk_client *client, const char *name,
                       const lk_semaphore_options *options)
{
    lk_semaphore *semaphore = NULL;

    assert_true(f->handle_count < SEM_HANDLES);
    assert_status(lk_semaphore_new(&semaphore, client, name, options), LK_OK);
    f->handles[f->handle_count++] = semaphore;
    return semaphore;
}

lk_semaphore *sem_of(semaphores *f, lk_client *client, uint64_t permits)
{
    const lk_semaphore_options options = {LK_SEMAPHORE_OPTIONS_INIT,
                                          .permits = permits};

    return sem_with(f, client, "n", &options);
}

lk_semaphore *sem_new(semaphores *f, uint64_t permits)
{
    return sem_of(f, locking_open(f->base, NULL), permits);
}

lk_semaphore *sem_calm(semaphores *f, uint64_t permits)
{
    return sem_of(f, locking_open_calm(f->base, NULL), permits);
}

lk_hold *
sem_hold_for(lk_semaphore *semaphore, uint64_t count, uint64_t lease_ms)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = lease_ms};
    lk_hold *hold = NULL;

    assert_status(lk_semaphore_acquire(semaphore, count, 0, &options, &hold),
                  LK_OK);
    return hold;
}

lk_hold *sem_hold(lk_semaphore *semaphore, uint64_t count)
{
    return sem_hold_for(semaphore, count, 0);
}

void sem_assert_busy(lk_semaphore *semaphore, uint64_t count)
{
    lk_hold *none = NULL;

    assert_status(lk_semaphore_acquire(semaphore, count, 0, NULL, &none),
                  LK_EBUSY);
    assert_null(none);
}

/* ---- threads ---- */

static lk_status acquire(taker *t)
{
    return lk_semaphore_acquire(t->object, t->share, t->wait_ms, &t->options,
                                &t->hold);
}

taker *sem_take(semaphores *f, lk_semaphore *semaphore, uint64_t count,
                int64_t wait_ms, const lk_acquire_options *options)
{
    return taker_start(&f->base->takers, acquire, semaphore, count, wait_ms,
                       options);
}

taker *sem_queue_up(semaphores *f, lk_semaphore *semaphore, uint64_t count,
                    long long place)
{
    taker *t = sem_take(f, semaphore, count, LK_FOREVER, NULL);

    locking_wait_queued(f->base, "n", place);
    return t;
}

/* ---- looking on ---- */

struct books {
    semaphores *f;
    long long permits, free;
};

/* Both numbers at one moment. */
static bool is_balanced(void *data)
{
    struct books *books = data;

    return server_integer(books->f->base->server,
                          "EVAL %s 2 n {n}:timeout %lld %lld",
                          "local free = tonumber(redis.call('GET', KEYS[1]))"
                          " local taken = redis.call('ZCARD', KEYS[2])"
                          " return free == tonumber(ARGV[2])"
                          " and free + taken == tonumber(ARGV[1]) and 1 or 0",
                          books->permits, books->free) == 1;
}

void sem_assert_books(semaphores *f, long long permits, long long free)
{
    struct books books = {f, permits, free};

    if (wait_until(is_balanced, &books, BOOKS_MS))
        return;
    fail_msg("%lld free and %lld taken, not %lld of %lld free",
             server_integer(f->base->server, "INCRBY n 0"),
             server_integer(f->base->server, "ZCARD {n}:timeout"), free,
             permits);
}

void sem_assert_clean(semaphores *f, long long permits)
{
    sem_assert_books(f, permits, permits);
    locking_wait_queued(f->base, "n", 0);
    locking_wait_integer(f->base, 0, "HLEN %s", "latchkey:{n}:h");
}
