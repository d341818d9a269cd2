/* SPDX-License-Identifier: MIT */

/* The end of a call: a thread is woken, or a callback is posted. */

#include "engine/call.h"

#include <stddef.h>

#include "base/error.h"

static void run(lk__post *post)
{
    lk__call *call =
        (lk__call *)(void *)((char *)post - offsetof(lk__call, post));
    lk_client *client = call->client;

    lk__call_status(call);
    call->deliver(call);
    lk__client_unref(client);
}

void lk__call_init(lk__call *call, lk_client *client,
                   void (*deliver)(lk__call *call))
{
    call->client = client;
    call->deliver = deliver;
    call->post.run = run;
    if (deliver == NULL)
        client->world->class->parking_init(client->world, &call->parking);
}

void lk__call_done(lk__call *call, lk_status status, const char *words)
{
    lk_client *client = call->client;

    call->status = status;
    call->done = true;
    client->upper->explain(client, status, words, call->words,
                           sizeof(call->words));
    if (call->deliver == NULL) {
        client->world->class->unpark(client->world, &call->parking);
    } else {
        lk__client_ref(client); /* until it is delivered */
        lk__client_post(client, &call->post);
    }
}

bool lk__call_sleep(lk__call *call, uint64_t until)
{
    lk_client *client = call->client;

    if (!call->done)
        client->upper->read(client, &call->parking, &call->done, until);
    if (!call->done) {
        int was;

        lk__client_leave(client);
        (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
        client->world->class->park(client->world, &call->parking, until);
        (void)pthread_setcancelstate(was, &was);
        lk__client_lock(client);
    }
    return call->done;
}

lk_status lk__call_status(const lk__call *call)
{
    if (call->status != LK_OK)
        lk__error_set(call->words);
    return call->status;
}
