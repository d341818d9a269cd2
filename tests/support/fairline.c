/* SPDX-License-Identifier: MIT */
#include "support/fairline.h"

#include "support/check.h"
#include "support/wait.h"

static const char how_many[] = SERVER_WAITERS("job");

static void enter(locking *f, actor *a)
{
    a->fairlock = locking_named(f, lk_fairlock, a->client, "job");
}

int fairline_setup(void **state)
{
    locking *f;

    if (scene_setup(state) != 0)
        return -1;
    f = *state;
    enter(f, &f->near);
    enter(f, &f->third);
    return 0;
}

void fairline_open_far(locking *f, const lk_client_options *options)
{
    scene_open_far(f, options);
    enter(f, &f->far);
}

void fairline_far(locking *f, const lk_client_options *options)
{
    scene_far(f, options);
    enter(f, &f->far);
}

lk_hold *fairline_hold(lk_fairlock *lock, const lk_acquire_options *options)
{
    lk_hold *hold = NULL;

    assert_status(lk_fairlock_acquire(lock, SCENE_MS, options, &hold), LK_OK);
    return hold;
}

call *
fairline_begin(locking *f, lk_fairlock *lock, const lk_acquire_options *options)
{
    return locking_begin(f, lock, LK_FOREVER, options);
}

static bool is_calm(void *data)
{
    return locking_stats(data).pending == 0;
}

void fairline_queue_many(locking *f, lk_fairlock *lock, int count)
{
    long long before = fairline_queued(f);

    for (int i = 0; i < count; i++)
        (void)fairline_begin(f, lock, NULL);
    assert_true(scene_reaches(f, how_many, before + count));
    assert_true(wait_until(is_calm, locking_maker(f, lock), SCENE_MS));
}

call *fairline_queue(locking *f, lk_fairlock *lock)
{
    fairline_queue_many(f, lock, 1);
    return &f->calls[f->call_count - 1];
}

bool fairline_waits(call *wait)
{
    return atomic_load(&wait->ends) == 0;
}

void fairline_serve(locking *f, size_t first)
{
    for (size_t i = first; i < f->call_count; i++) {
        lk_hold *hold = locking_granted(&f->calls[i]);

        for (size_t j = i + 1; j < f->call_count; j++)
            assert_true(fairline_waits(&f->calls[j]));
        assert_status(lk_hold_release(hold), LK_OK);
    }
}

long long fairline_queued(locking *f)
{
    return server_integer(f->server, how_many);
}

bool fairline_becomes_queued(locking *f, long long count)
{
    return scene_becomes(f, how_many, count);
}
