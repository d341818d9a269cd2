/* SPDX-License-Identifier: MIT */

/* The end of a call: a thread is woken, or a callback is posted. */

#include "engine/call.h"

#include <stddef.h>

#include "base/container.h"
#include "base/error.h"

static void run(lk__post *post)
{
    lk__call *call = LK__CONTAINER_OF(post, lk__call, post);
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
    call->parked = false;
    call->post.run = run;
    if (deliver == NULL)
        client->world->class->parking_init(client->world, &call->parking);
}

void lk__call_done(lk__call *call, lk_status status, const char *words)
{
    lk_client *client = call->client;

    call->status = status;
    call->done = true;
    if (status != LK_OK)
        client->upper->explain(client, status, words, call->words,
                               sizeof(call->words));
    if (call->parked) {
        call->next_woken = NULL;
        *client->last_woken = call;
        client->last_woken = &call->next_woken;
    } else if (call->deliver == NULL) {
        client->world->class->unpark(client->world, &call->parking);
    } else {
        lk__client_ref(client); /* until it is delivered */
        lk__client_post(client, &call->post);
    }
}

void lk__calls_wake(lk_client *client, lk__call *first)
{
    while (first != NULL) {
        lk__call *next = first->next_woken;

        client->world->class->unpark(client->world, &first->parking);
        first = next;
    }
}

/* Outside the monitor. */
static bool park(lk__call *call, uint64_t until)
{
    lk__world *world = call->client->world;
    bool is_woken;
    int was;

    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
    is_woken = world->class->park(world, &call->parking, until);
    (void)pthread_setcancelstate(was, &was);
    return is_woken;
}

/* Sleeps, and leaves the monitor for that. True: it was woken, and the call is
   done; false: it is in the monitor. */
static bool sleep_parked(lk__call *call, uint64_t until)
{
    lk_client *client = call->client;

    call->parked = true;
    lk__client_leave(client);
    if (park(call, until))
        return true;
    lk__client_lock(client);
    if (!call->done) {
        call->parked = false;
        return false;
    }
    /* It ended just now: the thread that ended it still has to wake it. */
    lk__client_leave(client);
    (void)park(call, LK__NEVER);
    return true;
}

bool lk__call_sleep(lk__call *call, uint64_t until)
{
    if (lk__call_await(call, until))
        lk__client_lock(call->client);
    return call->done;
}

bool lk__call_await(lk__call *call, uint64_t until)
{
    lk_client *client = call->client;

    if (!call->done)
        client->upper->read(client, &call->parking, &call->done, until);
    if (!call->done)
        return sleep_parked(call, until);
    lk__client_leave(client);
    return true;
}

lk_status lk__call_status(const lk__call *call)
{
    if (call->status != LK_OK)
        lk__error_set(call->words);
    return call->status;
}
