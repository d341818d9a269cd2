/* SPDX-License-Identifier: MIT */

/* Threads and made owners draw their numbers from one process-wide counter. */

#include "engine/owner.h"

#include <stdatomic.h>

#include "base/error.h"
#include "base/mem.h"
#include "engine/client.h"

static atomic_uint_fast64_t last_number;
static _Thread_local uint64_t thread_number;

uint64_t lk__owner_number(const lk_owner *owner, bool is_thread)
{
    if (owner != NULL)
        return owner->number;
    if (!is_thread)
        return ++last_number;
    if (thread_number == 0)
        thread_number = ++last_number;
    return thread_number;
}

lk_client *lk__owner_client(const lk_owner *owner)
{
    return owner->client;
}

lk_status lk_owner_new(lk_owner **ret_owner, lk_client *client)
{
    lk_status status = lk__client_check(client);
    lk_owner *owner;

    if (status != LK_OK)
        return status;
    if (ret_owner == NULL)
        return lk__fail(LK_EINVAL, "ret_owner is NULL");
    owner = lk__alloc(sizeof(*owner));
    if (owner == NULL)
        return LK_ENOMEM;
    owner->client = lk__client_ref(client);
    owner->number = ++last_number;
    *ret_owner = owner;
    return LK_OK;
}

void lk_owner_free(lk_owner *owner)
{
    if (owner == NULL)
        return;
    lk__client_unref(owner->client);
    lk__free(owner);
}
