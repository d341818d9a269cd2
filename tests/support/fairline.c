/* SPDX-License-Identifier: MIT */
#include "support/fairline.h"

#include <stdlib.h>

#include "support/check.h"
#include "support/wait.h"

static const char how_many[] = SERVER_WAITERS("job");

static lk_fairlock *lock_new(fairline *l, lk_client *client)
{
    lk_fairlock *lock = NULL;

    if (lk_fairlock_new(&lock, client, "job", NULL) == LK_OK)
        l->locks[l->lock_count++] = lock;
    return lock;
}

int fairline_setup(void **state)
{
    void *base = NULL;
    fairline *l = calloc(1, sizeof(*l));

    *state = l;
    if (l == NULL || scene_setup(&base) != 0)
        return 1;
    l->scene = base;
    l->near = lock_new(l, l->scene->near);
    l->third = lock_new(l, l->scene->third);
    return l->near == NULL || l->third == NULL;
}

/* A wait has ended by then: its client was shut down. */
static void wait_free(call *wait)
{
    (void)call_wait(wait, NULL);
    if (wait->hold != NULL)
        (void)lk_hold_release(wait->hold);
    free(wait);
}

int fairline_teardown(void **state)
{
    fairline *l = *state;
    void *base = l->scene;
    lk_client *clients[] = {l->scene->far, l->scene->near, l->scene->third};

    for (size_t i = 0; i < 3; i++)
        if (clients[i] != NULL)
            (void)lk_client_shutdown(clients[i], 0);
    for (int i = 0; i < l->count; i++)
        wait_free(l->waits[i]);
    for (size_t i = 0; i < l->lock_count; i++)
        lk_fairlock_free(l->locks[i]);
    free(l);
    return scene_teardown(&base);
}

void fairline_open_far(fairline *l, const lk_client_options *options)
{
    scene_open_far(l->scene, options);
    l->far = lock_new(l, l->scene->far);
    assert_non_null(l->far);
}

void fairline_far(fairline *l, const lk_client_options *options)
{
    scene_far(l->scene, options);
    l->far = lock_new(l, l->scene->far);
    assert_non_null(l->far);
}

lk_hold *fairline_hold(lk_fairlock *lock, const lk_acquire_options *options)
{
    lk_hold *hold = NULL;

    assert_status(lk_fairlock_acquire(lock, SCENE_MS, options, &hold), LK_OK);
    return hold;
}

call *fairline_begin(fairline *l, lk_fairlock *lock,
                     const lk_acquire_options *options)
{
    call *wait = calloc(1, sizeof(*wait));

    assert_non_null(wait);
    assert_true(l->count < FAIRLINE_WAITS);
    assert_status(lk_fairlock_acquire_async(lock, LK_FOREVER, options,
                                            call_on_acquire, wait),
                  LK_OK);
    l->waits[l->count++] = wait;
    return wait;
}

static lk_client *client_of(const fairline *l, const lk_fairlock *lock)
{
    if (lock == l->far)
        return l->scene->far;
    return lock == l->near ? l->scene->near : l->scene->third;
}

static bool is_calm(void *data)
{
    return scene_stats(data).pending == 0;
}

void fairline_queue_many(fairline *l, lk_fairlock *lock, int count)
{
    long long before = fairline_queued(l);

    for (int i = 0; i < count; i++)
        (void)fairline_begin(l, lock, NULL);
    assert_true(scene_reaches(l->scene, how_many, before + count));
    assert_true(wait_until(is_calm, client_of(l, lock), SCENE_MS));
}

call *fairline_queue(fairline *l, lk_fairlock *lock)
{
    fairline_queue_many(l, lock, 1);
    return l->waits[l->count - 1];
}

lk_hold *fairline_granted(call *wait)
{
    lk_hold *hold;

    assert_status(call_wait(wait, NULL), LK_OK);
    hold = wait->hold;
    wait->hold = NULL;
    return hold;
}

bool fairline_waits(call *wait)
{
    return atomic_load(&wait->ends) == 0;
}

void fairline_serve(fairline *l, int first)
{
    for (int i = first; i < l->count; i++) {
        lk_hold *hold = fairline_granted(l->waits[i]);

        for (int j = i + 1; j < l->count; j++)
            assert_true(fairline_waits(l->waits[j]));
        assert_status(lk_hold_release(hold), LK_OK);
    }
}

long long fairline_queued(fairline *l)
{
    return server_integer(l->scene->server, how_many);
}

bool fairline_becomes_queued(fairline *l, long long count)
{
    return scene_becomes(l->scene, how_many, count);
}
