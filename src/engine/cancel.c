/* SPDX-License-Identifier: MIT */

/*
 * Cancel tokens. Firing sets two flags and wakes the loop, which a signal handler
 * may do as well; the loop then ends the waits that name the token.
 */

#include "engine/cancel.h"

#include "base/error.h"
#include "base/mem.h"
#include "engine/client.h"

bool lk__cancel_is_fired(const lk_cancel *cancel)
{
    return cancel != NULL &&
           (cancel->fired || lk__cancel_is_fired(cancel->also));
}

lk_client *lk__cancel_client(const lk_cancel *cancel)
{
    return cancel->client;
}

lk_status lk_cancel_new(lk_cancel **ret_cancel, lk_client *client)
{
    lk_status status = lk__client_check(client);
    lk_cancel *cancel;

    if (status != LK_OK)
        return status;
    if (ret_cancel == NULL)
        return lk__fail(LK_EINVAL, "ret_cancel is NULL");
    cancel = lk__alloc(sizeof(*cancel));
    if (cancel == NULL)
        return LK_ENOMEM;
    cancel->client = lk__client_ref(client);
    *ret_cancel = cancel;
    return LK_OK;
}

void lk_cancel_fire(lk_cancel *cancel)
{
    if (cancel == NULL)
        return;
    cancel->fired = true;
    if (cancel->client->fork_generation != lk__fork_generation())
        return;
    cancel->client->canceled = true; /* behind the token's own */
    cancel->client->world->class->wake(cancel->client->world);
}

void lk_cancel_free(lk_cancel *cancel)
{
    if (cancel == NULL)
        return;
    lk__client_unref(cancel->client);
    lk__free(cancel);
}
