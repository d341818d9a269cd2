/* SPDX-License-Identifier: MIT */
#include "support/multilocking.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/wait.h"

enum { JOIN_MS = 10000, SOON_MS = 5000 };

int multilocking_setup(void **state)
{
    void *base = NULL;
    multilocking *f = calloc(1, sizeof(*f));

    if (f == NULL || locking_setup(&base) != 0) {
        free(f);
        return -1;
    }
    f->base = base;
    *state = f;
    return 0;
}

/* The clients are shut down by now, so no thread waits any more. */
static void takers_end(multilocking *f)
{
    for (size_t i = 0; i < f->taker_count; i++) {
        multi_taker *t = f->takers[i];

        if (!t->joined)
            (void)pthread_join(t->thread, NULL);
        if (t->hold != NULL)
            (void)lk_hold_release(t->hold);
        free(t);
    }
}

int multilocking_teardown(void **state)
{
    multilocking *f = *state;
    void *base = f->base;

    for (size_t i = 0; i < f->base->client_count; i++) {
        if (f->base->clients[i] != NULL)
            (void)lk_client_shutdown(f->base->clients[i], 1000);
    }
    takers_end(f);
    for (size_t i = 0; i < f->set_count; i++)
        lk_multilock_free(f->sets[i]);
    for (size_t i = 0; i < f->rwlock_count; i++)
        lk_rwlock_free(f->rwlocks[i]);
    for (size_t i = 0; i < f->fairlock_count; i++)
        lk_fairlock_free(f->fairlocks[i]);
    free(f);
    return locking_teardown(&base);
}

/* ---- members and sets ---- */

lk_rwlock *multi_rwlock(multilocking *f, lk_client *client, const char *name)
{
    lk_rwlock *rwlock = NULL;

    assert_true(f->rwlock_count < MULTI_RWLOCKS);
    assert_status(lk_rwlock_new(&rwlock, client, name, NULL), LK_OK);
    f->rwlocks[f->rwlock_count++] = rwlock;
    return rwlock;
}

lk_fairlock *
multi_fairlock(multilocking *f, lk_client *client, const char *name)
{
    lk_fairlock *fairlock = NULL;

    assert_true(f->fairlock_count < MULTI_RWLOCKS);
    assert_status(lk_fairlock_new(&fairlock, client, name, NULL), LK_OK);
    f->fairlocks[f->fairlock_count++] = fairlock;
    return fairlock;
}

lk_multilock *multi_empty(multilocking *f)
{
    lk_multilock *set = NULL;

    assert_true(f->set_count < MULTI_SETS);
    assert_status(lk_multilock_new(&set), LK_OK);
    f->sets[f->set_count++] = set;
    return set;
}

lk_multilock *multi_of(multilocking *f, lk_client *client, const char *letters)
{
    lk_multilock *set = multi_empty(f);

    for (; *letters != '\0'; letters++) {
        const char name[] = {*letters, '\0'};

        assert_status(lk_multilock_add_lock(set, locking_lock(f->base, client,
                                                              name)),
                      LK_OK);
    }
    return set;
}

/* ---- holds ---- */

void assert_words(lk_status actual, lk_status expected, const char *word)
{
    assert_status(actual, expected);
    if (strstr(lk_last_error(), word) == NULL)
        fail_msg("\"%s\" does not tell of \"%s\"", lk_last_error(), word);
}

lk_hold *multi_hold_for(lk_multilock *set, uint64_t lease_ms)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = lease_ms};
    lk_hold *hold = NULL;

    assert_status(lk_multilock_acquire(set, 0, &options, &hold), LK_OK);
    return hold;
}

lk_hold *multi_hold(lk_multilock *set)
{
    return multi_hold_for(set, 0);
}

static void *taker_run(void *data)
{
    multi_taker *t = data;
    uint64_t begin = wait_now_ms();

    t->status = lk_multilock_acquire(t->set, t->wait_ms, &t->options, &t->hold);
    t->took_ms = wait_now_ms() - begin;
    (void)snprintf(t->words, sizeof(t->words), "%s", lk_last_error());
    atomic_store(&t->done, true);
    return NULL;
}

multi_taker *multi_take(multilocking *f, lk_multilock *set, int64_t wait_ms,
                        const lk_acquire_options *options)
{
    multi_taker *t = calloc(1, sizeof(*t));

    assert_non_null(t);
    assert_true(f->taker_count < MULTI_TAKERS);
    t->set = set;
    t->wait_ms = wait_ms;
    t->options = options != NULL
                     ? *options
                     : (lk_acquire_options){LK_ACQUIRE_OPTIONS_INIT};
    f->takers[f->taker_count] = t;
    assert_int_equal(pthread_create(&t->thread, NULL, taker_run, t), 0);
    f->taker_count++;
    return t;
}

static bool is_done(void *data)
{
    multi_taker *t = data;

    return atomic_load(&t->done);
}

lk_status multi_join(multi_taker *t)
{
    if (!wait_until(is_done, t, JOIN_MS))
        fail_msg("a thread does not come back");
    if (!t->joined)
        (void)pthread_join(t->thread, NULL);
    t->joined = true;
    return t->status;
}

lk_status multi_release(multi_taker *t)
{
    lk_hold *hold;

    assert_status(multi_join(t), LK_OK);
    hold = t->hold;
    t->hold = NULL;
    return lk_hold_release(hold);
}

/* ---- looking on ---- */

void multi_assert_free(multilocking *f, const char *letters)
{
    for (; *letters != '\0'; letters++) {
        const char name[] = {*letters, '\0'};

        locking_wait_integer(f->base, 0, "EXISTS %s", name);
        locking_wait_queued(f->base, name, 0);
    }
}

void multi_assert_held(multilocking *f, const char *letters)
{
    for (; *letters != '\0'; letters++) {
        const char name[] = {*letters, '\0'};

        locking_wait_integer(f->base, 1, "EXISTS %s", name);
    }
}

lk_client *multi_open_far(multilocking *f, proxy *p)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms =
                                           wait_scaled_ms(500)};
    lk_client *client = locking_open_url(f->base, proxy_url(p), &options);
    lk_lock *lock = locking_lock(f->base, client, "calm");

    assert_status(lk_client_wait_ready(client, wait_scaled_ms(SOON_MS)), LK_OK);
    assert_status(lk_hold_release(locking_hold(lock)), LK_OK);
    locking_wait_connects(client, 2);
    return client;
}

void multi_close_far(lk_client *client, proxy *p)
{
    (void)lk_client_shutdown(client, SOON_MS);
    proxy_stop(p);
}
