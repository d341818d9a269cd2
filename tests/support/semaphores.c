/* SPDX-License-Identifier: MIT */
#include "support/semaphores.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/wait.h"

enum { BOOKS_MS = 5000 };

lk_semaphore *sem_with(locking *f, lk_client *client, const char *name,
                       const lk_semaphore_options *options)
{
    lk_semaphore *semaphore = NULL;

    assert_status(lk_semaphore_new(&semaphore, client, name, options), LK_OK);
    return locking_keep(f, kinds[KIND_SEMAPHORE], client, semaphore);
}

lk_semaphore *sem_of(locking *f, lk_client *client, uint64_t permits)
{
    const lk_semaphore_options options = {LK_SEMAPHORE_OPTIONS_INIT,
                                          .permits = permits};

    return sem_with(f, client, "n", &options);
}

lk_semaphore *sem_new(locking *f, uint64_t permits)
{
    return sem_of(f, locking_open(f, NULL), permits);
}

lk_semaphore *sem_calm(locking *f, uint64_t permits)
{
    return sem_of(f, locking_open_calm(f, NULL), permits);
}

lk_hold *
sem_hold_for(lk_semaphore *semaphore, uint64_t count, uint64_t lease_ms)
{
    return locking_hold_leased(kinds[KIND_SEMAPHORE], semaphore, count,
                               lease_ms);
}

lk_hold *sem_hold(lk_semaphore *semaphore, uint64_t count)
{
    return locking_hold_as(kinds[KIND_SEMAPHORE], semaphore, count, NULL);
}

void sem_assert_busy(lk_semaphore *semaphore, uint64_t count)
{
    lk_hold *none = NULL;

    assert_status(lk_semaphore_acquire(semaphore, count, 0, NULL, &none),
                  LK_EBUSY);
    assert_null(none);
}

taker *sem_take(locking *f, lk_semaphore *semaphore, uint64_t count,
                int64_t wait_ms, const lk_acquire_options *options)
{
    return locking_take_as(f, kinds[KIND_SEMAPHORE], semaphore, count, wait_ms,
                           options);
}

taker *sem_queue_up(locking *f, lk_semaphore *semaphore, uint64_t count,
                    long long place)
{
    return locking_queue_up_as(f, kinds[KIND_SEMAPHORE], semaphore, count,
                               place);
}

/* ---- looking on ---- */

struct books {
    locking *f;
    long long permits, free;
};

/* Both numbers at one moment. */
static bool is_balanced(void *data)
{
    struct books *books = data;

    return server_integer(books->f->server, "EVAL %s 2 n {n}:timeout %lld %lld",
                          "local free = tonumber(redis.call('GET', KEYS[1]))"
                          " local taken = redis.call('ZCARD', KEYS[2])"
                          " return free == tonumber(ARGV[2])"
                          " and free + taken == tonumber(ARGV[1]) and 1 or 0",
                          books->permits, books->free) == 1;
}

void sem_assert_books(locking *f, long long permits, long long free)
{
    struct books books = {f, permits, free};

    if (wait_until(is_balanced, &books, BOOKS_MS))
        return;
    fail_msg("%lld free and %lld taken, not %lld of %lld free",
             server_integer(f->server, "INCRBY n 0"),
             server_integer(f->server, "ZCARD {n}:timeout"), free, permits);
}

void sem_assert_clean(locking *f, long long permits)
{
    sem_assert_books(f, permits, permits);
    locking_wait_queued(f, "n", 0);
    locking_wait_integer(f, 0, "HLEN %s", "latchkey:{n}:h");
}
