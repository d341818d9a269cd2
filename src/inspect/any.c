/* SPDX-License-Identifier: MIT */

/* One handle for all kinds; see any.h. */

#include "inspect/any.h"

#include <latchkey/latch.h>
#include <latchkey/lock.h>
#include <latchkey/plain_semaphore.h>
#include <latchkey/rwlock.h>
#include <latchkey/semaphore.h>

#include <string.h>

#include "base/error.h"
#include "handle/handle.h"

/* Puts a handle of any type where a pointer to void is. */
static void any_set(lk__any *any, lk_kind kind, void *handle)
{
    any->kind = kind;
    any->handle = handle;
}

lk_status
lk__any_new(lk__any *any, lk_client *client, lk_kind kind, const char *name)
{
    lk_lock *lock = NULL;
    lk_rwlock *rwlock = NULL;
    lk_semaphore *semaphore = NULL;
    lk_plain_semaphore *plain = NULL;
    lk_latch *latch = NULL;
    lk_status status;

    switch (kind) {
    case LK_KIND_LOCK:
        status = lk_lock_new(&lock, client, name, NULL);
        any_set(any, kind, lock);
        return status;
    case LK_KIND_RWLOCK:
        status = lk_rwlock_new(&rwlock, client, name, NULL);
        any_set(any, kind, rwlock);
        return status;
    case LK_KIND_SEMAPHORE:
        status = lk_semaphore_new(&semaphore, client, name, NULL);
        any_set(any, kind, semaphore);
        return status;
    case LK_KIND_PLAIN_SEMAPHORE:
        status = lk_plain_semaphore_new(&plain, client, name);
        any_set(any, kind, plain);
        return status;
    case LK_KIND_LATCH:
        status = lk_latch_new(&latch, client, name, NULL);
        any_set(any, kind, latch);
        return status;
    case LK_KIND_NONE:
    default:
        return lk__fail(LK_ENOTHELD, "nothing is known under this name");
    }
}

void lk__any_free(lk__any *any)
{
    switch (any->kind) {
    case LK_KIND_LOCK:
        lk_lock_free(any->handle);
        break;
    case LK_KIND_RWLOCK:
        lk_rwlock_free(any->handle);
        break;
    case LK_KIND_SEMAPHORE:
        lk_semaphore_free(any->handle);
        break;
    case LK_KIND_PLAIN_SEMAPHORE:
        lk_plain_semaphore_free(any->handle);
        break;
    case LK_KIND_LATCH:
        lk_latch_free(any->handle);
        break;
    case LK_KIND_NONE:
    default:
        break;
    }
}

/* What every kind's calls do, and their handles begin with the same. */
lk_status lk__any_info(const lk__any *any, uint64_t until, lk_info **ret_info)
{
    return lk__handle_info_by(any->handle, until, ret_info);
}

lk_status lk__any_info_async(const lk__any *any, uint64_t until, lk_info_cb cb,
                             void *data)
{
    return lk__handle_info_by_async(any->handle, until, cb, data);
}

static lk_status holders_check(const lk__any *any)
{
    if (any->kind == LK_KIND_PLAIN_SEMAPHORE || any->kind == LK_KIND_LATCH)
        return lk__fail(LK_ENOTSUP, "nobody is known to hold anything here");
    return LK_OK;
}

lk_status lk__any_break(const lk__any *any, const char *owner, uint64_t until)
{
    lk_status status = holders_check(any);

    return status != LK_OK ? status
                           : lk__handle_force_by(any->handle, owner, until);
}

lk_status lk__any_break_async(const lk__any *any, const char *owner,
                              uint64_t until, lk_done_cb cb, void *data)
{
    lk_status status = holders_check(any);

    return status != LK_OK
               ? status
               : lk__handle_force_by_async(any->handle, owner, until, cb, data);
}

lk_status lk__any_revoke(const lk__any *any, const char *owner, uint64_t until,
                         int64_t *ret_left_ms)
{
    lk_status status = holders_check(any);

    return status != LK_OK
               ? status
               : lk__handle_revoke_by(any->handle, owner, until, ret_left_ms);
}

lk_status lk__any_revoke_async(const lk__any *any, const char *owner,
                               uint64_t until, lk_revoke_cb cb, void *data)
{
    lk_status status = holders_check(any);

    return status != LK_OK ? status
                           : lk__handle_revoke_by_async(any->handle, owner,
                                                        until, cb, data);
}

lk_status lk__any_forget(const lk__any *any, uint64_t until)
{
    return lk__handle_forget_by(any->handle, until);
}

lk_status lk__any_forget_async(const lk__any *any, uint64_t until,
                               lk_done_cb cb, void *data)
{
    return lk__handle_forget_by_async(any->handle, until, cb, data);
}
