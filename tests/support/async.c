/* SPDX-License-Identifier: MIT */
#include "support/async.h"

#include "support/check.h"
#include "support/wait.h"

party *async_party(stand *s, uint64_t mode)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .dispatch = mode};

    return party_near(s, &options);
}

bool async_is_over(void *data)
{
    return atomic_load(&((call *)data)->ends) > 0;
}

typedef struct expected {
    party *party;
    bool (*is)(void *data);
    void *data;
} expected;

static bool comes(void *data)
{
    expected *e = data;

    if (e->party != NULL && !e->is(e->data))
        party_dispatch(e->party);
    return e->is(e->data);
}

void async_comes_to(party *p, bool (*is)(void *data), void *data)
{
    expected e = {p, is, data};

    assert_true(wait_until(comes, &e, STAND_MS));
}

lk_status async_end_of(party *p, call *c)
{
    async_comes_to(p, async_is_over, c);
    return c->status;
}

void async_begin(party *p, int64_t wait_ms, const lk_acquire_options *options,
                 call *c)
{
    assert_status(p->stand->kind->acquire_async(p->handle, wait_ms, options,
                                                call_on_acquire, c),
                  LK_OK);
}

void async_ends_once(const call *c)
{
    assert_int_equal(atomic_load(&c->ends), 1);
}

void async_give_back(party *p, call *c)
{
    if (c->status == LK_OK)
        assert_status(p->stand->kind->release(p->handle, c->hold), LK_OK);
}

lk_status async_begin_ready(party *p, lk_done_cb cb, call *c)
{
    return lk_client_wait_ready_async(p->site.clients[0], STAND_MS, cb, c);
}

lk_status async_begin_extend(party *p, lk_done_cb cb, call *c)
{
    return lk_hold_extend_async(p->hold, p->site.lease_ms, cb, c);
}

lk_status async_begin_ask(party *p, lk_done_cb cb, call *c)
{
    return p->stand->kind->ask_async(p->handle, cb, c);
}

lk_status async_begin_info(party *p, lk_done_cb cb, call *c)
{
    (void)cb;
    return p->stand->kind->info_async(p->handle, call_on_info, c);
}

lk_status async_begin_open(party *p, lk_done_cb cb, call *c)
{
    lk_hold *hold = p->hold;

    p->hold = NULL;
    return p->stand->kind->open_async(p->handle, hold, cb, c);
}

lk_status async_begin_shutdown(party *p, lk_done_cb cb, call *c)
{
    return lk_client_shutdown_async(p->site.clients[0], STAND_MS, cb, c);
}

void async_free_clients(party *p)
{
    for (unsigned i = 0; i < p->stand->kind->servers; i++) {
        lk_client_free(p->site.clients[i]);
        p->site.clients[i] = NULL;
    }
}

bool async_is_alone(const kind *k)
{
    return k->acquire != NULL && k->servers == 1;
}

bool async_is_whole(const kind *k)
{
    return k->acquire != NULL && k->history != HISTORY_MULTILOCK;
}

void async_free_handle(party *p)
{
    p->stand->kind->free(p->handle);
    p->handle = NULL;
}

void async_make_again(party *p)
{
    assert_status(p->stand->kind->make(&p->handle, &p->site, STAND_NAME),
                  LK_OK);
}
