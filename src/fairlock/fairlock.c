/* SPDX-License-Identifier: MIT */

/* The fair lock: each wait stands in the server's queue for itself. */

#include <latchkey/fairlock.h>

#include "base/error.h"
#include "base/names.h"
#include "handle/handle.h"
#include "lock/exclusive.h"

struct lk_fairlock {
    lk__handle handle; /* first */
    lk_fairlock_options options;
};

static const lk__handle *handle_of(const lk_fairlock *fairlock)
{
    return (const lk__handle *)(const void *)fairlock;
}

lk_status lk_fairlock_new(lk_fairlock **ret_fairlock, lk_client *client,
                          const char *name, const lk_fairlock_options *options)
{
    lk_fairlock_options copy;
    lk__handle *handle;
    lk_status status = lk__options_copy(&copy, sizeof(copy), options);

    if (ret_fairlock == NULL)
        return lk__fail(LK_EINVAL, "ret_fairlock is NULL");
    if (status == LK_OK && copy.lease_ms != 0)
        status = lk__lease_check(copy.lease_ms);
    if (status == LK_OK)
        status = lk__handle_new(&handle, sizeof(lk_fairlock), client,
                                &lk__kind_fairlock, name);
    if (status != LK_OK)
        return status;
    *ret_fairlock = (lk_fairlock *)(void *)handle;
    (*ret_fairlock)->options = copy;
    return LK_OK;
}

void lk_fairlock_free(lk_fairlock *fairlock)
{
    lk__handle_free((lk__handle *)(void *)fairlock);
}

/* ---- acquire ----------------------------------------------------------------- */

/* Of a handle that was checked. */
static lk__wish wish_of(const lk_fairlock *fairlock, int64_t wait_ms,
                        const lk_acquire_options *options)
{
    lk__wish wish = {.place = fairlock->handle.place,
                     .wait_ms = wait_ms,
                     .default_lease_ms = fairlock->options.lease_ms,
                     .options = options,
                     .line = LK__LINE_OWN};

    return wish;
}

lk_status lk_fairlock_acquire(lk_fairlock *fairlock, int64_t wait_ms,
                              const lk_acquire_options *options,
                              lk_hold **ret_hold)
{
    lk_status status = lk__handle_check(handle_of(fairlock), ret_hold);
    lk__wish wish;

    if (status != LK_OK)
        return status;
    wish = wish_of(fairlock, wait_ms, options);
    return lk__wait_acquire(&wish, ret_hold);
}

lk_status lk_fairlock_acquire_async(lk_fairlock *fairlock, int64_t wait_ms,
                                    const lk_acquire_options *options,
                                    lk_acquire_cb cb, void *data)
{
    lk_status status = lk__handle_check(handle_of(fairlock), fairlock);
    lk__wish wish;

    if (status != LK_OK)
        return status;
    wish = wish_of(fairlock, wait_ms, options);
    return lk__wait_acquire_async(&wish, cb, data);
}

lk_status lk_fairlock_import(lk_fairlock *fairlock, const char *text,
                             const lk_acquire_options *options,
                             lk_hold **ret_hold)
{
    return lk__handle_import(handle_of(fairlock), text, options, ret_hold);
}

lk_status lk_fairlock_run(lk_fairlock *fairlock, int64_t wait_ms,
                          const lk_acquire_options *options, lk_run_fn fn,
                          void *data)
{
    lk_hold *hold;
    lk_status status;

    if (fn == NULL)
        return lk__fail(LK_EINVAL, "the function is NULL");
    status = lk_fairlock_acquire(fairlock, wait_ms, options, &hold);
    return status != LK_OK ? status : lk__handle_run(hold, fn, data);
}

/* ---- operators ---------------------------------------------------------------- */

lk_status lk_fairlock_revoke(lk_fairlock *fairlock, const char *owner,
                             int64_t *ret_left_ms)
{
    return lk__handle_revoke(handle_of(fairlock), owner, ret_left_ms);
}

lk_status lk_fairlock_revoke_async(lk_fairlock *fairlock, const char *owner,
                                   lk_revoke_cb cb, void *data)
{
    return lk__handle_revoke_async(handle_of(fairlock), owner, cb, data);
}

lk_status lk_fairlock_force_release(lk_fairlock *fairlock)
{
    return lk__handle_force(handle_of(fairlock), NULL);
}

lk_status lk_fairlock_force_release_async(lk_fairlock *fairlock, lk_done_cb cb,
                                          void *data)
{
    return lk__handle_force_async(handle_of(fairlock), NULL, cb, data);
}

lk_status lk_fairlock_is_locked(lk_fairlock *fairlock, bool *ret_locked)
{
    return lk__handle_exists(handle_of(fairlock), ret_locked);
}

lk_status lk_fairlock_is_locked_async(lk_fairlock *fairlock,
                                      lk_fairlock_is_locked_cb cb, void *data)
{
    return lk__handle_exists_async(handle_of(fairlock), cb, data);
}

lk_status lk_fairlock_info(lk_fairlock *fairlock, lk_info **ret_info)
{
    return lk__handle_info(handle_of(fairlock), ret_info);
}

lk_status
lk_fairlock_info_async(lk_fairlock *fairlock, lk_info_cb cb, void *data)
{
    return lk__handle_info_async(handle_of(fairlock), cb, data);
}
