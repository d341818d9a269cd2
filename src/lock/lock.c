/* SPDX-License-Identifier: MIT */

/* The lock: its choice of a kind, a lease and a way to wait. The rest is what all
   primitives have in common. */

#include <latchkey/lock.h>

#include "base/error.h"
#include "base/names.h"
#include "handle/handle.h"
#include "lock/exclusive.h"

struct lk_lock {
    lk__handle handle; /* first */
    uint64_t lease_ms; /* of acquires that name none; 0: the watchdog's */
    lk__spin spin;
};

static const lk__handle *handle_of(const lk_lock *lock)
{
    return (const lk__handle *)(const void *)lock;
}

static lk_status options_check(const lk_lock_options *options, lk__spin *spin)
{
    if (options->lease_ms != 0 && lk__lease_check(options->lease_ms) != LK_OK)
        return LK_EINVAL;
    return lk__spin_take(spin, options->strategy, options->spin_first_ms,
                         options->spin_most_ms);
}

lk_status lk_lock_new(lk_lock **ret_lock, lk_client *client, const char *name,
                      const lk_lock_options *options)
{
    lk_lock_options copy;
    lk__handle *handle;
    lk__spin spin;
    lk_status status = lk__options_copy(&copy, sizeof(copy), options);

    if (ret_lock == NULL)
        return lk__fail(LK_EINVAL, "ret_lock is NULL");
    if (status == LK_OK)
        status = options_check(&copy, &spin);
    if (status == LK_OK)
        status = lk__handle_new(&handle, sizeof(lk_lock), client,
                                &lk__kind_lock, name);
    if (status != LK_OK)
        return status;
    *ret_lock = (lk_lock *)(void *)handle;
    (*ret_lock)->lease_ms = copy.lease_ms;
    (*ret_lock)->spin = spin;
    return LK_OK;
}

void lk_lock_free(lk_lock *lock)
{
    lk__handle_free((lk__handle *)(void *)lock);
}

/* ---- acquire ----------------------------------------------------------------- */

/* Of a handle that was checked. */
static lk__wish
wish_of(const lk_lock *lock, int64_t wait_ms, const lk_acquire_options *options)
{
    lk__wish wish = {.place = lock->handle.place,
                     .wait_ms = wait_ms,
                     .default_lease_ms = lock->lease_ms,
                     .options = options,
                     .line = LK__LINE_COMMON,
                     .spin = lock->spin};

    return wish;
}

lk_status lk_lock_acquire(lk_lock *lock, int64_t wait_ms,
                          const lk_acquire_options *options, lk_hold **ret_hold)
{
    lk_status status = lk__handle_check(handle_of(lock), ret_hold);
    lk__wish wish;

    if (status != LK_OK)
        return status;
    wish = wish_of(lock, wait_ms, options);
    return lk__wait_acquire(&wish, ret_hold);
}

lk_status lk_lock_acquire_async(lk_lock *lock, int64_t wait_ms,
                                const lk_acquire_options *options,
                                lk_acquire_cb cb, void *data)
{
    lk_status status = lk__handle_check(handle_of(lock), lock);
    lk__wish wish;

    if (status != LK_OK)
        return status;
    wish = wish_of(lock, wait_ms, options);
    return lk__wait_acquire_async(&wish, cb, data);
}

lk_status lk_lock_import(lk_lock *lock, const char *text,
                         const lk_acquire_options *options, lk_hold **ret_hold)
{
    return lk__handle_import(handle_of(lock), text, options, ret_hold);
}

lk_status lk_lock_run(lk_lock *lock, int64_t wait_ms,
                      const lk_acquire_options *options, lk_run_fn fn,
                      void *data)
{
    lk_hold *hold;
    lk_status status;

    if (fn == NULL)
        return lk__fail(LK_EINVAL, "the function is NULL");
    status = lk_lock_acquire(lock, wait_ms, options, &hold);
    return status != LK_OK ? status : lk__handle_run(hold, fn, data);
}

/* ---- operators ---------------------------------------------------------------- */

lk_status lk_lock_revoke(lk_lock *lock, const char *owner, int64_t *ret_left_ms)
{
    return lk__handle_revoke(handle_of(lock), owner, ret_left_ms);
}

lk_status lk_lock_revoke_async(lk_lock *lock, const char *owner,
                               lk_revoke_cb cb, void *data)
{
    return lk__handle_revoke_async(handle_of(lock), owner, cb, data);
}

lk_status lk_lock_force_release(lk_lock *lock)
{
    return lk__handle_force(handle_of(lock), NULL);
}

lk_status lk_lock_force_release_async(lk_lock *lock, lk_done_cb cb, void *data)
{
    return lk__handle_force_async(handle_of(lock), NULL, cb, data);
}

lk_status lk_lock_force_release_of(lk_lock *lock, const char *owner)
{
    lk_status status = lk__owner_check(owner);

    return status != LK_OK ? status : lk__handle_force(handle_of(lock), owner);
}

lk_status lk_lock_force_release_of_async(lk_lock *lock, const char *owner,
                                         lk_done_cb cb, void *data)
{
    lk_status status = lk__owner_check(owner);

    return status != LK_OK
               ? status
               : lk__handle_force_async(handle_of(lock), owner, cb, data);
}

lk_status lk_lock_is_locked(lk_lock *lock, bool *ret_locked)
{
    return lk__handle_exists(handle_of(lock), ret_locked);
}

lk_status
lk_lock_is_locked_async(lk_lock *lock, lk_lock_is_locked_cb cb, void *data)
{
    return lk__handle_exists_async(handle_of(lock), cb, data);
}

lk_status lk_lock_info(lk_lock *lock, lk_info **ret_info)
{
    return lk__handle_info(handle_of(lock), ret_info);
}

lk_status lk_lock_info_async(lk_lock *lock, lk_info_cb cb, void *data)
{
    return lk__handle_info_async(handle_of(lock), cb, data);
}
