/* SPDX-License-Identifier: MIT */
#include "support/taker.h"

#include <latchkey/client.h>

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/wait.h"

enum { JOIN_MS = 60000 };

static void *run(void *data)
{
    taker *t = data;
    uint64_t begin = wait_now_ms();

    t->status = kind_acquire(t->kind, t->handle, t->count, t->wait_ms,
                             &t->options, &t->hold);
    if (t->status == LK_OK)
        t->turn = atomic_fetch_add(t->turns, 1) + 1;
    (void)snprintf(t->words, sizeof(t->words), "%s", lk_last_error());
    t->took_ms = wait_now_ms() - begin;
    atomic_store(&t->done, true);
    return NULL;
}

taker *taker_start(taker_list *all, const kind *k, void *handle, uint64_t count,
                   int64_t wait_ms, const lk_acquire_options *options)
{
    taker *t = calloc(1, sizeof(*t));

    assert_non_null(t);
    assert_true(all->count < TAKERS);
    t->kind = k;
    t->handle = handle;
    t->count = count;
    t->wait_ms = wait_ms;
    t->turns = &all->turns;
    t->options = options != NULL
                     ? *options
                     : (lk_acquire_options){LK_ACQUIRE_OPTIONS_INIT};
    all->all[all->count] = t;
    assert_int_equal(pthread_create(&t->thread, NULL, run, t), 0);
    all->count++;
    return t;
}

bool taker_waits(taker *t)
{
    return !atomic_load(&t->done);
}

static bool is_done(void *data)
{
    return !taker_waits(data);
}

bool taker_ends(taker *t, unsigned deadline_ms)
{
    return wait_until(is_done, t, deadline_ms);
}

lk_status taker_join(taker *t)
{
    if (!taker_ends(t, JOIN_MS))
        fail_msg("a thread does not come back");
    if (!t->joined)
        (void)pthread_join(t->thread, NULL);
    t->joined = true;
    return t->status;
}

lk_hold *taker_hold(taker *t)
{
    lk_hold *hold;

    assert_status(taker_join(t), LK_OK);
    hold = t->hold;
    t->hold = NULL;
    return hold;
}

lk_status taker_release(taker *t)
{
    return lk_hold_release(taker_hold(t));
}

void takers_end(taker_list *all)
{
    for (size_t i = 0; i < all->count; i++) {
        taker *t = all->all[i];

        if (!t->joined)
            (void)pthread_join(t->thread, NULL);
        if (t->hold != NULL)
            (void)lk_hold_release(t->hold);
        free(t);
    }
    all->count = 0;
}
