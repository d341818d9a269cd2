/* SPDX-License-Identifier: MIT */
#include "support/multilocking.h"

#include <string.h>

#include "support/check.h"
#include "support/wait.h"

enum { SOON_MS = 5000 };

int multilocking_setup(void **state)
{
    return locking_setup_above(state, sizeof(multilocking));
}

int multilocking_teardown(void **state)
{
    multilocking *f = *state;

    locking_end_waits(f->base);
    for (size_t i = 0; i < f->set_count; i++)
        lk_multilock_free(f->sets[i]);
    for (size_t i = 0; i < f->rwlock_count; i++)
        lk_rwlock_free(f->rwlocks[i]);
    for (size_t i = 0; i < f->fairlock_count; i++)
        lk_fairlock_free(f->fairlocks[i]);
    return locking_teardown_above(state);
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

static lk_status acquire(taker *t)
{
    return lk_multilock_acquire(t->object, t->wait_ms, &t->options, &t->hold);
}

taker *multi_take(multilocking *f, lk_multilock *set, int64_t wait_ms,
                  const lk_acquire_options *options)
{
    return taker_start(&f->base->takers, acquire, set, 0, wait_ms, options);
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

lk_client *multi_open_far(multilocking *f)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms =
                                           wait_scaled_ms(500)};
    lk_client *client = locking_open_far(f->base, &options);
    lk_lock *lock = locking_lock(f->base, client, "calm");

    assert_status(lk_hold_release(locking_hold(lock)), LK_OK);
    locking_wait_connects(client, 2);
    return client;
}
