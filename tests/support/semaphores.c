/* SPDX-License-Identifier: MIT */
#include "support/semaphores.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/wait.h"

enum { JOIN_MS = 10000, BOOKS_MS = 5000 };

int semaphores_setup(void **state)
{
    void *base = NULL;
    semaphores *f = calloc(1, sizeof(*f));

    if (f == NULL || locking_setup(&base) != 0) {
        free(f);
        return -1;
    }
    f->base = base;
    *state = f;
    return 0;
}

/* The clients are shut down by now, so no thread waits any more. */
static void takers_end(semaphores *f)
{
    for (size_t i = 0; i < f->taker_count; i++) {
        sem_taker *t = f->takers[i];

        if (!t->joined)
            (void)pthread_join(t->thread, NULL);
        if (t->hold != NULL)
            (void)lk_hold_release(t->hold);
        free(t);
    }
}

int semaphores_teardown(void **state)
{
    semaphores *f = *state;
    void *base = f->base;

    for (size_t i = 0; i < f->base->client_count; i++) {
        if (f->base->clients[i] != NULL)
            (void)lk_client_shutdown(f->base->clients[i], 1000);
    }
    takers_end(f);
    for (size_t i = 0; i < f->handle_count; i++)
        lk_semaphore_free(f->handles[i]);
    free(f);
    return locking_teardown(&base);
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

static void *taker_run(void *data)
{
    sem_taker *t = data;
    uint64_t begin = wait_now_ms();

    t->status = lk_semaphore_acquire(t->semaphore, t->count, t->wait_ms,
                                     &t->options, &t->hold);
    if (t->status == LK_OK)
        t->turn = atomic_fetch_add(t->turns, 1) + 1;
    (void)snprintf(t->words, sizeof(t->words), "%s", lk_last_error());
    t->took_ms = wait_now_ms() - begin;
    atomic_store(&t->done, true);
    return NULL;
}

sem_taker *sem_take(semaphores *f, lk_semaphore *semaphore, uint64_t count,
                    int64_t wait_ms, const lk_acquire_options *options)
{
    sem_taker *t = calloc(1, sizeof(*t));

    assert_non_null(t);
    assert_true(f->taker_count < SEM_TAKERS);
    t->semaphore = semaphore;
    t->count = count;
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

sem_taker *sem_queue_up(semaphores *f, lk_semaphore *semaphore, uint64_t count,
                        long long place)
{
    sem_taker *t = sem_take(f, semaphore, count, LK_FOREVER, NULL);

    locking_wait_queued(f->base, "n", place);
    return t;
}

static bool is_done(void *data)
{
    sem_taker *t = data;

    return atomic_load(&t->done);
}

lk_status sem_join(sem_taker *t)
{
    if (!wait_until(is_done, t, JOIN_MS))
        fail_msg("a thread does not come back");
    if (!t->joined)
        (void)pthread_join(t->thread, NULL);
    t->joined = true;
    return t->status;
}

lk_status sem_release(sem_taker *t)
{
    lk_hold *hold;

    assert_status(sem_join(t), LK_OK);
    hold = t->hold;
    t->hold = NULL;
    return lk_hold_release(hold);
}

bool sem_waits(sem_taker *t)
{
    return !atomic_load(&t->done);
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
