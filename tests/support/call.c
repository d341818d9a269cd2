/* SPDX-License-Identifier: MIT */
#include "support/call.h"

#include <stdio.h>

#include "support/check.h"
#include "support/wait.h"

enum { PATIENCE_MS = 10000 };

static void end(call *c, lk_status status)
{
    c->status = status;
    c->thread = pthread_self();
    c->at_ms = wait_now_ms();
    (void)snprintf(c->words, sizeof(c->words), "%s", lk_last_error());
    if (c->act != NULL)
        c->act(c);
    (void)atomic_fetch_add(&c->ends, 1);
}

void call_on_done(lk_status status, void *data)
{
    end(data, status);
}

void call_on_acquire(lk_status status, lk_hold *hold, void *data)
{
    call *c = data;

    c->hold = hold;
    end(c, status);
}

void call_on_locked(lk_status status, bool locked, void *data)
{
    call *c = data;

    c->locked = locked;
    end(c, status);
}

void call_on_info(lk_status status, lk_info *info, void *data)
{
    call *c = data;

    c->info = info;
    end(c, status);
}

lk_status call_nothing(lk_hold *hold, void *data)
{
    (void)hold;
    (void)data;
    return LK_OK;
}

void call_dispatch(lk_client *client)
{
    if (client != NULL && lk_client_fd(client) >= 0)
        assert_status(lk_client_dispatch(client), LK_OK);
}

struct expected {
    atomic_int *counter;
    int least;
    lk_client *client;
};

static bool has_come(void *data)
{
    struct expected *expected = data;

    if (atomic_load(expected->counter) < expected->least)
        call_dispatch(expected->client);
    return atomic_load(expected->counter) >= expected->least;
}

void call_wait_count(atomic_int *counter, int least, lk_client *client)
{
    struct expected expected = {counter, least, client};

    if (!wait_until(has_come, &expected, PATIENCE_MS))
        fail_msg("%d ends instead of %d", atomic_load(counter), least);
}

lk_status call_wait(call *c, lk_client *client)
{
    call_wait_count(&c->ends, 1, client);
    return c->status;
}
