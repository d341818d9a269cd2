/* SPDX-License-Identifier: MIT */
#include "support/plain.h"

#include <stdlib.h>

#include "support/check.h"
#include "support/wait.h"

enum { SOON_MS = 5000, JOIN_MS = 10000 };

int plain_start(void **state)
{
    return locking_setup_above(state, sizeof(plain));
}

/* The clients are shut down first, so that no thread waits any more. */
int plain_end(void **state)
{
    plain *f = *state;

    locking_end_waits(f->base);
    for (size_t i = 0; i < f->taker_count; i++) {
        if (!f->takers[i]->joined)
            (void)pthread_join(f->takers[i]->thread, NULL);
        free(f->takers[i]);
    }
    for (size_t i = 0; i < f->handle_count; i++)
        lk_plain_semaphore_free(f->handles[i]);
    return locking_teardown_above(state);
}

/* ---- handles --------------------------------------------------------------- */

lk_plain_semaphore *plain_named(plain *f, lk_client *client, const char *name)
{
    lk_plain_semaphore *semaphore = NULL;

    assert_true(f->handle_count < PLAIN_HANDLES);
    assert_status(lk_plain_semaphore_new(&semaphore, client, name), LK_OK);
    f->handles[f->handle_count++] = semaphore;
    return semaphore;
}

lk_plain_semaphore *plain_of(plain *f, lk_client *client)
{
    return plain_named(f, client, "n");
}

lk_plain_semaphore *plain_of_new_client(plain *f)
{
    return plain_of(f, locking_open(f->base, NULL));
}

lk_plain_semaphore *plain_with(plain *f, uint64_t permits)
{
    lk_plain_semaphore *semaphore = plain_of_new_client(f);

    assert_status(lk_plain_semaphore_try_set(semaphore, permits, 0), LK_OK);
    return semaphore;
}

void plain_take(lk_plain_semaphore *semaphore, uint64_t count, int64_t wait_ms)
{
    assert_status(lk_plain_semaphore_acquire(semaphore, count, wait_ms, NULL),
                  LK_OK);
}

void plain_give(lk_plain_semaphore *semaphore, uint64_t count)
{
    assert_status(lk_plain_semaphore_release(semaphore, count), LK_OK);
}

long long plain_value(plain *f)
{
    char *text = server_string(f->base->server, "GET n");
    long long value;

    assert_non_null(text);
    value = strtoll(text, NULL, 10);
    free(text);
    return value;
}

struct expected {
    plain *f;
    long long value;
};

static bool is_value(void *data)
{
    const struct expected *expected = data;

    return plain_value(expected->f) == expected->value;
}

void plain_wait_value(plain *f, long long value)
{
    struct expected expected = {f, value};

    if (!wait_until(is_value, &expected, SOON_MS))
        fail_msg("the counter is %lld instead of %lld", plain_value(f), value);
}

void plain_wait_clean(plain *f)
{
    locking_wait_queued(f->base, "n", 0);
}

/* ---- threads --------------------------------------------------------------- */

static void *taker_run(void *data)
{
    plain_taker *t = data;
    uint64_t begin = wait_now_ms();

    t->status = lk_plain_semaphore_acquire(t->semaphore, t->count, t->wait_ms,
                                           &t->options);
    t->took_ms = wait_now_ms() - begin;
    if (t->status == LK_OK)
        t->turn = atomic_fetch_add(t->turns, 1) + 1;
    atomic_store(&t->done, true);
    return NULL;
}

plain_taker *plain_begin(plain *f, lk_plain_semaphore *semaphore,
                         uint64_t count, int64_t wait_ms,
                         const lk_acquire_options *options)
{
    plain_taker *t = calloc(1, sizeof(*t));

    assert_non_null(t);
    assert_true(f->taker_count < PLAIN_TAKERS);
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

plain_taker *plain_queue_up(plain *f, lk_plain_semaphore *semaphore,
                            uint64_t count, long long place)
{
    plain_taker *t = plain_begin(f, semaphore, count, LK_FOREVER, NULL);

    locking_wait_queued(f->base, "n", place);
    return t;
}

bool plain_is_done(plain_taker *t)
{
    return atomic_load(&t->done);
}

static bool is_done(void *data)
{
    return plain_is_done(data);
}

lk_status plain_join(plain_taker *t)
{
    if (!wait_until(is_done, t, JOIN_MS))
        fail_msg("a thread does not come back");
    if (!t->joined)
        (void)pthread_join(t->thread, NULL);
    t->joined = true;
    return t->status;
}
