/* SPDX-License-Identifier: MIT */
#include "support/scarce.h"

#include "support/check.h"
#include "support/memory.h"

enum { LEASE_MS = 30000 };

void scarce_shut(scarce *st)
{
    memory_pause(true);
    party_shut(st->rival);
    st->is_shut = true;
    memory_pause(false);
}

void scarce_open(scarce *st)
{
    memory_pause(true);
    if (st->is_shut)
        party_open(st->rival);
    st->is_shut = false;
    memory_pause(false);
}

lk_status scarce_take(scarce *st, lk_hold **ret_hold)
{
    return st->kind->acquire(st->party->handle, STAND_MS, NULL, ret_hold);
}

lk_status scarce_told(lk_status status)
{
    return status == LK_EPENDING ? LK_ENOMEM : status;
}

/* A hold ends whatever a release returns. Of a permit that nobody holds a release that
   has no memory has not begun. */
static lk_status returned(const kind *k, void *handle, lk_hold *hold)
{
    lk_status status = k->release(handle, hold);

    if (status == LK_ENOMEM && !k->has_hold) {
        (void)memory_lasts();
        assert_status(k->release(handle, NULL), LK_OK);
    }
    return scarce_told(status);
}

lk_status scarce_give_back(scarce *st, lk_hold *hold)
{
    return returned(st->kind, st->party->handle, hold);
}

lk_status scarce_first_of(lk_status status, lk_status then)
{
    return status == LK_OK ? then : status;
}

lk_status scarce_ended(lk_status begun, call *c)
{
    return begun == LK_OK ? call_wait(c, NULL) : begun;
}

/* A release that has no memory has not begun. */
lk_status scarce_give_back_async(scarce *st, lk_hold *hold)
{
    call c = {0};
    lk_status status;

    if (st->kind->release_async == NULL)
        return scarce_give_back(st, hold);
    status = st->kind->release_async(st->party->handle, hold, call_on_done, &c);
    if (status == LK_ENOMEM)
        return scarce_first_of(scarce_give_back(st, hold), LK_ENOMEM);
    return scarce_told(scarce_ended(status, &c));
}

lk_status scarce_took_async(scarce *st, lk_status begun, call *c)
{
    lk_status status = scarce_ended(begun, c);

    return status == LK_OK ? scarce_give_back_async(st, c->hold) : status;
}

static lk_status open_all(scarce *st, kind_site *site, const scarce_life *l)
{
    lk_status status = LK_OK;

    for (unsigned i = 0; i < st->kind->servers && status == LK_OK; i++)
        status = lk_client_open(&site->clients[i],
                                server_url(st->stand->servers[i]), l->options);
    return status;
}

static lk_status
behind(scarce *st, void *handle, const scarce_life *l, lk_hold **ret_hold)
{
    call c = {0};
    lk_status status =
        st->kind->acquire_async(handle, l->wait_ms, NULL, call_on_acquire, &c);

    scarce_open(st);
    status = scarce_ended(status, &c);
    *ret_hold = c.hold;
    return status;
}

static lk_status use(scarce *st, void *handle, const scarce_life *l)
{
    const kind *k = st->kind;
    lk_hold *hold = NULL;
    lk_status status;

    if (st->is_shut)
        status = behind(st, handle, l, &hold);
    else if (k->visit != NULL)
        return k->visit(handle, l->wait_ms);
    else
        status = k->acquire(handle, l->wait_ms, NULL, &hold);
    return status == LK_OK ? returned(k, handle, hold) : status;
}

lk_status scarce_live(scarce *st, const scarce_life *l)
{
    kind_site site = {.lease_ms = st->party->site.lease_ms,
                      .answer_ms = st->party->site.answer_ms};
    void *handle = NULL;
    lk_status status = open_all(st, &site, l);

    if (status == LK_OK)
        status = st->kind->make(&handle, &site, STAND_NAME);
    if (status == LK_OK)
        status = use(st, handle, l);
    st->kind->free(handle);
    for (unsigned i = 0; i < st->kind->servers && site.clients[i] != NULL;
         i++) {
        (void)lk_client_shutdown(site.clients[i], l->shutdown_ms);
        lk_client_free(site.clients[i]);
    }
    return status;
}

scarce scarce_on(stand *s)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = LEASE_MS};
    scarce st = {.stand = s, .kind = s->kind, .party = party_near(s, &options)};

    st.rival = party_near(s, &options);
    return st;
}

lk_status scarce_play(void *data)
{
    scarce *st = data;

    return st->act(st);
}

void scarce_assert_free(void *data, lk_status status)
{
    scarce *st = data;

    (void)status;
    scarce_open(st);
    if (st->kind->shut != NULL) {
        party_shut(st->rival);
        party_open(st->rival);
    } else
        stand_flush(st->stand);
}
