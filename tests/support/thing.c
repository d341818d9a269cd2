/* SPDX-License-Identifier: MIT */
#include "support/thing.h"

#include "support/kind.h"

static const kind *row_of(const thing *t)
{
    static const kind_id rows[THING_KINDS] = {KIND_LOCK, KIND_FAIRLOCK,
                                              KIND_WRITE, KIND_SEMAPHORE,
                                              KIND_SIGLOCK};

    return kinds[rows[t->kind]];
}

const char *thing_word(thing_kind of)
{
    return row_of(&(thing){.kind = of})->word;
}

lk_status
thing_new(thing *t, thing_kind of, lk_client *client, const char *name)
{
    const kind_site site = {.clients = {client}, .permits = 1};

    *t = (thing){.kind = of};
    return row_of(t)->make(&t->handle, &site, name);
}

void thing_free(thing *t)
{
    row_of(t)->free(t->handle);
    t->handle = NULL;
}

lk_status thing_acquire(const thing *t, int64_t wait_ms,
                        const lk_acquire_options *options, lk_hold **ret_hold)
{
    return row_of(t)->acquire(t->handle, wait_ms, options, ret_hold);
}

lk_status thing_acquire_async(const thing *t, int64_t wait_ms,
                              const lk_acquire_options *options,
                              lk_acquire_cb cb, void *data)
{
    return row_of(t)->acquire_async(t->handle, wait_ms, options, cb, data);
}

lk_status thing_import(const thing *t, const char *text, lk_hold **ret_hold)
{
    return row_of(t)->import(t->handle, text, NULL, ret_hold);
}

lk_status thing_info(const thing *t, lk_info **ret_info)
{
    return row_of(t)->info(t->handle, ret_info);
}

lk_status thing_revoke(const thing *t, const char *owner, int64_t *ret_left_ms)
{
    return row_of(t)->revoke(t->handle, owner, ret_left_ms);
}

lk_status thing_force(const thing *t, const char *owner)
{
    return row_of(t)->force(t->handle, owner);
}
