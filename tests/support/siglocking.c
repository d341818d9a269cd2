/* SPDX-License-Identifier: MIT */
#include "support/siglocking.h"

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/wait.h"

enum { SOON_MS = 5000 };

int siglocking_setup(void **state)
{
    return locking_setup_above(state, sizeof(siglocking));
}

static bool is_over(void *data)
{
    call *c = data;

    return atomic_load(&c->ends) > 0;
}

/* The clients are shut down by now, so every wait ends. */
static void waits_end(siglocking *f)
{
    for (size_t i = 0; i < f->wait_count; i++) {
        (void)wait_until(is_over, &f->waits[i], SOON_MS);
        if (f->waits[i].hold != NULL)
            (void)lk_hold_release(f->waits[i].hold);
    }
}

int siglocking_teardown(void **state)
{
    siglocking *f = *state;

    locking_end_waits(f->base);
    waits_end(f);
    for (size_t i = 0; i < f->lock_count; i++)
        lk_siglock_free(f->locks[i]);
    for (size_t i = 0; i < f->pylock_count; i++)
        pylock_free(f->pylocks[i]);
    return locking_teardown_above(state);
}

/* ---- locks ---- */

lk_siglock *sig_lock_named(siglocking *f, lk_client *client, const char *name)
{
    lk_siglock *lock = NULL;

    assert_true(f->lock_count < SIG_LOCKS);
    assert_status(lk_siglock_new(&lock, client, name, NULL), LK_OK);
    f->locks[f->lock_count++] = lock;
    return lock;
}

lk_siglock *sig_lock(siglocking *f, lk_client *client)
{
    return sig_lock_named(f, client, "n");
}

lk_siglock *sig_lock_of_new_client(siglocking *f)
{
    return sig_lock(f, locking_open(f->base, NULL));
}

pylock *sig_pylock(siglocking *f, const char *id, int expire_s)
{
    pylock *p = pylock_new(f->base->server, "n", id, expire_s);

    assert_true(f->pylock_count < SIG_PYLOCKS);
    f->pylocks[f->pylock_count++] = p;
    return p;
}

lk_hold *sig_hold_for(lk_siglock *lock, uint64_t lease_ms)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = lease_ms};
    lk_hold *hold = NULL;

    assert_status(lk_siglock_acquire(lock, 0, &options, &hold), LK_OK);
    return hold;
}

lk_hold *sig_hold(lk_siglock *lock)
{
    return sig_hold_for(lock, 0);
}

/* ---- waits ---- */

call *sig_wait_for(siglocking *f, lk_siglock *lock, int64_t wait_ms,
                   const lk_acquire_options *options)
{
    call *c = &f->waits[f->wait_count];

    assert_true(f->wait_count < SIG_WAITS);
    assert_status(lk_siglock_acquire_async(lock, wait_ms, options,
                                           call_on_acquire, c),
                  LK_OK);
    f->wait_count++;
    return c;
}

call *sig_wait(siglocking *f, lk_siglock *lock)
{
    return sig_wait_for(f, lock, LK_FOREVER, NULL);
}

lk_hold *sig_granted(call *c)
{
    lk_hold *hold;

    assert_status(call_wait(c, NULL), LK_OK);
    hold = c->hold;
    c->hold = NULL;
    return hold;
}

void sig_serve(call *c)
{
    assert_status(lk_hold_release(sig_granted(c)), LK_OK);
}

/* ---- what the server knows ---- */

typedef struct number {
    siglocking *f;
    long long expected, found;
} number;

static bool is_blocked(void *data)
{
    number *n = data;
    char *info = server_string(n->f->base->server, "INFO clients");
    const char *at = strstr(info, "\nblocked_clients:");

    n->found = at == NULL ? -1 : strtoll(at + 17, NULL, 10);
    free(info);
    return n->found == n->expected;
}

void sig_wait_blocked(siglocking *f, long long count)
{
    number n = {f, count, 0};

    if (!wait_until(is_blocked, &n, SOON_MS))
        fail_msg("%lld are blocked, not %lld", n.found, count);
}

char *sig_holder(siglocking *f)
{
    char *holder = server_string(f->base->server, "GET lock:n");

    return holder != NULL ? holder : strdup("");
}

void sig_assert_clean(siglocking *f)
{
    locking_wait_integer(f->base, 0, "EXISTS %s", "lock:n");
    for (size_t i = 0; i < f->base->client_count; i++) {
        if (f->base->clients[i] != NULL)
            locking_wait_waiting(f->base->clients[i], 0);
    }
}
